"""HetRec 2011 (Last.fm, Delicious, MovieLens) and BibSonomy: who tagged what, listened to what, rated what.

References
----------
I. Cantador, P. Brusilovsky and T. Kuflik, "Second Workshop on Information Heterogeneity and Fusion in Recommender
Systems", RecSys 2011.
Knowledge and Data Engineering Group, University of Kassel: Benchmark Folksonomy Data from BibSonomy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from discreet.common.arguments import require_choice
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import TagsDraft
from discreet.data.readers.formats import Format, Location, Source, published
from discreet.data.readers.layout import Column, Layout, skipped
from discreet.data.readers.records import Records, with_seconds
from discreet.errors import DataError

__all__ = ["FORMATS"]

# HetRec 2011

_DATE = ("year", "month", "day", "hour", "minute", "second")


def _layout(*columns: Column) -> Layout:
    return Layout(columns, separator="\t", header=True, encoding="latin-1")


def _id(name: str, header: str) -> Column:
    return Column(name, "integer", headers=(header,))


_USER = _id("user_id", "userID")
_WORDS = Source(
    ("tags.dat",),
    _layout(
        Column("number", "integer", headers=("id", "tagID")),
        Column("tag", headers=("value", "tagValue")),
    ),
)
_GENRES = Source(("movie_genres.dat",), _layout(_id("item_id", "movieID"), Column("genre")))


def _with_words(records: Records, location: Location, encoding: str | None) -> Records:
    """Tags as text instead of numbers."""
    path = location.beside(*_WORDS.files)
    if path is None:
        raise DataError("tags.dat is missing.", file=location.folder, remedy="Put it beside the assignments.")
    words = _WORDS.read(location, encoding=encoding, path=path)
    words.require_distinct("number", "the tag is there more than once.")
    frame = records.frame.join(words.frame, on="number", how="left", maintain_order="left")
    if frame["tag"].null_count():
        row = int(frame["tag"].is_null().arg_max() or 0)
        raise records.error(row, f"the tag is not in {path.name}.", column="number", remedy="Complete that file.")
    return records.with_frame(_tagged_at(frame.drop("number")))


def _rating_layout(path: Path, head: str) -> Layout:
    """Times are in milliseconds, or dates in six columns."""
    time = [Column("timestamp", "integer")]
    if "timestamps" not in path.name:
        time = [Column(part, "integer", headers=(f"date_{part}", part)) for part in _DATE]
    return _layout(_USER, _id("item_id", "movieID"), Column("rating", "number"), *time)


def _with_time(records: Records, location: Location, encoding: str | None) -> Records:
    if "timestamp" in records.frame.columns:
        return records.with_frame(records.frame.with_columns(pl.col("timestamp") // 1000))
    date = pl.format("{}-{}-{} {}:{}:{}", *_DATE).alias("date")
    return with_seconds(records.with_frame(records.frame.with_columns(date).drop(_DATE)), "date", "%Y-%m-%d %H:%M:%S")


def _with_genres(records: Records, location: Location, encoding: str | None) -> Records:
    genres = _GENRES.read_beside(location, encoding=encoding)
    if genres is None:
        return records
    joined = genres.group_by("item_id", maintain_order=True).agg(genres=pl.col("genre").str.join("|"))
    return records.with_frame(records.frame.join(joined, on="item_id", how="left", maintain_order="left"))


_TAGGED = (
    Column("timestamp", blank=True, optional=True),
    *(Column(part, headers=(f"date_{part}", part), blank=True, optional=True) for part in _DATE),
)
"""When something was tagged: milliseconds, or a date in three or six columns; read as text, for windows alone."""


def _tagged_at(frame: pl.DataFrame) -> pl.DataFrame:
    """The time of each triple as text: a date, or whole seconds without the last three digits of milliseconds."""
    if "timestamp" in frame.columns:
        return frame.with_columns(pl.col("timestamp").str.strip_chars().str.replace(r"[0-9]{3}$", ""))
    parts = [part for part in _DATE if part in frame.columns]
    if not {"year", "month", "day"} <= set(parts):
        return frame.drop(parts)
    padded = {part: pl.col(part).str.strip_chars().str.zfill(2) for part in parts}
    clock = ":".join(["{}"] * 3)
    time = pl.format(clock, *(padded.get(part, pl.lit("00")) for part in _DATE[3:]))
    date = pl.format("{}-{}-{}", *(padded[part] for part in _DATE[:3]))
    return frame.with_columns(timestamp=pl.format("{} {}", date, time)).drop(parts)


def _tags(site: str, of: str, column: str) -> Format:
    names = (f"user_tagged{of}.dat", f"user_tagged{of}-timestamps.dat")
    return published(
        f"hetrec-{site}-tags",
        f"HetRec 2011 {site}: who tagged which of the {of} with what",
        f"user_tagged{of}.dat, with tags.dat beside it",
        records=Source(
            names, _layout(_USER, _id("resource_id", column), _id("number", "tagID"), *_TAGGED), _with_words
        ),
        tags=True,
    )


# BibSonomy

_TAS = (
    Column("user_id", "integer"),
    Column("tag"),
    Column("post", "integer"),
    Column("content_type", "integer"),
    Column("timestamp", blank=True),
)
# The column of the hash that all posts of one resource share, and the number of columns.
_HASHES = {"bookmark": (1, 6), "bibtex": (28, 35)}
_TYPES = {"bookmark": 1, "bibtex": 2}


def load_bibsonomy(
    place: Location, *, content: Literal["all", "bookmark", "bibtex"] = "all", tables: bool = True
) -> TagsDraft:
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
    records = records.with_frame(frame.select("user_id", "tag", "content_type", "timestamp", resource_id=resource))
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
    published(
        "hetrec-lastfm",
        "HetRec 2011 Last.fm: how often users listened to artists; artist names",
        "user_artists.dat",
        records=Source(
            ("user_artists.dat",),
            _layout(_USER, _id("item_id", "artistID"), Column("rating", "number", headers=("weight",))),
        ),
        items=Source(("artists.dat",), _layout(_id("item_id", "id"), Column("title", headers=("name",), blank=True))),
    ),
    published(
        "hetrec-movielens",
        "HetRec 2011 MovieLens: ratings 0.5:5:0.5 with times; movies",
        "user_ratedmovies.dat or user_ratedmovies-timestamps.dat",
        records=Source(("user_ratedmovies-timestamps.dat", "user_ratedmovies*.dat"), _rating_layout, _with_time),
        items=Source(
            ("movies.dat",),
            _layout(_id("item_id", "id"), Column("title"), Column("year", "integer", blank=True, null="\\N")),
            _with_genres,
        ),
        scale="0.5:5:0.5",
    ),
    # Folders that hold plays or ratings as well are read for those, above.
    _tags("lastfm", "artists", "artistID"),
    _tags("delicious", "bookmarks", "bookmarkID"),
    _tags("movielens", "movies", "movieID"),
    Format(
        "bibsonomy",
        "TagAssignments",
        "BibSonomy dumps: tags of bookmarks and publications",
        "tas (with bookmark and bibtex beside it)",
        lambda place: place.main("tas") is not None,
        load_bibsonomy,
    ),
)
