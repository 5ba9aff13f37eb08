"""The linear attack by somebody who knows a part of the other ratings."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import linear_attack
from discreet.attacks.games.linear_attack import LinearAttack
from discreet.attacks.games.partial import partly_known, solve_for_first, unknown_ratings
from discreet.attacks.games.secrets import Secrets
from discreet.data import Interactions
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.neighbors import KNN
from discreet.pairs import PrivateSlopeOne, SlopeOne


@pytest.fixture(scope="module")
def films() -> Interactions:
    return dc.synthetic.films(users=60, items=25, seed=7)


@pytest.fixture(scope="module")
def secrets(films: Interactions) -> Secrets:
    return Secrets.draw(films, targets=10, seed=1, ratings=True)


def test_independent_answers_give_every_unknown_away() -> None:
    slopes = np.array([[[0.5, 0.1, 0.4]], [[0.2, 0.7, 0.1]]])
    truth = np.array([2.0, -1.0])
    answers = np.tensordot(truth, slopes, axes=1)
    assert solve_for_first(answers, slopes) == pytest.approx(2.0)


def test_equal_slopes_give_the_sum_away_and_no_more() -> None:
    """As in Slope One: the surplus of three unknown ratings is shared out among them."""
    slopes = np.full((3, 1, 4), 0.25)
    answers = np.full((1, 4), 0.25 * 3.0)
    assert solve_for_first(answers, slopes) == pytest.approx(1.0)


def test_noise_draws_the_solution_to_what_is_believed() -> None:
    slopes = np.ones((1, 1, 2))
    quiet, loud = (solve_for_first(np.array([[1.0 - s, 1.0 + s]]), slopes) for s in (0.0, 2.0))
    assert quiet == pytest.approx(1.0)
    assert loud == pytest.approx(2 / (2 + 8))  # λ = Σ residual² = 8


def test_answers_that_do_not_depend_on_the_secret_tell_nothing() -> None:
    assert solve_for_first(np.ones((1, 2)), np.array([[[0.0, 0.0]], [[1.0, 1.0]]])) is None


def test_what_is_known(secrets: Secrets) -> None:
    sizes = [len(unknown_ratings(secrets, 0, share)[0]) for share in (0, 0.5, 1)]
    others = len(secrets.history(0, 3.0)) - 1
    assert sizes == [1 + others, 1 + others - round(others / 2), 1]
    assert partly_known(secrets, 0, 1.0) is secrets
    believed = partly_known(secrets, 0, 0.0).data.rating
    assert believed is not None
    assert secrets.data.rating is not None
    changed = np.flatnonzero(believed != secrets.data.rating)
    assert set(secrets.data.user[changed].tolist()) == {int(secrets.data.user[secrets.places[0]])}
    assert secrets.places[0] not in changed


def test_slope_one_needs_the_others_and_item_neighbors_do_not(films: Interactions) -> None:
    secrets = Secrets.draw(films, targets=10, seed=1, ratings=True)

    def right(model: Recommender, share: float) -> float:
        fitted = model.fit(secrets.dataset)
        return float(LinearAttack(reads="own", known_share=share).right(fitted, secrets).mean())

    assert right(SlopeOne(), 1.0) == 1
    assert right(SlopeOne(), 0.0) <= 0.6
    neighbors = {"k": 10, "axis": "item", "centering": "mean"}
    assert right(KNN(**neighbors), 1.0) == 1
    assert right(KNN(**neighbors), 0.0) >= 0.8


def test_a_row_for_each_share(films: Interactions) -> None:
    report = linear_attack({"slope-one": SlopeOne()}, films, targets=3, fits=1, known=(0.25, 1.0), seed=1)
    assert [row["known"] for row in report.to_json()["rows"]] == [0.25] * 4 + [1.0] * 4
    assert report.find("slope-one", view="own", known=1.0).right == 1
    assert "25%" in str(report)


def test_the_proved_model_keeps_its_limit(films: Interactions, fixed_bits) -> None:
    report = linear_attack({"private": PrivateSlopeOne(epsilon=1)}, films, targets=10, fits=2, known=(0.5,), seed=1)
    row = report.find("private", view="others", known=0.5)
    assert row.limit is not None
    assert row.right_low <= row.limit


def test_a_share_is_a_share() -> None:
    with pytest.raises(UsageError, match="known_share"):
        LinearAttack(known_share=1.5)
