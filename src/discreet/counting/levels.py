"""The two lists of counts, items and edges: how they are bounded, what each may spend, what noise leaves of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells, Level
from discreet.counting.consistency import consistent, consistent_variances
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.mechanisms import AdditiveMechanism, LaplaceMechanism
from discreet.privacy.method import Round
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.weighing import (
    GRID_BITS,
    squared_norms,
    sums_within_l1,
    sums_within_l2,
    weights_within_l1,
    weights_within_l2,
)

__all__ = [
    "PREFIX",
    "clipped",
    "consistent_lists",
    "consistent_noise",
    "expected_noise",
    "level_budgets",
    "noisy_lists",
    "weighed",
    "within",
]

Lists = dict[Level, NDArray[np.float64]]

PREFIX: Mapping[Level, str] = {"items": "", "edges": "edge_"}
"""What the figures of a level are called: ``noise_sd`` and ``edge_noise_sd``."""


def level_budgets(cells: Cells, budget: Budget, item_share: Rational) -> dict[Level, Budget]:
    """What items and edges may spend; without contexts there are items only, with the whole budget."""
    if not cells.contexts:
        return {"items": budget}
    return {"items": budget.part(item_share), "edges": budget.part(1 - as_fraction(item_share))}


# Sums that carry what one user can change


def within(cells: Cells, level: Level, cap: Rational, norm: int, *, bits: int = GRID_BITS) -> BoundedSums:
    """Counts in which one user weighs at most ``cap``: in all (norm 1), or in squared length (norm 2)."""
    if norm == 1:
        return weighed(cells, level, int(as_fraction(cap)), bits=bits)
    return clipped(cells, level, as_fraction(cap), bits=bits)


def weighed(cells: Cells, level: Level, cap: int, *, bits: int = GRID_BITS) -> BoundedSums:
    """Counts in which each of a user's T records weighs min(1, cap/T)."""
    weight = weights_within_l1(cells.records_per_user, cap, bits=bits)
    return sums_within_l1(cells.totals(level, user_weight=weight), cap, may_repeat=cells.may_repeat, bits=bits)


def clipped(cells: Cells, level: Level, norm_squared: Fraction, *, bits: int = GRID_BITS) -> BoundedSums:
    """Counts in which each user's vector has at most this squared length.

    Weights come from the lengths over items, which are at least as large as those over edges: both levels take the
    same.
    """
    norms = squared_norms(cells.user, cells.item, cells.starts, may_repeat=cells.may_repeat)
    weight = weights_within_l2(norms, norm_squared, bits=bits)
    return sums_within_l2(cells.totals(level, user_weight=weight), norm_squared, may_repeat=cells.may_repeat, bits=bits)


# What to expect


def expected_noise(
    mechanisms: Mapping[Level, AdditiveMechanism], sums: Callable[[Level], BoundedSums]
) -> dict[str, float]:
    """Scale, standard deviation and 95 % half-width of the noise on one count, in records, for each level.

    Refuses noise that cannot be drawn.
    """
    expected = {}
    for level, mechanism in mechanisms.items():
        shape = sums(level)
        mechanism.check(shape)
        deviation = mechanism.standard_deviation(shape)
        laplace = isinstance(mechanism, LaplaceMechanism)
        expected |= {
            f"{PREFIX[level]}scale": float(mechanism.parameter(shape) * shape.step) if laplace else deviation,
            f"{PREFIX[level]}noise_sd": deviation,
            f"{PREFIX[level]}noise_95": mechanism.interval(shape, 0.95),
        }
    return expected


def consistent_noise(cells: Cells, drawn: Mapping[str, float]) -> dict[str, float]:
    """What is left of noise as ``expected_noise`` describes it after ``consistent_lists``.

    Half-widths shrink as standard deviations do. That is on the safe side: sums of several noises have lighter tails
    than one of them.
    """
    expected = dict(drawn)
    if "edge_noise_sd" not in expected:
        return expected
    before = {level: expected[f"{word}noise_sd"] for level, word in PREFIX.items()}
    after = consistent_variances(cells.n_places, item_variance=before["items"] ** 2, edge_variance=before["edges"] ** 2)
    for (level, word), variance in zip(PREFIX.items(), after, strict=True):
        expected[f"{word}noise_sd"] = math.sqrt(variance)
        expected[f"{word}noise_95"] *= math.sqrt(variance) / before[level]
    return expected


# Counts with noise


def noisy_lists(
    public: Cells,
    mechanisms: Mapping[Level, AdditiveMechanism],
    sums: Callable[[Any, Level], BoundedSums],
    prepare: Callable[[Cells], Any] = lambda records: records,
) -> Generator[Round, Any, Lists]:
    """One round for the lists of all levels; the noisy counts in records.

    Parameters
    ----------
    public
        The shape of the cells, without records.
    sums
        The bounded counts of some users' prepared records.
    prepare
        What both lists are made from: each user's records, chosen or weighed for this user alone.
    """

    def both(records: Cells) -> tuple[BoundedSums, ...]:
        prepared = prepare(records)
        return tuple(sums(prepared, level) for level in mechanisms)

    released = yield Round(both, tuple(mechanisms.values()))
    steps = [float(one.step) for one in both(public)]
    lists = zip(mechanisms, released, steps, strict=True)
    return {level: values.astype(np.float64) * step for level, values, step in lists}


def consistent_lists(
    public: Cells,
    mechanisms: Mapping[Level, AdditiveMechanism],
    sums: Callable[[Cells, Level], BoundedSums],
    noisy: Lists,
) -> Lists:
    """Noisy counts of both levels that agree with each other: post-processing."""
    if "edges" not in noisy:
        return noisy
    variance = {level: one.standard_deviation(sums(public, level)) ** 2 for level, one in mechanisms.items()}
    items, edges = consistent(
        noisy["items"],
        noisy["edges"].reshape(public.n_items, public.n_places),
        item_variance=variance["items"],
        edge_variance=variance["edges"],
    )
    return {"items": items, "edges": edges}
