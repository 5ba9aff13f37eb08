"""The results of several models on the same splits, as one table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice
from discreet.errors import EvaluationError
from discreet.evaluation.checks import check_confidence
from discreet.evaluation.comparison import comparison, interval_over_users, values_of_users
from discreet.evaluation.scores import Scores
from discreet.evaluation.significance import Test
from discreet.privacy.guarantees import Guarantee
from discreet.reports import save_page, text_table

__all__ = ["Evaluation", "Run", "p_words"]


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
    described
        For each model its own name and its settings.
    items
        How many items there are; None where that is not known.

    Privacy
    -------
    Figures computed on secret records are themselves not private.
    """

    protocol: str
    dataset: str
    runs: Mapping[str, tuple[Run, ...]]
    reference: str | None
    described: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    items: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", MappingProxyType(dict(self.runs)))
        object.__setattr__(self, "described", MappingProxyType(dict(self.described)))

    @property
    def models(self) -> list[str]:
        return list(self.runs)

    @property
    def metrics(self) -> list[str]:
        return list(self.runs[self.models[0]][0].scores.values)

    @property
    def user_metrics(self) -> list[str]:
        """The metrics that have a value for each user: those that can be compared."""
        table = self.runs[self.models[0]][0].scores.per_user
        return [] if table is None else [name for name in self.metrics if name in table.columns]

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

    # Comparing

    def interval(self, metric: str, model: str | None = None, *, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of the mean over users, by Student's t.

        Users that were asked about in several splits count once. It is about other users, not about other draws of a
        model's noise: those are in ``deviation``.
        """
        check_confidence(confidence)
        name = self._model(model)
        values = values_of_users(self, self._user_metric(metric), name)[metric].to_numpy()
        return interval_over_users(values, confidence)

    def compare(
        self,
        metric: str | None = None,
        *,
        against: str | None = None,
        test: Test = "t-test",
        confidence: float = 0.95,
    ) -> pl.DataFrame:
        """Every model beside one of them, user by user.

        Parameters
        ----------
        metric
            By default the first.
        against
            The model to compare with; by default the reference, or the first model where there is none.
        test
            ``"t-test"``: Student's paired t-test over users, with the interval of the mean difference;
            ``"wilcoxon"``: the signed-rank test, with the interval of the pseudomedian.
        confidence
            Of all intervals, each by itself.

        Returns
        -------
        polars.DataFrame
            One row for each model: value with its interval over users, difference with its interval, ``p``, ``p_holm``
            (raised for several comparisons, Holm 1979), and the number of users that both were asked about.

        Notes
        -----
        A user that was asked about in several splits counts once, with the mean of their values. Users of one split
        share the noise of one fit: with few splits the test says which *fitted* models differ. Give more splits to
        compare methods.
        """
        check_confidence(confidence)
        require_choice(test, "test", ("t-test", "wilcoxon"), error=EvaluationError)
        other = self._model(against if against is not None else self.reference)
        return comparison(self, self._user_metric(metric), other, test=test, confidence=confidence)

    def _user_metric(self, metric: str | None) -> str:
        """A metric with values of single users."""
        known = self.user_metrics
        if not known or (metric is not None and metric not in known):
            raise EvaluationError(
                f"{metric or 'this evaluation'} has no values of single users.",
                remedy=f"Metrics that have: {', '.join(known) or 'none'}.",
            )
        return metric or known[0]

    # Showing

    def plot(self, metric: str | None = None) -> Any:
        """An Altair chart of one metric, by default the first: over ε where models have several, else model by model.

        Lines beside the points are intervals of 95 % over users.
        """
        from discreet.evaluation.showing import chart_of

        return chart_of(self, self._user_metric(metric))

    def _repr_html_(self) -> str:
        from discreet.evaluation.showing import card_of

        return card_of(self).html()

    def html(self) -> str:
        """A page to open in a browser: one file, no scripts, nothing loaded from elsewhere."""
        from discreet.evaluation.showing import page_of

        return page_of(self).html()

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page to a file; a page of discreet that is there is replaced if ``overwrite``.

        Privacy
        -------
        The figures were computed from the records without noise: the page is for their owner.
        """
        return save_page(self.html(), path, overwrite=overwrite)

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
                    **self.described.get(name, {}),
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
        """What to know when reading the table, and how models differ."""
        differ = self.differences() if len(self.models) > 1 and self.user_metrics else []
        return [*self.notes(), *differ, "Measured on the records themselves: these figures are not private."]

    def notes(self) -> list[str]:
        """What to know when reading the table."""
        lines = []
        if any(metric.startswith("recall@") for metric in self.metrics):
            lines.append("recall@k: hits over min(k, held out).")
        long = [one for one in self.metrics if one.startswith("recall@") and int(one[7:]) >= (self.items or math.inf)]
        if long:
            lines.append(f"No model can miss at {', '.join(long)}: there are {self.items:,} items in all.")
        refuted = [n for n, done in self.runs.items() if (g := done[0].guarantee) and g.standing.name == "REFUTED"]
        if refuted:
            lines.append(f"The guarantee of {', '.join(refuted)} is refuted.")
        outside = [name for name, told in self.described.items() if told.get("outside")]
        if outside and self.protocol == "strong-generalization":
            lines.append(f"{', '.join(outside)} learned from the told records of the test users, too.")
        return lines

    def differences(self) -> list[str]:
        """What the paired test says about the first metric, a line for each model."""
        metric, other = self._user_metric(None), self._model(self.reference)
        told = [f"  {name}: {difference}, {p}" for name, _, difference, p, *_ in self.compared(metric) if p]
        return [f"{metric} minus that of {other}, paired t-test over users, 95 %:", *told]

    def compared(self, metric: str) -> list[tuple[str, ...]]:
        """The comparison with the reference as text: model, value, difference, p, p after Holm, users."""
        return [
            (
                row["model"],
                f"{row['value']:.4f} [{row['low']:.4f}, {row['high']:.4f}]",
                f"{row['difference']:+.4f} [{row['difference_low']:+.4f}, {row['difference_high']:+.4f}]",
                "" if row["p"] is None else p_words(row["p"]),
                "" if row["p_holm"] is None else p_words(row["p_holm"]),
                f"{row['users']:,}",
            )
            for row in self.compare(metric).to_dicts()
        ]

    def _values(self, metric: str, model: str | None) -> list[float]:
        return [run.scores[metric] for run in self.runs[self._model(model)]]

    def _model(self, model: str | None) -> str:
        """The name of a model of this evaluation, by default of the first."""
        name = self.models[0] if model is None else model
        if name not in self.runs:
            raise EvaluationError(f"there is no model {name!r} here.", remedy=f"There are {', '.join(self.models)}.")
        return name


def p_words(p: float) -> str:
    """A p-value as it is printed."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
