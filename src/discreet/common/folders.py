"""Folders that discreet writes for releases and models, and how they are recognized before one replaces another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.common.plain_json import read_json
from discreet.common.replacing import Kind, strangers

__all__ = ["DESCRIPTION", "FACTS", "MANIFEST", "MODEL", "RELEASE", "RELEASE_FORMAT", "SOURCE", "is_model"]

RELEASE_FORMAT = "discreet-release"
MANIFEST = "manifest.json"
FACTS = "dataset.json"
"""Beside a release that is a dataset: what readers of data have to know about it."""
DESCRIPTION = "model.json"
"""Beside a release that is a model, or beside the records of a model without privacy."""
SOURCE = "source.json"
"""Beside a model: where the curator keeps the records. It holds a path, no records."""
DATASET = ("dataset.json", "interactions.parquet", "items.parquet", "users.parquet")


MODELS_OF_0_1 = frozenset(
    {
        "private-recommender", "private-ratings", "dp-als", "private-item-knn", "shrunk-pncf", "noisy-neighbor-mean",
        "private-slope-one", "private-cosine", "context-popularity",
    }
)  # fmt: skip
"""Kinds of releases that are models, though their manifests do not say so."""


def is_model(manifest: Mapping[str, Any]) -> bool:
    """Whether the release of this manifest is a model: models replace models, other releases other releases."""
    return manifest.get("model") is True or manifest.get("kind") in MODELS_OF_0_1


def _release_files(folder: Path) -> tuple[dict[str, Any], set[str]] | None:
    """The manifest of the release in a folder and the names of its files; None if there is no release."""
    manifest = _object(folder / MANIFEST)
    if manifest.get("format") != RELEASE_FORMAT or not isinstance(manifest.get("parts"), dict):
        return None
    types = {name: part.get("type") for name, part in manifest["parts"].items() if isinstance(part, dict)}
    facts = {FACTS} if "facts" in manifest else set()
    return manifest, {MANIFEST} | facts | {f"{name}.{ending}" for name, ending in types.items()}


def _foreign_to_release(folder: Path) -> str | None:
    found = _release_files(folder)
    if found is None:
        return f"it has no {MANIFEST} of a release"
    manifest, files = found
    if is_model(manifest) or (folder / DESCRIPTION).is_file():
        return f"it holds a model, {manifest.get('kind')}"
    return strangers(folder, files)


def _foreign_to_model(folder: Path) -> str | None:
    found = _release_files(folder)
    described = _object(folder / DESCRIPTION)
    if found is not None and (described or is_model(found[0])):
        return strangers(folder, found[1] | {DESCRIPTION, SOURCE})
    if found is None and isinstance(described.get("model"), str):
        return strangers(folder, {DESCRIPTION, SOURCE} | {f"records/{name}" for name in DATASET})
    return f"it has no {DESCRIPTION} or {MANIFEST} of a model"


def _object(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object; empty if it does not."""
    try:
        found = read_json(path)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


RELEASE = Kind("release", _foreign_to_release)
MODEL = Kind("model", _foreign_to_model)
