"""The instrument itself: broken mechanisms that a careless comparison would let through."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import GaussianMechanism, LaplaceMechanism
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.weighing import weigh
from discreet.testing import (
    additive_log_ratio,
    additive_renyi,
    fits_law,
    max_log_ratio,
    neighboring_datasets,
    renyi_divergence,
)

PAIRS = [
    (weigh(a, 2, bits=2), weigh(b, 2, bits=2)) for a, b in neighboring_datasets("ab", most_users=1, most_records=2)
]


@dataclass(frozen=True)
class ScaleWithTheData(LaplaceMechanism):
    """The scale depends on the data, by one part in ten thousand."""

    def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
        return super().parameter(sums, off_diagonal=off_diagonal) * (1 + Fraction(int(sums.values.sum()), 10_000))


@dataclass(frozen=True)
class NotANumber(LaplaceMechanism):
    """No law at all."""

    def log_pmf(self, sums: Any):
        return lambda noise: np.full(noise.shape, np.nan)


def test_a_scale_that_follows_the_data_is_infinite_loss() -> None:
    assert max(additive_log_ratio(ScaleWithTheData(Fraction(1)), *pair) for pair in PAIRS) == float("inf")
    assert max(additive_renyi(ScaleWithTheData(Fraction(1)), *pair, 2.0) for pair in PAIRS) == float("inf")


def test_not_a_number_is_no_comparison() -> None:
    with pytest.raises(UsageError, match="not a number"):
        [additive_log_ratio(NotANumber(Fraction(1)), *pair) for pair in PAIRS]


@pytest.mark.parametrize("order", [2.0, 16.0, 64.0])
def test_high_orders_look_far_enough(order: float) -> None:
    """A third less variance is seen at every order, the highest too."""

    @dataclass(frozen=True)
    class TooLittle(GaussianMechanism):
        def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
            return super().parameter(sums, off_diagonal=off_diagonal) * Fraction(64, 100)

    rho = Fraction(1, 2)
    worst = max(additive_renyi(TooLittle(rho), *pair, order) for pair in PAIRS)
    honest = max(additive_renyi(GaussianMechanism(rho), *pair, order) for pair in PAIRS)
    assert honest <= float(rho) * order + 1e-9
    assert worst > 1.2 * honest


@pytest.mark.parametrize(
    "law", [{"a": 0.5}, {"a": 0.5, "b": 0.6}, {"a": float("nan"), "b": 0.5}, {"a": 1.5, "b": -0.5}]
)
def test_laws_that_are_none_are_refused(law) -> None:
    with pytest.raises(UsageError, match="sum to 1"):
        max_log_ratio(law, {"a": 0.5, "b": 0.5})
    with pytest.raises(UsageError):
        renyi_divergence(law, {"a": 0.5, "b": 0.5}, 2.0)


def law(scale: float):
    return LaplaceMechanism(1 / Fraction(scale)).log_pmf(
        BoundedSums(
            np.zeros(1, dtype=np.int64), Fraction(1), Fraction(1), Fraction(1), Fraction(1), True, PAIRS[0][0].unit, ()
        )
    )


def test_a_lattice_is_seen_where_places_are_right(fixed_bits) -> None:
    honest = discrete_laplace(50_000, Fraction(1764))
    assert fits_law(honest, law(1764)) > 1e-4
    assert fits_law(honest // 2 * 2, law(1764)) < 1e-9


def test_tails_that_are_cut_off_are_seen(fixed_bits) -> None:
    honest = discrete_laplace(200_000, Fraction(50))
    assert fits_law(honest, law(50)) > 1e-4
    assert fits_law(np.clip(honest, -300, 300), law(50)) < 1e-4
