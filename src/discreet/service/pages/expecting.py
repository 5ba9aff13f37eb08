"""What to expect of a run: from public values for everybody, from what was measured on the records for curators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.engine import Row

from discreet.errors import DiscreetError
from discreet.service.access import Caller
from discreet.service.hub import Hub
from discreet.service.pages import charts
from discreet.service.pages.findings import accuracy_curve, accuracy_points, risk_curves
from discreet.service.pages.shared import Visitor
from discreet.service.problems import Problem
from discreet.service.runs import RunRequest

__all__ = ["accuracy_of", "example_of", "measured_on"]

EXAMPLE = 500
"""So many people have the item of the example."""

TWO_SIDES = 1.96
"""Standard deviations on either side that hold 95 % of Gaussian noise."""

ACCURACIES = {
    "expected_precision": "of the list is expected to be right",
    "expected_share_of_nonprivate_recall": "of the hits of a model without privacy are expected",
}


def accuracy_of(
    hub: Hub, caller: Caller, request: RunRequest, expected: Mapping[str, Any], epsilons: Sequence[float], at: float
) -> dict[str, Any] | None:
    """The expected accuracy, and how it depends on ε; None where the method tells none."""
    name = next((one for one in ACCURACIES if one in expected), None)
    if name is None:
        return None
    dataset = hub.datasets.get(caller, request.dataset)
    public = hub.datasets.public(caller.tenant, dataset.id)
    points = []
    for epsilon in epsilons:
        settings = {**request.settings, "epsilon": str(epsilon)}
        try:
            found = replace(request, settings=settings).estimate(public, dataset.declared)
        except (DiscreetError, Problem):
            continue
        if isinstance(found.get(name), int | float):
            points.append((epsilon, float(found[name])))
    words = f"{100 * float(expected[name]):.0f} % {ACCURACIES[name]}"
    chart = (
        charts.curve(points, f"Expected accuracy over ε; {words} at ε = {at:.3g}", at=at) if len(points) > 1 else None
    )
    return {
        "share": float(expected[name]),
        "words": ACCURACIES[name],
        "chart": chart,
        "assumed": expected.get("assumed"),
    }


def example_of(request: RunRequest, expected: Mapping[str, Any], declared: Mapping[str, int]) -> dict[str, Any] | None:
    """What noise does to the item that 500 people have."""
    error = expected.get("noise_95") or (TWO_SIDES * expected["noise_sd"] if "noise_sd" in expected else None)
    value, note = float(EXAMPLE), ""
    if error is None:
        noise = next(
            (expected[one] for one in ("noise_popularity", "noise_first", "noise_offsets") if one in expected), None
        )
        if not isinstance(noise, int | float):
            return None
        records = declared.get("records", 20)
        # Each person adds a vector of length 1, so each of r items adds 1/√r.
        value, error = EXAMPLE / math.sqrt(records), TWO_SIDES * noise
        note = f"Each person counts with a total length of 1, so that {EXAMPLE} people with {records} items each weigh "
        note += f"{value:.0f}."
    return {
        "people": EXAMPLE,
        "value": value,
        "error": float(error),
        "low": value - float(error),
        "high": value + float(error),
        "note": note,
        "chart": charts.bars(
            [charts.Bar("true value", value, 0.0), charts.Bar("what may be shown", value, float(error), marked=True)],
            f"An item of {EXAMPLE} people, shown as {value - float(error):.0f} to {value + float(error):.0f}",
        ),
    }


def measured_on(visitor: Visitor, dataset: Row[Any], method: str, at: float) -> dict[str, Any] | None:
    """Risk and accuracy that were measured on the records of the dataset, with the reports that have them.

    For curators alone: the reports are measured without noise.
    """
    if not visitor.caller.is_curator:
        return None
    found: dict[str, Any] = {}
    for row in visitor.hub.reports.listed(visitor.caller, limit=200, dataset=dataset.id):
        if row.kind == "risk" and "risk" not in found and row.report.get("model") == method:
            curves = row.report.get("curves")
            if drawn := risk_curves(curves[0], at) if curves else []:
                found["risk"] = {"report": row, "risk": drawn[0], "utility": drawn[1]}
        if row.kind == "frontier" and "accuracy" not in found and (figure := accuracy_curve(row.report, at, method)):
            share = charts.value_at(accuracy_points(row.report, method), at)
            found["accuracy"] = {"report": row, "figure": figure, "share": share}
    return found
