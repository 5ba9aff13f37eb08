"""BibSonomy: who tagged which bookmark or publication with what, as in the published dumps.

References
----------
Knowledge and Data Engineering Group, University of Kassel: Benchmark Folksonomy Data from BibSonomy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import TagsDraft
from discreet.data.readers.formats import Format, Place
from discreet.data.readers.layout import Column, Layout, skipped
from discreet.data.readers.records import Records
from discreet.errors import UsageError

__all__ = ["FORMATS"]

_TAS = (
    Column("user_id", "id"),
    Column("tag"),
    Column("post", "integer"),
    Column("content_type", "integer"),
    *skipped(1),
)
# Where the hash stands that all posts of one resource share, in a row of so many fields.
_HASHES = {"bookmark": (1, 6), "bibtex": (28, 35)}
_TYPES = {"bookmark": 1, "bibtex": 2}


def load(place: Place, *, content: Literal["all", "bookmark", "bibtex"] = "all", tables: bool = True) -> TagsDraft:
    """Options: ``content``, to read only bookmarks or only publications.

    A post is one user's, so posts have to be brought together by what they are about: the files bookmark and bibtex
    say that. Without them (or with ``tables=False``) the resource is the post.
    """
    if content not in ("all", *_TYPES):
        raise UsageError(f"content={content!r}?", remedy="Choose 'all', 'bookmark' or 'bibtex'.")
    records = read_delimited(place.need("tas"), _mysql(_TAS))
    posts = pl.DataFrame(schema={"post": pl.Int64, "content_type": pl.Int64, "hash": pl.String})
    for kind in _TYPES if tables else ():
        path = place.beside(kind)
        if path is not None:
            posts = posts.vstack(_posts(path, kind))
    frame = records.frame
    if posts.height:
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
    repeated = posts.frame["post"].is_duplicated()
    if repeated.any():
        row = int(repeated.arg_max() or 0)
        raise posts.error(row, "the post is there more than once.", column="post", remedy="Keep one line of it.")
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
