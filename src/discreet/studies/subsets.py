"""Study: a private top ten by a birth-death chain, Figures 4(a) and 4(b) of Park and Acharya.

The curves are not in the copy at hand; they are measured again from the text. The chain is compared with the
distribution that it tends to on its own list of sets, in closed form, and with the exponential mechanism over *all*
sets, which it is said to approximate. That no guarantee of the chain holds is shown in
``tests/refutations/test_subsets.py``.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. 2011,
section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.registry import create
from discreet.studies.study import Measurements, Settings, Steps, Study, one_rating_each
from discreet.subsets import BirthDeathChain, inclusion_probabilities, relative_entropy, total_variation
from discreet.subsets.chain import States

__all__ = ["SubsetsStudy"]

Report = Callable[[str], None]

K, WINDOWS = 10, (2, 3)
TIME_STEP, TINY_STEP, TINY_FROM = 1 / 20, 1e-8, 100
"""Δt of the paper: 1/20, and 10⁻⁸ where ε is 100; from there on here, too."""
TOP_STATES = 10
"""k̂: the divergence of Figure 4(b) is over so many of the best sets."""
OVERLAP = 10
"""φ_m of the Slope One that completes the matrix."""

CHAIN, GENTLE = "chain", "chain, Δt 1/20"
RESTRICTED, RESTRICTED_HALF = "its sets, φ^ε", "its sets, φ^½ε"
ALL_HALF, ALL = "all sets, φ^½ε", "all sets, φ^ε"
"""Columns of Figure 4(a): as run, and four laws in closed form, on the chain's list of sets and on all sets."""


class SubsetsStudy(Study):
    """Accuracy of the chain over ε, and its distance from its limit over iterations.

    Rows are completed by Slope One with φ_m = 10, predictions moved into the scale; what a person has rated is not
    recommended. Accuracy is the share of the true top ten in what is drawn.
    """

    name = "subsets"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        one_rating_each(data)
        assert data.scale is not None
        low, top = float(data.scale.low), float(data.scale.high)
        if top <= 0:
            raise UsageError("the highest rating of the scale must be above 0.")
        rows = completed_rows(data, settings.users, seed=seed)
        lengths = len(settings.lengths) * len(settings.converging)
        longer = len(settings.long_lengths) * (len(settings.converging) - 1)
        steps.expect(len(settings.epsilons) + lengths + longer + 2)
        tables = {
            "accuracy": accuracy(rows, top, settings, seed=seed, report=steps.done),
            "convergence": convergence(rows, top, settings, seed=seed, report=steps.done),
            "after": laws_of_one_user(rows[0], top, (*settings.lengths, *settings.long_lengths)),
        }
        steps.done("distributions after n steps")
        half, whole = half_way(rows, top)
        tied, share = ties(rows, top, settings.epsilons[-1])
        figures = {
            "ε for half of the top ten, all sets, φ^½ε": half,
            "ε for half of the top ten, all sets, φ^ε": whole,
            "mass of sets that one changed entry makes possible": impossible_mass(rows, low, top),
            "total variation of φ^ε and φ^½ε at ε = 100": apart(rows, top),
            "share of the top ten without tied rows, largest ε": None if math.isnan(share) else share,
            "moves of a chain with Δt = 1e-8": settings.iterations * TINY_STEP,
        }
        steps.done("what one entry shows")
        gap = float(np.mean([row[K - 1] - row[K] for row in rows]))
        setting = {
            "users asked": len(rows),
            "items left to a user": round(float(np.mean([row.size for row in rows]))),
            "mean gap between ranks 10 and 11": round(gap, 4),
            "users with equal ranks 10 and 11": tied,
        }
        return Measurements(setting, tables, figures)


def completed_rows(data: Interactions, users: int, *, seed: int) -> list[Floats]:
    """Falling predicted ratings of what each of some users has not rated, by Slope One on the whole data."""
    assert data.scale is not None
    enough = np.flatnonzero(data.n_items - data.records_per_user >= K + WINDOWS[1] + 1)
    if enough.size == 0:
        raise UsageError(f"nobody has {K + WINDOWS[1] + 1} items left to be recommended.")
    chosen = np.random.default_rng(seed).choice(enough, min(users, enough.size), replace=False)
    model = create("slope-one", minimum_overlap=OVERLAP).fit(data)
    low, high = float(data.scale.low), float(data.scale.high)
    names = data.users.take(chosen).to_list()
    return [np.clip(model.recommend([name], n=data.n_items)["score"].to_numpy(), low, high) for name in names]


def chain_of(epsilon: float, top_rating: float, *, time_step: float | None = None) -> BirthDeathChain:
    step = (TINY_STEP if epsilon >= TINY_FROM else TIME_STEP) if time_step is None else time_step
    return BirthDeathChain(
        K, epsilon=epsilon, top_rating=top_rating, time_step=step, left=WINDOWS[0], right=WINDOWS[1], strict=False
    )


# Figure 4(a)


def accuracy(rows: list[Floats], top_rating: float, settings: Settings, *, seed: int, report: Report) -> pl.DataFrame:
    """Share of the true top-k in what is drawn, by ε: chains as they are run, and four laws without any sampling."""
    rng = np.random.default_rng([seed, 1])
    table = []
    for epsilon in settings.epsilons:
        published, gentle = (chain_of(epsilon, top_rating, time_step=step) for step in (None, TIME_STEP))
        states = [published.states(row) for row in rows]
        table.append(
            {
                "ε": float(epsilon),
                CHAIN: _mean(_run_accuracy(published, s, settings, rng) for s in states),
                GENTLE: _mean(_run_accuracy(gentle, s, settings, rng) for s in states)
                if _allowed(gentle, states)
                else None,
                RESTRICTED: _mean(_overlap(published.limit(s)[0]) for s in states),
                RESTRICTED_HALF: _mean(_overlap(published.limit(s, exponent=0.5)[0]) for s in states),
                ALL_HALF: _of_all_sets(rows, epsilon / 2 / top_rating),
                ALL: _of_all_sets(rows, epsilon / top_rating),
            }
        )
        report(f"accuracy at ε = {epsilon:g}")
    return pl.DataFrame(table, schema_overrides={GENTLE: pl.Float64})


