"""The printed and the centered reading of Zhu's chapter 3, and the factor of Lemma 2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.data import synthetic
from discreet.models.registry import create
from discreet.neighbors import KNN, PNCF, NaiveExponentialNeighbors, UniformNeighbors, selection
from discreet.neighbors.selection import Candidates
from discreet.privacy.guarantees import Standing

READ = [
    lambda **of: KNN(**of),
    lambda **of: UniformNeighbors(**of),
    lambda **of: NaiveExponentialNeighbors(1, **of),
    lambda **of: PNCF(1, **of),
]


@pytest.mark.parametrize("model", READ)
def test_a_reading_decides_what_is_not_said_otherwise(model: Any) -> None:
    def settings(**of: Any) -> tuple[Any, ...]:
        made = model(**of)
        return made.candidates, made.centering, getattr(made, "laplace", "2k" if made.reading == "printed" else "2")

    assert settings() == settings(reading="centered") == ("rated", "mean", "2")
    assert settings(reading="printed") == ("all", None, "2k")
    assert settings(reading="printed", axis="user") == ("all", "mean", "2k"), "the formula for users takes means away"
    assert settings(reading="printed", candidates="rated") == ("rated", None, "2k")
    assert settings(reading="printed", centering="mean") == ("all", "mean", "2k")


def test_the_noise_can_be_chosen_beside_the_reading() -> None:
    assert PNCF(1, reading="printed", laplace="2").strategy().laplace == "2"  # type: ignore[attr-defined]
    assert PNCF(1, reading="printed", laplace=None).strategy().laplace is None  # type: ignore[attr-defined]
    assert NaiveExponentialNeighbors(1, reading="printed").strategy().laplace == "2k"  # type: ignore[attr-defined]


def test_parameters_keep_the_reading_and_what_follows_from_it() -> None:
    kept = PNCF(1, reading="printed").parameters
    assert (kept["reading"], kept["candidates"], kept["centering"], kept["laplace"]) == ("printed", "all", None, "2k")
    assert create("pncf", **kept).parameters == kept


def test_the_printed_prediction_is_equation_3_2_3() -> None:
    """Σ s·r/Σ|s| over those of the k nearest of all items that the user rated, computed by hand."""
    films = synthetic.films(users=60, items=15, seed=3).with_catalog("observed")
    table = films.to_frame()
    k, user, item = 6, "u5", "film-4"
    alike = KNN().fit(films).similar_items(item, n=14)
    near = sorted(zip(alike["similar_id"], alike["score"], strict=True), key=lambda pair: -pair[1])[:k]
    mine = dict(table.filter(user_id=user).select("item_id", "rating").iter_rows())
    said = [(s, mine[other]) for other, s in near if other in mine]
    assert 0 < len(said) < k, "some neighbors have nothing to say, and some have"
    expected = sum(s * r for s, r in said) / sum(abs(s) for s, _ in said)
    found = KNN(k=k, reading="printed").fit(films).predict([(user, item)])["score"][0]
    assert found == pytest.approx(float(np.clip(expected, 1, 5)), abs=1e-6)


def test_the_printed_noise_is_k_times_as_large() -> None:
    films = Candidates(np.array([0.9, 0.5]), np.array([0.1, 0.2]))
    centered, printed = (PNCF(2, k=7, reading=reading).strategy().noise_scale(films) for reading in READINGS)
    np.testing.assert_allclose(centered, [0.1, 0.2])
    np.testing.assert_allclose(printed, 7 * centered)


READINGS: Any = ("centered", "printed")


def test_settings_of_0_1_mean_what_they_meant() -> None:
    """A model that was saved without a reading is what its settings say."""
    old = {"k": 5, "candidates": "all", "centering": None, "epsilon": 1, "laplace": "2"}
    model = create("pncf", **old)
    assert (model.candidates, model.centering, model.laplace) == ("all", None, "2")


# Lemma 2


def test_the_factor_of_lemma_2_is_a_larger_epsilon_by_another_name() -> None:
    """exp(−β) on every sensitivity is the mechanism at ε·exp(β): it costs more, it smooths nothing."""
    films = Candidates(np.array([0.9, 0.5, 0.4]), np.array([0.1, 0.2, 0.3]))
    beta = math.log(2)
    smoothed, louder = selection.PNCF(1, epsilon=4, smoothing=beta), selection.PNCF(1, epsilon=8)
    assert smoothed.law(films) == pytest.approx(louder.law(films))
    np.testing.assert_allclose(smoothed.noise_scale(films), louder.noise_scale(films))
    assert selection.PNCF(1, epsilon=4, smoothing=0).law(films) == selection.PNCF(1, epsilon=4).law(films)


def test_a_constant_sensitivity_below_itself_is_refuted() -> None:
    sound = selection.PNCF(3, epsilon=1, rs=1.0, laplace="2k", c0="each")
    assert sound.guarantee().standing is Standing.AS_PUBLISHED
    smoothed = selection.PNCF(3, epsilon=1, rs=1.0, laplace="2k", c0="each", smoothing=0.1)
    assert smoothed.guarantee().standing is Standing.REFUTED
    assert "exp(−β)" in smoothed.guarantee().basis
