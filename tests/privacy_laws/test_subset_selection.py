"""The k-subset mechanism and the lists made with it: exact laws over all tiny neighboring worlds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.privacy.bounding import BoundedSums
from discreet.privacy.subset_selection import SubsetMechanism
from discreet.privacy.units import Unit
from discreet.testing import max_log_ratio, renyi_divergence

EPSILON = Fraction(7, 10)

Pair = tuple[BoundedSums, BoundedSums]


def scores(values: tuple[int, ...], *, l1: int, linf: int, squared: int, nonnegative: bool = False) -> BoundedSums:
    array = np.array(values, dtype=np.int64)
    return BoundedSums(
        array, Fraction(1), Fraction(l1), Fraction(squared), Fraction(linf), nonnegative, Unit("record"), ()
    )


def pairs(kind: str, size: int) -> Iterator[Pair]:
    """Scores of 0 and 2 and every neighbor: one score that moves by up to 2, two by 1, all up by 1, all by ±1."""
    bounds = {
        "one score": {"l1": 2, "linf": 2, "squared": 4},
        "two scores": {"l1": 2, "linf": 1, "squared": 2},
        "rising": {"l1": size, "linf": 1, "squared": size, "nonnegative": True},
        "both ways": {"l1": size, "linf": 1, "squared": size},
    }[kind]
    reach = {"one score": (-2, -1, 1, 2), "rising": (0, 1)}.get(kind, (-1, 0, 1))
    for start in itertools.product((0, 2), repeat=size):
        for step in itertools.product({0, *reach}, repeat=size):
            moved = np.count_nonzero(step)
            if (kind == "one score" and moved != 1) or (kind == "two scores" and moved > 2):
                continue
            yield scores(start, **bounds), scores(tuple(np.add(start, step).tolist()), **bounds)


@dataclass(frozen=True)
class Louder(SubsetMechanism):
    """A broken twin: twice the rate."""

    def rate(self, scores: BoundedSums) -> Fraction:
        return 2 * super().rate(scores)


def worst_loss(mechanism: SubsetMechanism, kind: str, size: int) -> float:
    @cache
    def law(values: tuple[int, ...]) -> np.ndarray:
        return np.array(list(mechanism.law(replace(like, values=np.array(values, dtype=np.int64))).values()))

    like = next(pairs(kind, size))[0]
    return max(
        max_log_ratio(law(tuple(a.values.tolist())), law(tuple(b.values.tolist()))) for a, b in pairs(kind, size)
    )


@pytest.mark.parametrize("kind", ["one score", "two scores", "rising", "both ways"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_subsets_keep_epsilon(kind: str, k: int) -> None:
    worst = worst_loss(SubsetMechanism(k, EPSILON), kind, 4)
    assert 0.5 * float(EPSILON) < worst <= float(EPSILON) + 1e-9


@pytest.mark.parametrize("kind", ["one score", "two scores", "both ways"])
def test_twice_the_rate_is_caught(kind: str) -> None:
    assert worst_loss(Louder(2, EPSILON), kind, 4) > 1.05 * float(EPSILON)


def test_the_bound_for_one_score_is_tight_with_many_candidates() -> None:
    """One of 60 that rises: nearly ε, and no factor k; a rate larger by a tenth would pass it."""
    low, high = scores((0,) * 60, l1=1, linf=1, squared=1), scores((1,) + (0,) * 59, l1=1, linf=1, squared=1)
    for factor, beyond in ((Fraction(1), False), (Fraction(11, 10), True)):
        mechanism = SubsetMechanism(2, EPSILON * factor)
        worst = max_log_ratio(mechanism.law(low), mechanism.law(high))
        assert 0.93 * float(EPSILON) < worst
        assert (worst > float(EPSILON)) == beyond


@pytest.mark.parametrize("order", [1.5, 8.0])
@pytest.mark.parametrize("kind", ["one score", "two scores", "rising", "both ways"])
def test_concentrated_bounds(kind: str, order: float) -> None:
    for k in (1, 2):
        mechanism = SubsetMechanism(k, Fraction(2))
        for a, b in itertools.islice(pairs(kind, 4), 0, None, 7):
            rho = float(mechanism.concentrated_loss(a).rho)
            assert renyi_divergence(mechanism.law(a), mechanism.law(b), order) <= rho * order + 1e-9
