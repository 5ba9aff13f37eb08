"""The four views against sums done by hand, against exact enumeration, and against each other."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import PrivacyError, UsageError
from discreet.privacy import loss_distributions
from discreet.privacy.accounting import (
    VIEWS,
    basic,
    concentrated,
    gaussian,
    pld,
    stated_delta,
    totals,
)
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure, delta_of_mu

MILLIONTH = Fraction(1, 10**6)


def pure(epsilon: str) -> Pure:
    return Pure(Fraction(epsilon))


def exact_delta(epsilons: list[float], at: float, mu: float = 0.0) -> float:
    """δ(ε) of randomized responses, and one Gaussian, by enumerating all outcomes of the former."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        loss = sum(sign * epsilon for sign, epsilon in zip(signs, epsilons, strict=True))
        mass = math.prod(1 / (1 + math.exp(-sign * epsilon)) for sign, epsilon in zip(signs, epsilons, strict=True))
        total += mass * (delta_of_mu(mu, at - loss) if mu else max(0.0, -math.expm1(at - loss)))
    return total


class TestBasic:
    def test_epsilons_add_and_deltas_add_exactly(self) -> None:
        losses: list[Loss] = [pure("1/3"), pure("1/6"), Approximate(Fraction(1, 7), Fraction(1, 10**7))]
        total = basic(losses, MILLIONTH)
        assert total.epsilon == Fraction(1, 3) + Fraction(1, 6) + Fraction(1, 7)
        assert total.delta == Fraction(1, 10**7)

    def test_counts_are_repetitions(self) -> None:
        once = Approximate(Fraction(1, 7), Fraction(1, 10**8))
        assert basic([(once, 3), pure("1/2")], MILLIONTH) == basic([once, once, pure("1/2"), once], MILLIONTH)

    def test_soft_losses_are_added_first_and_converted_at_what_is_left_of_delta(self) -> None:
        stated = Fraction(4, 10**7)
        total = basic(
            [pure("1/2"), Approximate(Fraction(1, 4), stated), (Concentrated(Fraction(1, 100)), 3)], MILLIONTH
        )
        assert total.epsilon == Fraction(3, 4) + Concentrated(Fraction(3, 100)).epsilon_at(MILLIONTH - stated)
        assert total.delta == MILLIONTH

    def test_gaussians_alone_stay_gaussian(self) -> None:
        one = GaussianLoss(Fraction(1, 50))
        assert basic([(one, 5)], MILLIONTH).epsilon == GaussianLoss(Fraction(1, 10)).epsilon_at(MILLIONTH)

    def test_gaussians_beside_zcdp_are_added_as_zcdp(self) -> None:
        total = basic([GaussianLoss(Fraction(1, 50)), Concentrated(Fraction(1, 100))], MILLIONTH)
        assert total.epsilon == Concentrated(Fraction(2, 100)).epsilon_at(MILLIONTH)

    def test_the_failure_probability_of_approximate_zcdp_is_stated(self) -> None:
        loss = Concentrated(Fraction(1, 100), Fraction(1, 10**7))
        assert basic([loss], MILLIONTH).epsilon == loss.epsilon_at(MILLIONTH)
        assert stated_delta([(loss, 4), Approximate(Fraction(1), Fraction(1, 10**9))]) == Fraction(401, 10**9)

    def test_pure_losses_need_no_delta(self) -> None:
        assert basic([pure("1/2"), pure("1/2")]).epsilon == 1
        assert basic([]).epsilon == 0


class TestRefusals:
    def test_deltas_above_the_allowed_one(self) -> None:
        with pytest.raises(PrivacyError, match="add up to 2e-6, above 1e-6"):
            basic([(Approximate(Fraction(1), MILLIONTH), 2)], MILLIONTH)

    @pytest.mark.parametrize("loss", [Concentrated(Fraction(1, 8)), GaussianLoss(Fraction(1, 4))])
    def test_soft_losses_without_any_delta(self, loss: Loss) -> None:
        for view in (basic, concentrated, pld):
            with pytest.raises(PrivacyError, match="no finite epsilon"):
                view([loss], 0)

    def test_gaussian_view_of_something_else(self) -> None:
        with pytest.raises(PrivacyError, match="only Gaussian"):
            gaussian([GaussianLoss(Fraction(1)), pure("1")], MILLIONTH)

    def test_negative_counts(self) -> None:
        with pytest.raises(UsageError, match="-1 times"):
            basic([(pure("1"), -1)])

    def test_a_delta_that_is_no_probability(self) -> None:
        with pytest.raises(UsageError, match="below 1"):
            totals([pure("1")], 2)


