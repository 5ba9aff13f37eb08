"""BibSonomy: who tagged which bookmark or publication with what, as in the published dumps.

References
----------
Knowledge and Data Engineering Group, University of Kassel: Benchmark Folksonomy Data from BibSonomy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from discreet.common.arguments import require_choice
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import TagsDraft
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.layout import Column, Layout, skipped
from discreet.data.readers.records import Records

__all__ = ["FORMATS"]

_TAS = (
    Column("user_id", "integer"),
    Column("tag"),
    Column("post", "integer"),
    Column("content_type", "integer"),
    *skipped(1),
)
# The column of the hash that all posts of one resource share, and the number of columns.
_HASHES = {"bookmark": (1, 6), "bibtex": (28, 35)}
_TYPES = {"bookmark": 1, "bibtex": 2}


def load(place: Location, *, content: Literal["all", "bookmark", "bibtex"] = "all", tables: bool = True) -> TagsDraft:
    """Options: ``content``, to read only bookmarks or only publications.

    Every post belongs to one user. The files bookmark and bibtex say which posts are about the same resource; without
    them (or with ``tables=False``) the resource is the post.
    """
    require_choice(content, "content", ("all", *_TYPES))
    records = read_delimited(place.need("tas"), _mysql(_TAS))
    posts = pl.DataFrame(schema={"post": pl.Int64, "content_type": pl.Int64, "hash": pl.String})
    beside = {kind: path for kind in _TYPES if tables and (path := place.beside(kind)) is not None}
    for kind, path in beside.items():
        posts = posts.vstack(_posts(path, kind))
    frame = records.frame
    if beside:  # the type of the ids depends on which files there are, not on their content
        frame = frame.join(posts, on=["post", "content_type"], how="left", maintain_order="left")
        resource = pl.coalesce("hash", pl.format("post {}", "post"))
    else:
        resource = pl.col("post")
    records = records.with_frame(frame.select("user_id", "tag", "content_type", resource_id=resource))
    return TagsDraft(_only(records, content))


def _mysql(columns: tuple[Column, ...]) -> Layout:
    return Layout(columns, separator="\t", escaped=True)


def _posts(path: Path, kind: str) -> pl.DataFrame:
    place, width = _HASHES[kind]
    columns = (
        Column("post", "integer"),
        *skipped(place - 1),
        Column("hash"),
        *skipped(width - place - 1),
    )
    posts = read_delimited(path, _mysql(columns))
    posts.require_distinct("post", "the post is there more than once.")
    return posts.frame.select("post", pl.lit(_TYPES[kind], dtype=pl.Int64).alias("content_type"), "hash")


def _only(records: Records, content: str) -> Records:
    if content != "all":
        records = records.filtered(records.frame["content_type"] == _TYPES[content])
    return records.with_frame(records.frame.drop("content_type"))


FORMATS = (
    Format(
        "bibsonomy",
        "TagAssignments",
        "BibSonomy dumps: tags of bookmarks and publications",
        "tas (with bookmark and bibtex beside it)",
        lambda place: place.main("tas") is not None,
        load,
    ),
)
