"""What the study of PPNS measures, and with which numbers: the plan, the readings of the thesis, the attacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.data.interactions import Interactions
from discreet.data.splits import seeded
from discreet.errors import UsageError
from discreet.neighbors import selection
from discreet.neighbors.selection import SelectionStrategy
from discreet.neighbors.similarity import Kind, Similarity
from discreet.studies.ppns_panel import Crowd, Panel, Score
from discreet.studies.ppns_questions import attack_questions

__all__ = ["FULL", "LAYOUT", "MODELS", "RAREST", "READINGS", "Arena", "Plan", "Reading", "strategy"]

Model = Literal["kNN", "nPNS", "PNCF", "PPNS"]
MODELS: tuple[Model, ...] = ("kNN", "nPNS", "PNCF", "PPNS")


@dataclass(frozen=True)
class Plan:
    """The numbers that the figures go through.

    The thesis runs the attacks with k = 50 and the accuracy with k = 100 among 943 users, and lets β go up to
    users/2k. Smaller worlds have a smaller k, so that there are as many partitions.

    Attributes
    ----------
    k, ks
        Neighbors in the attacks, and where k itself is varied.
    accuracy_k
        Neighbors where nobody attacks.
    beta, betas
        The security metric, and where it is varied; in the β-kNN attacks it is called β₀.
    epsilons, known
        Budgets, and how many ratings of the target are known where that is varied; ``MAIN_KNOWN`` where it is not.
    sizes, averaged
        x of the x-kNN attack: one by one, and those over which the other figures take the mean.
    targets, draws
        How many users are attacked, and how often neighbors are drawn for each.
    people, questions
        How many users (or items) are asked for their ratings where nobody attacks, and how many ratings at most.
    """

    k: int
    ks: tuple[int, ...]
    accuracy_k: int
    beta: int = 7
    betas: tuple[int, ...] = (3, 5, 7, 9)
    epsilons: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0, 1000.0)
    known: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    sizes: tuple[int, ...] = tuple(range(1, 10))
    averaged: tuple[int, ...] = (1, 3, 5, 7)
    targets: int = 200
    draws: int = 2
    people: int = 200
    questions: int = 3_000

    MAIN_KNOWN: ClassVar[int] = 8

    @classmethod
    def of(cls, n_users: int, *, quick: bool) -> Plan:
        """The plan for so many users."""
        k = min(50, n_users // 18)
        if k < 2:
            raise UsageError(
                f"{n_users} users are too few for nine partitions of at least two neighbors.",
                remedy="The study needs 36 users, and says something from some hundreds on.",
            )
        accuracy_k = min(100, 2 * k)
        if not quick:
            return cls(
                k=k, ks=tuple(sorted({max(2, k * part // 10) for part in (2, 5, 10, 15, 20)})), accuracy_k=accuracy_k
            )
        return cls(
            k=k,
            ks=(max(2, k // 2), k),
            accuracy_k=accuracy_k,
            betas=(3, 7),
            epsilons=(0.1, 100.0, 1000.0),
            known=(2, 4, 8),
            sizes=(1, 7, 8),
            averaged=(1, 7),
            targets=20,
            draws=1,
            people=20,
            questions=200,
        )


@dataclass(frozen=True)
class Reading:
    """How the attack of the thesis is understood.

    Attributes
    ----------
    name
        What to call it.
    similarity
        Which likeness.
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
RAREST = Reading("full cosine, rarest known", "cosine_full", choose="rarest")
LAYOUT = Reading("co-rated, target first", "cosine", ties="attacker")
READINGS = (
    Reading("co-rated", "cosine"),
    LAYOUT,
    FULL,
    RAREST,
    Reading("full cosine, popular known", "cosine_full", choose="popular"),
    Reading("Pearson, target first", "pearson", ties="attacker"),
)
"""Those under which plain kNN is attacked."""


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


class Arena:
    """The kNN and x-kNN attacks on some users; what was measured once is remembered.

    Parameters
    ----------
    data
        The records, with ratings on a scale.
    plan
        The numbers.
    seed
        Draws the targets and what is known of them.
    """

    def __init__(self, data: Interactions, plan: Plan, *, seed: int) -> None:
        self.crowd, self.plan, self.seed = Crowd(data), plan, seed
        able = np.flatnonzero(data.records_per_user > plan.MAIN_KNOWN)
        if able.size == 0:
            raise UsageError(f"nobody has the {plan.MAIN_KNOWN + 1} ratings that an attack takes.")
        self._targets = np.sort(seeded(seed, "ppns targets").permutation(able)[: plan.targets])
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
        known: int = Plan.MAIN_KNOWN,
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
        k, beta = k or self.plan.k, beta or self.plan.beta
        panel = self._panel(reading, known)
        if panel is None:
            return None
        key = (reading, known, model, k, x, *self._what_matters(model, beta, epsilon))
        if key not in self._scores:
            favored = reading.ties == "attacker"
            chooses = strategy(
                model,
                k=k,
                beta=beta,
                epsilon=epsilon,
                ties="id" if favored else "random",
                against="knn" if x is None else "beta-knn",
            )
            fillers = (x or 1) * k - 1  # the one who asks is a sybil, too
            present, absent = (
                panel.ask(chooses, draws=self.plan.draws, fillers=fillers, present=there, favored=favored)
                for there in (True, False)
            )
            self._scores[key] = present, absent
        return self._scores[key]

    def mean_score(
        self,
        reading: Reading,
        model: Model,
        *,
        xs: tuple[int, ...],
        k: int | None = None,
        beta: int | None = None,
        epsilon: float = 1.0,
        known: int = Plan.MAIN_KNOWN,
    ) -> tuple[Score, Score] | None:
        """The mean over attacks of several sizes, each as likely as the others."""
        parts = [self.score(reading, model, k=k, beta=beta, epsilon=epsilon, known=known, x=x) for x in xs]
        found = [part for part in parts if part is not None]
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
        """Those who ask, compared with everybody; None where nobody has enough ratings to know so many and hide one."""
        key = (reading, known)
        if key not in self._panels:
            able = self._targets[self.crowd.data.records_per_user[self._targets] > known]
            self._panels[key] = None
            if able.size:
                ids = self.crowd.data.users.decode(able)
                asked = attack_questions(
                    self.crowd.data, known=known, choose=reading.choose, targets=ids, seed=self.seed
                )
                self._panels[key] = Panel(self.crowd, asked, Similarity(reading.similarity))
        return self._panels[key]