class TestConcentrated:
    def test_pure_and_gaussian_losses_are_added_as_rho(self) -> None:
        losses = [(pure("1/10"), 4), (GaussianLoss(Fraction(1, 50)), 2), (Concentrated(Fraction(1, 100)), 1)]
        rho = Fraction(4, 200) + Fraction(2, 100) + Fraction(1, 100)
        assert concentrated(losses, MILLIONTH).epsilon == Concentrated(rho).epsilon_at(MILLIONTH)

    def test_approximate_losses_are_added_as_they_are(self) -> None:
        stated = Approximate(Fraction(1, 3), Fraction(1, 10**7))
        total = concentrated([stated, pure("1/10")], MILLIONTH)
        rest = MILLIONTH - stated.delta
        assert total.epsilon == Fraction(1, 3) + Concentrated(Fraction(1, 200)).epsilon_at(rest)

    def test_zero_loss_needs_no_delta(self) -> None:
        assert concentrated([pure("0"), Concentrated(Fraction(0))], 0).epsilon == 0


class TestGaussian:
    def test_ten_releases_are_one_with_ten_times_mu_squared(self) -> None:
        mu = 0.1
        total = gaussian([(GaussianLoss(Fraction(1, 100)), 10)], MILLIONTH)
        assert delta_of_mu(mu * math.sqrt(10), total.epsilon) == pytest.approx(1e-6, rel=1e-6)

    def test_pld_gives_the_same(self) -> None:
        losses = [(GaussianLoss(Fraction(1, 100)), 10)]
        assert pld(losses, MILLIONTH).epsilon == gaussian(losses, MILLIONTH).epsilon


