"""The result of an evaluation: averages, the value of every user, and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import polars as pl

from discreet.common.arrays import Floats
from discreet.errors import EvaluationError

__all__ = ["Scores"]


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The result of an evaluation. Immutable.

    Parameters
    ----------
    values
        The value of each metric.
    counts
        Number of users (predictions, lists …) that were counted or left out.
    per_user
        ``user_id`` and one column per metric; null where the metric is not defined for the user. None where there are
        no users, as for tables of counts.

    Examples
    --------
    >>> scores = Scores({"mae": 0.75, "coverage": 1.0}, {"users": 6_040})
    >>> scores["mae"]
    0.75
    >>> print(scores)
    mae       0.7500
    coverage  1.0000
    users: 6,040
    """

    values: Mapping[str, float]
    counts: Mapping[str, int]
    per_user: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def __getitem__(self, metric: str) -> float:
        self._check(metric, list(self.values))
        return self.values[metric]

    def of_users(self, metric: str) -> Floats:
        """The values of one metric, in the order of ``per_user``; NaN where it is not defined."""
        if self.per_user is None:
            raise EvaluationError("this evaluation has no values of single users.")
        self._check(metric, self.per_user.columns[1:])
        return self.per_user[metric].cast(pl.Float64).fill_null(float("nan")).to_numpy()

    def to_dict(self) -> dict[str, Any]:
        """Values and counts as plain Python numbers, ready for JSON."""
        return {"values": dict(self.values), "counts": dict(self.counts)}

    def to_frame(self) -> pl.DataFrame:
        """One row per metric: ``metric``, ``value``."""
        return pl.DataFrame(
            {"metric": list(self.values), "value": list(self.values.values())},
            schema={"metric": pl.String, "value": pl.Float64},
        )

    def __str__(self) -> str:
        width = max((len(name) for name in self.values), default=0)
        texts = [_number(value) for value in self.values.values()]
        digits = max(map(len, texts), default=0)
        lines = [f"{name:<{width}}  {text:>{digits}}" for name, text in zip(self.values, texts, strict=True)]
        lines.append(" · ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in self.counts.items()))
        return "\n".join(lines)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_number(value)}" for name, value in self.values.items())
        counts = ", ".join(f"{name}={count:,}" for name, count in self.counts.items())
        return f"Scores({values}; {counts})"

    @staticmethod
    def _check(metric: str, known: list[str]) -> None:
        if metric not in known:
            raise EvaluationError(f"there is no metric {metric!r} here.", remedy=f"There are {', '.join(known)}.")


def _number(value: float) -> str:
    """Four decimals for shares and errors; fewer digits for large numbers (errors of counts)."""
    return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.4g}"