def half_way(rows: list[Floats], top_rating: float) -> tuple[float, float]:
    """The ε at which half of the true top-k is drawn from all sets: by φ^(ε/2) and by φ^ε."""
    low, high = 1e-3, 1e6
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _of_all_sets(rows, middle / top_rating) < 0.5 else (low, middle)
    return 2 * high, high


def ties(rows: list[Floats], top_rating: float, epsilon: float) -> tuple[int, float]:
    """Rows whose ranks k and k + 1 are equal, where no law can tell the true top-k; all sets, φ^ε, without them."""
    told_apart = [row for row in rows if row[K - 1] > row[K]]
    share = _of_all_sets(told_apart, epsilon / top_rating) if told_apart else math.nan
    return len(rows) - len(told_apart), share


def _run_accuracy(chain: BirthDeathChain, states: States, settings: Settings, rng: np.random.Generator) -> float:
    visits = chain.occupation(states, steps=settings.iterations, source=rng.random)
    return _overlap(visits[0] / visits.sum())


def _overlap(first: float) -> float:
    """Every set but the first differs from the true top-k in one item."""
    return 1 - (1 - first) / K


def _of_all_sets(rows: list[Floats], rate: float) -> float:
    exponents = np.full((len(rows), max(row.size for row in rows)), -np.inf)
    for place, row in enumerate(rows):
        exponents[place, : row.size] = rate * row
    return float(inclusion_probabilities(exponents, K)[:, :K].mean())


def _allowed(chain: BirthDeathChain, states: list[States]) -> bool:
    """Whether equation 36 holds for everybody."""
    try:
        for each in states:
            chain.moves(each)
    except UsageError:
        return False
    return True


# Figure 4(b)


def convergence(
    rows: list[Floats], top_rating: float, settings: Settings, *, seed: int, report: Report
) -> pl.DataFrame:
    """How far the visits of a chain are from the law it tends to, by iterations: over the top sets, and over all."""
    rng = np.random.default_rng([seed, 2])
    table = []
    for epsilon in settings.converging:
        chain = chain_of(epsilon, top_rating)
        for steps in (*settings.lengths, *settings.long_lengths):
            # What does not move need not be watched for long.
            if steps in settings.long_lengths and epsilon >= TINY_FROM:
                continue
            some = rows if steps in settings.lengths else rows[: settings.long_users]
            measured = [_distances(chain, chain.states(row), steps, rng) for row in some]
            table.append(
                {"ε": float(epsilon), "iterations": steps, "users": len(some)}
                | {name: _mean(one[name] for one in measured) for name in measured[0]}
            )
            report(f"convergence at ε = {epsilon:g}, {steps:,} iterations")
    return pl.DataFrame(table)


def laws_of_one_user(row: Floats, top_rating: float, lengths: tuple[int, ...]) -> pl.DataFrame:
    """The set that is read after n steps, without sampling: how far its law is from the limit, at ε = 1."""
    chain = chain_of(1, top_rating)
    states = chain.states(row)
    limit = chain.limit(states)
    return pl.DataFrame(
        [
            {
                "iterations": steps,
                "total variation": total_variation(law, limit),
                "sets within reach": min(steps + 1, len(states)),
                "sets": len(states),
            }
            for steps, law in zip(lengths, chain.laws_after(states, lengths), strict=True)
        ]
    )


def _distances(chain: BirthDeathChain, states: States, steps: int, rng: np.random.Generator) -> dict[str, float]:
    visits = chain.occupation(states, steps=steps, source=rng.random)
    law, limit = visits / visits.sum(), chain.limit(states)
    return {
        "KL, top sets": _divergence_of_top(law, limit),
        "KL, all sets": relative_entropy(limit, law),
        "total variation": total_variation(law, limit),
        "sets visited": float(np.count_nonzero(visits)),
        "sets": float(len(states)),
    }


def _divergence_of_top(law: Floats, limit: Floats) -> float:
    """KL between both laws on the best k̂ sets, or on as many as were explored: what the paper plots."""
    explored = int(np.flatnonzero(law).max()) + 1
    top = min(TOP_STATES, explored)
    sampled, exact = law[:top], limit[:top]
    if sampled.sum() == 0 or exact.sum() == 0:
        return math.inf
    return relative_entropy(exact / exact.sum(), sampled / sampled.sum())


def apart(rows: list[Floats], top_rating: float) -> float:
    """Mean total variation, at ε = 100, between the law that the chain tends to and that of equation 28."""
    chain = chain_of(TINY_FROM, top_rating)
    states = [chain.states(row) for row in rows]
    return _mean(total_variation(chain.limit(each), chain.limit(each, exponent=0.5)) for each in states)


# What one entry shows


def impossible_mass(rows: list[Floats], low: float, top_rating: float) -> float:
    """Mean mass, at ε = 1, of sets that were impossible before the top entry fell to the lowest rating."""
    chain = chain_of(1, top_rating)
    masses = []
    for row in rows:
        fallen = row.copy()
        fallen[0] = low
        before = set(chain.states(row).sets())
        masses.append(sum(chance for chosen, chance in chain.law(fallen).items() if chosen not in before))
    return _mean(masses)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
