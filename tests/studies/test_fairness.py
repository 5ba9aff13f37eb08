"""Verdicts on papers are made where the experiment is the paper's, with thresholds and tolerances shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data import synthetic
from discreet.studies import STUDIES, StudyReport, published
from discreet.studies.claims import DOES_NOT_HOLD, HOLDS, NOT_JUDGED, claims_of, kind_of, verdicts
from discreet.studies.study import Measurements, Study

FULL = {"quick": False, "built-in": False}
OURS = {"curators", "frontier", "nightly", "ppns-assured", "synthetic"}
"""Studies whose claims are ours."""


def told(study: str, key: str, tables: dict[str, pl.DataFrame], labels: dict[str, Any]) -> dict[str, Any]:
    """The first row of verdicts on one claim, with all its conditions."""
    (claim,) = (claim for claim in claims_of(published(study)) if claim["key"] == key)
    return verdicts([claim], tables, labels=labels).row(0, named=True)


def figures(**values: float) -> dict[str, pl.DataFrame]:
    table = pl.DataFrame({"figure": list(values), "value": list(values.values())})
    return {"figures": table, "figure": table}


@pytest.mark.parametrize("name", STUDIES)
def test_papers_are_judged_by_full_runs_on_data_of_people(name: str) -> None:
    if "judged_on" not in published(name):
        assert name in OURS, "a study of a paper says on what the paper is judged"
        return
    for claim in claims_of(published(name)):
        if claim["where"].startswith("not ") or claim.get("anywhere"):
            continue
        assert claim["on"]["quick"] is False, claim
        assert claim["on"]["built-in"] is False, claim
        assert {"users", "records"} & set(claim["on"]), claim


def test_a_quick_slope_one_does_not_judge_the_sensitivity_of_t_20() -> None:
    quick = told("slope-one", "scale", figures(Δf=5 / 3), {"quick": True, "T": 8, "φ_m": 3, "Δr": 5})
    assert quick["verdict"] == "not judged here: needs T = 20, here 8; needs φ_m = 10, here 3"
    assert quick["measured"] == "Δf 1.667"
    setting = FULL | {"T": 20, "φ_m": 10, "Δr": 5}
    assert told("slope-one", "scale", figures(Δf=0.5), setting)["verdict"] == HOLDS
    assert told("slope-one", "scale", figures(Δf=0.4), setting)["verdict"] == DOES_NOT_HOLD
    wide = told("slope-one", "scale", figures(Δf=1.0), setting | {"Δr": 10.0})
    assert wide["verdict"] == "not judged here: needs Δr = 5, here 10.0"
    small = told("slope-one", "seventy", figures(), setting | {"users": 300})
    assert small["verdict"] == "not judged here: needs users ≥ 943, here 300"


def test_exactly_a_fifth_is_at_most_a_fifth() -> None:
    fifth = float(np.mean([0.1, 0.2, 0.3]))
    assert fifth > 0.2, "the rounding that the test is about"
    methods = ["LPA", "DFT", "GS, groups of 50", "GS, groups of 200"]
    labels = FULL | {"users": 6040, "items": 3706}
    for value, verdict in ((fifth, HOLDS), (0.2 + 1e-6, DOES_NOT_HOLD)):
        main = pl.DataFrame({"method": methods, "level": ["items"] * 4, "top": [0.0, 0.1, value, 0.0]})
        row = told("sampling", "existing fail", {"main": main}, labels)
        assert row["verdict"] == verdict
        assert row["condition"] == "<= 0.2"
    for op, verdict in (("<", DOES_NOT_HOLD), (">", DOES_NOT_HOLD), ("=", HOLDS), (">=", HOLDS), ("<=", HOLDS)):
        claim = {"claim": "c", "where": "w", "holds": {"left": fifth, "op": op, "right": 0.2}}
        assert verdicts([claim], figures(), labels={})["verdict"].to_list() == [verdict], op


def test_precision_is_not_followed_to_lists_of_all_items() -> None:
    methods = ["SRA", "HPA", "LPA", "DFT", "GS, groups of 50", "GS, groups of 200"]
    rows = [
        (method, k, 1.0 if k == 500 else 0.9 if method in ("SRA", "HPA") else 0.1)
        for method in methods
        for k in (1, 500)
    ]
    top = {"top": pl.DataFrame(rows, schema=["method", "K", "precision"], orient="row")}
    labels = FULL | {"users": 9000, "items": 500}
    assert told("sampling", "falling", top, labels)["verdict"] == "not judged here: needs items > 1,000, here 500"
    assert told("sampling", "falling", top, labels | {"items": 3706})["verdict"] == DOES_NOT_HOLD


@pytest.mark.parametrize("key", ["6.2", "6.4", "one", "all", "hash", "by column", "probes"])
def test_twin_search_is_not_judged_on_300_rows(key: str) -> None:
    names = ["TwinSearch c=1", "TwinSearch c=3", "TwinSearch c=10", "hash, rows"]
    axis = "item" if key == "6.4" else "user"
    speed = pl.DataFrame({"axis": axis, "similarity": "co-rated", "new": "sybil", "method": names})
    speed = speed.with_columns(pl.lit(1.0).alias(name) for name in ("all equal", "later", "over by column"))
    small = {"users": 300, "items": 300, "newcomers": 30}
    verdict = told("twins", key, {"speed": speed}, FULL | small)["verdict"]
    assert verdict == "not judged here: needs users ≥ 943, here 300; needs items ≥ 1,682, here 300"
    assert (
        told("twins", key, {"speed": speed}, FULL | small | {"users": 943, "items": 1682})["verdict"] == DOES_NOT_HOLD
    )


def test_the_threshold_of_a_test_is_shown() -> None:
    tests = pl.DataFrame(
        {"neighbors": "item PCC", "lower": "PNCF", "than": "RS&NM", "gain": 0.01, "p over users": 0.0062}
    )
    row = told("pncf", "naive tested", {"tests": tests}, FULL | {"users": 6040})
    assert (row["measured"], row["condition"]) == ("gain 0.01; p 0.0062", "> 0; < 0.001")
    assert row["verdict"] == DOES_NOT_HOLD


def test_a_verdict_says_where_a_comparison_fails() -> None:
    mae = pl.DataFrame(
        {
            "axis": "item",
            "similarity": "PCC",
            "method": ["PNCF"] * 2 + ["RS&NM"] * 2,
            "k": [5, 20] * 2,
            "MAE": [0.7, 0.8] * 2,
        }
    ).with_columns(MAE=pl.when(k=5, method="PNCF").then(0.6).otherwise("MAE"))
    row = told("pncf", "naive", {"mae": mae}, FULL | {"users": 6040})
    assert row["measured"] == "PNCF 0.6 0.8 at k = 5, 20"
    assert row["condition"] == "< RS&NM 0.7 0.8; not at k = 20"


def test_what_is_missing_is_named() -> None:
    sweep = pl.DataFrame({"neighbors": ["item PCC"], "method": ["PNCF"], "epsilon": [1.0], "MAE": [0.7]})
    row = told("pncf", "fast", {"sweep": sweep}, FULL | {"users": 6040})
    assert row["verdict"] == "not judged here: no MAE was measured for method = PNCF, epsilon = 0.1"
    mae = pl.DataFrame({"axis": "item", "similarity": "PCC", "method": ["PNCF", "RS&NM"], "k": 5, "MAE": [0.7, None]})
    assert kind_of(told("pncf", "naive", {"mae": mae}, FULL | {"users": 6040})["verdict"]) == NOT_JUDGED


def test_quick_is_on_the_first_line_of_a_report() -> None:
    class Tea(Study):
        name = "slope-one"

        def measure(self, data: Any, settings: Any, *, seed: int, steps: Any) -> Measurements:
            steps.skipped("rum", "there is none.")
            return Measurements({"T": 8, "φ_m": 3, "Δr": 5}, {}, {"Δf": 1.0})

    films = synthetic.films(users=30, items=20, seed=1)
    quick, full = (Tea().run(films, quick=quick) for quick in (True, False))
    line = "Quick run (--quick): few settings, on all of the data. What papers claim is judged in full runs."
    assert (quick.headline, full.headline) == (line, "Full run.")
    assert next(iter(quick.to_dict())) == "run"
    assert (quick.to_dict()["run"], quick.to_dict()["quick"]) == (line, True)
    assert line in quick.html().partition("<h2")[0]  # with the verdict, before everything else
    assert "Quick" not in full.html()
    assert quick.tables["Not run"].rows() == [("rum", "there is none.")]
    part = StudyReport("tea", "Tea", "A book", {}, {}, (), quick=True, sample="3 of 5 people")
    assert "few settings, on 3 of 5 people." in part.headline
