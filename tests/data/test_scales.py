"""Rating scales: what they read, what they refuse, what stands on them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import RatingScale
from discreet.errors import UsageError


@pytest.mark.parametrize(
    ("given_", "low", "high", "step", "text"),
    [
        ("1:5", 1, 5, 1, "1:5:1"),
        ("0.5:5:0.5", "1/2", 5, "1/2", "0.5:5:0.5"),
        ((1, 10), 1, 10, 1, "1:10:1"),
        ((-10, 10, None), -10, 10, None, "-10:10:none"),
        ("-10:10:none", -10, 10, None, "-10:10:none"),
        ("0:1:1/3", 0, 1, "1/3", "0:1:1/3"),
        (RatingScale(Fraction(1), Fraction(5)), 1, 5, 1, "1:5:1"),
    ],
)
def test_scales_read(given_, low, high, step, text):
    scale = RatingScale.of(given_)
    assert (scale.low, scale.high) == (Fraction(low), Fraction(high))
    assert scale.step == (None if step is None else Fraction(step))
    assert str(scale) == text
    assert RatingScale.of(text) == scale
    assert scale.width == scale.high - scale.low


@pytest.mark.parametrize(
    "given_", ["", "5", "1:2:3:4", "a:b", ":5", "1:", (5, 1), (3, 3), (1, 5, 3), (1, 5, 0), (1, 5, -1)]
)
def test_what_is_no_scale(given_):
    with pytest.raises(UsageError):
        RatingScale.of(given_)


def test_contains_by_hand():
    ratings = np.array([0.5, 0.0, 5.0, 5.5, 3.7, 3.5, np.nan, np.inf])
    assert RatingScale.of("0.5:5:0.5").contains(ratings).tolist() == [
        True,
        False,
        True,
        False,
        False,
        True,
        False,
        False,
    ]
    assert RatingScale.of("0:5:none").contains(ratings).tolist() == [True, True, True, False, True, True, False, False]


@given(st.integers(-20, 20), st.integers(1, 40), st.sampled_from([1, 2, 3, 4, 10]), st.integers(0, 40))
def test_every_step_is_on_the_scale_and_no_half_step(low, steps, parts, place):
    step = Fraction(1, parts)
    scale = RatingScale(Fraction(low), low + steps * step, step)
    place = min(place, steps)
    for dtype in (np.float64, scale.dtype):
        assert scale.contains(np.array([float(low + place * step)], dtype=dtype)).all()
        assert not scale.contains(np.array([float(low + (place + Fraction(1, 2)) * step)], dtype=dtype)).any()


def test_the_small_type_is_used_only_where_it_is_exact():
    assert RatingScale.of("0.5:5:0.5").dtype is np.float32
    assert RatingScale.of("0:1:0.1").dtype is np.float64
    assert RatingScale.of("0:5:none").dtype is np.float64
