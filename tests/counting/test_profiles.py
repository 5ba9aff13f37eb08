"""Assumed popularity, and the precision that noise leaves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.counting import Profile
from discreet.counting.profiles import Expectation, expected_precision, level_where, survival
from discreet.errors import UsageError

SPREAD = {"gumbel": math.pi / math.sqrt(6), "laplace": math.sqrt(2), "gaussian": 1.0}


@pytest.mark.parametrize("scale", [20.0, 200.0])
@pytest.mark.parametrize("law", list(SPREAD))
def test_expected_precision_is_what_simulation_finds(law, scale: float) -> None:
    stream = np.random.default_rng(5)
    truth = Profile(users=2000, records=20).counts(400)
    draw = stream.normal if law == "gaussian" else getattr(stream, law)
    for k in (10, 50):
        noise = draw(scale=scale, size=(500, truth.size))
        best = np.argpartition(-(truth + noise), k, axis=1)[:, :k]
        found = Expectation(truth).precision(k, law, SPREAD[law] * scale)
        assert found == pytest.approx((best < k).mean(), abs=0.03)


@pytest.mark.parametrize("law", list(SPREAD))
def test_survival_is_that_of_the_law(law) -> None:
    stream = np.random.default_rng(6)
    draw = stream.normal if law == "gaussian" else getattr(stream, law)
    drawn = draw(size=200_000)
    drawn *= 3 / SPREAD[law]  # standard deviation 3
    for level in (-4.0, 0.0, 1.0, 5.0):
        assert survival(law, 3.0)(np.array(level)) == pytest.approx((drawn > level).mean(), abs=0.005)
    assert survival(law, 0.0)(np.array([-1.0, 1.0])) == pytest.approx([1, 0], abs=1e-300)


def test_an_item_that_is_counted_by_chance() -> None:
    """One item of two is counted half of the time: without noise it is first then."""
    expectation = Expectation(np.array([10.0, 5.0]), chance=np.array([0.5, 1.0]))
    assert expectation.precision(1, "laplace", 0.01) == pytest.approx(0.5, abs=1e-3)
    assert expectation.error(np.array([10.0, 5.0]), 2.0) == pytest.approx((100 / 2) / 2 + 4)


def test_every_list_of_all_items_is_right() -> None:
    assert expected_precision(lambda level: np.zeros(3), 3, 3) == 1


def test_levels() -> None:
    assert level_where(lambda x: -x, -1e6) == pytest.approx(1e6)
    assert level_where(lambda x: 1.0 if x < -50 else 0.0, 0.5) == pytest.approx(-50)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 3.0])
def test_profiles_have_so_many_records_and_an_order(exponent: float) -> None:
    profile = Profile(users=100, records=20, exponent=exponent)
    for n_items in (30, 400):
        touched = profile.of_one_user(n_items)
        assert touched.sum() == pytest.approx(min(20, n_items / 2))
        assert (touched > 0).all()
        assert (touched <= 1).all()
        assert (np.diff(touched) <= 0).all()
    assert profile.counts(400).max() <= 100
    assert profile.counts(0).size == 0


@pytest.mark.parametrize("settings", [{"users": 0}, {"records": 0}, {"exponent": -1}, {"exponent": float("nan")}])
def test_impossible_profiles(settings) -> None:
    with pytest.raises(UsageError, match="profile"):
        Profile(**settings)
