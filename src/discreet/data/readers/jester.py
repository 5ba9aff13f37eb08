"""Jester: ratings of jokes on a continuous scale from −10 to 10.

Two layouts: a matrix (one row a user, one column a joke, 99 where there is no rating; the workbooks saved as CSV) and
jester_ratings.dat (user, joke and rating on a line, separated by two tabs).

References
----------
K. Goldberg, T. Roeder, D. Gupta and C. Perkins, "Eigentaste: A Constant Time Collaborative Filtering Algorithm",
Information Retrieval 4(2), 2001.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.formats import Format, Place
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Places, Records
from discreet.errors import DataError

__all__ = ["FORMATS"]

SCALE = "-10:10:none"
NOT_RATED = 99.0

_TRIPLET = (Column("user_id", "integer"), Column("item_id", "integer"), Column("rating", "number"))
_MATRICES = ("jester-data-*.csv", "jester*cols.csv", "jester*.csv", "jester*.tsv")

# How many jokes the published matrices have; before them a column may say how many the user rated.
_WIDTHS = {100: 100, 101: 100, 140: 140, 141: 140, 150: 150, 151: 150, 158: 158, 159: 158}


def load(place: Place) -> InteractionsDraft:
    """Ratings from triplets, or from all matrices of a folder."""
    matrices = place.mains(*_MATRICES)
    path = place.main("jester_ratings.dat", *_MATRICES)
    if matrices and path is not None and not _is_triplets(path):
        return _load_matrices(matrices)
    path = place.need("jester_ratings.dat")
    head = first_line(path)
    separator = next((s for s in ("\t\t", "\t", ",") if len(head.split(s)) == 3), "\t\t")
    return InteractionsDraft(read_delimited(path, Layout(_TRIPLET, separator=separator)), scale=SCALE)


def _load_matrices(paths: list[Path]) -> InteractionsDraft:
    """Users are numbered in the order of the rows, from 1, through all files. The jokes are public."""
    parts: list[Records] = []
    users, jokes = 0, 0
    for path in paths:
        part, rows, jokes = _matrix(path, first_user=users + 1)
        parts.append(part)
        users += rows
    return InteractionsDraft(Records.joined(parts), scale=SCALE, items=range(1, jokes + 1))


def _matrix(path: Path, *, first_user: int) -> tuple[Records, int, int]:
    head = first_line(path)
    separator = next((s for s in (",", "\t", ";") if len(head.split(s)) in _WIDTHS), ",")
    width = len(head.split(separator))
    if width not in _WIDTHS:
        raise DataError(
            f"a row of {width} fields is no row of ratings of 100, 140, 150 or 158 jokes.",
            file=path,
            line=1,
            value=head,
            remedy="Save the workbook as CSV, without changing it.",
        )
    jokes = _WIDTHS[width]
    counts = (Column("rated", "number"),) if width > jokes else ()
    columns = (*counts, *(Column(f"joke {joke}", "number") for joke in range(1, jokes + 1)))
    rows = read_delimited(path, Layout(columns, separator=separator))
    values = rows.frame.select(f"joke {joke}" for joke in range(1, jokes + 1)).to_numpy()
    _check(rows, values)
    user, joke = np.nonzero(values != NOT_RATED)
    frame = pl.DataFrame(
        {
            "user_id": (user + first_user).astype(np.int64),
            "item_id": (joke + 1).astype(np.int64),
            "rating": values[user, joke],
        }
    )
    places = Places()
    places.add(0, path, None)  # many ratings stand in one line
    return Records(frame, places), rows.frame.height, jokes


def _check(rows: Records, values: np.ndarray) -> None:
    wrong = (values != NOT_RATED) & (np.abs(values) > 10)
    if wrong.any():
        row, joke = (int(place[0]) for place in np.nonzero(wrong))
        raise rows.error(
            row,
            "the rating is neither between -10 and 10 nor 99, which means that there is none.",
            column=f"joke {joke + 1}",
            remedy="Correct it.",
        )


def _is_triplets(path: Path) -> bool:
    head = first_line(path)
    return any(len(head.split(separator)) == 3 for separator in ("\t\t", "\t", ","))


FORMATS = (
    Format(
        "jester",
        "Interactions",
        "Jester: ratings of jokes, −10 to 10, continuous",
        "jester_ratings.dat, or jester-data-*.csv (the workbooks saved as CSV)",
        lambda place: place.main("jester_ratings.dat", *_MATRICES) is not None,
        load,
    ),
)
