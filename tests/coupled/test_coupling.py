"""Couplings: who depends on whom, in what groups, and whether everybody may know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import coo_array

from discreet.coupled import Coupling
from discreet.data import IntegerDomain, Table
from discreet.errors import DataError, PrivacyError, UsageError
from discreet.privacy.units import Unit


@pytest.fixture
def survey() -> Table:
    """Two households, of three and of two, and somebody who lives alone."""
    rows = {
        "flu": ["no", "yes", "yes", "no", "no", "yes"],
        "hour": [0, 5, 9, 10, 19, 20],
        "home": ["A", "B", "A", "A", "B", "C"],
    }
    return Table(rows, domains={"flu": ["no", "yes"], "hour": IntegerDomain(0, 23)}, group="home")


# Public knowledge


def test_households(survey: Table) -> None:
    coupling = Coupling.by_group(survey)
    assert coupling.public
    assert coupling.largest == 3
    assert coupling.unit == Unit("group", "replace", 3)
    assert coupling.groups.tolist() == [0, 1, 0, 0, 1, 2]
    expected = np.equal.outer(coupling.groups, coupling.groups).astype(float)
    assert coupling.degrees.toarray().tolist() == expected.tolist()
    assert "which rows belong to one group" in coupling.not_covered


def test_no_coupling_protects_single_rows(survey: Table) -> None:
    coupling = Coupling.none(survey)
    assert coupling.unit == Unit("record", "replace")
    assert coupling.degrees.toarray().tolist() == np.eye(6).tolist()
    assert coupling.public


def test_a_table_without_groups_has_no_households() -> None:
    with pytest.raises(UsageError, match="no group column"):
        Coupling.by_group(Table({"flu": ["no"]}, domains={"flu": ["no", "yes"]}))


def test_equal_attributes_are_public_only_where_that_is_declared(survey: Table) -> None:
    coupling = Coupling.by_attribute(survey, "flu")
    assert coupling.largest == 3
    assert coupling.groups[[0, 3, 4]].tolist() == [coupling.groups[0]] * 3
    assert not coupling.public
    declared = Coupling.by_attribute(survey, "flu", public=True)
    assert declared.public
    assert declared.not_covered == ("the attribute 'flu', which was declared public",)
    both = Coupling.by_attribute(survey, ["flu", "hour"])
    assert both.largest == 1


@pytest.mark.parametrize("attributes", ["age", ["flu", "flu"], []])
def test_attributes_that_are_none(survey: Table, attributes) -> None:
    with pytest.raises(UsageError):
        Coupling.by_attribute(survey, attributes)


# Groups


def test_neighborhoods_and_components_of_a_chain(survey: Table) -> None:
    """0–1–2–3: a row has two partners at most, but all four can be reached."""
    chain = Coupling.from_graph(survey, [(0, 1), (1, 2), (3, 2)], public=True)
    assert chain.largest == 3
    assert chain.as_components().largest == 4
    assert chain.as_components().unit == Unit("group", "replace", 4)
    assert chain.groups.tolist() == [0, 0, 0, 0, 1, 2]


def test_a_stated_bound_is_kept_and_checked(survey: Table) -> None:
    households = Coupling.by_group(survey)
    assert households.at_most(8).unit == Unit("group", "replace", 8)
    assert households.at_most(8).degrees.nnz == households.degrees.nnz
    assert households.at_most(8).as_components().largest == 3
    for wrong in (2, 0, True, 3.5):
        with pytest.raises(UsageError, match="one of 3"):
            households.at_most(wrong)  # type: ignore[arg-type]


def test_statistics_of_a_coupling(survey: Table) -> None:
    facts = Coupling.by_group(survey).statistics()
    assert (facts["rows"], facts["coupled_rows"], facts["coupled_pairs"], facts["groups"]) == (6, 5, 4, 2)
    assert facts["coupled_share"] == pytest.approx(5 / 6)
    assert facts["k"] == facts["largest_neighborhood"] == facts["largest_component"] == 3
    chain = Coupling.from_graph(survey, [(0, 1), (1, 2), (3, 2)], public=True).statistics()
    assert (chain["largest_neighborhood"], chain["largest_component"], chain["coupled_pairs"]) == (3, 4, 3)
    assert Coupling.none(survey).statistics()["coupled_rows"] == 0


def test_what_is_secret_feeds_nothing_that_is_proved(survey: Table) -> None:
    Coupling.by_group(survey).require_public("PMW")
    with pytest.raises(PrivacyError, match=r"PMW cannot use this coupling.*by_group"):
        Coupling.similar(survey).require_public("PMW")


def test_a_coupling_belongs_to_one_table(survey: Table) -> None:
    Coupling.by_group(survey).require_fits(survey)
    with pytest.raises(UsageError, match=r"about 6 rows; the table has 2"):
        Coupling.by_group(survey).require_fits(Table({"flu": ["no"] * 2}, domains={"flu": ["no", "yes"]}))


def test_large_groups_need_no_matrix() -> None:
    """All rows in one group: 10¹⁰ degrees, which only the published mechanisms would ask for."""
    table = Table({"flu": np.zeros(100_000, dtype=int)}, domains={"flu": range(2)})
    coupling = Coupling.by_attribute(table, "flu", public=True)
    assert coupling.largest == 100_000
    assert coupling.statistics()["coupled_pairs"] == 100_000 * 99_999 // 2
    with pytest.raises(UsageError, match="pairs of rows would be coupled"):
        _ = coupling.degrees


def test_a_table_without_rows() -> None:
    table = Table({"flu": []}, domains={"flu": ["no", "yes"]})
    for coupling in (Coupling.none(table), Coupling.from_graph(table, [], public=True), Coupling.kl(table)):
        assert coupling.largest == 1
        assert coupling.statistics()["coupled_share"] == 0


# Given graphs


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1, 0.5), (2, 4, -1.0)],
        [(1, 0, 0.5), (0, 1, 0.5), (4, 2, -1.0), (3, 3, 1.0)],
        {"row": [0, 2], "other": [1, 4], "degree": [0.5, -1.0]},
        pl.DataFrame({"source": [0, 2], "target": [1, 4], "weight": [0.5, -1.0]}),
        coo_array(([0.5, -1.0], ([0, 2], [1, 4])), shape=(6, 6)),
        np.array([[0, 1, 0.5], [4, 2, -1]]),
    ],
)
def test_graphs_of_every_kind(survey: Table, edges) -> None:
    coupling = Coupling.from_graph(survey, edges, public=True)
    expected = np.eye(6)
    expected[0, 1] = expected[1, 0] = 0.5
    expected[2, 4] = expected[4, 2] = -1
    assert coupling.degrees.toarray().tolist() == expected.tolist()
    assert coupling.public
    assert coupling.largest == 2


def test_weak_couplings_are_dropped_and_named(survey: Table) -> None:
    coupling = Coupling.from_graph(survey, [(0, 1, 0.5), (2, 4, -0.7), (1, 2, 0.0)], threshold=0.6, public=True)
    assert coupling.degrees.nnz == 8
    assert "couplings of a degree below 0.6" in coupling.not_covered
    assert Coupling.from_graph(survey, [(1, 2, 0.0)], public=True).largest == 1


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow"])
def test_graphs_from_files(survey: Table, tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"row": [0, 2], "other": [1, 4], "degree": [0.5, -1.0]})
    path = tmp_path / f"graph{suffix}"
    write = {".parquet": frame.write_parquet, ".arrow": frame.write_ipc}
    if suffix in write:
        write[suffix](path)
    else:
        frame.write_csv(path, separator="\t" if suffix == ".tsv" else ",")
    assert Coupling.from_graph(survey, path, public=True).degrees.nnz == 10


def test_a_file_without_degrees_couples_fully(survey: Table, tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text("i,j\n0,1\n")
    pl.DataFrame({"i": [0], "j": [1]}).write_parquet(tmp_path / "graph.parquet")
    for name in ("graph.csv", "graph.parquet"):
        assert Coupling.from_graph(survey, str(tmp_path / name), public=True).degrees[0, 1] == 1


def test_a_bad_row_of_a_file_without_lines_is_named(survey: Table, tmp_path: Path) -> None:
    pl.DataFrame({"row": [0, 2], "other": [1, 9]}).write_parquet(tmp_path / "graph.parquet")
    with pytest.raises(DataError, match=r"row 1, .*there is no such row; the table has 6") as caught:
        Coupling.from_graph(survey, tmp_path / "graph.parquet", public=True)
    assert (caught.value.column, caught.value.value) == ("other", 9)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("row,other\n0,1\n2,6\n", 3, "other"),
        ("row,other\n0,1\n-1,3\n", 3, "row"),
        ("row,other\n0,1\nx,3\n", 3, "row"),
        ("row,other\n0,1\n,3\n", 3, "row"),
        ("row,other,degree\n0,1,0.5\n2,3,1.5\n", 3, "degree"),
        ("row,other,degree\n0,1,0.5\n2,3,nan\n", 3, "degree"),
        ("row,other,degree\n0,1,0.5\n2,2,0.5\n", 3, "degree"),
        ("row,other,degree\n0,1,0.5\n1,0,0.6\n", 3, "degree"),
    ],
)
def test_bad_rows_of_a_file_are_named(survey: Table, tmp_path: Path, text: str, line: int, column: str) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        Coupling.from_graph(survey, path, public=True)
    assert caught.value.file == str(path)
    assert caught.value.line == line
    assert caught.value.column == column


@pytest.mark.parametrize(
    "edges", [[(0, 6)], [(0, 1.5)], [(0, "x")], [(0, 1, 2.0)], [(0, 1, float("nan"))], {"a": [0], "b": [1]}]
)
def test_bad_pairs_are_named(survey: Table, edges) -> None:
    with pytest.raises(DataError):
        Coupling.from_graph(survey, edges, public=True)


def test_files_and_matrices_that_are_none(survey: Table, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        Coupling.from_graph(survey, tmp_path / "nowhere.csv", public=True)
    with pytest.raises(DataError, match="no such file"):
        Coupling.from_graph(survey, tmp_path / "nowhere.parquet", public=True)
    (tmp_path / "other.csv").write_text("a,b\n0,1\n")
    with pytest.raises(DataError, match="row"):
        Coupling.from_graph(survey, tmp_path / "other.csv", public=True)
    with pytest.raises(UsageError, match="does not couple 6 rows"):
        Coupling.from_graph(survey, coo_array((5, 5)), public=True)
    with pytest.raises(UsageError, match="threshold"):
        Coupling.from_graph(survey, [], threshold=1.5, public=True)
