"""The kNN and x-kNN attacks of Lu's thesis, under several readings of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.data.interactions import Interactions
from discreet.data.splits import seeded
from discreet.errors import UsageError
from discreet.neighbors import selection
from discreet.neighbors.selection import SelectionStrategy
from discreet.neighbors.similarity import Kind, Similarity
from discreet.studies.ppns.panel import Panel, RatingPool, Score
from discreet.studies.ppns.questions import attack_questions
from discreet.studies.study import Settings

__all__ = ["FULL", "KNOWN", "LAYOUT", "READINGS", "Attacks", "Model", "Reading", "strategy"]

Model = Literal["kNN", "nPNS", "PNCF", "PPNS"]


KNOWN = 8
"""Ratings of the target that the attacker knows, where that is not varied."""


@dataclass(frozen=True)
class Reading:
    """How the attack of the thesis is understood.

    Attributes
    ----------
    name
        In tables and charts.
    similarity
        Which similarity.
    ties
        "random", or "attacker": the target goes first among equals, then the sybils.
    choose
        Which ratings of the target are known.
    """

    name: str
    similarity: Kind
    ties: Literal["random", "attacker"] = "random"
    choose: Literal["random", "rarest", "popular"] = "random"


FULL = Reading("full cosine", "cosine_full")
LAYOUT = Reading("co-rated, target first", "cosine", ties="attacker")
READINGS = {
    reading.name: reading
    for reading in (
        Reading("co-rated", "cosine"),
        LAYOUT,
        FULL,
        Reading("full cosine, rarest known", "cosine_full", choose="rarest"),
        Reading("full cosine, popular known", "cosine_full", choose="popular"),
        Reading("Pearson, target first", "pearson", ties="attacker"),
    )
}
"""All of them by name."""


def strategy(
    model: Model,
    *,
    k: int,
    beta: int | None,
    epsilon: float = 1.0,
    ties: Literal["random", "id"] = "random",
    against: Literal["knn", "beta-knn"] = "knn",
) -> SelectionStrategy:
    """A method of the comparison with the security metric β (section 5.4.2 of the thesis).

    Against the β-kNN attack all of them reach down to partition β + 1. Without a β, nPNS and PNCF choose from all.
    PNCF has no noise on its weights: with it predictions change their sign, which no curve of the thesis can show.
    """
    reach = None if beta is None else beta + (against == "beta-knn")
    if model == "kNN":
        return selection.Nearest(k, ties=ties)
    if model == "nPNS":
        return selection.Probabilistic(k, beta=reach, ties=ties)
    if model == "PNCF":
        return selection.PNCF(k, epsilon=epsilon, beta=reach, laplace=None)
    return selection.PPNS(k, epsilon=epsilon, beta=1 if beta is None else beta, against=against, ties=ties)


class Attacks:
    """The kNN and x-kNN attacks on some users; what was measured once is remembered.

    Parameters
    ----------
    data
        The records, with ratings on a scale.
    settings
        ``k``, ``beta``, ``targets`` (how many users are attacked) and ``draws`` (of neighbors, for each).
    seed
        Draws the targets and what is known of them.
    """

    def __init__(self, data: Interactions, settings: Settings, *, seed: int) -> None:
        self.pool, self.settings, self.seed = RatingPool(data), settings, seed
        able = np.flatnonzero(data.records_per_user > KNOWN)
        if able.size == 0:
            raise UsageError(f"nobody has the {KNOWN + 1} ratings that an attack takes.")
        self._targets = np.sort(seeded(seed, "ppns targets").permutation(able)[: settings.targets])
        self._panels: dict[tuple[Reading, int], Panel | None] = {}
        self._scores: dict[tuple[object, ...], tuple[Score, Score]] = {}

    def score(
        self,
        reading: Reading,
        model: Model,
        *,
        k: int | None = None,
        beta: int | None = None,
        epsilon: float = 1.0,
        known: int = KNOWN,
        x: int | None = None,
    ) -> tuple[Score, Score] | None:
        """What the attacker gets with the target among the records, and what without.

        None where nobody has enough ratings.

        Parameters
        ----------
        reading
            How the attack is understood.
        model
            What is attacked.
        k, beta, epsilon
            Its parameters; those of the plan unless told.
        known
            How many ratings of the target the attacker has.
        x
            There are x·k sybils, and the model is the one against the β-kNN attack; None for the plain kNN attack.
        """
        size: int = k or self.settings.k
        reach: int = beta or self.settings.beta
        panel = self._panel(reading, known)
        if panel is None:
            return None
        key = (reading, known, model, size, x, *self._what_matters(model, reach, epsilon))
        if key not in self._scores:
            favored = reading.ties == "attacker"
            chooses = strategy(
                model,
                k=size,
                beta=reach,
                epsilon=epsilon,
                ties="id" if favored else "random",
                against="knn" if x is None else "beta-knn",
            )
            fillers = (x or 1) * size - 1  # the one who asks is a sybil, too
            present, absent = (
                panel.ask(chooses, draws=self.settings.draws, fillers=fillers, present=there, favored=favored)
                for there in (True, False)
            )
            self._scores[key] = present, absent
        return self._scores[key]

    def mean_score(
        self, reading: Reading, model: Model, *, sizes: tuple[int, ...], **options: Any
    ) -> tuple[Score, Score] | None:
        """The mean over x-kNN attacks of several sizes x; options are those of ``score``."""
        found = [part for x in sizes if (part := self.score(reading, model, x=x, **options)) is not None]
        if not found:
            return None
        return Score.mean([present for present, _ in found]), Score.mean([absent for _, absent in found])

    @staticmethod
    def _what_matters(model: Model, beta: int, epsilon: float) -> tuple[float | None, float | None]:
        return (
            None if model == "kNN" else beta,
            epsilon if model in ("PNCF", "PPNS") else None,
        )

    def _panel(self, reading: Reading, known: int) -> Panel | None:
        """The askers compared with all users; None where nobody has more ratings than are known."""
        key = (reading, known)
        if key not in self._panels:
            able = self._targets[self.pool.data.records_per_user[self._targets] > known]
            self._panels[key] = None
            if able.size:
                ids = self.pool.data.users.decode(able)
                asked = attack_questions(
                    self.pool.data, known=known, choose=reading.choose, targets=ids, seed=self.seed
                )
                self._panels[key] = Panel(self.pool, asked, Similarity(reading.similarity))
        return self._panels[key]
