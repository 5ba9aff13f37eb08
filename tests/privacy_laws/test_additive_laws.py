"""Every tiny dataset against every neighbor: counts with noise stay within their guarantee, and not by much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.privacy.bounding import cap_items, cap_records
from discreet.privacy.losses import Concentrated
from discreet.privacy.mechanisms import GaussianMechanism, LaplaceMechanism
from discreet.privacy.units import Unit
from discreet.privacy.weighing import clip_l2, weigh
from discreet.testing import additive_log_ratio, additive_renyi, neighboring_datasets

EPSILON = Fraction(1, 2)
RHO = Fraction(1, 8)


@dataclass(frozen=True)
class TooLittleNoise(LaplaceMechanism):
    """A broken mechanism: nine tenths of the scale."""

    def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
        return super().parameter(sums, off_diagonal=off_diagonal) * Fraction(9, 10)


@dataclass(frozen=True)
class TooLittleGaussian(GaussianMechanism):
    """A broken mechanism: nine tenths of the scale."""

    def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
        return super().parameter(sums, off_diagonal=off_diagonal) * Fraction(81, 100)


def weighed_pairs(repeats: bool):
    for without, with_user in neighboring_datasets("abc", most_users=1, most_records=3, repeats=repeats):
        yield weigh(without, 2, bits=4), weigh(with_user, 2, bits=4)


def clipped_pairs():
    for without, with_user in neighboring_datasets("ab", most_users=2, most_records=3, repeats=True):
        yield clip_l2(without, 2, bits=4), clip_l2(with_user, 2, bits=4)


@pytest.mark.parametrize("repeats", [False, True])
def test_weighed_counts_keep_epsilon_and_use_it(repeats: bool) -> None:
    losses = [additive_log_ratio(LaplaceMechanism(EPSILON), *pair) for pair in weighed_pairs(repeats)]
    assert max(losses) <= float(EPSILON) + 1e-9
    assert max(losses) >= 0.98 * float(EPSILON)


def test_a_tenth_less_noise_is_caught() -> None:
    losses = [additive_log_ratio(TooLittleNoise(EPSILON), *pair) for pair in weighed_pairs(False)]
    assert max(losses) > float(EPSILON) * 1.05


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0, 16.0])
def test_clipped_counts_keep_rho_and_use_it(order: float) -> None:
    divergences = [additive_renyi(GaussianMechanism(RHO), *pair, order) for pair in clipped_pairs()]
    assert max(divergences) <= float(RHO) * order + 1e-9
    assert max(divergences) >= 0.9 * float(RHO) * order


def test_a_tenth_less_gaussian_noise_is_caught() -> None:
    divergences = [additive_renyi(TooLittleGaussian(RHO), *pair, 2.0) for pair in clipped_pairs()]
    assert max(divergences) > float(RHO) * 2.0 * 1.05


def test_a_data_dependent_cap_is_caught() -> None:
    """The broken mechanism of Fan and Jin's experiments: the cap is the largest history that occurs."""
    worst = 0.0
    for without, with_user in neighboring_datasets("ab", most_users=1, most_records=3, repeats=True):
        sums = [weigh(d, int(d.records_per_user.max(initial=1)), bits=2) for d in (without, with_user)]
        worst = max(worst, additive_log_ratio(LaplaceMechanism(EPSILON), sums[0], sums[1]))
    assert worst > 4 * float(EPSILON)


def test_counts_on_the_items_that_occur_are_caught() -> None:
    """The broken mechanism without a public catalog: the length of the output tells who is there."""
    from discreet.data import Interactions
    from discreet.errors import UsageError

    without = Interactions([("u0", "a")]).with_catalog("observed")
    with_user = Interactions([("u0", "a"), ("u1", "b")]).with_catalog("observed")
    with pytest.raises(UsageError, match="different length"):
        additive_log_ratio(LaplaceMechanism(EPSILON), weigh(without, 2), weigh(with_user, 2))


def test_replacing_a_user_costs_twice_and_the_unit_says_so() -> None:
    pairs = [(a, b) for a, b in weighed_pairs(False)]
    with_users = [b for _, b in pairs[:7]]
    worst = {}
    for unit in (Unit("user"), Unit("user", "replace")):
        mechanism = LaplaceMechanism(EPSILON)
        worst[unit.relation] = max(
            additive_log_ratio(mechanism, replace(one, unit=unit), replace(other, unit=unit))
            for one in with_users
            for other in with_users
        )
    assert worst["add-remove"] > float(EPSILON) * 1.4
    assert worst["replace"] <= float(EPSILON) + 1e-9


@pytest.mark.parametrize("choice", ["random", "recent"])
def test_chosen_records_never_pass_the_cap(choice, fixed_bits) -> None:
    """Whatever is drawn: one user changes the counts by at most the stated norms."""
    from discreet.data import Interactions

    rng = np.random.default_rng(5)
    for _ in range(20):
        rows = [
            (u, i, 1, t) for t, (u, i) in enumerate(zip(rng.integers(0, 3, 30), rng.integers(0, 4, 30), strict=True))
        ]
        data = Interactions(rows, items=range(4), duplicates="keep")
        for bounded in (cap_records(data, 5, choice=choice), cap_items(data, 3, choice=choice)):
            sums = bounded.item_counts()
            for user in range(bounded.records.n_users):
                alone = np.bincount(bounded.records.item[bounded.records.user == user], minlength=4)
                assert alone.sum() <= sums.l1
                assert (alone**2).sum() <= sums.l2_squared
                assert alone.max() <= sums.linf


def test_loss_is_what_the_mechanism_was_given() -> None:
    assert LaplaceMechanism.of("0.1").loss.epsilon == Fraction(1, 10)
    mechanism = GaussianMechanism.of(epsilon=1, delta="1e-6")
    assert mechanism.loss.epsilon_at(Fraction(1, 10**6)) <= 1
    assert Concentrated(mechanism.rho * Fraction(101, 100)).epsilon_at(Fraction(1, 10**6)) > 1
