"""MovieLens (100K, 1M, 10M, and the CSV releases 20M, 25M, 32M, latest), and the Netflix Prize.

References
----------
F. M. Harper and J. A. Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4), 2015.
J. Bennett and S. Lanning, "The Netflix Prize", KDD Cup and Workshop, 2007.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.files import Block, blocks
from discreet.data.readers.formats import Format, Location, Source, begins_with, first_fields, published
from discreet.data.readers.layout import Column, Layout, skipped
from discreet.data.readers.records import Origins, Records
from discreet.errors import DataError, Remedy

__all__ = ["FORMATS"]

# MovieLens

STARS, HALF_STARS = "1:5", "0.5:5:0.5"

# In the order of the columns of u.item.
_GENRES = (
    "unknown|Action|Adventure|Animation|Children's|Comedy|Crime|Documentary|Drama|Fantasy|Film-Noir|Horror|Musical|"
    "Mystery|Romance|Sci-Fi|Thriller|War|Western"
)
GENRES_100K = tuple(_GENRES.split("|"))

_USER = Column("user_id", "integer", headers=("userId",))
_MOVIE = Column("item_id", "integer", headers=("movieId",))
_RATING = (_USER, _MOVIE, Column("rating", "number"), Column("timestamp", "integer"))
_TAG = (
    *(_USER, Column("resource_id", "integer", headers=("movieId",)), Column("tag")),
    Column("timestamp", blank=True, optional=True),
)
_MOVIES = (_MOVIE, Column("title"), Column("genres"))
_MOVIES_100K = (
    *(_MOVIE, Column("title"), Column("release_date", blank=True), *skipped(2)),
    *(Column(genre, "integer") for genre in GENRES_100K),
)
_USERS_100K = (_USER, Column("age", "integer"), Column("gender"), Column("occupation"), Column("zip_code"))
# Ages and occupations are in codes.
_USERS_1M = (*(_USER, Column("gender"), Column("age", "integer"), Column("occupation", "integer"), Column("zip_code")),)


def _named_genres(records: Records, location: Location, encoding: str | None) -> Records:
    """One column of genres from a column of zeros and ones for each."""
    named = [pl.when(pl.col(genre) == 1).then(pl.lit(genre)) for genre in GENRES_100K]
    genres = pl.concat_str(named, separator="|", ignore_nulls=True)
    return records.with_frame(records.frame.select("item_id", "title", "release_date", genres=genres))


def _without_placeholder(records: Records, location: Location, encoding: str | None) -> Records:
    return records.with_frame(records.frame.with_columns(pl.col("genres").replace("(no genres listed)", "")))


def _tag_layout(path: Path, head: str) -> Layout:
    if begins_with(path, ",", "userId"):
        return Layout(_TAG, header=True, quoted=True)
    return Layout(_TAG, separator="::")


def _is_dat(place: Location) -> bool:
    return _has_double_colons(place.main("ratings.dat"))


def _has_tags(place: Location) -> bool:
    """A file of tags by itself, or a folder that holds one and no ratings."""
    return not (place.is_folder and place.beside("ratings.*")) and (
        begins_with(place.main("tags.csv"), ",", "userId", "movieId", "tag")
        or _has_double_colons(place.main("tags.dat"))
    )


def _has_double_colons(path: Path | None) -> bool:
    return len(first_fields(path, "::")) == 4


_DAT = Source(("ratings.dat",), Layout(_RATING, separator="::"))


# Netflix

_FILM = re.compile(r"[0-9]{1,18}:")
_LINE = re.compile(r"[0-9]{1,18},[0-9]{1,18},([0-9]{4}-[0-9]{2}-[0-9]{2})")
_COLUMNS = {"user_id": pl.Int64, "rating": pl.Int64, "day": pl.String}


def load_netflix(place: Location, *, encoding: str = "latin-1", tables: bool = True) -> InteractionsDraft:
    """Ratings from 1 to 5 with the day, and the titles of the films."""
    titles = place.beside("movie_titles.csv", "movie_titles.txt") if tables else None
    return InteractionsDraft(
        _ratings(_parts(place)), scale="1:5", items=None if titles is None else _titles(titles, encoding)
    )


def _parts(place: Location) -> list[Path]:
    if place.is_folder and (place.folder / "training_set").is_dir() and not place.mains("combined_data_*.txt"):
        return Location(place.folder / "training_set").mains("mv_*.txt")
    return place.mains("combined_data_*.txt", "mv_*.txt")


def _ratings(paths: list[Path]) -> Records:
    """The records of all files; a line ``17:`` comes before the ratings of film 17."""
    parts: list[pl.DataFrame] = []
    origins, row = Origins(), 0
    for path in paths:
        film = -1
        for block in blocks(path):
            frame = _fast(block, film)
            if frame is None:
                raise _first_wrong_line(block, path, known=film >= 0)
            film = frame["item_id"][-1]
            heads = frame["rating"].is_null().to_numpy()
            lines = np.flatnonzero(~heads) + block.first_line
            if lines.size:
                origins.add_lines(row, path, lines)
            row += lines.size
            parts.append(frame.filter(pl.Series(~heads)))
    if not row:
        raise DataError("there is no rating in these files.", file=paths[0].parent if paths else None)
    return Records(pl.concat(parts, rechunk=False).with_columns(pl.col("rating").cast(pl.Float64)), origins)


def _fast(block: Block, film: int) -> pl.DataFrame | None:
    """One row per line; the rating of a line that names a film is null. None for any other line."""
    text = block.text.replace(b"\r\n", b"\n") if b"\r" in block.text else block.text
    if b",," in text or b",\n" in text:
        return None
    films = text.count(b":\n")
    try:
        frame = pl.read_csv(
            text.replace(b":\n", b",,\n"), has_header=False, schema=_COLUMNS, quote_char=None, separator=","
        )
        days = frame["day"].str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")).dt.epoch("s")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None
    heads = frame["rating"].is_null()
    if frame.height != block.lines or frame["user_id"].null_count() or heads.sum() != films:
        return None
    if days.null_count() != films or not (days.is_null() == heads).all():
        return None
    return _with_films(frame.with_columns(timestamp=days).drop("day"), film)


def _first_wrong_line(block: Block, path: Path, *, known: bool) -> DataError:
    """The error about the first line that is not understood."""
    for number, line in enumerate(block.text.decode().removesuffix("\n").split("\n"), start=block.first_line):
        line = line.removesuffix("\r")
        known = known or bool(_FILM.fullmatch(line))
        if not known or not (_FILM.fullmatch(line) or _is_rating(line)):
            what = "the line is neither 'film:' nor 'user,rating,yyyy-mm-dd'." if known else "no film is named before."
            remedy = "Check that the file is complete and as it was published."
            return DataError(what, file=path, line=number, value=line, remedy=remedy)
    return DataError("these lines cannot be read.", file=path, line=block.first_line)


def _is_rating(line: str) -> bool:
    match = _LINE.fullmatch(line)
    try:
        return match is not None and date.fromisoformat(match[1]) is not None
    except ValueError:
        return False


def _with_films(frame: pl.DataFrame, film: int) -> pl.DataFrame | None:
    """The film of each row, from the last row without a rating before it; None when there is none."""
    named = pl.when(pl.col("rating").is_null()).then(pl.col("user_id")).forward_fill()
    frame = frame.with_columns(item_id=named.fill_null(film))
    return None if (frame["item_id"] < 0).any() else frame


def _titles(path: Path, encoding: str) -> pl.DataFrame:
    """The films: number, year or NULL, and a title that may hold commas."""
    rows: list[tuple[int, int | None, str]] = []
    for block in blocks(path, encoding=encoding):
        for number, line in enumerate(block.text.decode().removesuffix("\n").split("\n"), start=block.first_line):
            match = re.fullmatch(r"([0-9]{1,18}),([0-9]{4}|NULL),(.+)", line.removesuffix("\r"))
            if match is None:
                raise DataError(
                    "the line is not 'film,year,title'.",
                    file=path,
                    line=number,
                    value=line,
                    remedy=Remedy("Correct it, or leave the titles out with tables=False.", cli="Correct it."),
                )
            rows.append((int(match[1]), None if match[2] == "NULL" else int(match[2]), match[3]))
    return pl.DataFrame(rows, schema={"item_id": pl.Int64, "year": pl.Int64, "title": pl.String}, orient="row")


FORMATS = (
    published(
        "movielens-100k",
        "MovieLens 100K: ratings 1:5 with times, movies, users (gender, age, occupation, zip code)",
        "u.data (u.item and u.user beside it)",
        records=Source(("u.data",), Layout(_RATING, separator="\t")),
        items=Source(("u.item",), Layout(_MOVIES_100K, separator="|", encoding="latin-1"), _named_genres),
        users=Source(("u.user",), Layout(_USERS_100K, separator="|", encoding="latin-1")),
        scale=STARS,
        aliases=("ml-100k",),
    ),
    published(
        "movielens-1m",
        "MovieLens 1M: ratings 1:5 with times, movies, users (gender, age, occupation, zip code)",
        "ratings.dat separated by ::, with users.dat beside it",
        records=_DAT,
        items=Source(("movies.dat",), Layout(_MOVIES, separator="::", encoding="latin-1"), _without_placeholder),
        users=Source(("users.dat",), Layout(_USERS_1M, separator="::", encoding="latin-1")),
        scale=STARS,
        recognize=lambda place: _is_dat(place) and place.beside("users.dat") is not None,
        aliases=("ml-1m",),
    ),
    published(
        "movielens-10m",
        "MovieLens 10M: ratings 0.5:5:0.5 with times, movies",
        "ratings.dat separated by ::, with tags.dat beside it",
        records=_DAT,
        items=Source(("movies.dat",), Layout(_MOVIES, separator="::"), _without_placeholder),
        scale=HALF_STARS,
        # Without tags.dat or users.dat beside it, ratings.dat does not say which of the two scales it is on.
        recognize=lambda place: (
            _is_dat(place) and place.beside("tags.dat") is not None and place.beside("users.dat") is None
        ),
        aliases=("ml-10m",),
    ),
    published(
        "movielens-csv",
        "MovieLens 20M, 25M, 32M and latest: ratings 0.5:5:0.5 with times, movies",
        "ratings.csv with the header userId,movieId,rating,timestamp",
        records=Source(("ratings.csv",), Layout(_RATING, header=True, quoted=True)),
        items=Source(("movies.csv",), Layout(_MOVIES, header=True, quoted=True), _without_placeholder),
        scale=HALF_STARS,
        recognize=lambda place: begins_with(place.main("ratings.csv"), ",", "userId", "movieId", "rating", "timestamp"),
        aliases=("ml-20m", "ml-25m", "ml-32m", "ml-latest", "ml-latest-small"),
    ),
    published(
        "movielens-tags",
        "MovieLens 10M, 20M, 25M, 32M and latest: tags of movies",
        "tags.csv or tags.dat (of a folder with ratings the ratings are read)",
        records=Source(("tags.csv", "tags.dat"), _tag_layout),
        tags=True,
        recognize=_has_tags,
    ),
    Format(
        "netflix",
        "Interactions",
        "Netflix Prize: ratings 1:5 with days, film titles",
        "combined_data_*.txt, mv_*.txt, or the folder training_set",
        lambda place: bool(_parts(place)),
        load_netflix,
    ),
)
