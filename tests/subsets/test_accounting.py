"""What a private top-k set costs: the table against every pair of neighboring rows of up to seven items."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.losses import Concentrated
from discreet.privacy.selection import PermuteAndFlip
from discreet.privacy.units import Unit
from discreet.subsets.samplers import (
    SAMPLERS,
    KSubset,
    RowChange,
    Sampler,
    concentrated_loss,
    pure_loss,
    slope_for,
)

CHANGES = [RowChange(1), RowChange(2), RowChange(3), RowChange(), RowChange(one_way=True), RowChange(2, one_way=True)]


def log_law(row: np.ndarray, k: int, slope: float, sampler: Sampler) -> np.ndarray:
    """Log-probabilities of all outcomes of one row: sets, or lists in order."""
    weights = slope * row
    if sampler == "subset":
        totals = np.array([weights[list(s)].sum() for s in itertools.combinations(range(row.size), k)])
        return totals - np.logaddexp.reduce(totals)
    found = []
    for picks in itertools.permutations(range(row.size), k):
        left, total = list(range(row.size)), 0.0
        for pick in picks:
            if sampler == "gumbel":
                total += weights[pick] - np.logaddexp.reduce(weights[left])
            else:
                total += math.log(flipped(tuple(weights[left]))[left.index(pick)])
            left.remove(pick)
        found.append(total)
    return np.array(found)


@cache
def flipped(weights: tuple[float, ...]) -> np.ndarray:
    """One round of permute-and-flip with these exponents, which are halves."""
    values = np.rint(np.array(weights) * 2).astype(np.int64)
    scores = BoundedSums(values, Fraction(1), Fraction(1), Fraction(1), Fraction(1), True, Unit("user"), ())
    return PermuteAndFlip(Fraction(1, 2)).law(scores)


def neighboring(rows: np.ndarray, change: RowChange) -> np.ndarray:
    """Which pairs of rows one step leads between."""
    moved = rows[None, :, :] - rows[:, None, :]
    allowed = (moved != 0).sum(axis=2) <= (rows.shape[1] if change.entries is None else change.entries)
    return allowed & (moved >= 0).all(axis=2) if change.one_way else allowed


def worst_loss(
    size: int, k: int, change: RowChange, sampler: Sampler, slope: float, levels: tuple[float, ...]
) -> float:
    rows = np.array(list(itertools.product(levels, repeat=size)))
    laws = np.array([log_law(row, k, slope, sampler) for row in rows])
    first, second = np.nonzero(neighboring(rows, change))
    return float(np.abs(laws[first] - laws[second]).max())


SIZES = [(3, 1), (4, 2), (5, 4), (6, 2), (7, 3)]


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize(("size", "k"), SIZES)
def test_no_pair_of_rows_loses_more_than_the_table_says(size: int, k: int, change: RowChange) -> None:
    for slope in (Fraction(1, 2), Fraction(40)):
        bound = float(pure_loss(slope, k=k, size=size, change=change).epsilon)
        assert 0.4 * bound < worst_loss(size, k, change, "subset", float(slope), (0.0, 1.0)) <= bound + 1e-9


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize(("size", "k"), SIZES)
def test_the_table_is_tight(size: int, k: int, change: RowChange) -> None:
    """Scores with a gulf between them, and every step of −1, 0 or 1 of each: one loses all that the table says."""
    steps = np.array(list(itertools.product((0, 1) if change.one_way else (-1, 0, 1), repeat=size)))
    steps = steps[np.count_nonzero(steps, axis=1) <= (size if change.entries is None else change.entries)]
    sets = np.array(list(itertools.combinations(range(size), k)))

    def log_laws(rows: np.ndarray) -> np.ndarray:
        totals = rows[:, sets].sum(axis=2)
        return totals - np.logaddexp.reduce(totals, axis=1)[:, None]

    worst = max(
        float(np.abs(log_laws(start + steps) - log_laws(start[None, :])).max())
        for start in 60.0 * np.array(list(itertools.product((0, 1), repeat=size)))
    )
    assert worst == pytest.approx(float(pure_loss(Fraction(1), k=k, size=size, change=change).epsilon), abs=1e-9)


@pytest.mark.parametrize("sampler", ["gumbel", "permute-and-flip"])
@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize(("size", "k"), [(3, 1), (4, 2), (5, 2)])
def test_lists_in_order_cost_what_the_table_says(size: int, k: int, change: RowChange, sampler: Sampler) -> None:
    for slope in (Fraction(1, 2), Fraction(20)):
        bound = float(pure_loss(slope, k=k, size=size, change=change, sampler=sampler).epsilon)
        assert worst_loss(size, k, change, sampler, float(slope), (0.0, 1.0)) <= bound + 1e-9


def test_k_picks_lose_k_times_when_one_score_changes() -> None:
    """What the factor k of the table is for: each of three picks that pass by the best one loses nearly the slope."""
    low, high = np.zeros(7), np.array([1.0] + [0.0] * 6)
    laws = [log_law(row, 3, 30.0, "gumbel") for row in (low, high)]
    assert np.abs(laws[0] - laws[1]).max() > 3 * (30 - math.log(7))
    assert float(pure_loss(Fraction(30), k=3, size=7, change=RowChange(1), sampler="gumbel").epsilon) == 90
    sets = [log_law(row, 3, 30.0, "subset") for row in (low, high)]
    assert np.abs(sets[0] - sets[1]).max() <= 30


@pytest.mark.parametrize("order", [1.01, 2.0, 10.0])
@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_concentrated_losses(sampler: Sampler, change: RowChange, order: float) -> None:
    size, k = 5, 2
    rows = np.array(list(itertools.product((0.0, 1.0), repeat=size)))
    first, second = np.nonzero(neighboring(rows, change))
    for slope in (Fraction(1, 2), Fraction(3)):
        rho = float(concentrated_loss(slope, k=k, size=size, change=change, sampler=sampler).rho)
        laws = np.array([log_law(row, k, float(slope), sampler) for row in rows])
        for a, b in ((first, second), (second, first)):
            divergence = np.logaddexp.reduce(order * laws[a] + (1 - order) * laws[b], axis=1) / (order - 1)
            assert divergence.max() <= rho * order + 1e-9


def test_the_published_table() -> None:
    """k = 10 of 1,000: one score, five scores, the whole row, the whole row one way."""

    def cost(change: RowChange, sampler: Sampler = "subset") -> tuple[Fraction, Fraction]:
        how = {"k": 10, "size": 1000, "change": change, "sampler": sampler}
        return pure_loss(Fraction(1), **how).epsilon, concentrated_loss(Fraction(1), **how).rho

    assert cost(RowChange(1)) == (1, Fraction(1, 8))
    assert cost(RowChange(3)) == (3, Fraction(9, 8))
    assert cost(RowChange(5)) == (5, Fraction(5, 2))
    assert cost(RowChange(40)) == cost(RowChange()) == (20, 5)
    assert cost(RowChange(one_way=True)) == (10, Fraction(10, 8))
    assert cost(RowChange(1), "gumbel") == (10, Fraction(10, 8))
    assert cost(RowChange(), "gumbel") == (20, 5)
    assert cost(RowChange(), "permute-and-flip") == (20, 20)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_budgets_are_spent_and_not_passed(sampler: Sampler, change: RowChange) -> None:
    how = {"k": 6, "size": 40, "change": change, "sampler": sampler}
    assert pure_loss(slope_for(Budget("1/3").loss, **how), **how).epsilon == Fraction(1, 3)
    spent = concentrated_loss(slope_for(Concentrated(Fraction(1, 3)), **how), **how).rho
    assert spent <= Fraction(1, 3)
    assert float(spent) == pytest.approx(1 / 3, rel=1e-12)


def test_wrong_questions() -> None:
    for wrong in (0, -3, "rows", True, 1.5):
        with pytest.raises(UsageError):
            RowChange.of(wrong)  # type: ignore[arg-type]
    for budget in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(UsageError, match="either"):
            KSubset(k=1, low=0, high=1, **budget)
    with pytest.raises(UsageError, match=r"between 1 and the number of items \(5\), got 6"):
        pure_loss(Fraction(1), k=6, size=5, change=RowChange())
    assert RowChange.of("row, one way") == RowChange(one_way=True)
