"""What the linear attack gets from models: from one answer and from all, on one's own screen and on those of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from discreet.attacks.linear import values_of
from discreet.attacks.linear_attack import LinearAttack, Outputs, Secrets, View
from discreet.attacks.risk.bands import share
from discreet.attacks.risk.limits import limit_of
from discreet.attacks.risk.measured import predicts_ratings
from discreet.attacks.shown import least_history, with_epsilon
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.recommender import Recommender

__all__ = ["LinearReport", "LinearRow", "linear_attack"]

Progress = Callable[[float, str], None]

VIEWS: tuple[View, ...] = ("own", "others")
OUTPUTS: tuple[Outputs, ...] = ("one", "all")


@dataclass(frozen=True)
class LinearRow:
    """One model, one view, one answer or all of them.

    Parameters
    ----------
    model
        What was attacked.
    secret
        What was guessed: ``"rating"`` or ``"record"``.
    view, outputs
        Whose answers the attacker read, and how many.
    games, right, right_low, right_high
        How many secrets were guessed, which share of them right, and its confidence interval.
    chance
        How often a blind guess is right.
    limit
        How often any attacker with this view can be right, where that is proved.
    promise, standing
        The privacy loss that the model claims, and whether that is proved, as published or refuted; None for a model
        that claims nothing.
    """

    model: str
    secret: str
    view: View
    outputs: Outputs
    games: int
    right: float
    right_low: float
    right_high: float
    chance: float
    limit: float | None
    promise: str | None
    standing: str | None


@dataclass(frozen=True)
class LinearReport:
    """The outcome of the linear attack on one or more models."""

    settings: Mapping[str, Any]
    rows: tuple[LinearRow, ...]
    seconds: float = field(default=0.0, compare=False)

    def find(self, model: str, *, view: View, outputs: Outputs = "all") -> LinearRow:
        """One row."""
        for row in self.rows:
            if (row.model, row.view, row.outputs) == (model, view, outputs):
                return row
        raise KeyError(model)

    def to_json(self) -> dict[str, Any]:
        rows = [asdict(row) for row in self.rows]
        return {"attack": "lia", "settings": dict(self.settings), "rows": rows, "seconds": self.seconds}

    @staticmethod
    def headings() -> list[str]:
        """The columns of the printed table."""
        return ["model", "secret", "reads", "right", "from", "to", "blind", "at most", "claim"]

    def cells(self) -> list[list[str]]:
        """The printed table, line by line."""
        reads = {
            ("own", "one"): "own screen, one answer",
            ("own", "all"): "own screen, all answers",
            ("others", "one"): "others' screens, one answer",
            ("others", "all"): "others' screens, all answers",
        }
        return [
            [
                row.model,
                row.secret,
                reads[row.view, row.outputs],
                *(f"{value:.2f}" for value in (row.right, row.right_low, row.right_high, row.chance)),
                "–" if row.limit is None else f"{row.limit:.2f}",
                row.standing or "none",
            ]
            for row in self.rows
        ]


def linear_attack(
    models: Mapping[str, Recommender],
    data: Interactions,
    *,
    targets: int = 20,
    fits: int = 3,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> LinearReport:
    """Play the linear attack against models.

    Parameters
    ----------
    models
        Models that are not fitted, by name.
    data
        The records.
    targets, fits
        How many people have a secret that is guessed, in each of how many fits. A target costs two more fits.
    seed
        Draws people and secrets; the noise of the models is not seeded.
    confidence
        Of the intervals. Games in one fit share its noise, so they are roughly what they say.
    progress
        Called with the share that is done, from 0 to 1, and what is being done.

    Privacy
    -------
    None: it is for the owner of the records, and nothing is charged.

    Notes
    -----
    The limit belongs to what others are shown. What is shown on one's own screen no joint promise covers: there the
    attack succeeds against proved models as it does against plain ones.

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> from discreet.pairs import SlopeOne
    >>> films = synthetic.films(users=80, items=30, seed=7)
    >>> linear_attack({"slope-one": SlopeOne()}, films, targets=5, fits=1).find("slope-one", view="own").right
    1.0
    """
    if not models:
        raise UsageError("there is no model to attack.")
    for name, count in (("targets", targets), ("fits", fits)):
        if count < 1:
            raise UsageError(f"{name} = {count} must be at least 1.")
    if seed < 0:
        raise UsageError(f"seed = {seed} must not be below 0.")
    started, rows = time.monotonic(), []
    for place, (name, model) in enumerate(models.items()):
        if progress is not None:
            progress(place / len(models), name)
        ratings = predicts_ratings(model, data)
        least = max(2, least_history(model) + 1)
        secrets = Secrets.draw(data, targets=targets, seed=seed, ratings=ratings, least=least)
        rows += _rows(name, model, secrets, fits=fits, seed=seed, confidence=confidence)
    settings = {"data": data.name, "targets": targets, "fits": fits, "seed": seed, "confidence": confidence}
    return LinearReport(settings, tuple(rows), seconds=time.monotonic() - started)


def _rows(
    name: str, model: Recommender, secrets: Secrets, *, fits: int, seed: int, confidence: float
) -> list[LinearRow]:
    """All views of one model; the fits are the same for all of them."""
    fitted = [
        with_epsilon(model, getattr(model, "epsilon", None)).fit(secrets.world, allow_refuted=True) for _ in range(fits)
    ]
    promise, values = fitted[0].guarantee, values_of(secrets.scale)
    secret = "rating" if secrets.ratings else "record"
    rows = []
    for view in VIEWS:
        known = LinearAttack(view).known(fitted[0], secrets)
        for outputs in OUTPUTS:
            attack = LinearAttack(view, outputs)
            right = [attack.right(each, secrets, known, seed=seed + number) for number, each in enumerate(fitted)]
            games = np.concatenate(right)
            rows.append(
                LinearRow(
                    name,
                    secret,
                    view,
                    outputs,
                    games.size,
                    *share(int(games.sum()), games.size, confidence),
                    chance=1 / values,
                    limit=limit_of(promise, secret=secret, values=values) if view == "others" else None,
                    promise=None if promise is None else str(promise.loss),
                    standing=None if promise is None else promise.standing.value,
                )
            )
    return rows
