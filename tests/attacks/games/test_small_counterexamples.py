"""Datasets on which published guarantees break: the games catch what is refuted and leave alone what is proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.attacks import Game, NeighboringData, audit
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.registry import attack
from discreet.attacks.games.small import finest_digits
from discreet.counting import DFT, GS, HPA, LPA, ItemCounts
from discreet.data import Interactions
from discreet.neighbors import NaiveExponentialNeighbors
from discreet.pairs import PublishedCosine, PublishedSlopeOne
from discreet.subsets import BirthDeathChain, KSubset
from discreet.subsets.row_lists import RowLists

REFUTED = {
    "hpa": (HPA(epsilon=1, cap=30, first="data"), "quiet-user", 40),
    "lpa": (LPA(epsilon=1, cap="data"), "active-user", 40),
    "dft": (DFT(epsilon=1, cap="data"), "active-user", 40),
    "gs": (GS(epsilon=1, cap="data"), "one-item", 40),
    "naive-exponential": (NaiveExponentialNeighbors(epsilon=1), "all-neighbors", 60),
    "slope-one": (PublishedSlopeOne(epsilon=1), "one-rater-more", 40),
    "cosine": (PublishedCosine(epsilon=1), "first-buyer", 40),
    "chain": (RowLists(BirthDeathChain(steps=2_000)), "one-entry", 40),
}

PROVED = {
    "hpa": (HPA(epsilon=1, cap=6), "quiet-user"),
    "lpa": (LPA(epsilon=1, cap=6), "active-user"),
    "dft": (DFT(epsilon=1, cap=6), "active-user"),
    "gs": (GS(epsilon=1, cap=6), "one-item"),
    "subset": (RowLists(KSubset(k=3, low=1, high=5, epsilon=1, change="entry")), "one-entry"),
}


@pytest.mark.parametrize("name", REFUTED)
def test_what_is_refuted_is_caught(films, fixed_bits, name: str) -> None:
    model, game, runs = REFUTED[name]
    report = audit(model, films, attacks=game, runs=runs, processes=1, seconds=None)
    assert report.refuted
    assert report[game].proved.epsilon > 1.2


@pytest.mark.parametrize("name", PROVED)
def test_what_is_proved_stands(films, fixed_bits, name: str) -> None:
    model, game = PROVED[name]
    report = audit(model, films, attacks=game, runs=25, processes=1, seconds=None)
    assert report[game].verdict == "consistent"


def test_the_sharpest_question_uses_most_of_what_was_guaranteed(films, fixed_bits) -> None:
    report = audit(ItemCounts(epsilon=1, cap=6), films, attacks="one-item", runs=60, processes=1, seconds=None)
    assert 0.4 < report["one-item"].proved.epsilon < 1


def pair_of(name: str, model: Any, data: Interactions) -> NeighboringData:
    game = attack(name)
    assert isinstance(game, Game)
    return game.datasets(Target.of(model, data), data, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["active-user", "quiet-user", "one-item", "traces"])
def test_datasets_differ_in_one_user(films, name: str) -> None:
    pair = pair_of(name, ItemCounts(epsilon=1, cap=5), films)
    more, less = pair.with_, pair.without
    (came,) = set(more.users.ids()) - set(less.users.ids())
    mine = (more.to_frame()["user_id"] == came).to_numpy()
    assert more.to_frame().filter(~mine).equals(less.to_frame())
    assert pair.records == mine.sum()
    assert more.items == less.items
    assert more.may_repeat is less.may_repeat


@pytest.mark.parametrize("name", ["one-rater-more", "first-buyer"])
def test_datasets_differ_in_one_record(films, name: str) -> None:
    models: dict[str, Any] = {"one-rater-more": PublishedSlopeOne(1), "first-buyer": PublishedCosine(1)}
    pair = pair_of(name, models[name], films)
    assert len(pair.with_) == len(pair.without) + 1
    assert pair.with_.users == pair.without.users
    # At the published T everybody who is asked about has enough records.
    assert pair.without.records_per_user.min() >= 20


def test_the_lowest_digit_of_a_number() -> None:
    numbers = np.array([1.0, 96.0, -0.75, 2.0**-60, np.nan, 0.0])
    assert finest_digits(numbers).tolist() == [0, 5, -2, -60, 64, 64]


def test_a_row_needs_somebody_who_rated(films) -> None:
    report = audit(RowLists(BirthDeathChain(steps=100)), films, attacks="one-entry", runs=4, processes=1)
    assert str(report["one-entry"].unit).startswith("one score of a row")
