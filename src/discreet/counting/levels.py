"""What ways of counting share: the two lists, items and edges, and what each of them may spend."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted
from discreet.counting.fusion import fuse, fused_variances
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import Concentrated, Loss, Pure, rho_for
from discreet.privacy.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
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
    "apart",
    "as_share",
    "clipped",
    "expected_noise",
    "fused",
    "fused_noise",
    "level_mechanisms",
    "loss_of",
    "part_of",
    "side_by_side",
    "weighed",
    "without_records",
]

Sums = Callable[[Level], BoundedSums]

PREFIX: Mapping[Level, str] = {"items": "", "edges": "edge_"}
"""What the figures of a level are called: ``noise_sd`` and ``edge_noise_sd``."""


def as_share(value: Rational, name: str) -> Fraction:
    """A share of a budget that leaves something for the rest."""
    share = as_fraction(value, name)
    if not 0 < share < 1:
        raise UsageError(f"{name} = {value} must be between 0 and 1.")
    return share


def loss_of(epsilon: Fraction, delta: Fraction | None) -> Loss:
    """What a budget allows: ε itself, or with a delta the largest zCDP loss that keeps (ε, δ)."""
    return Pure(epsilon) if delta is None else Concentrated(rho_for(epsilon, delta))


def part_of(loss: Loss, share: Fraction) -> AdditiveMechanism:
    """The mechanism that spends a share of a pure or of a concentrated loss."""
    if isinstance(loss, Pure):
        return LaplaceMechanism(loss.epsilon * share)
    if isinstance(loss, Concentrated):
        return GaussianMechanism(loss.rho * share)
    raise UsageError(f"counts are not released under a {loss.kind} loss.")


def level_mechanisms(cells: Cells, loss: Loss, item_share: Fraction) -> dict[Level, AdditiveMechanism]:
    """What releases items and what releases edges; without contexts there are items only, with the whole budget."""
    if not cells.contexts:
        return {"items": part_of(loss, Fraction(1))}
    return {"items": part_of(loss, item_share), "edges": part_of(loss, 1 - item_share)}


# Sums that carry what one user can change


def without_records(cells: Cells) -> Cells:
    """The public shape of the cells alone."""
    nothing = np.zeros(0, dtype=np.int32)
    return Cells(nothing, nothing, nothing, 0, cells.n_items, cells.contexts, cells.may_repeat)


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


def expected_noise(mechanisms: Mapping[Level, AdditiveMechanism], sums: Sums) -> dict[str, float]:
    """Scale, standard deviation and 95 % half-width of the noise on one count, in records, for each level.

    Asks first whether such noise can be drawn.
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


def fused_noise(cells: Cells, mechanisms: Mapping[Level, AdditiveMechanism], sums: Sums) -> dict[str, float]:
    """As ``expected_noise``, for counts that will be fused: what is left of the noise then.

    Half-widths shrink as standard deviations do. That is on the safe side: sums of several noises have lighter tails
    than one of them.
    """
    expected = expected_noise(mechanisms, sums)
    if "edges" not in mechanisms:
        return expected
    before = {level: expected[f"{word}noise_sd"] for level, word in PREFIX.items()}
    after = fused_variances(cells.n_places, item_variance=before["items"] ** 2, edge_variance=before["edges"] ** 2)
    for (level, word), variance in zip(PREFIX.items(), after, strict=True):
        expected[f"{word}noise_sd"] = math.sqrt(variance)
        expected[f"{word}noise_95"] *= math.sqrt(variance) / before[level]
    return expected


# Counts with noise


def fused(cells: Cells, mechanisms: Mapping[Level, AdditiveMechanism], sums: Sums) -> Counted:
    """Noisy counts of each level, made consistent with each other. Charge the ledger first."""
    noisy, variance = _drawn(mechanisms, sums)
    counted = side_by_side(cells, noisy)
    if counted.edges is None:
        return counted
    both = {"item_variance": variance["items"], "edge_variance": variance["edges"]}
    return Counted(*fuse(counted.items, counted.edges, **both))


def apart(cells: Cells, mechanisms: Mapping[Level, AdditiveMechanism], sums: Sums) -> Counted:
    """Noisy counts of each level as they were drawn: items and edges need not agree. Charge the ledger first."""
    noisy, _ = _drawn(mechanisms, sums)
    return side_by_side(cells, noisy)


def side_by_side(cells: Cells, noisy: Mapping[Level, NDArray[np.float64]]) -> Counted:
    """Counts of both levels in the shape of a release: edges with one row an item."""
    edges = noisy.get("edges")
    return Counted(noisy["items"], None if edges is None else edges.reshape(cells.n_items, cells.n_places))


def _drawn(
    mechanisms: Mapping[Level, AdditiveMechanism], sums: Sums
) -> tuple[dict[Level, NDArray[np.float64]], dict[Level, float]]:
    """For each level noisy counts in units of records, and the variance of their noise."""
    noisy: dict[Level, NDArray[np.float64]] = {}
    variance: dict[Level, float] = {}
    for level, mechanism in mechanisms.items():
        exact = sums(level)
        noisy[level] = mechanism.release(exact).astype(np.float64) * float(exact.step)
        variance[level] = mechanism.standard_deviation(exact) ** 2
    return noisy, variance
