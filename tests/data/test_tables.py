"""Tables: declared domains, histograms by hand, and fingerprints that bins do not change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import CategoricalDomain, IntegerDomain, Table
from discreet.errors import DataError, UsageError

ROWS = [("no", 20, 1), ("yes", 41, 1), ("no", 35, 2), ("no", 22, 3)]
COLUMNS = {"smokes": ["no", "yes", "no", "no"], "age": [20, 41, 35, 22], "home": [1, 1, 2, 3]}
DOMAINS = {"smokes": ("no", "yes"), "age": IntegerDomain(18, 47, bins=3)}


def table(rows=COLUMNS, **options) -> Table:
    return Table(rows, **({"domains": DOMAINS, "group": "home"} | options))


@pytest.mark.parametrize(
    "data",
    [pl.DataFrame(COLUMNS), pd.DataFrame(COLUMNS), pa.table(COLUMNS), COLUMNS, ROWS, pl.DataFrame(COLUMNS).reverse()],
    ids=["polars", "pandas", "arrow", "lists", "tuples", "reversed"],
)
def test_every_way_in_gives_the_same_table(data):
    read = table(data)
    assert read.fingerprint == table().fingerprint
    assert np.array_equal(read.histogram(), table().histogram())
    assert read.to_frame().sort("age").rows() == sorted(ROWS, key=lambda row: row[1])


def test_codes_and_histograms_by_hand():
    data = table(name="demo")
    assert data.attributes == ("smokes", "age")
    assert data.codes["smokes"].tolist() == [0, 1, 0, 0]
    assert data.codes["age"].tolist() == [0, 2, 1, 0]
    assert data.shape == (2, 3)
    assert data.n_cells == 6
    assert data.histogram().tolist() == [[2, 1, 0], [0, 0, 1]]
    assert data.histogram(["age"]).tolist() == [2, 1, 1]
    assert data.histogram("age").tolist() == [2, 1, 1]  # type: ignore[arg-type]
    assert data.histogram(["age", "smokes"]).tolist() == [[2, 0], [1, 0], [0, 1]]
    assert data.histogram().dtype.kind == "i"
    assert data.group.tolist() == [0, 0, 1, 2]  # type: ignore[union-attr]
    assert data.groups.ids() == [1, 2, 3]  # type: ignore[union-attr]
    assert repr(data) == "Table('demo': 4 rows, 2 attributes, 6 cells, 3 groups)"
    assert len(data) == 4


rows_ = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=25)


@given(rows_, st.randoms())
def test_histograms_agree_with_counting(rows, random):
    domains = {"letter": list("cab"), "number": range(10), "flag": [False, True]}
    data = Table(rows, domains=domains)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert Table(shuffled, domains=domains).fingerprint == data.fingerprint
    histogram = data.histogram()
    assert histogram.shape == (3, 10, 2)
    assert histogram.sum() == len(rows)
    for letter, number, flag in set(rows):
        assert histogram["cab".index(letter), number, int(flag)] == rows.count((letter, number, flag))
    cells, counts = data.sparse_histogram()
    assert cells.tolist() == np.flatnonzero(histogram).tolist()
    assert counts.tolist() == histogram.ravel()[cells].tolist()
    assert data.histogram(["flag", "letter"]).tolist() == histogram.sum(axis=1).T.tolist()


def test_large_products_are_sparse():
    wide = Table(
        {"a": [0, 4999, 4999], "b": [0, 4999, 4999], "c": [1, 1, 1]},
        domains={"a": range(5000), "b": range(5000), "c": IntegerDomain(0, 2**30)},
    )
    with pytest.raises(UsageError, match=r"25,000,000 cells.*fewer attributes.*sparse_histogram"):
        wide.histogram(["a", "b"])
    cells, counts = wide.sparse_histogram(["a", "b"])
    assert cells.tolist() == [0, 24_999_999]
    assert counts.tolist() == [1, 2]
    assert wide.n_cells == 25_000_000 * (2**30 + 1)
    huge = Table({name: [1] for name in "abc"}, domains={name: IntegerDomain(0, 2**30) for name in "abc"})
    assert huge.n_cells == (2**30 + 1) ** 3
    with pytest.raises(UsageError, match="too many to be numbered"):
        huge.sparse_histogram()


def test_attributes_that_cannot_be_asked_for():
    for wrong in (["height"], [], ["age", "age"], ["home"]):
        with pytest.raises(UsageError):
            table().histogram(wrong)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("smokes", "maybe", r"row 2, .*the value is outside the declared domain \{'no', 'yes'\}"),
        ("smokes", None, "row 2, .*value is missing"),
        ("age", 17, "row 2, .*the value is outside the declared domain 18 to 47"),
        ("age", 48, "row 2, .*is outside"),
        ("age", None, "row 2, .*value is missing"),
        ("age", 20.5, "row 2, .*is outside"),
        ("home", None, "row 2, .*value is missing"),
    ],
)
def test_values_outside_their_domain(column, value, message):
    values = list(COLUMNS[column])
    values[2] = value
    with pytest.raises(DataError, match=message) as caught:
        table(COLUMNS | {column: values})
    if column != "home":
        assert caught.value.column == column
        assert caught.value.value == value


def test_neither_domains_nor_bins_change_the_fingerprint():
    reference = table().fingerprint
    for domains in (
        {"smokes": ("no", "yes", "never"), "age": range(18, 60)},
        {"age": IntegerDomain(0, 99, bins=2), "smokes": ("yes", "no")},
        {"smokes": ("no", "yes"), "age": CategoricalDomain((20, 22, 35, 41))},
    ):
        assert table(domains=domains).fingerprint == reference
    assert table(group=None).fingerprint != reference
    assert table(COLUMNS | {"home": [1, 2, 2, 3]}).fingerprint != reference
    assert table(COLUMNS | {"age": [20, 41, 35, 23]}).fingerprint != reference
    assert table(COLUMNS | {"other": [0, 0, 0, 0]}).fingerprint == reference


def test_attributes_are_told_apart_by_name():
    one = Table({"a": [0, 1], "b": [1, 1]}, domains={"a": range(2), "b": range(2)})
    other = Table({"a": [1, 1], "b": [0, 1]}, domains={"a": range(2), "b": range(2)})
    assert one.fingerprint != other.fingerprint
    turned = Table({"b": [1, 1], "a": [0, 1]}, domains={"b": range(2), "a": range(2)})
    assert turned.fingerprint == one.fingerprint


def test_parts_know_the_whole():
    data = table(name="demo")
    part = data.filter(lambda frame: frame["smokes"] == "no")
    assert part.histogram().tolist() == [[2, 1, 0], [0, 0, 0]]
    assert part.groups.ids() == [1, 2, 3]  # type: ignore[union-attr]
    assert part.lineage == (f"~{data.fingerprint}",)
    assert part.name == "demo"
    few = part.filter(np.array([False, False, True]))
    assert few.groups.ids() == [3]  # type: ignore[union-attr]
    assert few.group.tolist() == [0]  # type: ignore[union-attr]
    assert few.lineage == (f"~{data.fingerprint}", f"~{part.fingerprint}")
    with pytest.raises(UsageError, match="truth values"):
        data.filter(np.array([1, 0, 1, 0]))  # type: ignore[arg-type]


def test_nothing_can_be_written():
    data = table()
    with pytest.raises(ValueError, match="read-only"):
        data.codes["age"][0] = 1
    with pytest.raises(TypeError):
        data.domains["age"] = range(3)  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        data.group[0] = 1  # type: ignore[index]


def test_the_callers_array_does_not_reach_in():
    ages = np.array([20, 41])
    data = Table({"age": ages}, domains={"age": range(100)})
    ages[:] = 0
    assert data.to_frame()["age"].to_list() == [20, 41]
    assert data.codes["age"].tolist() == [20, 41]


def test_it_describes_itself():
    facts = table().describe()
    assert (facts["rows"], facts["shape"], facts["cells"], facts["groups"], facts["largest_group"]) == (
        4,
        (2, 3),
        6,
        3,
        2,
    )
    assert facts["attributes"]["age"] == "18 to 47"
    plain = table(group=None).describe()
    assert plain["groups"] is plain["largest_group"] is None


def test_nothing_at_all():
    data = Table([], domains=DOMAINS, group="home")
    assert len(data) == 0
    assert data.histogram().sum() == 0
    assert data.sparse_histogram()[0].size == 0
    assert data.describe()["largest_group"] == 0
    assert len(table().filter(np.zeros(4, dtype=bool))) == 0


def test_what_is_wrong():
    with pytest.raises(DataError, match="no column 'age'"):
        Table({"smokes": ["no"]}, domains=DOMAINS)
    with pytest.raises(DataError, match="no column 'house'"):
        table(group="house")
    for wrong in ({}, None, ["age"]):
        with pytest.raises(UsageError, match="domain of each attribute"):
            Table(COLUMNS, domains=wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the group and an attribute"):
        table(group="age")
    with pytest.raises(UsageError, match="not a domain"):
        Table(COLUMNS, domains={"age": 5})


def test_emptied_keeps_the_domains():
    data = table().filter(lambda frame: frame["age"] > 20, independent=True)
    empty = data.emptied()
    assert (len(empty), empty.domains, empty.lineage) == (0, data.domains, data.lineage)
    assert empty.groups is not None
    assert len(empty.groups) == 0
    assert empty.histogram().sum() == 0
