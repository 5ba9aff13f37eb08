"""Losses: conversions against published tables and closed forms, composition, comparison."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.losses import (
    Approximate,
    Concentrated,
    GaussianLoss,
    Pure,
    add,
    delta_of_mu,
    loss_from_json,
    mu_for,
    rho_for,
)
from discreet.privacy.numbers import as_fraction, as_positive, as_probability, plain, round_down, round_up, sqrt_up

positive = st.fractions(min_value="1/1000", max_value=8, max_denominator=1000)


@pytest.mark.parametrize(
    ("epsilon", "mu5", "mu6"),
    [("0.5", 0.1422, 0.1241), (1, 0.2681, 0.2367), (2, 0.5016, 0.4483), (4, 0.9249, 0.8379), (8, 1.6660, 1.5315)],
)
def test_mu_of_epsilon_and_delta(epsilon, mu5: float, mu6: float) -> None:
    assert float(mu_for(epsilon, "1e-5")) == pytest.approx(mu5, abs=1e-4)
    assert float(mu_for(epsilon, "1e-6")) == pytest.approx(mu6, abs=1e-4)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", 1, 2, 4])
def test_rho_is_at_least_the_classical_conversion(epsilon) -> None:
    """(√(ln 1/δ + ε) − √ln 1/δ)² is valid but loose; ours is larger and still valid by the classical-free bound."""
    log = math.log(1e6)
    classical = (math.sqrt(log + float(as_fraction(epsilon))) - math.sqrt(log)) ** 2
    rho = rho_for(epsilon, "1e-6")
    assert float(rho) > classical
    assert Concentrated(rho).epsilon_at(Fraction(1, 10**6)) <= as_fraction(epsilon)
    assert Concentrated(rho * Fraction(1001, 1000)).epsilon_at(Fraction(1, 10**6)) > as_fraction(epsilon)


@given(positive, st.integers(2, 9))
def test_gaussian_delta_is_the_integral(mu: Fraction, digits: int) -> None:
    epsilon = GaussianLoss(mu**2).epsilon_at(Fraction(1, 10**digits))
    assert delta_of_mu(mu, epsilon) <= 10.0**-digits * (1 + 1e-9)
    if epsilon > Fraction(1, 100):
        assert delta_of_mu(mu, epsilon * Fraction(99, 100)) > 10.0**-digits * (1 - 1e-6)


@given(positive, st.integers(2, 9))
def test_gaussian_accounting_is_never_worse_than_concentrated(mu: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    gaussian = GaussianLoss(mu**2)
    assert gaussian.epsilon_at(delta) <= gaussian.concentrated().epsilon_at(delta) * Fraction(1000001, 1000000)


def test_concentrated_conversion_by_hand() -> None:
    """The bound at the best α found on a fine grid is the one returned."""
    rho, delta = 0.3, 1e-5
    grid = min(
        rho * a + (math.log(1 / delta) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
        for a in (1 + 0.0005 * k for k in range(1, 60_000))
    )
    found = float(Concentrated(Fraction(3, 10)).epsilon_at(Fraction(1, 10**5)))
    assert found == pytest.approx(grid, rel=1e-6)


@given(positive, positive)
def test_pure_losses_add_exactly(a: Fraction, b: Fraction) -> None:
    assert add(Pure(a), Pure(b)) == Pure(a + b)
    assert add(Approximate(a, Fraction(1, 10**6)), Pure(b)) == Approximate(a + b, Fraction(1, 10**6))
    small = Fraction(1, 10**6)
    assert add(Approximate(a, small), Approximate(b, 2 * small)) == Approximate(a + b, 3 * small)
    assert add(GaussianLoss(a), GaussianLoss(b)) == GaussianLoss(a + b)
    assert add(Concentrated(a), GaussianLoss(b)) == Concentrated(a + b / 2)
    assert add(Pure(a), Concentrated(b)) == Concentrated(a**2 / 2 + b)


def test_losses_without_a_common_sum_say_what_to_do() -> None:
    with pytest.raises(PrivacyError, match="epsilon_at"):
        add(Approximate(Fraction(1), Fraction(1, 10)), Concentrated(Fraction(1)))


@given(positive, st.integers(1, 5))
def test_groups(epsilon: Fraction, steps: int) -> None:
    assert Pure(epsilon).for_group(steps) == Pure(steps * epsilon)
    assert Concentrated(epsilon).for_group(steps) == Concentrated(steps**2 * epsilon)
    assert GaussianLoss(epsilon).for_group(steps) == GaussianLoss(steps**2 * epsilon)
    approximate = Approximate(epsilon, Fraction(1, 10**9)).for_group(steps)
    exact = min(1.0, steps * math.exp((steps - 1) * float(epsilon)) * 1e-9)
    assert exact <= float(approximate.delta) * (1 + 1e-9)
    assert float(approximate.delta) <= exact * (1 + 1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        Pure(Fraction(1, 3)),
        Approximate(Fraction(2), Fraction(1, 7)),
        Concentrated(Fraction(1, 9)),
        GaussianLoss(Fraction(2)),
    ],
)
def test_json_round_trip(loss) -> None:
    assert loss_from_json(loss.to_json()) == loss


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pure(Fraction(-1)),
        lambda: Approximate(Fraction(1), Fraction(-1, 10)),
        lambda: Concentrated(Fraction(-1)),
        lambda: GaussianLoss(Fraction(-1)),
        lambda: Pure(0.5),  # type: ignore[arg-type]
    ],
)
def test_a_loss_is_never_a_refund_and_never_a_float(make) -> None:
    with pytest.raises(UsageError, match="rational number from 0"):
        make()


def test_impossible_conversions_are_refused() -> None:
    for loss in (Concentrated(Fraction(1)), GaussianLoss(Fraction(1))):
        with pytest.raises(PrivacyError):
            loss.epsilon_at(Fraction(0))
    with pytest.raises(PrivacyError):
        Approximate(Fraction(1), Fraction(1, 10)).epsilon_at(Fraction(1, 100))
    with pytest.raises(UsageError):
        mu_for(1, 0)
    with pytest.raises(UsageError):
        loss_from_json({"kind": "magic"})


# Numbers


@pytest.mark.parametrize("given", [Fraction(1, 10), 0.1, "0.1", "1/10", Decimal("0.1"), "1e-1", " 0.10 "])
def test_a_tenth_is_a_tenth(given) -> None:
    assert as_fraction(given) == Fraction(1, 10)


@pytest.mark.parametrize("given", ["", "one", None, float("nan"), float("inf"), "1/0", True, [1]])
def test_what_is_no_number(given) -> None:
    with pytest.raises(UsageError):
        as_fraction(given)


def test_ranges() -> None:
    with pytest.raises(UsageError, match="above 0"):
        as_positive(0, "epsilon")
    with pytest.raises(UsageError, match="below 1"):
        as_probability(1)


@given(st.floats(min_value=1e-12, max_value=1e12))
def test_rounding_has_a_direction(value: float) -> None:
    assert round_down(value) <= Fraction(value) <= round_up(value)
    assert round_up(value) - round_down(value) <= Fraction(value) / 10**11


@given(st.fractions(min_value=0, max_value=10**6))
def test_square_roots_round_up(value: Fraction) -> None:
    root = sqrt_up(value)
    assert root**2 >= value
    assert root == 0 or (root - Fraction(1, 2**64)) ** 2 < value


@given(st.fractions(min_value="1/100000", max_value=1000))
def test_plain_never_understates(value: Fraction) -> None:
    text = plain(value)
    assert Fraction(text.lstrip("≈")) >= value
