"""Models in a series: who enters when, what is settled, and that a step's model is that of a fit on the same people."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.statistics import Opinions, projected_gram
from discreet.factors.tastes import TastePlan
from discreet.series import Series
from discreet.series.turning import better

MODELS = [
    dc.PrivateRecommender(epsilon=10**7, head=40),
    dc.PrivateRatings(epsilon=10**7),
    dc.PrivateItemKNN(epsilon=10**7, head=40),
]
"""With hardly any noise."""


@pytest.fixture(scope="module")
def films() -> Interactions:
    return dc.synthetic.films(users=400, items=40, seed=7)


def part(films: Interactions, people: slice) -> Interactions:
    return films.filter(np.isin(films.user, np.arange(films.n_users)[people]), independent=True)


def scores(model: Any) -> np.ndarray:
    history = {"film-3": 5, "film-8": 2, "film-9": 4, "film-21": 5}
    items = [f"film-{number}" for number in range(1, 41)]
    if isinstance(model, dc.PrivateRecommender):
        found = model.recommend(history=history, n=40, exclude_seen=False)
        return found.sort("item_id")["score"].to_numpy()
    return model.predict(items, history=history)["score"].to_numpy()


@pytest.mark.parametrize("method", MODELS, ids=lambda method: method.name)
def test_a_step_has_the_model_of_everybody_so_far(method: Any, films: Interactions) -> None:
    """Everybody comes on the first step: what later steps say is what a fit says."""
    series = Series(method, steps=5, enter_after=1)
    releases = [series.advance(films if step == 0 else films.emptied()) for step in range(3)]
    fitted = scores(type(method)(**method.parameters).fit(films))
    for release in releases:
        assert release is not None
        assert np.corrcoef(scores(type(method).of_release(release)), fitted)[0, 1] > 0.999


@pytest.mark.parametrize("method", MODELS, ids=lambda method: method.name)
def test_people_who_come_later_are_in_later_models(method: Any, films: Interactions, tmp_path: Path) -> None:
    """What the first half settles, such as directions, is near to what everybody would; the totals are of all."""
    series = Series(method, steps=5, enter_after=1, folder=tmp_path / "s")
    first = series.advance(part(films, slice(0, None, 2)))
    second = series.advance(part(films, slice(1, None, 2)))
    assert first is not None
    assert second is not None
    counted = "first" if "first" in second.parts else "weights"
    single = type(method)(**method.parameters).fit(films).release_
    assert np.allclose(second.array(f"{counted}_now"), single.array(counted), atol=0.05)
    assert np.allclose(second.array(counted), first.array(counted))  # settled
    assert np.corrcoef(scores(type(method).of_release(second)), scores(type(method).of_release(single)))[0, 1] > 0.97
    saved = type(method).load(second.save(tmp_path / "model"))
    assert np.allclose(scores(saved), scores(type(method).of_release(second)))


def test_matrices_of_all_people_are_in_the_settled_coordinates(films: Interactions) -> None:
    """The tastes of two steps are the sums over all people in the head and direction of the first."""
    method = dc.PrivateRecommender(epsilon=10**7, head=10)
    series = Series(method, steps=2, enter_after=1)
    first = series.advance(part(films, slice(0, 300)))
    second = series.advance(part(films, slice(300, None)))
    assert first is not None
    assert second is not None
    assert np.array_equal(first.array("head"), second.array("head"))
    plan = TastePlan.of(first.array("first"), first.parameters["settled"], users=None, most=10)
    people = Opinions.of(films, None, Fraction(1))
    exact = projected_gram(people.rated, first.array("head"), plan.weights, plan.direction, people.values).settled()
    assert np.allclose(second.array("tastes"), exact.matrices[0] * float(exact.step), atol=0.05)


# Who enters when


def entered(series: Series) -> dict[str, int]:
    people = series._state.people
    assert people is not None
    return dict(people.entered.rows())


ITEMS = [f"i{number}" for number in range(6)]


def night(*rows: tuple[str, str, int]) -> Interactions:
    return Interactions(list(rows), items=ITEMS, scale="1:5", duplicates="error")


def test_people_enter_with_enough_records_and_once() -> None:
    series = Series(dc.PrivateRecommender, steps=4, epsilon=1, delta="1e-6", enter_after=2)
    series.advance(night(("a", "i0", 5), ("b", "i0", 5), ("b", "i1", 5)))
    assert entered(series) == {"text:b": 0}
    series.advance(night(("a", "i1", 5), ("b", "i2", 5), ("c", "i0", 1)))
    assert entered(series) == {"text:b": 0, "text:a": 1}
    series.advance(night(("a", "i2", 5)))
    series.advance(night(("d", "i5", 5)))  # the last step: everybody with what they have
    assert entered(series) == {"text:b": 0, "text:a": 1, "text:c": 3, "text:d": 3}
    people = series._state.people
    assert people is not None
    assert people.waiting.is_empty()
    # The records of b that came later are not used.
    assert people.records.filter(person="text:b").height == 2


def test_people_of_full_exports_enter_once() -> None:
    series = Series(dc.PrivateRatings, steps=4, epsilon=1, delta="1e-6", enter_after=2, records="all")
    series.advance(night(("a", "i0", 5), ("b", "i0", 5), ("b", "i1", 5)))
    series.advance(night(("a", "i0", 5), ("a", "i1", 4), ("b", "i0", 5), ("b", "i1", 5), ("b", "i2", 5)))
    people = series._state.people
    assert people is not None
    assert people.records.height == 4
    assert people.waiting.is_empty()


def test_somebody_without_a_liked_item_has_entered_all_the_same() -> None:
    series = Series(dc.PrivateItemKNN(epsilon=1, cap=1), steps=4, enter_after=1)
    series.advance(night(("a", "i0", 1), ("a", "i1", 1)))
    people = series._state.people
    assert people is not None
    assert people.records.height == 1  # which one is used was chosen once
    before = people.records
    series.advance(night(("a", "i2", 5)))
    people = series._state.people
    assert people is not None
    assert people.records.equals(before)


def test_the_first_steps_may_only_collect(films: Interactions) -> None:
    series = Series(dc.PrivateRecommender(epsilon=4), steps=6, enter_after=5, settle=2)
    assert series.advance(part(films, slice(0, 100))) is None
    assert series.release() is None
    assert series.advance(part(films, slice(100, 200))) is None
    release = series.advance(part(films, slice(200, None)))
    assert release is not None
    # Four steps release something: less noise than six.
    assert release.parameters["series"]["noise_factor"] == pytest.approx(1.21, abs=0.01)
    assert release.guarantee.loss == dc.PrivateRecommender(epsilon=4).plan(films).loss


def test_only_whole_users_are_protected(films: Interactions) -> None:
    with pytest.raises(UsageError, match="protects whole users"):
        Series(dc.PrivateRatings(epsilon=1, unit="record"), steps=3).advance(films)
    with pytest.raises(UsageError, match="delta must be above 0"):
        Series(dc.PrivateItemKNN(epsilon=1, delta=0), steps=3).advance(films)


# The turn of a period


@pytest.mark.parametrize("method", [dc.PrivateRecommender, dc.PrivateRatings, dc.PrivateItemKNN])
def test_the_last_release_stays_in_use_until_the_new_ones_are_better(method: Any, films: Interactions) -> None:
    old = Series(method, steps=2, epsilon=20, delta="1e-6", enter_after=1).advance(films)
    new = Series(method, steps=2, epsilon=20, delta="1e-6", enter_after=1)
    first = new.advance(part(films, slice(0, 3)))
    assert old is not None
    assert first is not None
    assert better(old, first) is old
    richer = Series(method, steps=2, epsilon=2000, delta="1e-6", enter_after=1).advance(films)
    assert richer is not None
    assert better(old, richer) is richer
    with pytest.raises(UsageError, match="cannot stand in"):
        better(old, dc.counting.ItemCounts(epsilon=1, delta="1e-6").release(films))


@pytest.mark.parametrize("method", [dc.PrivateRecommender, dc.PrivateRatings, dc.PrivateItemKNN])
def test_a_year_of_ten_million_people_fits_into_64_bits(method: Any, films: Interactions) -> None:
    """With the settings that somebody gets who says nothing; the matrices are asked for after the charge."""
    release = Series(method(epsilon=10**4), steps=365, enter_after=1).advance(films)
    assert release is not None
    assert {"tastes", "residuals", "co_counts"} & set(release.parts)
