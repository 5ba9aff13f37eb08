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
one verdict for each case in it; a side with a ``table`` of its own sees all of that one.

**When a claim is judged.** A verdict on a paper is made where the experiment is the paper's. ``judged_on`` of the file
says on what: labels of the run (sizes of the data, settings) and their values, as in ``{"quick": false, "users": {">=":
943}}``. It is for the claims of the paper, not for those whose ``where`` begins with "not " (not in the paper), nor for
those with ``"anywhere": true``, which hold or fail whatever the data are. ``on`` of a claim adds to it. Elsewhere, and
where what a condition needs was not measured, the verdict is "not judged here", with the reason.

**Rounding.** Two numbers that differ by less than one part in 10⁹ are equal: a precision of 0.2 that was computed as
0.20000000000000001 is at most 0.2. ``tolerance`` is absolute, and shown beside the condition.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.reports import words

__all__ = ["DOES_NOT_HOLD", "HOLDS", "NOT_JUDGED", "ROUNDING", "chosen", "claims_of", "kind_of", "labeled", "verdicts"]

HOLDS, DOES_NOT_HOLD, NOT_JUDGED = "holds", "does not hold", "not judged here"
ROUNDING = 1e-9
"""Numbers that differ by less than this share of the larger one are equal."""
CASE = "rows of this case"
COLUMNS = ("claim", "where", "case", "measured", "condition", "published", "verdict")

Tables = Mapping[str, pl.DataFrame]

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

COMPARED: dict[str, Callable[[Floats, Floats, Floats], Any]] = {
    "<": lambda left, right, slack: left < right - slack,
    ">": lambda left, right, slack: left > right + slack,
    "<=": lambda left, right, slack: left <= right + slack,
    ">=": lambda left, right, slack: left >= right - slack,
    "=": lambda left, right, slack: np.abs(left - right) <= slack,
}
"""By more than the slack for < and >; up to the slack for the others."""

SERIES: dict[str, Callable[[Floats, float], bool]] = {
    "falls": lambda values, tolerance: _falls(values, tolerance),
    "rises": lambda values, tolerance: _falls(-values, tolerance),
    "never falls": lambda values, tolerance: bool(
        np.all(values[1:] >= values[:-1] - _slack(values[1:], values[:-1], tolerance))
    ),
    "ends higher": lambda values, tolerance: bool(
        values[-1] > values[0] + _slack(values[-1:], values[:1], tolerance)[0]
    ),
}
SIGNS = {"<=": "≤", ">=": "≥", "not": "≠"}
FILTERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "not": operator.ne}


class _NotMeasuredError(Exception):
    """A condition asks for rows that were not measured; says for which."""


@dataclass(frozen=True)
class Outcome:
    """A condition in one case: the numbers of both sides, whether it holds, and if that is None, why."""

    measured: str
    condition: str
    holds: bool | None
    why: str = ""

    @property
    def verdict(self) -> str:
        return f"{NOT_JUDGED}: {self.why}" if self.holds is None else HOLDS if self.holds else DOES_NOT_HOLD


def kind_of(verdict: str) -> str:
    """A verdict without its reason.

    Examples
    --------
    >>> kind_of("not judged here: needs T = 20, here 8")
    'not judged here'
    """
    return verdict.partition(":")[0]


