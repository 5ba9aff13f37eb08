"""One value of one member: the pair, and who gives it away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.attacks.engine.claims import claim_about
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.registry import ATTACKS
from discreet.factors import PrivateRatings
from discreet.neighbors import KNN, PrivateItemKNN
from discreet.pairs import PublishedSlopeOne
from discreet.privacy.units import Unit

ATTRIBUTE: Any = ATTACKS["attribute"]
ATTRIBUTE_PREDICTIONS = ATTACKS["attribute-predictions"]


def test_the_datasets_differ_in_one_value(films) -> None:
    pair = ATTRIBUTE.datasets(Target.of(KNN(), films), films, np.random.default_rng(0))
    low, high = pair.without.to_frame(), pair.with_.to_frame()
    assert low.drop("rating").equals(high.drop("rating"))
    (row,) = np.flatnonzero((low["rating"] != high["rating"]).to_numpy())
    assert low.row(int(row), named=True) == {"user_id": "zz-member", "item_id": "i9", "rating": 1.0}
    assert high["rating"][int(row)] == 5
    assert pair.unit == Unit("record", "value")


def test_predictions_without_noise_tell_the_value(films) -> None:
    # By users: the member has rated as the observer has, so its opinion is what the observer is told.
    report = audit(KNN(k=1, axis="user"), films, attacks=[ATTRIBUTE_PREDICTIONS], runs=20, processes=1)
    score = report["attribute-predictions"]
    assert (score.hits, score.false_alarms) == (score.runs_present, 0)


@pytest.mark.parametrize(
    "model", [PrivateRatings(1, unit="rating"), PrivateItemKNN(1, unit="rating")], ids=lambda m: m.name
)
def test_models_for_one_rating_stand(films, fixed_bits, model) -> None:
    report = audit(model, films, attacks=[ATTRIBUTE], runs=16, processes=1, seconds=None)
    assert report["attribute"].verdict == "consistent"


def test_a_guarantee_about_users_is_left_to_games_about_users(films) -> None:
    reason = ATTRIBUTE.obstacle(Target.of(PrivateItemKNN(1), films), films)
    assert str(reason).startswith("the guarantee is about one user")


def test_a_record_that_comes_and_goes_covers_a_value_at_twice_its_price(films) -> None:
    target = Target.of(PublishedSlopeOne(1), films)
    pair = ATTRIBUTE.datasets(target, films, np.random.default_rng(0))
    claim = claim_about(target.guarantee, pair.unit, records=pair.records)
    assert claim is not None
    assert claim.epsilon == 2
