"""Lists of similar items before and after a purchase that nobody is told about."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import audit
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.given import Observation, climbs
from discreet.errors import UsageError
from discreet.neighbors import KNN
from discreet.pairs import CoPurchaseCosine
from discreet.privacy.units import Unit
from discreet.testing.broken_counts import CorrectCounts

GAME = Observation(known=3)


def test_the_datasets_differ_in_one_record(films) -> None:
    target = Target.of(CoPurchaseCosine(), films)
    pair = GAME.datasets(target, films, np.random.default_rng(3))
    more = set(pair.with_.to_frame().select("user_id", "item_id").iter_rows())
    less = set(pair.without.to_frame().select("user_id", "item_id").iter_rows())
    items, _ = pair.secret
    (hidden,) = more - less
    assert less < more
    assert hidden[1] == items[-1]
    assert pair.unit == Unit("record")
    assert {(hidden[0], item) for item in items} <= more


def test_the_first_look_knows_nothing_of_the_secret(films) -> None:
    """It is taken once for both pair, from records among which the hidden one is not."""
    learned: list[dc.Interactions] = []

    class Watched(CoPurchaseCosine):
        def _fit(self, data, **options) -> None:
            learned.append(data)
            super()._fit(data, **options)

    target = Target.of(Watched(), films)
    learned.clear()
    pair = GAME.datasets(target, films, np.random.default_rng(3))
    GAME.observe(target.fit(pair.without), pair)
    GAME.observe(target.fit(pair.with_), pair)
    first = min(learned, key=len)
    assert len(learned) == 3  # the first look, once, and the two fits
    whole, less = (set(part.to_frame().select("user_id", "item_id").iter_rows()) for part in (films, pair.without))
    (hidden,) = whole - less
    assert learned.count(first) == 1
    assert hidden not in set(first.to_frame().select("user_id", "item_id").iter_rows())
    assert len(first) < len(pair.without)


def test_an_item_that_is_new_on_a_list_is_seen() -> None:
    nobody = np.zeros((2, 3)), np.full((2, 3), np.nan)
    listed = np.array([[0.0, 0, 50], [0, 0, 0]]), np.array([[np.nan, np.nan, 0.7], [np.nan] * 3])
    assert climbs(nobody, listed, 2)[:3].tolist() == [1, 1, 50]
    assert climbs(nobody, listed, 2)[4] == 0.7
    assert climbs(nobody, nobody, 2)[:3].tolist() == [0, 0, 0]
    assert np.isnan(climbs(nobody, nobody, 2)[3:]).all()


def test_lists_without_noise_give_purchases_away(films) -> None:
    report = audit(CoPurchaseCosine(), films, attacks=[GAME], runs=100, processes=1, seconds=None)
    score = report["observation"]
    assert score.verdict == "no claim"
    assert score.proved.epsilon > 0.5
    assert score.hits / score.runs_present > score.false_alarms / score.runs_absent + 0.2


def test_it_needs_lists_of_similar_items(films) -> None:
    assert GAME.obstacle(Target.of(CorrectCounts(), films), films) == "the model shows no similar items"
    assert GAME.obstacle(Target.of(KNN(), films), films) is None


def test_somebody_must_have_enough_records() -> None:
    short = dc.Interactions([("a", "x", 5), ("b", "y", 4), ("b", "x", 2)], items=["x", "y"], scale="1:5")
    with pytest.raises(UsageError, match="no user has at least 6 records"):
        Observation().datasets(Target.of(KNN(), short), short, np.random.default_rng(0))
