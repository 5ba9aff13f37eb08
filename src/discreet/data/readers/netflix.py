"""The Netflix Prize: ratings by film, in four large files or in one file per film.

References
----------
J. Bennett and S. Lanning, "The Netflix Prize", KDD Cup and Workshop, 2007.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.files import Block, blocks
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.records import Origins, Records
from discreet.errors import DataError, Remedy

__all__ = ["FORMATS"]

_FILM = re.compile(r"[0-9]{1,18}:")
_RATING = re.compile(r"[0-9]{1,18},[0-9]{1,18},([0-9]{4}-[0-9]{2}-[0-9]{2})")
_COLUMNS = {"user_id": pl.Int64, "rating": pl.Int64, "day": pl.String}


def load(place: Location, *, encoding: str = "latin-1", tables: bool = True) -> InteractionsDraft:
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
                frame = _careful(block, path, film)
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


def _careful(block: Block, path: Path, film: int) -> pl.DataFrame:
    rows = [
        (int(line[:-1]), None, None) if day is None else (*map(int, line.split(",")[:2]), day)
        for line, day in _understood(block, path, known=film >= 0)
    ]
    schema = {"user_id": pl.Int64, "rating": pl.Int64, "timestamp": pl.Int64}
    frame = _with_films(pl.DataFrame(rows, schema=schema, orient="row"), film)
    assert frame is not None  # the first line is of a known film
    return frame


def _understood(block: Block, path: Path, *, known: bool) -> Iterator[tuple[str, int | None]]:
    """Each line with its day in seconds, or None for a line that names a film."""
    for number, line in enumerate(block.text.decode().removesuffix("\n").split("\n"), start=block.first_line):
        line = line.removesuffix("\r")
        if _FILM.fullmatch(line):
            known = True
            yield line, None
            continue
        match = _RATING.fullmatch(line)
        day = _seconds(match[1]) if match else None
        if day is None or not known:
            raise DataError(
                "the line is neither 'film:' nor 'user,rating,yyyy-mm-dd'." if known else "no film is named before.",
                file=path,
                line=number,
                value=line,
                remedy="Check that the file is complete and as it was published.",
            )
        yield line, day


def _seconds(day: str) -> int | None:
    try:
        return (date.fromisoformat(day) - date(1970, 1, 1)).days * 86_400
    except ValueError:
        return None


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
    Format(
        "netflix",
        "Interactions",
        "Netflix Prize: ratings 1:5 with days, film titles",
        "combined_data_*.txt, mv_*.txt, or the folder training_set",
        lambda place: bool(_parts(place)),
        load,
    ),
)
