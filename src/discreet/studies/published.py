"""Figures as they were published, kept as data beside the code that computes ours."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import polars as pl

from discreet.errors import UsageError

__all__ = ["published", "published_table"]


@cache
def _text(name: str) -> str:
    folder = resources.files("discreet.studies") / "published"
    file = folder / f"{name}.json"
    if not name.replace("-", "").replace("_", "").isalnum() or not file.is_file():
        known = sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))
        raise UsageError(f"no figures are kept under {name!r}.", remedy=f"There are: {', '.join(known)}.")
    return file.read_text(encoding="utf-8")


def published(name: str) -> dict[str, Any]:
    """The figures of a publication, with where they stand.

    Returns
    -------
    dict
        ``source`` (the publication), ``where`` (the table or figure), ``columns`` and ``rows``, and whatever else the
        file says.

    Examples
    --------
    >>> published("pncf")["where"]
    'Table 3.1'
    """
    return json.loads(_text(name))


def published_table(name: str) -> pl.DataFrame:
    """The same as a table.

    Examples
    --------
    >>> published_table("pncf").filter(axis="item", similarity="pearson", k=40, method="PNCF")["mae"].item()
    0.7178
    """
    kept = published(name)
    return pl.DataFrame(kept["rows"], schema=kept["columns"], orient="row")
