from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.data import Interactions
from discreet.data.readers import detect, read
from discreet.errors import DataError

FIXTURES = Path(__file__).parent / "fixtures"


def load(path: Path, **options: Any) -> Interactions:
    data = read(path, **options)
    assert isinstance(data, Interactions)
    return data


def row(**ratings: float) -> str:
    cells = [str(ratings.get(f"j{joke}", 99)) for joke in range(1, 101)]
    return ",".join([str(len(ratings)), *cells]) + "\n"


def test_triplets() -> None:
    data = load(FIXTURES / "jester")
    assert data.to_frame().rows() == [(1, 5, 0.219), (1, 7, -9.281), (2, 5, -9.375), (2, 8, 10.0)]
    assert str(data.scale) == "-10:10:none"


def test_matrix() -> None:
    assert detect(FIXTURES / "jester-matrix").name == "jester"
    data = load(FIXTURES / "jester-matrix")
    assert data.records_per_user.tolist() == [5, 6, 7, 8]
    assert data.n_items == 100
    assert data.catalog_is_public


def test_several_matrices_are_different_users(tmp_path: Path) -> None:
    (tmp_path / "jester-data-1.csv").write_text(row(j1=1.5) + row(j2=-2))
    (tmp_path / "jester-data-2.csv").write_text(row(j100=10))
    assert load(tmp_path).to_frame().rows() == [(1, 1, 1.5), (2, 2, -2.0), (3, 100, 10.0)]


def test_a_rating_beyond_the_scale(tmp_path: Path) -> None:
    path = tmp_path / "jester-data-1.csv"
    path.write_text(row(j1=1.5) + row(j3=10.5))
    with pytest.raises(DataError, match="neither between") as caught:
        read(path)
    assert (caught.value.line, caught.value.column, caught.value.value) == (2, "joke 3", 10.5)


def test_a_matrix_of_another_width(tmp_path: Path) -> None:
    path = tmp_path / "jester-data-1.csv"
    path.write_text("1,2,3,4,5\n")
    with pytest.raises(DataError, match="5 fields is no row"):
        read(path)
