"""HetRec 2011: what users of Last.fm, Delicious and MovieLens listened to, tagged and rated.

References
----------
I. Cantador, P. Brusilovsky and T. Kuflik, "Second Workshop on Information Heterogeneity and Fusion in Recommender
Systems", RecSys 2011.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft, TagsDraft
from discreet.data.readers.formats import Format, Place
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Records
from discreet.data.readers.times import with_seconds
from discreet.errors import DataError

__all__ = ["FORMATS"]

_USER = Column("user_id", "integer", headers=("userID",))
_RESOURCES = {"artists": "artistID", "bookmarks": "bookmarkID", "movies": "movieID"}
_MOMENT = ("year", "month", "day", "hour", "minute", "second")


def load_plays(place: Place, *, encoding: str = "latin-1", tables: bool = True) -> InteractionsDraft:
    """How often users of Last.fm listened to artists."""
    columns = (
        _USER,
        Column("item_id", "integer", headers=("artistID",)),
        Column("rating", "number", headers=("weight",)),
    )
    artists = place.beside("artists.dat") if tables else None
    return InteractionsDraft(
        read_delimited(place.need("user_artists.dat"), _layout(columns, encoding)),
        items=None if artists is None else _named(artists, "name", encoding),
    )


def load_ratings(place: Place, *, encoding: str = "latin-1", tables: bool = True) -> InteractionsDraft:
    """What users of MovieLens rated, with the time to the second."""
    item = Column("item_id", "integer", headers=("movieID",))
    movies = place.beside("movies.dat") if tables else None
    path = place.need("user_ratedmovies-timestamps.dat", "user_ratedmovies*.dat")
    return InteractionsDraft(
        _with_time(path, (_USER, item, Column("rating", "number")), encoding),
        scale="0.5:5:0.5",
        items=None if movies is None else _movies(movies, place.beside("movie_genres.dat"), encoding),
    )


def _load_tags(place: Place, of: str, encoding: str) -> TagsDraft:
    """Who tagged what. The text of the tags is in tags.dat, which must be there."""
    path = place.need(f"user_tagged{of}.dat", f"user_tagged{of}-timestamps.dat")
    words = place.beside("tags.dat")
    if words is None:
        raise DataError("tags.dat is missing.", file=place.folder, remedy="Put it beside the assignments.")
    columns = (
        _USER,
        Column("resource_id", "integer", headers=(_RESOURCES[of],)),
        Column("number", "integer", headers=("tagID",)),
    )
    records = read_delimited(path, _layout(columns, encoding))
    return TagsDraft(_with_words(records, words, encoding))


def _layout(columns: tuple[Column, ...], encoding: str) -> Layout:
    return Layout(columns, separator="\t", header=True, encoding=encoding)


def _with_words(records: Records, path: Path, encoding: str) -> Records:
    columns = (
        Column("number", "integer", headers=("id", "tagID")),
        Column("tag", headers=("value", "tagValue")),
    )
    words = read_delimited(path, _layout(columns, encoding))
    repeated = words.frame["number"].is_duplicated()
    if repeated.any():
        row = int(repeated.arg_max() or 0)
        raise words.error(row, "the tag is there more than once.", column="number", remedy="Keep one line of it.")
    frame = records.frame.join(words.frame, on="number", how="left", maintain_order="left")
    if frame["tag"].null_count():
        row = int(frame["tag"].is_null().arg_max() or 0)
        raise records.error(row, f"the tag is not in {path.name}.", column="number", remedy="Complete that file.")
    return records.with_frame(frame.drop("number"))


def _with_time(path: Path, columns: tuple[Column, ...], encoding: str) -> Records:
    """Records with a timestamp, which is there in milliseconds or as a date in six columns."""
    if "timestamps" in path.name:
        records = read_delimited(path, _layout((*columns, Column("timestamp", "integer")), encoding))
        return records.with_frame(records.frame.with_columns(pl.col("timestamp") // 1000))
    parts = tuple(Column(part, "integer", headers=(f"date_{part}", part)) for part in _MOMENT)
    records = read_delimited(path, _layout((*columns, *parts), encoding))
    date = pl.format("{}-{}-{} {}:{}:{}", *_MOMENT).alias("date")
    return with_seconds(records.with_frame(records.frame.with_columns(date).drop(_MOMENT)), "date", "%Y-%m-%d %H:%M:%S")


def _named(path: Path, title: str, encoding: str) -> pl.DataFrame:
    columns = (Column("item_id", "integer", headers=("id",)), Column("title", headers=(title,), blank=True))
    return read_delimited(path, _layout(columns, encoding)).frame


def _movies(path: Path, genres: Path | None, encoding: str) -> pl.DataFrame:
    columns = (
        Column("item_id", "integer", headers=("id",)),
        Column("title"),
        Column("year", "integer", blank=True, null="\\N"),
    )
    table = read_delimited(path, _layout(columns, encoding)).frame
    if genres is None:
        return table
    columns = (Column("item_id", "integer", headers=("movieID",)), Column("genre"))
    named = read_delimited(genres, _layout(columns, encoding)).frame
    joined = named.group_by("item_id", maintain_order=True).agg(genres=pl.col("genre").str.join("|"))
    return table.join(joined, on="item_id", how="left", maintain_order="left")


def _tags(site: str, of: str, *, whole_folder: bool) -> Format:
    names = (f"user_tagged{of}.dat", f"user_tagged{of}-timestamps.dat")

    def load_tags(place: Place, *, encoding: str = "latin-1") -> TagsDraft:
        return _load_tags(place, of, encoding)

    return Format(
        f"hetrec-{site}-tags",
        "TagAssignments",
        f"HetRec 2011 {site}: who tagged which of the {of} with what",
        f"user_tagged{of}.dat{'' if whole_folder else ' itself'}, with tags.dat beside it",
        lambda place: (whole_folder or not place.is_folder) and place.main(*names) is not None,
        load_tags,
    )


FORMATS = (
    Format(
        "hetrec-lastfm",
        "Interactions",
        "HetRec 2011 Last.fm: how often users listened to artists; artist names",
        "user_artists.dat",
        lambda place: place.main("user_artists.dat") is not None,
        load_plays,
    ),
    Format(
        "hetrec-movielens",
        "Interactions",
        "HetRec 2011 MovieLens: ratings 0.5:5:0.5 with times; movies",
        "user_ratedmovies.dat or user_ratedmovies-timestamps.dat",
        lambda place: place.main("user_ratedmovies*.dat") is not None,
        load_ratings,
    ),
    _tags("lastfm", "artists", whole_folder=False),
    _tags("delicious", "bookmarks", whole_folder=True),
    _tags("movielens", "movies", whole_folder=False),
)
