"""Claims as data: each kind of condition, and that a wrong number changes a verdict."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import polars as pl
import pytest

from discreet.studies import STUDIES, published, study_named
from discreet.studies.claims import (
    COMPARED,
    DOES_NOT_HOLD,
    HOLDS,
    NOT_JUDGED,
    SERIES,
    TAKES,
    chosen,
    kind_of,
    verdicts,
)
from discreet.studies.layout import charts_of, tables_of
from discreet.studies.study import Steps, summarized

ERRORS = pl.DataFrame(
    {
        "reading": ["r"] * 6 + ["s"] * 6,
        "model": ["a", "a", "a", "b", "b", "b"] * 2,
        "k": [5, 10, 20] * 4,
        "mae": [0.5, 0.4, 0.3, 0.6, 0.6, 0.6, 0.5, 0.7, None, 0.6, 0.6, 0.6],
    }
)


def one(holds: dict[str, Any], *, tables: dict[str, pl.DataFrame] | None = None, **claim: Any) -> list[str]:
    given = {"claim": "c", "where": "w", "table": "errors", "holds": holds, **claim}
    labels = claim.pop("labels", {})
    given.pop("labels", None)
    told = verdicts([given], tables or {"errors": ERRORS}, labels=labels)["verdict"]
    return [kind_of(verdict) for verdict in told]


def mae(model: str | list[str], **more: Any) -> dict[str, Any]:
    return {"value": "mae", "where": {"model": model}, **more}


def test_both_sides_are_compared_key_by_key_in_each_case() -> None:
    less = {"left": mae("a", along="k"), "op": "<", "right": mae("b", along="k")}
    assert one(less, each=["reading"]) == [HOLDS, DOES_NOT_HOLD]
    assert one({**less, "tolerance": 0.2}, each=["reading"]) == [DOES_NOT_HOLD, DOES_NOT_HOLD]
    assert one({**less, "op": ">"}, each=["reading"]) == [DOES_NOT_HOLD, DOES_NOT_HOLD]
    assert one(less, rows={"reading": "r"}, each=["reading"]) == [HOLDS]


@pytest.mark.parametrize(
    ("op", "left", "right", "tolerance", "holds"),
    [
        ("<", 1, 2, 0, True),
        ("<", 1, 2, 1, False),
        ("<=", 2, 2, 0, True),
        ("<=", 3, 2, 1, True),
        ("<=", 3.1, 2, 1, False),
        (">", 2, 1, 0, True),
        (">", 2, 1, 1, False),
        (">=", 2, 2, 0, True),
        (">=", 1, 2, 1, True),
        (">=", 0.9, 2, 1, False),
        ("=", 1, 1.5, 0.5, True),
        ("=", 1, 1.6, 0.5, False),
    ],
)
def test_comparisons(op: str, left: float, right: float, tolerance: float, holds: bool) -> None:
    found = one({"left": left, "op": op, "right": right, "tolerance": tolerance})
    assert found == [HOLDS if holds else DOES_NOT_HOLD]


@pytest.mark.parametrize(
    ("op", "values", "tolerance", "holds"),
    [
        ("falls", [3.0, 2.0, 1.0], 0, True),
        ("falls", [3.0, 3.0, 1.0], 0, False),
        ("falls", [3.0, 3.05, 1.0], 0.1, True),
        ("falls", [1.0, 0.95], 0.1, False),
        ("rises", [1.0, 2.0], 0, True),
        ("rises", [1.0, 3.0, 2.0], 0.1, False),
        ("never falls", [1.0, 1.0, 2.0], 0, True),
        ("never falls", [1.0, 0.5, 2.0], 0, False),
        ("ends higher", [1.0, 0.5, 2.0], 0.5, True),
        ("ends higher", [1.0, 0.5, 1.4], 0.5, False),
        ("ends higher", [1.0], 0, None),
    ],
)
def test_series(op: str, values: list[float], tolerance: float, holds: bool | None) -> None:
    table = pl.DataFrame({"k": range(len(values)), "mae": values})
    found = one({"left": {"value": "mae", "along": "k"}, "op": op, "tolerance": tolerance}, tables={"errors": table})
    assert found == [NOT_JUDGED if holds is None else HOLDS if holds else DOES_NOT_HOLD]


@pytest.mark.parametrize(
    ("take", "value"),
    [
        ("min", 0.3),
        ("max", 0.5),
        ("mean", 0.4),
        ("sum", 1.2),
        ("range", 0.2),
        ("first", 0.5),
        ("last", 0.3),
        ("count", 3),
    ],
)
def test_several_rows_are_reduced(take: str, value: float) -> None:
    side = {"value": "mae", "where": {"model": "a", "reading": "r"}, "take": take}
    assert one({"left": side, "op": "=", "right": value, "tolerance": 1e-9}) == [HOLDS]
    assert set(TAKES) == {"min", "max", "mean", "sum", "range", "first", "last", "count"}


def test_sides_can_be_computed() -> None:
    here = {"model": "a", "reading": "r"}
    least = {"value": "mae", "where": here, "take": "at least", "at": "k"}
    assert one({"left": least, "op": "=", "right": 20}) == [HOLDS]
    both = mae("b", where={"model": "b", "reading": "r"}, along="k")
    gap = {"value": "mae", "where": here, "along": "k", "minus": both, "absolute": True, "then": "max"}
    assert one({"left": gap, "op": "=", "right": 0.3, "tolerance": 1e-9}) == [HOLDS]
    ratio = {
        "value": "mae",
        "where": {**here, "k": 20},
        "over": {"value": "mae", "where": {**here, "k": 5}},
        "times": 2,
        "plus": 1,
    }
    assert one({"left": ratio, "op": "=", "right": 2.2, "tolerance": 1e-9}) == [HOLDS]


def test_what_was_not_run_is_not_judged() -> None:
    missing = {"left": {"value": "mae", "where": {"k": 40}, "take": "min"}, "op": "<", "right": 1}
    assert one(missing) == [NOT_JUDGED]
    assert one(missing, table="other") == [NOT_JUDGED]
    assert one({"left": {"value": "rmse", "take": "min"}, "op": "<", "right": 1}) == [NOT_JUDGED]
    nothing = {"left": {"value": "mae", "where": {"reading": "s", "model": "a", "k": 20}}, "op": "<", "right": 1}
    assert one(nothing) == [NOT_JUDGED]
    assert one({"left": 1, "op": "<", "right": 2}, on={"T": 20}, labels={"T": 8}) == [NOT_JUDGED]
    assert one({"left": 1, "op": "<", "right": 2}, on={"T": 20}, labels={"T": 20}) == [HOLDS]
    (told,) = verdicts([{"claim": "c", "where": "w", "untested": "no data"}], {}, labels={})["verdict"]
    assert told == f"{NOT_JUDGED}: no data"


def test_all_and_any() -> None:
    true, false = {"left": 1, "op": "<", "right": 2}, {"left": 2, "op": "<", "right": 1}
    open_ = {"left": "a figure", "op": "<", "right": 1}
    tables = {
        "errors": ERRORS,
        "figures": pl.DataFrame({"figure": ["a figure"], "value": pl.Series([None], dtype=pl.Float64)}),
    }
    for parts, all_of, any_of in (
        ([true, true], HOLDS, HOLDS),
        ([true, false], DOES_NOT_HOLD, HOLDS),
        ([true, open_], NOT_JUDGED, HOLDS),
        ([false, open_], DOES_NOT_HOLD, NOT_JUDGED),
    ):
        assert one({"all": parts}, tables=tables) == [all_of]
        assert one({"any": parts}, tables=tables) == [any_of]


def test_measured_numbers_stand_beside_published_ones() -> None:
    claim = {
        "claim": "small",
        "where": "p. 1",
        "published": 0.04,
        "table": "errors",
        "rows": {"reading": "r"},
        "holds": {"left": mae("a", take="min", name="least"), "op": "<", "right": 0.35},
    }
    (row,) = verdicts([claim], {"errors": ERRORS}, labels={}).iter_rows(named=True)
    assert row == {
        "claim": "small",
        "where": "p. 1",
        "case": "",
        "measured": "least 0.3",
        "condition": "< 0.35",
        "published": "0.04",
        "verdict": HOLDS,
    }


def test_rows_are_chosen_by_values_lists_comparisons_and_labels() -> None:
    assert chosen(ERRORS, {"model": ["b"], "k": {">=": "$least"}}, {"least": 10}).height == 4
    assert chosen(ERRORS, {"mae": None}, {}).height == 1
    assert chosen(ERRORS, {"model": {"not": "a"}}, {}).height == 6


# Layouts


def test_tables_of_a_layout() -> None:
    spec = [
        {
            "heading": "{reading} at {x}",
            "table": "errors",
            "each": ["reading"],
            "pivot": "k",
            "name": "k={}",
            "value": "mae",
        },
        {
            "heading": "Few",
            "table": "errors",
            "where": {"k": 5},
            "columns": {"who, {x}": "model", "MAE": "mae"},
            "digits": 1,
        },
        {"heading": "None", "table": "errors", "where": {"k": 7}},
        {"heading": "Unknown", "table": "other"},
    ]
    made = tables_of(spec, {"errors": ERRORS}, {"x": 3})
    assert list(made) == ["r at 3", "s at 3", "Few"]
    assert made["r at 3"].rows() == [("a", 0.5, 0.4, 0.3), ("b", 0.6, 0.6, 0.6)]
    assert made["Few"].columns == ["who, 3", "MAE"]
    assert made["Few"]["MAE"].to_list() == ["0.5", "0.6", "0.5", "0.6"]


def test_charts_of_a_layout() -> None:
    spec = {"name": "c", "title": "T {x}", "table": "errors", "x": "k", "y": "mae", "series": "model"}
    (drawn,) = charts_of([{**spec, "panel": "reading"}], {"errors": ERRORS}, {"x": 1})
    assert (drawn.title, drawn.panel) == ("T 1", "reading")
    (alone,) = charts_of(
        [{**spec, "where": {"reading": "r"}, "panel": "reading", "alone": True}], {"errors": ERRORS}, {"x": 1}
    )
    assert alone.panel is None
    level = pl.DataFrame({"model": ["a", "a", "b"], "k": [1, 2, None], "mae": [0.1, 0.2, 0.3]})
    (leveled,) = charts_of([{**spec, "level": "k"}], {"errors": level}, {"x": 1})
    assert leveled.data.filter(model="b").select("k", "mae").rows() == [(1, 0.3), (2, 0.3)]
    melted = {
        **spec,
        "y": "value",
        "melt": {"on": ["mae", "more"], "name": "what", "value": "value"},
        "panel": ["reading", "what"],
    }
    (both,) = charts_of([melted], {"errors": ERRORS.with_columns(more=pl.lit(1.0))}, {"x": 1})
    assert both.data["panel"].unique(maintain_order=True).to_list() == ["r: mae", "r: more", "s: mae", "s: more"]


# What is kept as data


@pytest.mark.parametrize("name", STUDIES)
def test_every_claim_can_be_read(name: str) -> None:
    claims = published(name)["claims"]
    keys = [claim["key"] for claim in claims]
    assert len(set(keys)) == len(keys)
    known = {"key", "claim", "where", "published", "table", "rows", "each", "on", "anywhere", "holds", "untested"}
    for claim in claims:
        assert set(claim) <= known, claim
        assert ("holds" in claim) != ("untested" in claim), claim
        for condition in _conditions(claim.get("holds", {"all": []})):
            assert condition["op"] in {*COMPARED, *SERIES}, condition
            assert ("right" in condition) == (condition["op"] in COMPARED), condition


def _conditions(given: dict[str, Any]) -> list[dict[str, Any]]:
    for word in ("all", "any"):
        if word in given:
            return [inner for part in given[word] for inner in _conditions(part)]
    return [given]


@pytest.mark.parametrize("name", STUDIES)
def test_quick_settings_are_settings(name: str) -> None:
    kept = study_named(name).layout["settings"]
    assert set(kept["quick"]) <= set(kept["full"])
    assert study_named(name).settings(quick=True).quick is True


def test_layouts_and_published_figures_are_for_studies() -> None:
    folder = resources.files("discreet.studies")
    assert {entry.name.removesuffix(".json") for entry in (folder / "layouts").iterdir()} == set(STUDIES)
    for entry in (folder / "published").iterdir():
        assert json.loads(entry.read_text())["source"]


# What studies share


def test_steps_are_told_as_shares() -> None:
    told: list[float] = []
    steps = Steps(lambda share, what: told.append(share))
    steps.expect(2)
    for _ in range(3):
        steps.done("one")
    assert told == [0.5, 1.0, 1.0]


def test_means_are_over_equal_keys() -> None:
    found = summarized([("a", 1, 2.0), ("a", 2, 3.0), ("a", 1, 4.0)], {"who": pl.String, "k": pl.Int64})
    assert found.select("who", "k", "value").rows() == [("a", 1, 3.0), ("a", 2, 3.0)]
