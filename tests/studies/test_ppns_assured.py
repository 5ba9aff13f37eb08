"""The study of accuracy-assured PPNS: known answers, its judgments, and that it says what it is."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, synthetic
from discreet.errors import UsageError
from discreet.neighbors import selection
from discreet.neighbors.similarity import Similarity
from discreet.studies import StudyReport, published
from discreet.studies.ppns_assured import AssuredPPNSStudy, betas
from discreet.studies.ppns_panel import Panel, RatingPool, left_out
from discreet.studies.study import Measurements

Judge = Callable[..., list[str]]


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=120, items=60, records=2_400, seed=7)


@pytest.fixture(scope="module")
def report(films: Interactions) -> StudyReport:
    steps: list[float] = []
    found = AssuredPPNSStudy().run(films, seed=1, quick=True, progress=lambda share, what: steps.append(share))
    assert steps == sorted(steps)
    assert steps[-1] == 1.0
    return found


def table(report: StudyReport, figure: str) -> pl.DataFrame:
    (found,) = (table for heading, table in report.tables.items() if heading.startswith(f"Figure {figure}"))
    return found


def test_beta_in_long_lists_and_in_short_ones() -> None:
    assert [betas(50, p, 942)[1] for p in (0.1, 0.3, 0.5, 0.7, 0.9)] == [22, 9, 6, 4, 2]
    assert betas(50, 0.1, 942)[0] == 19
    assert betas(50, 0.3, 942)[0] == 9


def test_the_panel_sums_what_was_drawn(films: Interactions) -> None:
    panel = Panel(RatingPool(films), left_out(films, np.arange(4), most=9, seed=2), Similarity("cosine_full"))
    nearest = panel.alphas(selection.Nearest(5))
    expected = [np.sort(one.similarity)[-5:].sum() for one in panel.lists()]
    np.testing.assert_allclose(nearest, expected)
    assert all(len(one) == films.n_users - 1 for one in panel.lists())


def test_no_draw_is_below_the_bound(report: StudyReport) -> None:
    ours = table(report, "4.1").filter(model="assured PPNS")
    assert (ours["draws below"] == 0).all()
    assert (ours["kept"] >= ours["assured"]).all()
    assert (ours["kept"] <= 1 + 1e-9).all()
    for part in ours.partition_by("reading"):
        assert part["kept"].is_sorted()
        assert part["β"].is_sorted(descending=True)


def test_rho_is_a_matter_of_pncf_alone(report: StudyReport) -> None:
    for part in table(report, "4.4").filter(model="assured PPNS").partition_by("reading"):
        assert part["MAE"].n_unique() == 1
    widths = table(report, "4.4").filter(model="PNCF")["λ/s_k"]
    assert widths.is_between(0, 1 + 1e-9).all()
    assert {"PNCF", "PNCF with noise"} <= set(table(report, "4.4")["model"])


def test_the_report_says_that_it_is_a_construction(report: StudyReport) -> None:
    words = "construction after the abstract, not the authors' rule"
    assert words in report.title
    assert words in report.source
    assert any(words in note for note in report.notes)
    json.dumps(report.to_dict(), allow_nan=False)
    assert len(report.charts) == 4
    for chart in report.charts:
        assert chart.altair().to_dict()


def test_every_claim_is_judged(report: StudyReport) -> None:
    found = report.verdicts
    assert found is not None
    assert set(found["claim"]) == {claim["claim"] for claim in published("ppns-assured")["claims"]}


@pytest.mark.parametrize(("below", "verdict"), [(0.0, "holds"), (1.0, "does not hold")])
def test_one_draw_below_the_bound_is_enough(judge: Judge, below: float, verdict: str) -> None:
    rows = [{"reading": "r", "model": "assured PPNS", "p": p, "draws below": n} for p, n in ((0.1, 0.0), (0.5, below))]
    assert judge("ppns-assured", "assured", {"4.1": pl.DataFrame(rows)}) == [verdict]


def test_sybils_are_counted_with_their_own_chance(judge: Judge) -> None:
    rows = [
        {"reading": "r", "p": 0.5, "sybils": 50, "exact": 0.19, "exact, absent": 0.1},
        {"reading": "r", "p": 0.5, "sybils": 300, "exact": 0.15, "exact, absent": 0.0},
    ]
    found = Measurements({}, {"4.2": pl.DataFrame(rows)}, labels={"k": 50})
    assert judge("ppns-assured", "k sybils", found) == ["holds"]
    assert judge("ppns-assured", "more sybils", found) == ["does not hold"]


@pytest.mark.parametrize(("ours", "verdict"), [(0.7, "holds"), (0.79, "does not hold")])
def test_the_trade_off_is_that_of_the_error(judge: Judge, ours: float, verdict: str) -> None:
    errors = {"assured PPNS": ours, "nPNS": 0.8, "PNCF": 0.9}
    rows = [{"reading": "r", "model": model, "p": 0.5, "MAE": error} for model, error in errors.items()]
    assert judge("ppns-assured", "trade-off", {"4.1": pl.DataFrame(rows)}) == [verdict]


def test_data_that_nobody_can_be_attacked_in() -> None:
    few = Interactions([(f"u{user}", f"i{item}", 3) for user in range(40) for item in range(3)], scale="1:5")
    with pytest.raises(UsageError, match="9 ratings"):
        AssuredPPNSStudy().run(few, quick=True)
    one = Interactions([(f"u{user}", "i0", 3) for user in range(40)], scale="1:5")
    with pytest.raises(UsageError, match="two ratings"):
        AssuredPPNSStudy().run(one, quick=True)
