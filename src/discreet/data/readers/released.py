"""Datasets that are releases: nobody's records, with the guarantee of the release in a manifest beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from discreet.common.plain_json import read_json
from discreet.data.readers.drafts import Draft, InteractionsDraft
from discreet.errors import DataError

__all__ = ["marked", "release_of"]

FACTS, MANIFEST, RELEASE_FORMAT = "dataset.json", "manifest.json", "discreet-release"


def marked(draft: Draft, path: Path, facts: Mapping[str, Any], tables: Iterable[str]) -> Draft:
    """The draft of a dataset, marked where the folder of its facts is a release.

    Parameters
    ----------
    path
        Of the facts, or of a file that has them inside: then there is no release.
    tables
        Names of the tables that were read.
    """
    if isinstance(draft, InteractionsDraft):
        draft.released = release_of(path, facts, tables)
    return draft


def release_of(path: Path, facts: Mapping[str, Any], tables: Iterable[str]) -> dict[str, Any] | None:
    """The id and the guarantee of the release that the folder of a dataset is; None where it is none.

    To be called after the tables were read. A folder with a manifest is a release, and is checked as one: the manifest
    against its id, and the facts and files of the dataset against the manifest. What was changed after it was written
    is refused, not read as records of people, and not as a release.
    """
    folder, manifest_file = path.parent, path.with_name(MANIFEST)
    if path.name != FACTS or not manifest_file.exists():
        return None
    try:
        manifest = read_json(manifest_file)
        content = {name: value for name, value in manifest.items() if name != "id"}
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        whole = manifest["format"] == RELEASE_FORMAT and hashlib.sha256(text.encode()).hexdigest() == manifest["id"]
        whole = whole and manifest["facts"] == dict(facts)
        for name in tables:
            part = manifest["parts"][name]
            whole = whole and part["type"] == "parquet" and part["sha256"] == _sha256(folder / f"{name}.parquet")
        released = {"id": manifest["id"], "guarantee": manifest["guarantee"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"this release is damaged: {error!r}.", file=manifest_file, remedy="Get the release again."
        ) from None
    if not whole:
        raise DataError(
            "this release was changed after it was written.",
            file=manifest_file,
            remedy="Get the release again from its source.",
        )
    return released


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
