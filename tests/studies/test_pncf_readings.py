"""`study pncf`: both readings side by side, and the bounds of the thesis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, synthetic
from discreet.neighbors import KNN
from discreet.neighbors.selection import PNCF, CandidateLists
from discreet.studies.pncf import PNCFStudy, cells_of, measure_grid
from discreet.studies.pncf_bounds import bounds, of_theorems
from discreet.studies.pncf_readings import CENTERED, PRINTED, READ, by_reading, distances, steps_between
from discreet.studies.pncf_selection import question
from discreet.studies.study import Steps, made, published_table

Judge = Callable[..., list[str]]
LISTED = PNCFStudy().layout["methods"]
STEPS = list(LISTED["readings"])


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=120, items=50, seed=7).with_catalog("observed")


def means(errors: dict[tuple[str, str], float]) -> pl.DataFrame:
    """One error for each method and reading, at k = 5 and 20."""
    rows = [
        ("item", "pearson", method, k, "1", True, reading, error)
        for (method, reading), error in errors.items()
        for k in (5, 20)
    ]
    columns = ["axis", "similarity", "method", "k", "epsilon", "noise", "reading", "MAE"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_the_grids_are_those_of_the_thesis() -> None:
    full = PNCFStudy().settings(quick=False)
    told = published_table("pncf")["k"].unique().sort().to_list()
    assert list(full.sizes) == told
    assert len(told) == 10
    assert [float(one) for one in full.budgets] == pytest.approx([place / 10 for place in range(1, 11)])


def test_the_printed_reading_is_measured_at_every_k_and_the_steps_at_one() -> None:
    settings = PNCFStudy().settings(quick=True)
    cells = cells_of(LISTED, settings)
    printed = [cell for cell in cells if cell.reading == PRINTED]
    assert len(printed) == 2 * 2 * len(READ) * len(settings.sizes)
    model = made(cells[next(cell for cell in printed if cell.method == "PNCF")], printed[0]._asdict())
    assert (model.reading, model.candidates, model.centering, model.laplace) == ("printed", "all", None, "2k")
    between = [cell for cell in cells if cell.reading in STEPS[:2]]
    assert {(cell.axis, cell.k) for cell in between} == {("item", settings.steps_size)}
    one = made(
        cells[next(cell for cell in between if cell.method == "PNCF" and cell.reading == STEPS[0])],
        printed[0]._asdict(),
    )
    assert (one.candidates, one.centering, one.laplace) == ("rated", None, "2"), "one change at a time"


def test_errors_of_the_printed_reading_are_those_of_the_model(films: Interactions) -> None:
    settings = PNCFStudy().settings(quick=True).with_(seeds=[5], budgets=(), printed_questions=40, cases=20)
    methods = LISTED | {"grid": LISTED["grid"][:1], "without noise": []}
    found = measure_grid(films, methods, settings, Steps()).means()
    asked = question(films, seed=5).some(40)
    assert len(asked.pairs) == 40
    expected = asked.errors(KNN(k=20, reading="printed")).mean()
    error = found.filter(axis="item", similarity="pearson", k=20, reading=PRINTED)["MAE"].item()
    assert error == pytest.approx(expected)
    other = found.filter(axis="item", similarity="pearson", k=20, reading=CENTERED, method="non-private")["MAE"].item()
    assert error != pytest.approx(other)


def test_readings_stand_beside_the_table_and_the_nearer_one_is_named(judge: Judge) -> None:
    table = published_table("pncf").filter(axis="item", similarity="pearson", k=20)
    told = dict(table.select("method", "mae").iter_rows())
    errors = {(method, CENTERED): told[method] + 0.01 for method in READ}
    errors |= {(method, PRINTED): told[method] + 0.2 for method in READ}
    errors[("DP", PRINTED)] = told["DP"]
    shown = by_reading(means(errors).filter(k=20))
    assert shown.filter(method="PNCF").select("reading", "MAE").rows() == [
        (PRINTED, told["PNCF"] + 0.2),
        (CENTERED, told["PNCF"] + 0.01),
        ("Table 3.1", told["PNCF"]),
    ]
    away = distances(shown)
    assert away["method"].to_list() == list(READ)
    assert away["nearer"].to_list() == [CENTERED, CENTERED, PRINTED]
    assert away[CENTERED].to_numpy() == pytest.approx(0.01)
    assert away[PRINTED].to_numpy() == pytest.approx([0.2, 0.2, 0])
    tables = {"distances": away.with_columns(neighbors=pl.lit("item PCC"))}
    full = {"values of k": 10}
    no = ["does not hold"]
    assert judge("pncf", "printed reading", tables, labels=full) == [*no, *no, "holds"]
    assert judge("pncf", "centered reading", tables, labels=full) == ["holds"] * 3
    assert judge("pncf", "centered reading", tables, labels={"values of k": 2}) == ["not judged here"] * 3


def test_steps_go_from_one_reading_to_the_other() -> None:
    errors = {(method, reading): 1.0 for method in READ for reading in (PRINTED, *STEPS[:2], CENTERED)}
    found = steps_between(means(errors), STEPS, k=20)
    assert found["reading"].to_list() == [CENTERED, *STEPS]
    assert found.columns == ["axis", "similarity", "reading", *READ]


# Bounds


def test_bounds_of_positive_ratings_hold_where_they_are_derived(films: Interactions, judge: Judge) -> None:
    """With COS all products are positive: the lemma bounds every change, and half of it does not."""
    rows = bounds(question(films, seed=1), axis="item", similarity="cosine", k=5, epsilon="1", cases=200)
    found = pl.DataFrame(rows).with_columns(neighbors=pl.lit("item COS"))
    within = dict(found.filter(among="pairs").select("statement", "within").iter_rows())
    assert within["Lemma 1 by (3.3.5)"] == 1
    assert within["Lemma 2, β = 1"] < 1
    assert (found["cases"] > 50).all()
    verdicts = judge("pncf", "bounds", {"bounds": found})
    assert verdicts[1] == "holds"
    assert verdicts[3] == "does not hold"


def test_with_signs_the_two_terms_of_lemma_1_add_up() -> None:
    """Two who agree and a third who does not: the change is the sum of the terms, and the lemma has the larger one."""
    from discreet.neighbors.sensitivity import exact_sensitivity, lemma_sensitivity

    first, second = np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, -1.0])
    assert exact_sensitivity(first, second) == pytest.approx(2 / 3)
    assert lemma_sensitivity(first, second) == pytest.approx(1 / 2)


def lists_with(sensitivity: list[float]) -> CandidateLists:
    """Three hundred times the same four candidates."""
    similarity = np.tile([0.9, 0.8, 0.3, 0.2], 300)
    return CandidateLists(similarity, np.arange(301) * 4, np.tile(sensitivity, 300))


def test_the_theorems_hold_with_one_sensitivity_for_all(fixed_bits) -> None:
    lower, upper = of_theorems(lists_with([1e-3] * 4), PNCF(2, epsilon=1, rho=0.05), "rated")
    for row in (lower, upper):
        assert row["within"] > 0.95 > row["at least"], "C0 comes before the second with a chance of 0.012"
    assert lower["measured"] == pytest.approx(0.8, abs=0.02)
    assert lower["bound"] == pytest.approx(0.8 - 8e-3 * np.log(4 / 0.05)), "w is the second argument of the minimum"
    assert lower["promised"] == upper["promised"] == 0.95


def test_the_theorems_do_not_hold_with_the_sensitivity_of_each_pair(fixed_bits) -> None:
    """Whoever has a small RS is drawn before those who are more similar."""
    lower, upper = of_theorems(lists_with([1e-2, 1e-2, 1e-3, 1e-3]), PNCF(2, epsilon=1, rho=0.05), "rated")
    assert lower["within"] < 0.5
    assert lower["within"] < lower["at least"] < 0.95
    assert upper["measured"] == 0, "nobody is above s_k + w"
    assert of_theorems(lists_with([1e-3] * 4), PNCF(2, epsilon="1/1000", rho=0.05), "rated")[0]["bound"] == 0