def claims_of(kept: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The claims of a published file, each with all conditions under which it is judged.

    Examples
    --------
    >>> kept = {"judged_on": {"quick": False}, "claims": [{"where": "p. 1", "on": {"T": 20}}, {"where": "not in it"}]}
    >>> [claim.get("on") for claim in claims_of(kept)]
    [{'quick': False, 'T': 20}, None]
    """
    return [
        dict(claim)
        if claim["where"].startswith("not ") or claim.get("anywhere")
        else {**claim, "on": kept.get("judged_on", {}) | claim.get("on", {})}
        for claim in kept.get("claims", [])
    ]


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
            rows.append(
                {
                    "claim": claim["claim"],
                    "where": claim["where"],
                    "case": case,
                    "measured": outcome.measured,
                    "condition": outcome.condition,
                    "published": words(claim.get("published")),
                    "verdict": outcome.verdict,
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
        return [("", Outcome("", "", None, claim.get("untested", "")))]
    needs = [_need(name, wanted, labels) for name, wanted in claim.get("on", {}).items()]
    unmet = "; ".join(filter(None, needs))
    name, each = claim.get("table", "figures"), claim.get("each", [])
    table = tables.get(name)
    if table is None or (table.is_empty() and each):
        return [("", Outcome("", "", None, unmet or f"{name!r} was not measured"))]
    table = chosen(table, claim.get("rows", {}), labels)
    cases = table.select(each).unique(maintain_order=True).rows() if each else [()]
    found = []
    for case in cases:
        here = {**tables, CASE: chosen(table, dict(zip(each, case, strict=True)), {})}
        outcome = _judged(claim["holds"], here, labels)
        # The numbers are shown all the same; they are of another experiment than the paper's.
        found.append((", ".join(map(str, case)), replace(outcome, holds=None, why=unmet) if unmet else outcome))
    return found


def _need(name: str, wanted: Any, labels: Mapping[str, Any]) -> str:
    """What a run lacks for a claim; empty if it has what is wanted: a value, or one compared ({">=": 943})."""
    here = labels.get(name)
    signs = wanted if isinstance(wanted, Mapping) else {"=": wanted}
    met = here is not None and all(
        here == value if sign == "=" else FILTERS[sign](here, value) for sign, value in signs.items()
    )
    if met:
        return ""
    if name == "quick":
        return "needs a full run, this one is quick" if here else "needs a full run"
    if name == "built-in":
        return "needs data of people, these are made up"
    return f"needs {name} {_asked(wanted, labels)}, here {'none' if here is None else words(here)}"


def _asked(wanted: Any, labels: Mapping[str, Any]) -> str:
    """A wanted value in words: "= 20", "≥ 943"."""
    signs = wanted if isinstance(wanted, Mapping) else {"=": wanted}
    return " and ".join(f"{SIGNS.get(sign, sign)} {words(labeled(value, labels))}" for sign, value in signs.items())


def _judged(condition: Mapping[str, Any], tables: Tables, labels: Mapping[str, Any]) -> Outcome:
    for word, decide in (("all", _all), ("any", _any)):
        if word in condition:
            parts = [_judged(part, tables, labels) for part in condition[word]]
            # Numbers and conditions in the same order, so that it can be told which is about which.
            told = dict.fromkeys((part.measured, part.condition) for part in parts if part.measured)
            measured, conditions = ("; ".join(pair[place] for pair in told) for place in (0, 1))
            why = "; ".join(filter(None, dict.fromkeys(part.why for part in parts)))
            return Outcome(measured, conditions, decide([part.holds for part in parts]), why)
    sign, tolerance = condition["op"], float(condition.get("tolerance", 0))
    slack = f", tolerance {tolerance:g}" if tolerance else ""
    try:
        left = _Side.of(condition["left"], tables, labels)
        if sign in SERIES:
            holds = SERIES[sign](left.values, tolerance) if left.values.size > 1 else None
            return Outcome(left.told(), f"{sign}{slack}", holds, "" if holds is not None else "one value alone")
        right = _Side.of(condition["right"], tables, labels)
        keys, (mine, other) = left.beside(right)
    except _NotMeasuredError as missing:
        return Outcome("", "", None, str(missing))
    with np.errstate(invalid="ignore"):
        good = np.broadcast_to(COMPARED[sign](mine, other, _slack(mine, other, tolerance)), mine.shape)
    unknown = np.isnan(mine) | np.isnan(other)
    failed = [key for key, bad in zip(keys, ~good & ~unknown, strict=True) if bad]
    holds = False if failed else None if unknown.any() else True
    along = left.along or right.along
    fails = (
        f"; not at {along} = {', '.join(map(words, failed))}" if along and failed and len(failed) < len(keys) else ""
    )
    lacks = ", ".join(words(key) for key, bad in zip(keys, unknown, strict=True) if bad)
    why = f"no value at {along} = {lacks}" if holds is None else ""
    return Outcome(left.told(), f"{sign} {right}{slack}{fails}", holds, why)


def _slack(left: Floats, right: Floats, tolerance: float) -> Floats:
    """How far two numbers may be apart and count as equal: the tolerance and what rounding does."""
    size = np.maximum(np.abs(left), np.abs(right))
    return tolerance + ROUNDING * np.where(np.isfinite(size), size, 0.0)


def _all(parts: list[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def _any(parts: list[bool | None]) -> bool | None:
    return True if True in parts else None if None in parts else False


def _falls(values: Floats, tolerance: float) -> bool:
    """Whether the last is below the first by more than the tolerance, and no step rises by as much."""
    slack = _slack(values[1:], values[:-1], 0)
    ends = values[-1] < values[0] - _slack(values[-1:], values[:1], tolerance)[0]
    steps = np.diff(values)
    return bool(ends and np.all(steps <= tolerance + slack if tolerance else steps < -slack))


@dataclass(frozen=True, eq=False)
class _Side:
    """The numbers of one side of a comparison: one, or one for each key."""

    name: str
    keys: tuple[Any, ...]
    values: Floats
    along: str | None = None

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
                keys, (mine, other) = side.beside(cls.of(given[word], tables, labels))
                side, values = replace(side, keys=keys), compute(mine, other)
        values = values * given.get("times", 1) + given.get("plus", 0)
        if given.get("absolute"):
            values = np.abs(values)
        if "then" in given:  # of the numbers that were computed for each key
            return cls(side.name, (None,), np.array([TAKES[given["then"]](values)]))
        return replace(side, values=values)

    @classmethod
    def _selected(cls, given: Mapping[str, Any], tables: Tables, labels: Mapping[str, Any]) -> _Side:
        name = given.get("table", CASE)
        if name not in tables or given["value"] not in tables[name].columns:
            raise _NotMeasuredError(f"{given['value']!r} was not measured")
        rows = chosen(tables[name], given.get("where", {}), labels)
        column, along, take = given["value"], given.get("along"), given.get("take")
        wanted = given.get("name") if column == "value" else None
        rest = ", ".join(f"{key} {_asked(value, labels)}" for key, value in given.get("where", {}).items())
        missing = f"no {wanted or column} was measured{f' for {rest}' if rest else ''}"
        if rows.is_empty() or rows[column].cast(pl.Float64).fill_nan(None).is_null().all():
            raise _NotMeasuredError(missing)
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
            raise _NotMeasuredError(missing)
        return cls(label, keys, np.array(values, dtype=np.float64), along)

    def beside(self, other: _Side) -> tuple[tuple[Any, ...], tuple[Floats, Floats]]:
        """The keys that both sides have, with the numbers of each; a single number is compared with all."""
        if (None,) in (self.keys, other.keys):
            keys = other.keys if self.keys == (None,) else self.keys
            mine, theirs = np.broadcast_arrays(self.values, other.values)
            return keys, (mine, theirs)
        shared = tuple(key for key in self.keys if key in other.keys)
        if not shared:
            raise _NotMeasuredError(f"{self.name} and {other.name} were not measured at the same {self.along}")
        places = ([side.keys.index(key) for key in shared] for side in (self, other))
        mine, theirs = (side.values[place] for side, place in zip((self, other), places, strict=True))
        return shared, (mine, theirs)

    def told(self) -> str:
        """The numbers, and what they are along: "PNCF 0.78 0.74 at k = 5, 20"."""
        if self.along is None or self.keys == (None,):
            return str(self)
        keys = [words(key) for key in self.keys]
        return f"{self} at {self.along} = {', '.join(keys) if len(keys) < 7 else f'{keys[0]} … {keys[-1]}'}"

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
