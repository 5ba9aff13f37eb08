"""What Figure 4 measures: accuracy over epsilon and distance from the exact law over iterations, for completed rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.subsets import BirthDeathChain, States, inclusion_probabilities, relative_entropy, total_variation

__all__ = [
    "Plan",
    "accuracy",
    "apart",
    "completed_rows",
    "convergence",
    "half_way",
    "impossible_mass",
    "laws_of_one_user",
    "ties",
]

Row = NDArray[np.float64]
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


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes
    ----------
    users
        People whose rows are used.
    epsilons
        Of Figure 4(a).
    iterations
        Steps of a chain of Figure 4(a).
    lengths
        Steps of the chains of Figure 4(b), for all users.
    long_lengths, long_users
        Longer ones, and for how many users.
    """

    users: int = 30
    epsilons: tuple[float, ...] = (0.01, 0.1, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
    iterations: int = 100_000
    lengths: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    long_lengths: tuple[int, ...] = (10_000_000, 100_000_000)
    long_users: int = 2
    converging: tuple[float, ...] = (1, 10, 100)


QUICK = Plan(
    users=4, epsilons=(0.01, 1, 30, 100, 1000), iterations=5_000, lengths=(100, 3_000), long_lengths=(), long_users=1
)


def completed_rows(data: Interactions, users: int, *, seed: int) -> list[Row]:
    """Falling predicted ratings of what each of some users has not rated, by Slope One on the whole data."""
    from discreet.pairs import SlopeOne

    assert data.scale is not None
    enough = np.flatnonzero(data.n_items - data.records_per_user >= K + WINDOWS[1] + 1)
    if enough.size == 0:
        raise UsageError(f"nobody has {K + WINDOWS[1] + 1} items left to be recommended.")
    chosen = np.random.default_rng(seed).choice(enough, min(users, enough.size), replace=False)
    model = SlopeOne(minimum_overlap=OVERLAP).fit(data)
    low, high = float(data.scale.low), float(data.scale.high)
    names = data.users.take(chosen).to_list()
    return [np.clip(model.recommend([name], n=data.n_items)["score"].to_numpy(), low, high) for name in names]


def chain_of(epsilon: float, top_rating: float, *, time_step: float | None = None) -> BirthDeathChain:
    step = (TINY_STEP if epsilon >= TINY_FROM else TIME_STEP) if time_step is None else time_step
    return BirthDeathChain(
        K, epsilon=epsilon, top_rating=top_rating, time_step=step, left=WINDOWS[0], right=WINDOWS[1], strict=False
    )


# Figure 4(a)


def accuracy(rows: list[Row], top_rating: float, plan: Plan, *, seed: int, report: Report) -> pl.DataFrame:
    """Share of the true top-k in what is drawn, by ε: chains as they are run, and four laws without any sampling."""
    rng = np.random.default_rng([seed, 1])
    table = []
    for epsilon in plan.epsilons:
        published, gentle = (chain_of(epsilon, top_rating, time_step=step) for step in (None, TIME_STEP))
        states = [published.states(row) for row in rows]
        table.append(
            {
                "ε": float(epsilon),
                CHAIN: _mean(_run_accuracy(published, s, plan, rng) for s in states),
                GENTLE: _mean(_run_accuracy(gentle, s, plan, rng) for s in states)
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


def half_way(rows: list[Row], top_rating: float) -> tuple[float, float]:
    """The ε at which half of the true top-k is drawn from all sets: by φ^(ε/2) and by φ^ε."""
    low, high = 1e-3, 1e6
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _of_all_sets(rows, middle / top_rating) < 0.5 else (low, middle)
    return 2 * high, high


def ties(rows: list[Row], top_rating: float, epsilon: float) -> tuple[int, float]:
    """Rows whose ranks k and k + 1 are equal, where no law can tell the true top-k; all sets, φ^ε, without them."""
    told_apart = [row for row in rows if row[K - 1] > row[K]]
    share = _of_all_sets(told_apart, epsilon / top_rating) if told_apart else math.nan
    return len(rows) - len(told_apart), share


def _run_accuracy(chain: BirthDeathChain, states: States, plan: Plan, rng: np.random.Generator) -> float:
    visits = chain.occupation(states, steps=plan.iterations, source=rng.random)
    return _overlap(visits[0] / visits.sum())


def _overlap(first: float) -> float:
    """Every set but the first differs from the true top-k in one item."""
    return 1 - (1 - first) / K


def _of_all_sets(rows: list[Row], rate: float) -> float:
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


def convergence(rows: list[Row], top_rating: float, plan: Plan, *, seed: int, report: Report) -> pl.DataFrame:
    """How far the visits of a chain are from the law it tends to, by iterations: over the top sets, and over all."""
    rng = np.random.default_rng([seed, 2])
    table = []
    for epsilon in plan.converging:
        chain = chain_of(epsilon, top_rating)
        for steps in (*plan.lengths, *plan.long_lengths):
            # What does not move need not be watched for long.
            if steps in plan.long_lengths and epsilon >= TINY_FROM:
                continue
            some = rows if steps in plan.lengths else rows[: plan.long_users]
            measured = [_distances(chain, chain.states(row), steps, rng) for row in some]
            table.append(
                {"ε": float(epsilon), "iterations": steps, "users": len(some)}
                | {name: _mean(one[name] for one in measured) for name in measured[0]}
            )
            report(f"convergence at ε = {epsilon:g}, {steps:,} iterations")
    return pl.DataFrame(table)


def laws_of_one_user(row: Row, top_rating: float, lengths: tuple[int, ...]) -> pl.DataFrame:
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


def _divergence_of_top(law: Row, limit: Row) -> float:
    """KL between both laws on the best k̂ sets, or on as many as were explored: what the paper plots."""
    explored = int(np.flatnonzero(law).max()) + 1
    top = min(TOP_STATES, explored)
    sampled, exact = law[:top], limit[:top]
    if sampled.sum() == 0 or exact.sum() == 0:
        return math.inf
    return relative_entropy(exact / exact.sum(), sampled / sampled.sum())


def apart(rows: list[Row], top_rating: float) -> float:
    """Mean total variation, at ε = 100, between the law that the chain tends to and that of equation 28."""
    chain = chain_of(TINY_FROM, top_rating)
    states = [chain.states(row) for row in rows]
    return _mean(total_variation(chain.limit(each), chain.limit(each, exponent=0.5)) for each in states)


# What one entry gives away


def impossible_mass(rows: list[Row], low: float, top_rating: float) -> float:
    """Mean mass, at ε = 1, of sets that could not have come out before the top entry fell to the lowest rating."""
    chain = chain_of(1, top_rating)
    masses = []
    for row in rows:
        fallen = row.copy()
        fallen[0] = low
        before = set(chain.states(row).sets())
        masses.append(sum(chance for chosen, chance in chain.law(fallen).items() if chosen not in before))
    return _mean(masses)


def _mean(values: Iterator[float] | list[float]) -> float:
    return float(np.mean(list(values)))
