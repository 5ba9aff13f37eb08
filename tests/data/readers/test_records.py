from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from discreet.data.readers.records import Origins, Records

A, B = Path("a"), Path("b")


def records(file: Path, first: int, values: list[int] | list[str]) -> Records:
    origins = Origins()
    origins.add(0, file, first)
    return Records(pl.DataFrame({"x": values}), origins)


def test_places_with_jumps() -> None:
    origins = Origins()
    origins.add_lines(0, A, np.array([2, 3, 6, 7, 9]))
    assert [stretch.jumps.tolist() for stretch in origins.stretches] == [[0, 2, 4]]
    assert [origins.of(row)[1] for row in range(5)] == [2, 3, 6, 7, 9]


def test_joined_records_keep_their_places() -> None:
    both = Records.joined([records(A, 2, [1, 2]), records(B, 1, [3])])
    assert both.frame["x"].to_list() == [1, 2, 3]
    assert [both.origins.of(row) for row in range(3)] == [(A, 2), (A, 3), (B, 1)]


def test_filtered_records_keep_their_places() -> None:
    both = Records.joined([records(A, 2, [1, 2, 3, 4]), records(B, 1, [5, 6, 7])])
    some = both.filtered(both.frame["x"].is_in([1, 3, 4, 6]))
    assert some.frame["x"].to_list() == [1, 3, 4, 6]
    assert [some.origins.of(row) for row in range(4)] == [(A, 2), (A, 4), (A, 5), (B, 2)]


def test_a_file_without_lines_is_spoken_of_in_rows() -> None:
    origins = Origins()
    origins.add(0, A, None)
    error = Records(pl.DataFrame({"x": [1, 2]}), origins).error(1, "wrong.", column="x", remedy="Mend it.")
    assert str(error) == "a, row 1, column 'x', value 2: wrong. Mend it."
    assert error.line is None
