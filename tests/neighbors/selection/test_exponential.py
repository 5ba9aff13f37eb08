"""The naive exponential mechanism: weights, scales, options."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.neighbors.selection import Candidates, NaiveExponential

FILMS = Candidates(np.array([0.8, 0.4, 0.0]), np.array([0.5, 0.1, 4.0]))


def test_weights_with_a_global_sensitivity() -> None:
    assert NaiveExponential(5, epsilon=2, rs=2.0).log_weights(FILMS) == pytest.approx([0.04, 0.02, 0.0])


def test_weights_with_pair_sensitivities() -> None:
    """A sure pair of middling similarity weighs more than an unsure one of high similarity."""
    assert NaiveExponential(5, epsilon=2, rs="lemma").log_weights(FILMS) == pytest.approx([0.16, 0.4, 0.0])
    assert NaiveExponential(5, epsilon=2, rs="max").log_weights(FILMS) == pytest.approx([0.02, 0.01, 0.0])
    assert NaiveExponential(5, epsilon=2, rs="max", rs_cap=1.0).log_weights(FILMS) == pytest.approx([0.08, 0.04, 0.0])


@pytest.mark.parametrize(("laplace", "scales"), [("2", [0.5, 0.1, 4.0]), ("2k", [2.5, 0.5, 20.0]), (None, [0, 0, 0])])
def test_scales(laplace, scales) -> None:
    assert NaiveExponential(5, epsilon=2, rs="lemma", laplace=laplace).noise_scale(FILMS) == pytest.approx(scales)


def test_a_cap_holds_for_the_noise_too() -> None:
    capped = NaiveExponential(5, epsilon=2, rs="lemma", rs_cap=1.0)
    assert capped.noise_scale(FILMS) == pytest.approx([0.5, 0.1, 1.0])


def test_without_sensitivity_a_candidate_comes_first() -> None:
    """Exact RS is 0 for proportional co-ratings; the exponent then has no value, and the limit is taken."""
    films = Candidates(np.array([0.9, 1.0, 1.0, 0.5]), np.array([0.5, 0.0, 1e-17, 0.2]))
    law = NaiveExponential(1, epsilon=1, rs="exact").law(films)
    assert law[(1,)] == law[(2,)] == 0.5


def test_epsilon_is_exact() -> None:
    assert NaiveExponential(5, epsilon="1/3").epsilon == Fraction(1, 3)


@pytest.mark.parametrize(
    "options",
    [{"epsilon": 0}, {"epsilon": 1, "rs": 0.0}, {"epsilon": 1, "rs": "smooth"}, {"epsilon": 1, "rs_cap": 0},
     {"epsilon": 1, "laplace": "3"}, {"epsilon": 1, "rs": True}],
)  # fmt: skip
def test_bad_options_are_refused(options) -> None:
    with pytest.raises(UsageError):
        NaiveExponential(5, **options)
