"""What the sybil attack and the linear attack learned from models: rows of figures, as text, tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

import polars as pl

from discreet.attacks.engine.claims import together
from discreet.privacy.guarantees import Guarantee
from discreet.reports import COLORS, text_table
from discreet.reports.cards import Card
from discreet.reports.charts import styled, text_lines

__all__ = ["AttackReport", "AttackRow", "LinearReport", "LinearRow", "claimed"]


def claimed(guarantee: Guarantee | None, *, fits: int = 1) -> dict[str, Any]:
    """The fields of a row about what a model claims, for so many fits together."""
    if guarantee is None:
        return {"promise": None, "standing": None}
    return {"promise": str(together(guarantee.loss, fits)), "standing": guarantee.standing.value}


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share of ``n``.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0.5, 100)], wilson(0.0, 0)
    ([0.404, 0.596], (0.0, 1.0))
    """
    if n < 1:
        return 0.0, 1.0
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """What every row has: the model, its claim, and the reason where the attack does not apply.

    Parameters
    ----------
    model
        What was attacked.
    promise, standing
        The privacy loss that the model claims, and whether that is proved, as published or refuted; None for a model
        that claims nothing.
    obstacle
        Why the attack does not apply, and what would; None where it does. Its figures say nothing then.
    """

    figures: ClassVar[tuple[str, ...]]
    """Fields that are measured where an attack applies."""

    model: str
    promise: str | None = None
    standing: str | None = None
    obstacle: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The row as JSON-like values; no figures where the attack does not apply."""
        plain = asdict(self)
        return plain if self.obstacle is None else plain | dict.fromkeys(self.figures)


@dataclass(frozen=True)
class RowsReport:
    """The outcome of an attack on one or more models: its settings, and rows that can be printed."""

    headings_: ClassVar[tuple[str, ...]]
    title: ClassVar[str]

    settings: Mapping[str, Any]
    rows: tuple[Any, ...]

    @classmethod
    def headings(cls) -> list[str]:
        """The columns of the printed table."""
        return list(cls.headings_)

    def cells(self) -> list[list[str]]:
        """The printed table, line by line."""
        lines = []
        for row in self.rows:
            first, figures = self._line(row)
            blank = ["does not apply", *["–"] * (len(figures) - 1)]
            lines.append([*first, *(figures if row.obstacle is None else blank), row.standing or "none"])
        return lines

    def _line(self, row: Any) -> tuple[list[str], list[str]]:
        """What was attacked, and the figures."""
        raise NotImplementedError

    def obstacles(self) -> list[str]:
        """For each model that the attack does not apply to: why, and what does."""
        return list(dict.fromkeys(f"{row.model}: does not apply: {row.obstacle}" for row in self.rows if row.obstacle))

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-like values."""
        return {"settings": dict(self.settings), "rows": [row.to_json() for row in self.rows]}

    def _repr_html_(self) -> str:
        card, names = Card(self.title), self.headings()
        card.mark("not private: for the owner of the records", "warn")
        words = ("model", "secret", "reads", "claim")
        card.table(names, self.cells(), numbers=[name for name in names if name not in words])
        for obstacle in self.obstacles():
            card.text(f"{obstacle}.", soft=True)
        return card.html()

    def _bars(self, rows: list[dict[str, Any]], x_title: str) -> Any:
        """An Altair chart: a point for each row with its interval, where it has one, in the color of ``what``."""
        import altair as alt

        names = list(dict.fromkeys(row["what"] for row in rows))
        scale = alt.Scale(domain=names, range=list(COLORS[: len(names)]))
        legend = alt.Legend(orient="bottom", title=None, columns=1, labelLimit=500, symbolOpacity=1)
        y = alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=260))
        base = alt.Chart(alt.Data(values=rows)).encode(y=y, color=alt.Color("what:N", scale=scale, legend=legend))
        span = alt.Scale(domain=[0, 1])
        layers = [
            base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=x_title, scale=span), x2="high:Q"),
            base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("value:Q", axis=alt.Axis(format="%"))),
        ]
        height = max(60, 26 * len({row["label"] for row in rows}))
        return styled(alt.layer(*layers).properties(width=520, height=height, title=text_lines(self.title, 66)))

    def __str__(self) -> str:
        return "\n".join([text_table(self.headings(), self.cells()), *self.obstacles()])


