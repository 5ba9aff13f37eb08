"""The results of several models on the same splits, as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import EvaluationError
from discreet.evaluation.scores import Scores
from discreet.privacy.guarantees import Guarantee
from discreet.reports import text_table

__all__ = ["Evaluation", "Run"]


@dataclass(frozen=True)
class Run:
    """One model on one split.

    Attributes
    ----------
    scores
        The metrics.
    guarantee
        The guarantee of the model; None for one without privacy.
    fit_seconds, ask_seconds
        The time of fitting, and of recommending with measuring.
    """

    scores: Scores
    guarantee: Guarantee | None
    fit_seconds: float
    ask_seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The result of ``evaluate``. Immutable; prints as one table.

    Attributes
    ----------
    protocol, dataset
        The protocol, and the name of the data.
    runs
        For each model the runs, one per split.
    reference
        The name of the model without privacy that the others are compared with; None where there is none.

    Privacy
    -------
    Figures computed on secret records are themselves not private.
    """

    protocol: str
    dataset: str
    runs: Mapping[str, tuple[Run, ...]]
    reference: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", MappingProxyType(dict(self.runs)))

    @property
    def models(self) -> list[str]:
        return list(self.runs)

    @property
    def metrics(self) -> list[str]:
        return list(self.runs[self.models[0]][0].scores.values)

    def __getitem__(self, metric: str) -> float:
        """The mean over splits of a metric of the first model."""
        return self.value(metric)

    def value(self, metric: str, model: str | None = None) -> float:
        """The mean over splits of a metric of one model, by default the first."""
        return float(np.mean(self._values(metric, model)))

    def deviation(self, metric: str, model: str | None = None) -> float:
        """The standard deviation over splits; NaN for a single split."""
        values = self._values(metric, model)
        return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")

    def share(self, metric: str, model: str | None = None) -> float:
        """A metric as a share of that of the reference: 1 where privacy costs nothing."""
        if self.reference is None:
            raise EvaluationError("there is no reference to compare with.", remedy="Give reference=.")
        return self.value(metric, model) / self.value(metric, self.reference)

    def to_frame(self) -> pl.DataFrame:
        """One row for each model, split (from 0) and metric."""
        rows = [
            (name, number, metric, value)
            for name, done in self.runs.items()
            for number, run in enumerate(done)
            for metric, value in run.scores.values.items()
        ]
        return pl.DataFrame(rows, schema=["model", "split", "metric", "value"], orient="row")

    def to_dict(self) -> dict[str, Any]:
        """Means, deviations and times as plain Python numbers, ready for JSON."""
        return {
            "protocol": self.protocol,
            "dataset": self.dataset,
            "reference": self.reference,
            "models": {
                name: {
                    "private": done[0].guarantee is not None,
                    "metrics": {metric: self.value(metric, name) for metric in self.metrics},
                    "deviations": {metric: _known(self.deviation(metric, name)) for metric in self.metrics},
                    "fit_seconds": float(np.mean([run.fit_seconds for run in done])),
                    "ask_seconds": float(np.mean([run.ask_seconds for run in done])),
                }
                for name, done in self.runs.items()
            },
        }

    def __str__(self) -> str:
        columns = self.headings()
        table = text_table(columns, self.cells(), numbers=columns[1:])
        return "\n".join([self.heading, table, *self.remarks])

    def __repr__(self) -> str:
        return f"Evaluation({self.protocol!r} on {self.dataset!r}: {', '.join(self.models)})"

    # Printing

    @property
    def heading(self) -> str:
        """What was measured, and on how much."""
        first = self.runs[self.models[0]]
        asked = "predictions" if "rmse" in self.metrics else "users"
        number = first[0].scores.counts[asked]
        on = f" on {self.dataset}" if self.dataset else ""
        splits = f"{len(first)} splits, mean ± standard deviation" if len(first) > 1 else "one split"
        return f"{self.protocol}{on}: {splits}, {number:,} {asked} each"

    def headings(self) -> list[str]:
        """The columns of the printed table; all but the first hold numbers."""
        return ["model", *self.metrics, *([f"of {self.reference}"] if self.reference else []), "fit", "ask"]

    def cells(self) -> list[list[str]]:
        """The printed table, line by line."""
        lines = []
        for name, done in self.runs.items():
            label = name if done[0].guarantee is not None else f"{name} (not private)"
            line = [label, *(self._cell(metric, name) for metric in self.metrics)]
            if self.reference:
                line.append("" if name == self.reference else f"{self.share(self.metrics[0], name):.0%}")
            line.append(f"{np.mean([run.fit_seconds for run in done]):.1f} s")
            line.append(f"{np.mean([run.ask_seconds for run in done]):.1f} s")
            lines.append(line)
        return lines

    def _cell(self, metric: str, name: str) -> str:
        spread = self.deviation(metric, name)
        return f"{self.value(metric, name):.4f}" + ("" if np.isnan(spread) else f" ± {spread:.3f}")

    @property
    def remarks(self) -> list[str]:
        """What to know when reading the table."""
        lines = []
        if any(metric.startswith("recall@") for metric in self.metrics):
            lines.append("recall@k: hits over min(k, held out).")
        refuted = [n for n, done in self.runs.items() if (g := done[0].guarantee) and g.standing.name == "REFUTED"]
        if refuted:
            lines.append(f"The guarantee of {', '.join(refuted)} is refuted.")
        lines.append("Measured on the records themselves: these figures are not private.")
        return lines

    def _values(self, metric: str, model: str | None) -> list[float]:
        name = self.models[0] if model is None else model
        if name not in self.runs:
            raise EvaluationError(f"there is no model {name!r} here.", remedy=f"There are {', '.join(self.models)}.")
        return [run.scores[metric] for run in self.runs[name]]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
