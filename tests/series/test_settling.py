"""The step that settles a series without a history: a rule in declared numbers."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.counting import ItemCounts
from discreet.errors import UsageError
from discreet.series import Series
from discreet.series.settling import STRENGTH, first_with, settling_step

MODEL = dc.PrivateRecommender(epsilon=4, delta="1e-6")


def test_enough_people_are_expected_by_then_and_not_before() -> None:
    for steps, expected in ((52, 20_000), (365, 50_000), (365, 10**6)):
        step = first_with(steps, 0.838, expected)
        needed = STRENGTH * dc.privacy.series.Factorization(steps).noise_factor(0) / 0.838
        assert expected * (step + 1) / steps >= needed
        assert step == 0 or expected * step / steps < needed


def test_a_third_of_the_steps_at_the_latest_and_a_history_counts() -> None:
    assert settling_step(MODEL, 52, None, 10) == 17
    assert first_with(52, 0.838, 6000) == 15
    assert first_with(52, 0.838, 6000, history=3000) == 0
    assert first_with(52, 0.838, 500, history=500) == 17
    assert settling_step(MODEL, 1, None, 10) == 0


def test_what_is_said_goes_first() -> None:
    assert settling_step(MODEL, 52, 3, 6000) == 3
    assert settling_step(MODEL, 52, None, None) == 0
    assert settling_step(ItemCounts(epsilon=1, delta="1e-6"), 52, None, 6000) == 0
    assert Series(MODEL, steps=52, expected=6000).settings.settle == 15
    for wrong in (0, -1, True):
        with pytest.raises(UsageError, match="expected"):
            settling_step(MODEL, 52, None, wrong)
    with pytest.raises(UsageError, match="settle must be a step"):
        settling_step(MODEL, 52, 52, None)