@dataclass(frozen=True, kw_only=True)
class AttackRow(ModelRow):
    """One model under the sybil attack.

    Parameters
    ----------
    sees
        What the attacker read: ``"ratings"`` (predictions) or ``"list"`` (recommended items).
    sybils, targets, hidden
        How many invented users, attacked users, and hidden ratings of all the targets together.
    exact_present, exact_absent
        Share of *all* hidden ratings that were guessed right, with the target among the data and without. From lists:
        share of the hidden items that were on the list.
    unanswered_present, unanswered_absent
        Share of the hidden ratings to which the model gave no answer; from lists, whether the list was empty.
    mae_present, mae_absent
        Mean absolute error of the answers; None from lists or where nothing was answered.
    hits_present, hits_absent
        Of one hidden rating of each target, drawn beforehand: how many were guessed right.
    epsilon_lower, epsilon_ceiling
        What the hits prove about epsilon, and the most that this number of targets could prove.
    seconds
        How long it took.
    """

    figures = (
        *(f"{name}_{present}" for name in ("exact", "unanswered", "mae", "hits") for present in ("present", "absent")),
        *("epsilon_lower", "epsilon_ceiling"),
    )

    sees: str
    sybils: int
    targets: int
    hidden: int
    exact_present: float
    exact_absent: float
    unanswered_present: float
    unanswered_absent: float
    mae_present: float | None
    mae_absent: float | None
    hits_present: int
    hits_absent: int
    epsilon_lower: float
    epsilon_ceiling: float
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class AttackReport(RowsReport):
    """The outcome of the sybil attack on one or more models: a row for each model and number of sybils."""

    headings_ = ("model", "sybils", "exact, present", "exact, absent", "unanswered", "MAE", "ε at least", "claim")

    title = "What sybils learn about a target"

    attack: str = "sybil"

    def plot(self) -> Any:
        """An Altair chart: how much of what is hidden was guessed, with the target among the data and without.

        Lines are intervals of 95 % (Wilson) over the hidden ratings, which are taken as independent.
        """
        rows = []
        for row in self.rows:
            label = row.model if row.sybils is None else f"{row.model}, {row.sybils} sybils"
            for what, share in (("target present", row.exact_present), ("target absent", row.exact_absent)):
                if row.obstacle is None:
                    low, high = wilson(share, row.hidden)
                    rows.append({"label": label, "what": what, "value": share, "low": low, "high": high})
        return self._bars(rows, "share of what is hidden that was guessed right")

    def __getitem__(self, model: str) -> AttackRow:
        """The first row of a model."""
        return {row.model: row for row in reversed(self.rows)}[model]

    def to_frame(self) -> pl.DataFrame:
        """One line for each row."""
        kinds = {"str": pl.String, "str | None": pl.String, "int": pl.Int64}
        schema = {item.name: kinds.get(str(item.type), pl.Float64) for item in fields(AttackRow)}
        return pl.DataFrame([row.to_json() for row in self.rows], schema=schema)

    def to_json(self) -> dict[str, Any]:
        return {"attack": self.attack, **super().to_json()}

    def _line(self, row: AttackRow) -> tuple[list[str], list[str]]:
        shares = [row.exact_present, row.exact_absent, row.unanswered_present, row.mae_present]
        figures = ["–" if value is None else f"{value:.3f}" for value in shares]
        return [row.model, str(row.sybils)], [*figures, f"{row.epsilon_lower:.2f} of {row.epsilon_ceiling:.2f}"]


@dataclass(frozen=True, kw_only=True)
class LinearRow(ModelRow):
    """One model under the linear attack: one view, one answer or all of them.

    Parameters
    ----------
    secret
        What was guessed: ``"rating"`` or ``"record"``.
    view, outputs
        Whose answers the attacker read, and how many.
    known
        Which share of the target's other ratings the attacker knew.
    games, right, right_low, right_high
        How many secrets were guessed, which share of them right, and its confidence interval.
    chance
        How often a blind guess is right.
    limit
        How often any attacker with this view can be right, where that is proved.
    """

    figures = ("right", "right_low", "right_high")

    secret: str
    view: str
    outputs: str
    known: float = 1.0
    games: int = 0
    right: float = 0.0
    right_low: float = 0.0
    right_high: float = 1.0
    chance: float = 0.0
    limit: float | None = None


@dataclass(frozen=True)
class LinearReport(RowsReport):
    """The outcome of the linear attack on one or more models."""

    headings_ = ("model", "secret", "reads", "known", "right", "from", "to", "blind", "at most", "claim")

    title = "What the linear attack learns about one secret of a person"

    seconds: float = field(default=0.0, compare=False)

    def plot(self) -> Any:
        """An Altair chart: how often the secret was guessed, with its interval, by whose answers were read."""
        whose = {"own": "from what the target is shown", "others": "from what others are shown"}
        rows = [
            {
                "label": f"{row.model}, {'one answer' if row.outputs == 'one' else 'all'}, knows {row.known:.0%}",
                "what": whose.get(row.view, row.view),
                "value": row.right,
                "low": row.right_low,
                "high": row.right_high,
            }
            for row in self.rows
            if row.obstacle is None
        ]
        return self._bars(rows, "how often the secret was guessed")

    def find(self, model: str, *, view: str, outputs: str = "all", known: float = 1.0) -> LinearRow:
        """One row."""
        rows = {(row.model, row.view, row.outputs, row.known): row for row in self.rows}
        return rows[model, view, outputs, known]

    def to_json(self) -> dict[str, Any]:
        return {"attack": "lia", **super().to_json(), "seconds": self.seconds}

    def _line(self, row: LinearRow) -> tuple[list[str], list[str]]:
        whose = "own recommendations" if row.view == "own" else "those of others"
        reads = f"{whose}, {'one answer' if row.outputs == 'one' else 'all answers'}"
        figures = [f"{value:.2f}" for value in (row.right, row.right_low, row.right_high, row.chance)]
        return [row.model, row.secret, reads, f"{row.known:.0%}"], [
            *figures,
            "–" if row.limit is None else f"{row.limit:.2f}",
        ]
