"""Claims of a publication as data, and whether a run bears them out.

A claim in ``published/NAME.json`` has a text (``claim``), its place in the paper (``where``), optionally the published
number (``published``), and a condition (``holds``)::

    {"claim": "PPNS errs less than nPNS and PNCF", "where": "Figure 5.7", "table": "5.7", "each": ["reading"],
     "holds": {"left": {"value": "MAE", "where": {"model": "PPNS"}, "along": "β"}, "op": "<",
               "right": {"value": "MAE", "where": {"model": ["nPNS", "PNCF"]}, "along": "β", "take": "min"},
               "tolerance": 0.05}}

A side is a number, the name of a single figure, or a selection from a measured table: rows ``where`` columns have
values, one number for each value of ``along``, several rows reduced by ``take``. ``times``, ``plus``, ``minus``,
``over`` and ``absolute`` compute with it, ``then`` reduces the result. Conditions combine by ``{"all": […]}`` and
``{"any": […]}``. The ``rows`` of a claim choose the part of its ``table`` that it is about, and with ``each`` there is
one verdict for each case in it; a side with a ``table`` of its own sees all of that one. A claim is not tested where
the rows that its condition needs were not measured, or where the run had other settings than ``on`` asks for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.reports import words

__all__ = ["DOES_NOT_HOLD", "HOLDS", "NOT_TESTED", "chosen", "labeled", "verdicts"]

HOLDS, DOES_NOT_HOLD, NOT_TESTED = "holds", "does not hold", "not tested"
CASE = "rows of this case"
COLUMNS = ("claim", "where", "case", "measured", "condition", "published", "verdict")

Tables = Mapping[str, pl.DataFrame]
Floats = NDArray[np.float64]

TAKES: dict[str, Callable[[Floats], float]] = {
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "sum": np.sum,
    "range": np.ptp,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "count": lambda values: float(values.size),
}  # type: ignore[assignment]

COMPARED: dict[str, Callable[[Floats, Floats, float], Any]] = {
    "<": lambda left, right, tolerance: left < right - tolerance,
    ">": lambda left, right, tolerance: left > right + tolerance,
    "<=": lambda left, right, tolerance: left <= right + tolerance,
    ">=": lambda left, right, tolerance: left >= right - tolerance,
    "=": lambda left, right, tolerance: np.abs(left - right) <= tolerance,
}
"""By more than the tolerance for < and >; up to the tolerance for the others."""

SERIES: dict[str, Callable[[Floats, float], bool]] = {
    "falls": lambda values, tolerance: _falls(values, tolerance),
    "rises": lambda values, tolerance: _falls(-values, tolerance),
    "never falls": lambda values, tolerance: bool(np.all(np.diff(values) >= -tolerance)),
    "ends higher": lambda values, tolerance: bool(values[-1] > values[0] + tolerance),
}
FILTERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "not": operator.ne}


class _NotMeasuredError(Exception):
    """A condition asks for rows that were not measured."""


@dataclass(frozen=True)
class Outcome:
    """A condition in one case: the numbers of both sides, and whether it holds; None if it was not tested."""

    measured: str
    condition: str
    holds: bool | None


def verdicts(claims: Sequence[Mapping[str, Any]], tables: Tables, *, labels: Mapping[str, Any]) -> pl.DataFrame:
    """One row for each claim and case.

    Examples
    --------
    >>> claim = {"claim": "b is less", "where": "p. 1", "published": 1, "holds": {"left": "b", "op": "<", "right": "a"}}
    >>> figures = pl.DataFrame({"figure": ["a", "b"], "value": [2.0, 3.0]})
    >>> verdicts([claim], {"figures": figures}, labels={}).rows()
    [('b is less', 'p. 1', '', 'b 3', '< a 2', '1', 'does not hold')]
    """
    rows = []
    for claim in claims:
        for case, outcome in _outcomes(claim, tables, labels):
            verdict = NOT_TESTED if outcome.holds is None else HOLDS if outcome.holds else DOES_NOT_HOLD
            rows.append(
                {
                    "claim": claim["claim"],
                    "where": claim["where"],
                    "case": case,
                    "measured": outcome.measured,
                    "condition": outcome.condition,
                    "published": words(claim.get("published")),
                    "verdict": verdict,
                }
            )
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String))


def chosen(table: pl.DataFrame, where: Mapping[str, Any], labels: Mapping[str, Any]) -> pl.DataFrame:
    """The rows whose columns have the wanted values: a value, one of a list, null, or compared ({"<=": 7}).

    Examples
    --------
    >>> chosen(pl.DataFrame({"k": [5, 10, 20]}), {"k": {">": 5, "<": "$most"}}, {"most": 20})["k"].to_list()
    [10]
    """
    for name, wanted in where.items():
        column = pl.col(name)
        if isinstance(wanted, Mapping):
            for sign, value in wanted.items():
                table = table.filter(FILTERS[sign](column, labeled(value, labels)))
        elif isinstance(wanted, list):
            table = table.filter(column.is_in(wanted))
        else:
            value = labeled(wanted, labels)
            table = table.filter(column.is_null() if value is None else column == value)
    return table


def labeled(value: Any, labels: Mapping[str, Any]) -> Any:
    """The value that ``"$name"`` stands for; others stand for themselves."""
    return labels[value[1:]] if isinstance(value, str) and value.startswith("$") else value


def _outcomes(claim: Mapping[str, Any], tables: Tables, labels: Mapping[str, Any]) -> list[tuple[str, Outcome]]:
    if "holds" not in claim:
        return [("", Outcome(claim.get("untested", ""), "", None))]
    needed = claim.get("on", {})
    if any(labels.get(name) != value for name, value in needed.items()):
        return [
            ("", Outcome(f"needs {', '.join(f'{name} = {words(value)}' for name, value in needed.items())}", "", None))
        ]
    table, each = tables.get(claim.get("table", "figures")), claim.get("each", [])
    if table is None or (table.is_empty() and each):
        return [("", Outcome("", "", None))]
    table = chosen(table, claim.get("rows", {}), labels)
    cases = table.select(each).unique(maintain_order=True).rows() if each else [()]
    found = []
    for case in cases:
        here = {**tables, CASE: chosen(table, dict(zip(each, case, strict=True)), {})}
        found.append((", ".join(map(str, case)), _judged(claim["holds"], here, labels)))
    return found


def _judged(condition: Mapping[str, Any], tables: Tables, labels: Mapping[str, Any]) -> Outcome:
    for word, decide in (("all", _all), ("any", _any)):
        if word in condition:
            parts = [_judged(part, tables, labels) for part in condition[word]]
            sides = [list(dict.fromkeys(side)) for side in ([p.measured for p in parts], [p.condition for p in parts])]
            measured, conditions = ("; ".join(filter(None, side)) for side in sides)
            return Outcome(measured, conditions, decide([part.holds for part in parts]))
    sign, tolerance = condition["op"], float(condition.get("tolerance", 0))
    slack = f", tolerance {tolerance:g}" if tolerance >= 1e-6 else ""
    try:
        left = _Side.of(condition["left"], tables, labels)
        if sign in SERIES:
            holds = SERIES[sign](left.values, tolerance) if left.values.size > 1 else None
            return Outcome(str(left), f"{sign}{slack}", holds)
        right = _Side.of(condition["right"], tables, labels)
    except _NotMeasuredError:
        return Outcome("", "", None)
    with np.errstate(invalid="ignore"):
        holds = bool(np.all(COMPARED[sign](left.aligned(right), right.aligned(left), tolerance)))
    return Outcome(str(left), f"{sign} {right}{slack}", holds)


def _all(parts: list[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def _any(parts: list[bool | None]) -> bool | None:
    return True if True in parts else None if None in parts else False


def _falls(values: Floats, tolerance: float) -> bool:
    """Whether the last is below the first by more than the tolerance, and no step rises by as much."""
    steps = np.diff(values)
    return bool(values[-1] < values[0] - tolerance and np.all(steps <= tolerance if tolerance else steps < 0))


@dataclass(frozen=True, eq=False)
class _Side:
    """The numbers of one side of a comparison: one, or one for each key."""

    name: str
    keys: tuple[Any, ...]
    values: Floats

    @classmethod
    def of(cls, given: Any, tables: Tables, labels: Mapping[str, Any]) -> _Side:
        given = labeled(given, labels)
        if isinstance(given, int | float):
            return cls("", (None,), np.array([float(given)]))
        if isinstance(given, str):
            given = {"table": "figures", "value": "value", "where": {"figure": given}, "name": given}
        side = cls._selected(given, tables, labels)
        values = side.values
        for word, compute in (("minus", np.subtract), ("over", np.divide)):
            if word in given:
                other = cls.of(given[word], tables, labels)
                values = compute(side.aligned(other), other.aligned(side))
        values = values * given.get("times", 1) + given.get("plus", 0)
        if given.get("absolute"):
            values = np.abs(values)
        if "then" in given:  # of the numbers that were computed for each key
            return cls(side.name, (None,), np.array([TAKES[given["then"]](values)]))
        return cls(side.name, side.keys, values)

    @classmethod
    def _selected(cls, given: Mapping[str, Any], tables: Tables, labels: Mapping[str, Any]) -> _Side:
        name = given.get("table", CASE)
        if name not in tables or given["value"] not in tables[name].columns:
            raise _NotMeasuredError
        rows = chosen(tables[name], given.get("where", {}), labels)
        column, along, take = given["value"], given.get("along"), given.get("take")
        if rows.is_empty() or rows[column].cast(pl.Float64).fill_nan(None).is_null().all():
            raise _NotMeasuredError
        label = given.get("name") or ", ".join(_named(given.get("where", {})))
        if take in ("at least", "at most"):  # where the least or the largest value is
            numbers = rows[column].to_numpy()
            place = int(np.argmin(numbers) if take == "at least" else np.argmax(numbers))
            return cls(label, (None,), np.array([float(rows[given["at"]][place])]))
        parts = rows.partition_by(along, maintain_order=True) if along else [rows]
        keys = tuple(part[along][0] for part in parts) if along else (None,)
        values = []
        for part in parts:
            numbers = part[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            kept = numbers if take in ("first", "last") or numbers.size == 1 else numbers[~np.isnan(numbers)]
            if take is None and numbers.size > 1:
                raise ValueError(f"{numbers.size} rows for one number of {given}")
            values.append(TAKES[take](kept) if take and kept.size else kept[0] if kept.size else np.nan)
        if along is None and take is None and np.isnan(values[0]):
            raise _NotMeasuredError
        return cls(label, keys, np.array(values, dtype=np.float64))

    def aligned(self, other: _Side) -> Floats:
        """The numbers at the keys that both sides have."""
        if self.keys == (None,) or other.keys == (None,):
            return self.values
        shared = [key for key in self.keys if key in other.keys]
        if not shared:
            raise _NotMeasuredError
        return self.values[[self.keys.index(key) for key in shared]]

    def __str__(self) -> str:
        shown = [f"{value:.4g}" if np.isfinite(value) else "–" for value in self.values]
        if len(shown) > 6:
            shown = [f"{np.nanmin(self.values):.4g} to {np.nanmax(self.values):.4g}"]
        return f"{self.name} {' '.join(shown)}".strip()


def _named(where: Mapping[str, Any]) -> list[str]:
    """The values that rows were chosen by, where these are words."""
    found = []
    for value in where.values():
        if isinstance(value, list):
            found.append(" or ".join(map(str, value)) if len(value) < 4 else f"{len(value)} others")
        elif isinstance(value, str) and not value.startswith("$"):
            found.append(value)
    return found
