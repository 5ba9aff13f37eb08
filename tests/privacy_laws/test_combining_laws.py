"""Combinations: exact laws of what everybody sees, with and without one person; and which loss covers which."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure, delta_of_mu
from discreet.privacy.mechanisms import LaplaceMechanism, NormalMechanism
from discreet.privacy.parallel import composed, follows, weakest
from discreet.privacy.units import Unit
from discreet.testing.laws import smallest_delta

ONE = Fraction(1)
REACH = 12


def sums(*values: int) -> BoundedSums:
    return BoundedSums(np.array(values, dtype=np.int64), ONE, ONE, ONE, ONE, True, Unit(), ())


def noise(epsilon: Fraction) -> np.ndarray:
    """Probabilities of noise from −REACH to REACH on a count of which one person changes 1."""
    return np.exp(LaplaceMechanism(epsilon).log_pmf(sums(0))(np.arange(-REACH, REACH + 1)))


def shifted(law: np.ndarray, by: int) -> np.ndarray:
    """The law of a count with this noise, over outputs in the middle; the tails are left out on both sides alike."""
    return law[4 - by : law.size - 4 - by]


def max_log_ratio(first: np.ndarray, second: np.ndarray) -> float:
    """The largest log-ratio over all outputs that are listed; what is beyond them has the ratio of the last ones."""
    return float(np.abs(np.log(first) - np.log(second)).max())


# Theorem 1: each person is in one part


def both_parts(epsilons: tuple[Fraction, Fraction], counts: tuple[int, int]) -> np.ndarray:
    """The joint law of what two curators release, which everybody sees: more than their sum tells."""
    first, second = (shifted(noise(epsilon), count) for epsilon, count in zip(epsilons, counts, strict=True))
    return np.outer(first, second).ravel()


@pytest.mark.parametrize("epsilons", [(ONE, ONE), (ONE, Fraction(1, 3)), (Fraction(1, 4), Fraction(2))])
def test_whoever_is_in_one_part_has_the_weakest_guarantee(epsilons: tuple[Fraction, Fraction]) -> None:
    promised = weakest([Pure(one) for one in epsilons])
    assert isinstance(promised, Pure)
    ratios = [
        max_log_ratio(both_parts(epsilons, (one, two)), both_parts(epsilons, neighbor))
        for one, two in product(range(3), repeat=2)
        for neighbor in ((one + 1, two), (one, two + 1))
    ]
    assert max(ratios) <= float(promised.epsilon) * (1 + 1e-9)
    assert max(ratios) > 0.999 * float(promised.epsilon)  # the person of the weakest part


def test_whoever_is_in_both_parts_loses_the_sum() -> None:
    epsilons = (ONE, Fraction(1, 3))
    ratio = max_log_ratio(both_parts(epsilons, (0, 0)), both_parts(epsilons, (1, 1)))
    assert ratio > float(weakest([Pure(one) for one in epsilons]).epsilon) * 1.3  # type: ignore[attr-defined]
    assert math.isclose(ratio, float(composed([Pure(one) for one in epsilons]).epsilon), rel_tol=1e-9)  # type: ignore[attr-defined]


def test_normal_noise_keeps_the_curve_of_the_weakest_part() -> None:
    losses = [GaussianLoss(ONE), GaussianLoss(Fraction(1, 4))]
    outputs = np.arange(-40, 41)
    laws = [np.exp(NormalMechanism(one.mu_squared).log_pmf(sums(0))(outputs)) for one in losses]

    def joint(first: int, second: int) -> dict[int, float]:
        counts = zip(laws, (first, second), strict=True)
        return dict(enumerate(np.outer(*(np.roll(law, by) for law, by in counts)).ravel()))

    promised = weakest(losses)
    assert promised == losses[0]
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        bound = delta_of_mu(1, epsilon) * (1 + 1e-9) + 1e-12
        assert smallest_delta(joint(0, 0), joint(1, 0), epsilon) <= bound
        assert smallest_delta(joint(0, 0), joint(0, 1), epsilon) <= bound
    assert smallest_delta(joint(0, 0), joint(1, 1), 1.0) > delta_of_mu(1, 1.0) * 1.1  # in both parts


# Theorem 3: rounds, the second of which is about what the combined first one says


def rounds_of(data: tuple[tuple[int, int], tuple[int, int]], budgets: tuple[Fraction, Fraction]) -> np.ndarray:
    """The joint law of two rounds of two curators with two items each.

    Round 1 releases how many people each curator has. Round 2 counts the first item where the sum of both is even, the
    second one otherwise. Each round has half of each curator's budget.
    """
    law: list[float] = []
    outputs = range(-3, 6)
    halves = [noise(budget / 2) for budget in budgets]

    def chance(curator: int, count: int, output: int) -> float:
        return float(halves[curator][REACH + output - count])

    people = [sum(items) for items in data]
    for first in product(outputs, repeat=2):
        asked = sum(first) % 2
        seen = math.prod(chance(curator, people[curator], first[curator]) for curator in range(2))
        for second in product(outputs, repeat=2):
            counts = (data[curator][asked] for curator in range(2))
            rest = math.prod(chance(curator, count, second[curator]) for curator, count in enumerate(counts))
            law.append(seen * rest)
    return np.array(law)


def test_both_rounds_together_spend_the_budget_of_the_curator() -> None:
    budgets, ratios = (ONE, Fraction(1, 2)), {0: 0.0, 1: 0.0}
    for rest in product(range(2), repeat=4):
        data = (rest[:2], rest[2:])
        for curator, item in product(range(2), repeat=2):
            more = [list(one) for one in data]
            more[curator][item] += 1
            neighbor = (tuple(more[0]), tuple(more[1]))
            ratio = max_log_ratio(rounds_of(data, budgets), rounds_of(neighbor, budgets))  # type: ignore[arg-type]
            ratios[curator] = max(ratios[curator], ratio)
    for curator, budget in enumerate(budgets):
        assert ratios[curator] <= float(budget) * (1 + 1e-9)  # each loses what their own curator spends
        assert ratios[curator] > 0.999 * float(budget)
    assert max(ratios.values()) <= float(weakest([Pure(one) for one in budgets]).epsilon) * (1 + 1e-9)  # type: ignore[attr-defined]


# Which loss covers which


LOSSES: list[Loss] = [
    *(Pure(Fraction(one)) for one in ("1/10", "1", "4")),
    *(GaussianLoss(Fraction(one)) for one in ("1/100", "1", "9")),
    *(Concentrated(Fraction(one)) for one in ("1/200", "1/2", "5")),
    Concentrated(Fraction(1, 2), Fraction(1, 10**8)),
    *(Approximate(Fraction(one), Fraction(1, 10**6)) for one in ("1/10", "1", "6")),
    Approximate(Fraction(1), Fraction(0)),
]
DELTAS = [Fraction(1, 10**power) for power in (2, 4, 5, 6, 7, 9, 12)]


def curve(loss: Loss) -> list[float]:
    """The epsilon at each delta, infinite where the loss says nothing."""
    from discreet.errors import PrivacyError

    found = []
    for delta in DELTAS:
        try:
            found.append(float(loss.epsilon_at(delta)))
        except PrivacyError:
            found.append(math.inf)
    return found


@pytest.mark.parametrize("weak", LOSSES, ids=str)
def test_a_loss_that_covers_another_is_nowhere_below_it(weak: Loss) -> None:
    for strong in LOSSES:
        if follows(weak, strong):
            assert all(one >= two * (1 - 1e-9) for one, two in zip(curve(weak), curve(strong), strict=True)), strong
    assert follows(weak, weak)


@pytest.mark.parametrize("several", list(product(LOSSES, repeat=2)), ids=lambda pair: " and ".join(map(str, pair)))
def test_the_weakest_is_nowhere_below_any_of_them(several: tuple[Loss, Loss]) -> None:
    promised = weakest(several)
    for one in several:
        assert all(a >= b * (1 - 1e-9) for a, b in zip(curve(promised), curve(one), strict=True))
    assert weakest(several[::-1]) == promised or curve(weakest(several[::-1])) == curve(promised)


def test_where_one_covers_all_it_is_that_one() -> None:
    assert weakest([Pure(ONE), GaussianLoss(Fraction(4)), GaussianLoss(ONE)]) == GaussianLoss(Fraction(4))
    assert weakest([Pure(ONE), Concentrated(Fraction(1, 2))]) == Concentrated(Fraction(1, 2))
    assert weakest([GaussianLoss(ONE), Concentrated(Fraction(1, 2))]) == Concentrated(Fraction(1, 2))
    # Curves that cross: what holds for each of them at the declared delta.
    crossing = weakest([Pure(ONE), GaussianLoss(Fraction(1, 100))], Fraction(1, 10**5))
    assert crossing == Approximate(ONE, Fraction(1, 10**5))
    with pytest.raises(UsageError):
        weakest([])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
def test_pure_privacy_is_gaussian_from_the_right_mu_on(epsilon: float) -> None:
    """Randomized response is the worst that ε-differential privacy allows; its curve is compared with that of μ."""
    likely = 1 / (1 + math.exp(-epsilon))
    yes, no = {"yes": likely, "no": 1 - likely}, {"yes": 1 - likely, "no": likely}
    pure = Pure(Fraction(epsilon))
    mu = Fraction(1)
    low, high = 0.0, 20.0
    for _ in range(60):  # the least μ that covers it, by the function under test
        mu = Fraction((low + high) / 2)
        low, high = (low, float(mu)) if follows(GaussianLoss(mu**2), pure) else (float(mu), high)
    points = [epsilon * share for share in np.linspace(0, 1.5, 61)]
    assert all(smallest_delta(yes, no, at) <= delta_of_mu(high, at) + 1e-12 for at in points)
    assert any(smallest_delta(yes, no, at) > delta_of_mu(0.999 * high, at) + 1e-12 for at in points)


def test_losses_without_a_common_kind_add_up_as_epsilon_and_delta() -> None:
    both = [Approximate(ONE, Fraction(1, 10**6)), GaussianLoss(Fraction(1, 100))]
    total = composed(both, Fraction(1, 10**6))
    assert isinstance(total, Approximate)
    assert total.delta == Fraction(2, 10**6)
    assert total.epsilon == 1 + both[1].epsilon_at(Fraction(1, 10**6))