class TestPrivacyLossDistributions:
    @pytest.mark.parametrize(("epsilon", "count"), [("1/20", 100), ("1/10", 40), ("1/2", 30), ("1/100", 1000)])
    def test_homogeneous_pure_losses_meet_the_optimal_composition_theorem(self, epsilon: str, count: int) -> None:
        # Kairouz, Oh, Viswanath, Theorem 3.3: at δ_i the best epsilon is exactly (k − 2i)·ε.
        step = float(Fraction(epsilon))
        checked = 0
        for i in range(count // 2):
            terms = [
                math.comb(count, level)
                * (math.exp((count - level) * step) - math.exp((count - 2 * i + level) * step))
                / (1 + math.exp(step)) ** count
                for level in range(i)
            ]
            delta = math.fsum(terms)
            if 1e-8 < delta < 1e-2:
                best = (count - 2 * i) * step
                found = float(pld([(pure(epsilon), count)], Fraction(delta)).epsilon)
                assert best * (1 - 1e-9) <= found <= best + 1e-3 * step + 1e-5
                checked += 1
        assert checked >= 2

    @pytest.mark.parametrize("mu_squared", [Fraction(0), Fraction(1, 25)])
    def test_unequal_losses_match_enumeration(self, mu_squared: Fraction) -> None:
        epsilons = ["1/3", "1/10", "1/7", "2/9", "0.123456789", "1/10", "1/4", "1/2"]
        losses: list[Loss] = [pure(epsilon) for epsilon in epsilons]
        if mu_squared:
            losses.append(GaussianLoss(mu_squared))
        found = pld(losses, "1e-3").epsilon
        assert found < basic(losses, "1e-3").epsilon
        numbers = [float(Fraction(epsilon)) for epsilon in epsilons]
        assert exact_delta(numbers, float(found), math.sqrt(mu_squared)) <= 1e-3
        assert exact_delta(numbers, float(found) - 0.003, math.sqrt(mu_squared)) > 1e-3

    def test_the_delta_of_approximate_losses_is_taken_off_first(self) -> None:
        stated = Approximate(Fraction(1, 10), Fraction(1, 10**9))
        total = pld([(stated, 100)], MILLIONTH)
        assert total.epsilon == pld([(pure("1/10"), 100)], MILLIONTH - Fraction(1, 10**7)).epsilon
        assert total.epsilon < basic([(stated, 100)], MILLIONTH).epsilon / 2

    def test_many_small_losses_come_to_far_less_than_their_sum(self) -> None:
        views = totals([(pure("1/20"), 100)], MILLIONTH)
        assert views["basic"].epsilon == 5
        assert views["pld"].epsilon < views["concentrated"].epsilon < 3
        assert views["pld"].epsilon == min(view.epsilon for view in views.values())

    def test_zcdp_losses_are_added_at_a_part_of_delta(self) -> None:
        losses = [(pure("1/100"), 400), (Concentrated(Fraction(1, 2)), 1)]
        views = totals(losses, MILLIONTH)
        assert views["pld"].epsilon <= min(views["basic"].epsilon, views["concentrated"].epsilon)
        # The half-and-half split is one that was tried.
        half = MILLIONTH / 2
        by_hand = pld(losses[:1], half).epsilon + Concentrated(Fraction(1, 2)).epsilon_at(half)
        assert views["pld"].epsilon <= by_hand

    def test_both_parts_of_delta_add_up_to_no_more_than_delta(self) -> None:
        """Where splitting delta is the best way, no split of any kind gives less."""
        steps, soft = (pure("1/20"), 100), Concentrated(Fraction(1, 10**6))
        total = pld([steps, (soft, 1)], MILLIONTH).epsilon
        assert total < min(basic([steps, (soft, 1)], MILLIONTH).epsilon, concentrated([steps, soft], MILLIONTH).epsilon)
        shares = [Fraction(place, 50) for place in range(1, 50)] + [Fraction(1, 100), Fraction(1, 1000)]
        best = min(pld([steps], MILLIONTH * (1 - s)).epsilon + soft.epsilon_at(MILLIONTH * s) for s in shares)
        assert total >= best * (1 - Fraction(1, 10**6))

    def test_at_delta_zero_it_is_the_basic_sum(self) -> None:
        views = totals([(pure("1/20"), 100)], 0)
        assert set(views) == {"basic", "pld"}
        assert views["pld"].epsilon == views["basic"].epsilon == 5

    def test_a_delta_too_small_for_floating_point_falls_back(self) -> None:
        losses = [(pure("1/20"), 100)]
        tiny = Fraction(1, 10**14)
        assert loss_distributions.epsilon_of_product(Counter({Fraction(1, 20): 100}), Fraction(0), tiny) is None
        assert pld(losses, tiny).epsilon == min(basic(losses, tiny).epsilon, concentrated(losses, tiny).epsilon)

    def test_enormous_losses_do_not_break_it(self) -> None:
        assert pld([(pure("1000"), 1000)], MILLIONTH).epsilon == 1_000_000
        assert pld([pure("1/7"), GaussianLoss(Fraction(2000))], MILLIONTH).epsilon > 1000

    def test_a_thousand_different_losses_are_quick_enough_and_sound(self) -> None:
        losses = [pure(f"{1000 + 7 * i}/100000") for i in range(1000)]
        total = pld(losses, MILLIONTH).epsilon
        largest = pld([(losses[-1], 1000)], MILLIONTH).epsilon
        smallest = pld([(losses[0], 1000)], MILLIONTH).epsilon
        assert smallest < total < largest


LOSSES = st.one_of(
    st.fractions("1/50", 1, max_denominator=50).map(Pure),
    st.fractions("1/50", 1, max_denominator=50).map(lambda e: Approximate(e, Fraction(1, 10**9))),
    st.fractions("1/1000", "1/10", max_denominator=1000).map(Concentrated),
    st.fractions("1/1000", "1/10", max_denominator=1000).map(GaussianLoss),
)


@settings(max_examples=40, deadline=None)
@given(
    losses=st.lists(st.tuples(LOSSES, st.integers(1, 20)), min_size=1, max_size=3),
    more=st.integers(1, 5),
    view=st.sampled_from(sorted(VIEWS)),
)
def test_more_releases_never_lose_less(losses: list[tuple[Loss, int]], more: int, view: str) -> None:
    (first, count), *others = losses
    before = VIEWS[view](losses, MILLIONTH).epsilon
    after = VIEWS[view]([(first, count + more), *others], MILLIONTH).epsilon
    assert after >= before


@settings(max_examples=25, deadline=None)
@given(losses=st.lists(st.tuples(LOSSES, st.integers(1, 20)), max_size=3))
def test_pld_is_never_above_another_view(losses: list[tuple[Loss, int]]) -> None:
    views = totals(losses, MILLIONTH)
    assert views["pld"].epsilon == min(total.epsilon for total in views.values())
    assert all(total.delta <= MILLIONTH for total in views.values())
