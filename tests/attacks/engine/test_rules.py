"""Rules find what tells two datasets apart: a place, a scatter, an absence, or many small things together."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.attacks.engine.bounds import epsilon_lower_bound
from discreet.attacks.engine.rules import learn, stacked


def rates(without, with_, **options) -> tuple[float, float]:
    half = len(with_) // 2
    rule = learn(without[:half], with_[:half], delta=0.0, alpha=0.05, **options)
    present, absent = rule.scores(with_[half:]), rule.scores(without[half:])
    return float(rule.decide(present).mean()), float(rule.decide(absent).mean())


def bound(hit: float, false: float) -> float:
    return epsilon_lower_bound(round(1000 * hit), 1000, round(1000 * false), 1000)


def test_a_number_that_moves() -> None:
    draw = np.random.default_rng(1)
    hit, false = rates(draw.normal(size=(2000, 5)), draw.normal((0, 0, 3, 0, 0), size=(2000, 5)))
    assert bound(hit, false) > 3


def test_a_number_that_moves_down() -> None:
    draw = np.random.default_rng(1)
    hit, false = rates(draw.normal(size=(2000, 3)), draw.normal(size=(2000, 3)) - [0, 3, 0])
    assert bound(hit, false) > 3


def test_a_number_that_scatters_more() -> None:
    draw = np.random.default_rng(2)
    hit, false = rates(draw.laplace(size=(2000, 3)), draw.laplace(size=(2000, 3)) * [1, 20, 1])
    assert bound(hit, false) > 1.5


def test_answers_that_fail_to_come() -> None:
    draw = np.random.default_rng(3)
    without, with_ = draw.normal(size=(400, 3)), draw.normal(size=(400, 3))
    with_[:, 1] = np.nan
    assert rates(without, with_) == (1.0, 0.0)


def test_vectors_of_different_lengths() -> None:
    short, long = stacked([np.zeros(2)] * 40), stacked([np.zeros(5)] * 40)
    assert rates(short, long) == (1.0, 0.0)


def test_numbers_that_never_vary_tell_everything_or_nothing() -> None:
    assert rates(np.zeros((40, 2)), np.ones((40, 2)) * [0, 1]) == (1.0, 0.0)
    hit, false = rates(np.zeros((40, 2)), np.zeros((40, 2)))
    assert hit == false


def test_a_hint_finds_what_is_spread_too_thin_to_be_learned() -> None:
    draw = np.random.default_rng(4)
    shift = np.full(400, 1.5 / np.sqrt(400))
    without, with_ = draw.normal(size=(1200, 400)), draw.normal(size=(1200, 400)) + shift
    (hit, false), (found, wrong) = rates(without, with_, normal=True), rates(without, with_, normal=True, hint=shift)
    assert found - wrong > 0.45
    assert found - wrong > hit - false


def test_noise_that_two_numbers_share_is_taken_away() -> None:
    draw = np.random.default_rng(6)
    shared = draw.laplace(size=(2, 1200, 1)) * 20
    without, with_ = shared + draw.normal(size=(2, 1200, 2)) * 0.2
    hit, false = rates(without, with_ + np.array([0, 1]))
    assert bound(hit, false) > 4


def test_several_numbers_with_laplace_noise_tell_more_than_the_best_one() -> None:
    """Two numbers with ε = 1 each: a pair of large values is e² times as likely with the secret."""
    draw = np.random.default_rng(7)
    hit, false = rates(draw.laplace(size=(8000, 4)), draw.laplace(size=(8000, 4)) + np.array([0, 1, 0, 1]))
    assert epsilon_lower_bound(round(4000 * hit), 4000, round(4000 * false), 4000) > 1.2


@pytest.mark.parametrize("normal", [True, False])
def test_noise_is_not_taken_for_a_signal(normal: bool) -> None:
    draw = np.random.default_rng(5)
    hit, false = rates(draw.normal(size=(2000, 50)), draw.normal(size=(2000, 50)), normal=normal)
    assert abs(hit - false) < 0.08
