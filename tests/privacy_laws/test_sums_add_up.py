"""Sums over people add up: any split of the people gives, to the last bit, the sums of the whole."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.factors import popular, private_ratings, synthetic_drawing, tastes
from discreet.models.registry import create, names, registered
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram
from discreet.privacy.method import Method
from discreet.privacy.units import Unit
from discreet.testing import require_sums_add_up

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "private-recommender": [{"epsilon": 1}, {"epsilon": 8, "head": 6}],
    "private-ratings": [{"epsilon": 1}, {"epsilon": 8}, {"epsilon": 1, "unit": "record"}],
    "dp-als": [{"epsilon": 4, "factors": 3, "cap": 3}],
    "private-item-knn": [{"epsilon": 1}, {"epsilon": 1, "delta": 0, "cap": 4}, {"epsilon": 1, "unit": "record"}],
    "private-slope-one": [{"epsilon": 1, "cap": 4}, {"epsilon": 1, "unit": "record/value"}],
    "private-cosine": [{"epsilon": 1}, {"epsilon": 1, "delta": 0, "unit": "record"}],
}
"""Settings of every recommender whose release is made of sums."""


def films() -> dc.Interactions:
    return dc.synthetic.films(users=40, items=12, seed=3)


def parts_of(data: dc.Interactions, split: str) -> list[dc.Interactions]:
    codes = {
        "odd and even": data.user % 2,
        "three in a row": np.minimum(data.user // 14, 2),
        "one person and the rest": (data.user > 0).astype(int),
        "nobody and everybody": np.ones(len(data), dtype=int),
    }[split]
    return [data.filter(codes == part, independent=True) for part in range(int(codes.max()) + 1)]


def test_every_recommender_made_of_sums_is_here() -> None:
    made_of_sums = {
        name
        for name in names("recommender")
        if issubclass(kind := registered(name), Method) and kind.reads == "sums" and name != "context-popularity"
    }
    assert made_of_sums == set(SETTINGS)


@pytest.mark.parametrize("split", ["odd and even", "three in a row", "one person and the rest", "nobody and everybody"])
@pytest.mark.parametrize(("name", "settings"), [(name, one) for name, every in SETTINGS.items() for one in every])
def test_recommenders(name: str, settings: dict[str, Any], split: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is learned from many people only is learned from few here, so that every round is seen.
    monkeypatch.setattr(tastes, "CROSSOVER", 0)
    monkeypatch.setattr(popular, "TOLERATED", 1)
    monkeypatch.setattr(private_ratings, "CROSSOVER", 0)
    monkeypatch.setattr(private_ratings, "LEAST_RATINGS", 0)
    data = films()
    assert require_sums_add_up(create(name, **settings), data, parts_of(data, split)) >= 1


@pytest.mark.parametrize("split", ["odd and even", "one person and the rest", "nobody and everybody"])
@pytest.mark.parametrize("settings", [{"epsilon": 1}, {"epsilon": 8, "contexts": ["weekday"]}])
def test_synthetic_interactions(settings: dict[str, Any], split: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tastes, "CROSSOVER", 0)
    monkeypatch.setattr(synthetic_drawing, "SIMULATED", 64)
    data = films()
    assert require_sums_add_up(create("synthetic-interactions", **settings), data, parts_of(data, split)) == 2


# The sums themselves


def sums(*values: int, cap: int = 2, unit: Unit | None = None) -> BoundedSums:
    bound = Fraction(cap)
    return BoundedSums(
        np.array(values, dtype=np.int64), Fraction(1), bound, bound, bound, True, unit or Unit("user"), (f"cap {cap}",)
    )


def test_adding_keeps_the_bounds() -> None:
    total = sums(1, 2) + sums(3, 4)
    assert total.values.tolist() == [4, 6]
    assert replace(total, values=sums(1, 2).values).l1 == sums(1, 2).l1


def test_sums_with_other_bounds_do_not_add_up() -> None:
    with pytest.raises(UsageError, match="l1"):
        _ = sums(1) + sums(1, cap=3)
    with pytest.raises(UsageError, match="unit"):
        _ = sums(1) + sums(1, unit=Unit("record"))
    with pytest.raises(UsageError, match="shapes"):
        _ = sums(1) + sums(1, 2)


def test_totals_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="64 bits"):
        _ = sums(2**62) + sums(2**62)
    assert (sums(2**62) + sums(-(2**62))).values.tolist() == [0]


def test_matrices_add_up() -> None:
    one = BoundedGram((np.eye(2, dtype=np.int64),), Fraction(1), Fraction(2), Unit("user"), ())
    assert (one + one).matrices[0].tolist() == [[2, 0], [0, 2]]
    with pytest.raises(UsageError, match="frobenius"):
        _ = one + replace(one, frobenius_squared=Fraction(3))


class Spoiled(dc.PrivateRecommender):
    """Divides by the number of people it sees: not a sum."""

    name = "spoiled"

    def _rounds(self, plan: Any) -> Any:
        for asked in super()._rounds(plan):

            def means(part: Any, exact: Any = asked.statistics) -> BoundedSums:
                sums = exact(part)
                return replace(sums, values=sums.values // max(getattr(part, "likes", part).n_users, 1))

            yield replace(asked, statistics=means)


def test_statistics_that_are_not_sums_are_found() -> None:
    data = films()
    with pytest.raises(AssertionError, match="round 1"):
        require_sums_add_up(Spoiled(1), data, parts_of(data, "odd and even"))
