"""A profile read off what moves, against the same reading where nobody came."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.attacks import audit
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.given import Reconstruction, area_under_curve
from discreet.attacks.games.observing import released_by_item
from discreet.counting import ItemCounts
from discreet.data.ids import IdMap
from discreet.errors import UsageError
from discreet.pairs import CoPurchaseCosine
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import as_positive
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.testing.broken_counts import SeededNoise

RECONSTRUCTION = Reconstruction()
RECONSTRUCTION_SIMILAR_ITEMS = Reconstruction(name="reconstruction-similar-items", view="similar items")


def release(**parts) -> Release:
    guarantee = Guarantee(Pure(as_positive(1)), Unit(), Standing.PROVED, "a theorem", "a thing")
    return Release("test", guarantee, "test", {}, parts)


def test_numbers_are_found_by_item() -> None:
    items = IdMap(["a", "b", "c"], what="item")
    table = pl.DataFrame({"item_id": ["c", "a", "c"], "count": [1.0, 2.0, 4.0]})
    found = released_by_item(release(head=np.array([2, 0]), gram=np.eye(2), edges=table, total=np.array(7.0)), items)
    # Two rows of c are taken together; the matrix over the head is laid out over all items.
    assert found.tolist() == [[2, 0, 1], [0, 0, 0], [5, 1, 0]]


def test_ids_of_another_type_are_no_items() -> None:
    items = IdMap(["a", "b"], what="item")
    assert released_by_item(release(counts=pl.DataFrame({"item_id": [1, 2], "count": [3, 4]})), items).shape == (2, 0)


def test_the_area_is_that_of_all_pairs() -> None:
    draw = np.random.default_rng(5)
    scores, truth = draw.integers(0, 4, 30).astype(float), draw.random(30) < 0.4
    pairs = [np.sign(t - f) / 2 + 0.5 for t in scores[truth] for f in scores[~truth]]
    assert area_under_curve(scores, truth) == pytest.approx(np.mean(pairs))
    assert np.isnan(area_under_curve(scores, np.ones(30, dtype=bool)))


@pytest.mark.parametrize("present", [True, False])
def test_without_noise_the_profile_is_read_and_the_control_shows_nothing(films, present: bool) -> None:
    target = Target.of(SeededNoise(cap=10**6, epsilon=10**9), films)
    pair = RECONSTRUCTION.datasets(target, films, np.random.default_rng(1))
    seen = RECONSTRUCTION.observe(target.fit(pair.dataset(present=present)), pair)
    if present:
        assert seen.tolist() == [1, 1, 1, 1]
    else:
        assert seen[:2].tolist() == [0.5, 0.5]
        assert seen[2] < 1


def test_the_profile_is_that_of_the_user_who_comes(films) -> None:
    target = Target.of(SeededNoise(), films)
    pair = RECONSTRUCTION.datasets(target, films, np.random.default_rng(2))
    profile, _ = pair.secret
    came = set(pair.with_.users.ids()) - set(pair.without.users.ids())
    (user,) = came
    assert pair.records == profile.size == int(films.records_per_user[films.users.code(user)])
    mine = films.to_frame().filter(pl.col("user_id") == user)["item_id"].to_list()
    assert set(films.items.decode(profile)) == set(mine)


def test_similar_items_give_a_profile_away(films) -> None:
    report = audit(
        CoPurchaseCosine(), films, attacks=[RECONSTRUCTION_SIMILAR_ITEMS], runs=16, processes=1, seconds=None
    )
    score = report["reconstruction-similar-items"]
    assert (score.hits, score.false_alarms) == (8, 0)


def test_a_proved_count_gives_none_away(films, fixed_bits) -> None:
    report = audit(
        ItemCounts(epsilon="1/2", cap=5), films, attacks=[RECONSTRUCTION], runs=60, processes=1, seconds=None
    )
    assert report["reconstruction"].verdict == "consistent"
    assert report["reconstruction"].proved.epsilon < 0.5


def test_a_profile_of_most_of_the_catalog_is_no_profile() -> None:
    few = dc.Interactions([(u, i, 5) for u in "ab" for i in "wxyz"], items=[*"wxyz"], scale="1:5")
    with pytest.raises(UsageError, match="no user has at least 5 records and at most 2"):
        Reconstruction().datasets(Target.of(SeededNoise(), few), few, np.random.default_rng(0))
