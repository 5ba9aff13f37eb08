from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.data import IntegerDomain, Table
from discreet.data.readers import detect, read
from discreet.errors import DataError

FIXTURES = Path(__file__).parent / "fixtures"


def load(path: Path, **options: Any) -> Table:
    data = read(path, **options)
    assert isinstance(data, Table)
    return data


def test_adult_in_two_parts() -> None:
    data = load(FIXTURES / "adult")
    assert len(data) == 4
    assert data.to_frame()["income"].to_list() == ["<=50K", ">50K", "<=50K", "<=50K"]
    assert data.to_frame()["workclass"].to_list() == ["State-gov", "Self-emp-not-inc", "?", "Private"]
    assert data.histogram(["sex", "income"]).tolist() == [[1, 0], [2, 1]]
    assert len(load(FIXTURES / "adult/adult.test")) == 1


def test_adult_with_other_headers(tmp_path: Path) -> None:
    frame = load(FIXTURES / "adult").to_frame()
    names = {"education-num": "educational-num", "sex": "gender"}
    frame.rename(names).write_parquet(tmp_path / "adult.parquet")
    frame.rename(names).write_csv(tmp_path / "adult.csv")
    prints = {load(tmp_path / name).fingerprint for name in ("adult.parquet", "adult.csv")}
    assert prints == {load(FIXTURES / "adult").fingerprint}


def test_a_discretized_table_that_is_called_adult_is_read_as_the_table_that_it_is(tmp_path: Path) -> None:
    """Codes under other names, as other people's benchmarks distribute it."""
    frame = pl.DataFrame({"age": [0, 4, 2], "work": [1, 0, 1], "income>50K": [0, 1, 1]})
    frame.write_csv(tmp_path / "adult.csv")
    domains = {"age": range(5), "work": range(2), "income>50K": range(2)}
    assert detect(tmp_path / "adult.csv").name == "csv"
    assert load(tmp_path / "adult.csv", domains=domains).histogram(["work"]).tolist() == [1, 2]
    frame.write_parquet(tmp_path / "adult.parquet")
    assert load(tmp_path / "adult.parquet", domains=domains).shape == (5, 2, 2)
    (tmp_path / "kddcup99.csv").write_text("service,flag\n0,1\n2,0\n")
    assert load(tmp_path / "kddcup99.csv", domains={"service": range(3), "flag": range(2)}).shape == (3, 2)


def test_a_parquet_file_that_is_not_adult(tmp_path: Path) -> None:
    pl.DataFrame({"age": [3]}).write_parquet(tmp_path / "adult.parquet")
    with pytest.raises(DataError, match="no column 'workclass'; the columns are 'age'"):
        read(tmp_path, format="adult")
    pl.DataFrame({"age": ["old"]}).write_parquet(tmp_path / "adult.parquet")
    with pytest.raises(DataError, match=r"row 0, .*this is no integer"):
        read(tmp_path, format="adult")


def test_a_value_outside_the_domain_names_its_line(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "adult/adult.data", tmp_path)
    path = tmp_path / "adult.data"
    path.write_text(path.read_text().replace("Cuba", "Atlantis"))
    with pytest.raises(DataError, match="outside the declared domain") as caught:
        read(tmp_path)
    assert (caught.value.line, caught.value.column, caught.value.value) == (2, "native-country", "Atlantis")


def test_domains_can_be_declared_otherwise() -> None:
    data = load(FIXTURES / "adult", domains={"age": IntegerDomain(0, 120, bins=(0, 40))})
    assert data.histogram(["age"]).tolist() == [3, 1]


def test_kddcup() -> None:
    assert detect(FIXTURES / "kddcup99").name == "kddcup99"
    data = load(FIXTURES / "kddcup99")
    assert len(data.attributes) == 42
    assert data.to_frame()["label"].to_list() == ["normal", "neptune", "snmpgetattack"]
    assert data.histogram(["protocol_type", "logged_in"]).tolist() == [[0, 2], [1, 0], [0, 0]]


def test_kddcup_with_an_impossible_rate(tmp_path: Path) -> None:
    lines = (FIXTURES / "kddcup99/kddcup.data_10_percent").read_text().splitlines()
    lines[2] = lines[2].replace("0.17", "1.17")
    (tmp_path / "kddcup.data").write_text("\n".join(lines))
    with pytest.raises(DataError, match="outside the declared domain") as caught:
        read(tmp_path)
    assert (caught.value.line, caught.value.column) == (3, "srv_diff_host_rate")


def test_binary_tables(tmp_path: Path) -> None:
    assert detect(FIXTURES / "nltcs").name == "binary"
    data = load(FIXTURES / "nltcs")
    assert data.shape == (2,) * 16
    assert data.attributes[0] == "a1"
    (tmp_path / "survey.txt").write_text("eats walks\n0 1\n1 1\n")
    named = load(tmp_path / "survey.txt", format="binary")
    assert named.attributes == ("eats", "walks")
    assert named.histogram().tolist() == [[0, 1], [0, 1]]


def test_a_two_in_a_binary_table(tmp_path: Path) -> None:
    (tmp_path / "nltcs.csv").write_text("0,1\n0,2\n")
    with pytest.raises(DataError, match="domain 0 to 1") as caught:
        read(tmp_path)
    assert (caught.value.line, caught.value.column, caught.value.value) == (2, "a2", 2)
