"""Recommenders of other people, seen through their answers: each mistake is found by the game that is made for it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import audit
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.registry import ATTACKS
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.units import Unit
from discreet.testing.broken_recommenders import (
    BROKEN_RECOMMENDERS,
    CORRECT_RECOMMENDERS,
    FloatNoise,
    FreshNoise,
    MissingClipping,
    NoisyMeans,
    NoisyPopularity,
    SharedNoise,
)
from discreet.testing.noisy_knn import RandomizedRatingsKNN, ReuseKNN, randomized_response

ASK_AGAIN_PREDICTIONS: Any = ATTACKS["ask-again-predictions"]
ACROSS_VIEWS: Any = ATTACKS["across-views"]

# The games that must refute each, and how many runs that takes.
REFUTED_BY = {
    "missing clipping": (["repeated-item-recommendations"], 40),
    "fresh noise at each call": (["ask-item-again-predictions"], 80),
    "shared noise": (["across-views"], 20),
    "half the noise": (["one-item-both-views"], 250),
    "1/50 of the noise": (["canary-recommendations", "one-item-both-views"], 20),
    "catalog leak": (["canary-recommendations", "canary-predictions"], 10),
    "float noise": (["traces-recommendations"], 200),
    "seed from the records": (["canary-recommendations"], 10),
}


def claimed(unit: Unit | None = None) -> Guarantee:
    return Guarantee(Pure(Fraction(1)), unit or Unit(), Standing.AS_PUBLISHED, "claimed by its author", "its answers")


def test_all_are_tried() -> None:
    assert set(REFUTED_BY) == set(BROKEN_RECOMMENDERS)


@pytest.mark.parametrize("name", REFUTED_BY)
def test_a_broken_recommender_is_refuted(films, fixed_noise, name: str) -> None:
    games, runs = REFUTED_BY[name]
    report = audit(
        BROKEN_RECOMMENDERS[name](), films, attacks=games, runs=runs, claim=claimed(), processes=1, seconds=None
    )
    assert {score.verdict for score in report.scores} == {"refuted"}


@pytest.mark.parametrize("game", sorted({game for games, _ in REFUTED_BY.values() for game in games}))
@pytest.mark.parametrize("name", CORRECT_RECOMMENDERS)
def test_a_correct_recommender_is_not_refuted(films, fixed_noise, name: str, game: str) -> None:
    """One game at a time: the order of several goes by how long they take, and so would the noise that each meets."""
    model, options = CORRECT_RECOMMENDERS[name](), {"confidence": 0.9999, "processes": 1, "seconds": None}
    report = audit(model, films, attacks=game, runs=20, claim=claimed(), **options)
    assert report[game].verdict in ("consistent", "inconclusive")


def test_the_release_of_other_people_is_a_white_box(films) -> None:
    attacks = "canary,canary-predictions,canary-recommendations"
    report = audit(NoisyMeans(), films, attacks=attacks, runs=10, claim=claimed(), processes=1)
    assert report.attacked == ["white box", "predictions", "recommendations"]
    assert report.not_tested == {}
    assert "as far as" not in report.verdict


def test_noise_is_taken_from_a_mean_of_answers(films, fixed_noise) -> None:
    pair = ASK_AGAIN_PREDICTIONS.datasets(Target.of(FreshNoise(), films), films, np.random.default_rng(0))
    model = Target.of(FreshNoise(), films)
    one = [model.fit(pair.without).model.predict([("observer", "i0")])["score"].item() for _ in range(60)]
    many = [ASK_AGAIN_PREDICTIONS.observe(model.fit(pair.without), pair)[0] for _ in range(20)]
    assert np.std(many) < np.std(one) / 4


def test_a_model_that_draws_nothing_when_asked_is_not_asked_on(films) -> None:
    asked = []

    class Counting(NoisyPopularity):
        def predict(self, pairs):
            asked.append(1)
            return super().predict(pairs)

    target = Target.of(Counting, films)
    pair = ASK_AGAIN_PREDICTIONS.datasets(target, films, np.random.default_rng(0))
    ASK_AGAIN_PREDICTIONS.observe(target.fit(pair.without), pair)
    assert len(asked) == 3


def test_the_question_is_about_what_is_guaranteed(films) -> None:
    for unit, differing in (
        (Unit(), "zz-canary"),
        (Unit("record"), "zz-rater"),
        (Unit("record", "value"), "zz-member"),
    ):
        target = Target.of(FreshNoise(), films, claim=claimed(unit))
        pair = ASK_AGAIN_PREDICTIONS.datasets(target, films, np.random.default_rng(0))
        assert pair.unit == unit
        assert differing in pair.with_.users.ids()
    game = ATTACKS["ask-item-again-predictions"]
    assert str(game.obstacle(target, films)).startswith("the guarantee is about one record")


def test_shared_noise_is_gone_from_a_difference(films, fixed_noise) -> None:
    game, target = ACROSS_VIEWS, Target.of(SharedNoise(), films)
    pair = game.datasets(target, films, np.random.default_rng(0))
    items = pair.without.n_items
    seen = [game.observe(target.fit(pair.with_), pair) for _ in range(20)]
    # What is left is how many records are about bad ratings, of which clipping keeps more or fewer.
    assert max(np.std([vector[:items] for vector in seen], axis=0)) < 2
    assert min(np.std([vector[2 * items :] for vector in seen], axis=0)) > 4


def test_a_game_across_views_needs_both(films) -> None:
    class Lists:
        def fit(self, data):
            self.model = NoisyPopularity().fit(data)

        def recommend(self, users, n=10):
            return self.model.recommend(users, n=n)

    assert ACROSS_VIEWS.obstacle(Target.of(Lists, films), films) == "the model shows no predictions"


def test_clipping_is_looked_for_with_more_records_than_any_cap(films) -> None:
    game: Any = ATTACKS["many-records-recommendations"]
    pair = game.datasets(Target.of(MissingClipping(), films), films, np.random.default_rng(0))
    assert pair.with_.n_users == pair.without.n_users + 1
    assert pair.records == pair.with_.records_per_user.max() > 200


def test_noise_has_the_scale_that_is_needed(fixed_noise) -> None:
    data = dc.Interactions([("a", "x", 5)], items=[f"x{i}" for i in range(20_000)] + ["x"], scale="1:5")
    for model in (NoisyPopularity(), FloatNoise()):
        noise = model.fit(data).occurrences_[:-1]
        assert np.abs(noise).mean() == pytest.approx(12, rel=0.05)
    assert np.abs(NoisyMeans().fit(data).release_["sums"]).mean() == pytest.approx(24, rel=0.05)


def test_clipping_keeps_at_most_the_cap() -> None:
    rows = [("a", f"x{i}", 5) for i in range(30)] + [("b", "x1", 5)]
    data = dc.Interactions(rows, items=[f"x{i}" for i in range(30)], scale="1:5")
    rng = np.random.default_rng(0)
    kept = NoisyPopularity(cap=6)._clipped(data, rng)
    assert np.bincount(data.user[kept]).tolist() == [6, 1]
    assert MissingClipping()._clipped(data, rng).size == 31


# Neighbor models of the literature


def test_randomized_response_has_its_law() -> None:
    scale = np.arange(1.0, 6.0)
    drawn = randomized_response(np.full(50_000, 4.0), scale, 1.0, np.random.default_rng(7))
    shares = np.bincount(drawn.astype(int), minlength=6)[1:] / drawn.size
    other = 1 / (np.e + 4)
    assert shares == pytest.approx([other, other, other, np.e * other, other], abs=0.01)


def test_values_are_protected_where_every_rating_is_randomized_and_presence_is_not(films, fixed_noise) -> None:
    games = ["attribute-predictions", "rating-predictions"]
    for unit, verdicts in (
        (Unit("record", "value"), ["consistent", "no claim"]),
        (Unit("record"), ["consistent", "refuted"]),
    ):
        report = audit(
            RandomizedRatingsKNN(), films, attacks=games, runs=25, claim=claimed(unit), processes=1, seconds=None
        )
        assert [report[game].verdict for game in games] == verdicts


def test_ratings_that_are_used_seldom_are_used_as_they_are(films, fixed_noise) -> None:
    game = "attribute-predictions"
    report = audit(
        ReuseKNN(), films, attacks=game, runs=25, claim=claimed(Unit("record", "value")), processes=1, seconds=None
    )
    assert report[game].verdict == "refuted"
    assert (report[game].hits, report[game].false_alarms) == (report[game].runs_present, 0)


def test_people_above_the_threshold_are_randomized(films, fixed_noise) -> None:
    lax, strict = (ReuseKNN(epsilon=0.01, threshold=threshold).fit(films) for threshold in (10**9, 0))
    exact = np.zeros_like(lax.ratings_)
    exact[films.user, films.item] = films.rating
    assert not lax.vulnerable_.any()
    assert (lax.ratings_ == exact).all()
    changed = (strict.ratings_ != exact).any(axis=1)
    assert (changed <= strict.vulnerable_).all()
    assert changed.mean() > 0.5
