"""What an attacker got: with the target, and without, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import polars as pl

__all__ = ["AttackReport", "AttackRow"]


@dataclass(frozen=True)
class AttackRow:
    """One model under one attack.

    Parameters
    ----------
    model
        What was attacked.
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
        What the hits prove about epsilon, and the most that so many targets could prove.
    promise, standing
        The privacy loss that the model claims, and whether that is proved, as published or refuted; None for a model
        that claims nothing.
    seconds
        How long it took.
    """

    model: str
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
    promise: str | None = None
    standing: str | None = None
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class AttackReport:
    """The outcome of an attack on one or more models.

    Parameters
    ----------
    attack
        Name of the attack.
    settings
        How it was played.
    rows
        One for each model (and number of sybils).
    """

    attack: str
    settings: Mapping[str, Any]
    rows: tuple[AttackRow, ...]

    @classmethod
    def joined(cls, attack: str, settings: Mapping[str, Any], reports: Iterable[AttackReport]) -> AttackReport:
        """Several reports as one."""
        return cls(attack, dict(settings), tuple(row for report in reports for row in report.rows))

    def __getitem__(self, model: str) -> AttackRow:
        """The first row of a model."""
        for row in self.rows:
            if row.model == model:
                return row
        raise KeyError(model)

    def to_frame(self) -> pl.DataFrame:
        """One line for each row."""
        kinds = {"str": pl.String, "str | None": pl.String, "int": pl.Int64}
        schema = {item.name: kinds.get(str(item.type), pl.Float64) for item in fields(AttackRow)}
        return pl.DataFrame([asdict(row) for row in self.rows], schema=schema)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-like values."""
        return {"attack": self.attack, "settings": dict(self.settings), "rows": [asdict(row) for row in self.rows]}

    @staticmethod
    def headings() -> list[str]:
        """The columns of the printed table."""
        return ["model", "sybils", "exact, present", "exact, absent", "unanswered", "MAE", "ε at least", "claim"]

    def cells(self) -> list[list[str]]:
        """The printed table, line by line."""
        return [
            [
                row.model,
                str(row.sybils),
                f"{row.exact_present:.3f}",
                f"{row.exact_absent:.3f}",
                f"{row.unanswered_present:.3f}",
                "–" if row.mae_present is None else f"{row.mae_present:.3f}",
                f"{row.epsilon_lower:.2f} of {row.epsilon_ceiling:.2f}",
                row.standing or "none",
            ]
            for row in self.rows
        ]

    def __str__(self) -> str:
        lines = [self.headings(), *self.cells()]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines
        )
