"""Study: partitioned probabilistic neighbor selection (PPNS) and the kNN attacks, Figures 5.4 to 5.15 of Lu's thesis.

The curves are not in the copy of the thesis at hand; each figure is measured again from its caption and judged by what
the text says of it. The thesis reports the error of predictions under attack and takes a small one for a success. But
what is predicted there are ratings that the attacker does not know: a small error is the *attacker's* success. So the
share of all hidden ratings that is recovered is shown beside the error, and the same without the target's records.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, chapter 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.splits import seeded
from discreet.errors import UsageError
from discreet.neighbors import selection
from discreet.neighbors.selection import SelectionStrategy
from discreet.neighbors.similarity import Kind, Similarity
from discreet.studies.ppns_panel import Panel, RatingPool, Score, attack_questions, left_out, turned, whole
from discreet.studies.study import Measurements, Settings, Steps, Study, one_rating_each

__all__ = ["Attacks", "PPNSStudy", "mean_score", "sized", "strategy"]

Axis = Literal["user", "item"]
Model = Literal["kNN", "nPNS", "PNCF", "PNCF with noise", "PPNS"]

Reading = Mapping[str, Any]
"""How the attack of the thesis is understood, as the layout lists it: ``similarity``; ``known``, which ratings of the
target the attacker has ("random", "rarest", "popular"); ``first`` if the target goes first among equals, then the
sybils.
"""

KNOWN = 8
"""Ratings of the target that the attacker knows, where that is not varied."""

MOST_USERS = 1_000
"""Of more users this many are drawn: the size of the data that the thesis uses."""

CELLS = 4_000_000
"""Ratings in question × candidates, at most: where there are more candidates, fewer ratings are asked."""

BETAS = (1, 2, 3, 4)
ACCURACY_METHODS: tuple[tuple[Model, int | None], ...] = (
    ("kNN", None),
    *(("PPNS", beta) for beta in BETAS),
    ("nPNS", None),
    ("PNCF", None),
    ("PNCF with noise", None),
)
ACCURACY_READINGS: tuple[tuple[str, Kind, bool], ...] = (
    ("co-rated, answer inside", "cosine", True),
    ("co-rated, left out", "cosine", False),
    ("full cosine, left out", "cosine_full", False),
)
"""Name, similarity, and whether the rating in question is among those that the similarity is computed from."""

VARIED = {"β": "beta", "β₀": "beta", "k": "k", "ε": "epsilon", "m": "known", "x": "x"}
"""The option of an attack that each symbol stands for."""


class PPNSStudy(Study):
    """Accuracy without attacks, and the error and the recovered ratings under attack.

    In the tables "exact" is the share of all hidden ratings that the attacker is told to the last digit, "right" the
    share that is right after rounding, which a mean of strangers often is, too; "absent" is the same attack without
    the target's records. Which sweeps there are is in the layout.
    """

    name = "ppns"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        one_rating_each(data)
        sampled = data.sample_users(MOST_USERS, seed=seed) if data.n_users > MOST_USERS else data
        settings = sized(settings, sampled.n_users)
        sweeps, readings = self.layout["sweeps"], {one["name"]: one for one in self.layout["readings"]}
        steps.expect(2 + len(sweeps))
        attacks, tables, labels = Attacks(sampled, settings, seed=seed), {}, vars(settings).copy()
        figures: dict[str, Axis] = {"5.4": "item", "5.5": "user"}
        for number, axis in figures.items():
            tables[number], labels[f"{axis}_k"] = accuracy(sampled, settings, axis, seed=seed)
            steps.done(f"{axis}-based accuracy")
        for sweep in sweeps:
            tables[sweep["figure"]] = swept(attacks, settings, sweep, readings)
            steps.done(f"figure {sweep['figure']}")
        labels["averaged"] = ", ".join(map(str, settings.averaged))
        sizes = {"users": sampled.n_users, "items": sampled.n_items, "records": len(sampled)}
        setting = {**sizes, "m": KNOWN, "k": settings.k, "ks": settings.ks, "accuracy_k": settings.accuracy_k}
        return Measurements(setting, tables, labels=labels)


def sized(settings: Settings, n_users: int) -> Settings:
    """The settings for a number of users.

    The thesis runs the attacks with k = 50 and the accuracy with k = 100 among 943 users, and lets β go up to users/2k.
    Smaller data have a smaller k, so that there are as many partitions.
    """
    k = min(50, n_users // 18)
    if k < 2:
        raise UsageError(
            f"{n_users} users are too few for nine partitions of at least two neighbors.",
            remedy="The study needs at least 36 users; its results mean something from some hundreds on.",
        )
    tenths = (5, 10) if settings.quick else range(2, 21, 2)  # k = 10, 20 … 100 as printed where k is 50
    ks = tuple(sorted({max(2, k * part // 10) for part in tenths}))
    return settings.with_(k=k, ks=ks, accuracy_k=min(100, 2 * k))


def accuracy(data: Interactions, settings: Settings, axis: Axis, *, seed: int) -> tuple[pl.DataFrame, int]:
    """Errors where nobody attacks, under three readings, and the k that they were measured with."""
    records = data if axis == "user" else turned(data)
    able = np.flatnonzero(records.records_per_user > 1)
    if able.size == 0:
        raise UsageError(f"no {axis} has two ratings, so none can be left out and predicted from the others.")
    people = seeded(seed, f"ppns {axis}s").permutation(able)[: settings.people]
    k, most = min(settings.accuracy_k, records.n_users // 5), min(settings.questions, CELLS // records.n_users)
    pool, rows = RatingPool(records), []
    for reading, kind, inside in ACCURACY_READINGS:
        asked = whole(records, people) if inside else left_out(records, people, most=most, seed=seed)
        panel = Panel(pool, asked, Similarity(kind))
        for model, beta in ACCURACY_METHODS:
            score = panel.ask(strategy(model, k=k, beta=beta), present=False)
            row = {"reading": reading, "model": model, "β": beta}
            rows.append(row | {name: score[name] for name in ("MAE", "±", "unanswered")})
    return pl.DataFrame(rows, schema_overrides={"β": pl.Int64}), k


def swept(attacks: Attacks, settings: Settings, sweep: dict[str, Any], readings: Mapping[str, Reading]) -> pl.DataFrame:
    """One figure: all readings, models and values of one parameter; no row where there was nobody to attack."""
    symbol, rows = sweep["over"], []
    for reading, model in product(sweep["readings"], sweep["models"]):
        for value in getattr(settings, sweep["values"]):
            if symbol == "β₀" and value > settings.beta:
                continue
            options: dict[str, Any] = {VARIED[symbol]: value}
            if sweep.get("averaged"):
                each = [options | {"x": x} for x in settings.averaged if symbol != "β₀" or x <= value]
            else:
                each = [options]
            found = [score for one in each if (score := attacks.score(readings[reading], model, **one)) is not None]
            if found:
                rows.append({"reading": reading, "model": model, symbol: value, **mean_score(found)})
    return pl.DataFrame(rows).with_columns(pl.col("MAE").fill_nan(None))


def mean_score(scores: Sequence[Score]) -> Score:
    """The mean of several; errors are those of the scores that have one."""
    known = {name: [score[name] for score in scores if not np.isnan(score[name])] for name in scores[0]}
    return {name: float(np.mean(values)) if values else float("nan") for name, values in known.items()}


# The attacks


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
    The thesis does not say whether the PNCF that it compares with has the noise on weights of its paper. "PNCF" has
    none, which is kind to it; "PNCF with noise" has the Laplace noise of Zhu's equation 3.4.1.
    """
    reach = None if beta is None else beta + (against == "beta-knn")
    if model == "kNN":
        return selection.Nearest(k, ties=ties)
    if model == "nPNS":
        return selection.Probabilistic(k, beta=reach, ties=ties)
    if model in ("PNCF", "PNCF with noise"):
        return selection.PNCF(k, epsilon=epsilon, beta=reach, laplace=None if model == "PNCF" else "2")
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
        self._panels: dict[tuple[str, int], Panel | None] = {}
        self._scores: dict[tuple[object, ...], Score] = {}

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
    ) -> Score | None:
        """What the attacker gets with the target among the records, and ("absent") what without.

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
        matters = (None if model == "kNN" else reach, None if model in ("kNN", "nPNS") else epsilon)
        key = (reading["name"], known, model, size, x, *matters)
        if key not in self._scores:
            favored = reading.get("first", False)
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
            self._scores[key] = {
                "MAE": present["MAE"],
                "exact": present["exact"],
                "exact, absent": absent["exact"],
                "right": present["right"],
                "right, absent": absent["right"],
                "unanswered": present["unanswered"],
            }
        return self._scores[key]

    def _panel(self, reading: Reading, known: int) -> Panel | None:
        """The askers compared with all users; None where nobody has more ratings than are known."""
        key = (reading["name"], known)
        if key not in self._panels:
            able = self._targets[self.pool.data.records_per_user[self._targets] > known]
            self._panels[key] = None
            if able.size:
                ids, choose = self.pool.data.users.decode(able), reading.get("known", "random")
                asked = attack_questions(self.pool.data, known=known, choose=choose, targets=ids, seed=self.seed)
                self._panels[key] = Panel(self.pool, asked, Similarity(reading["similarity"]))
        return self._panels[key]
