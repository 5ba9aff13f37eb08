"""How long a prediction for a newcomer takes, from the ratings to the answer, for the study of TwinSearch.

A list is not what a newcomer waits for: an answer also takes candidates, a choice and a mean. So equal newcomers ask a
user-based kNN model for predictions: one that computes their similarities, one that looks for a duplicate by
TwinSearch, one that does so in a dictionary (``new_users``), and one that is fitted again with the newcomer in the
data.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.neighbors import KNN
from discreet.neighbors.newcomers import NewUsers
from discreet.neighbors.twin_lists import Profile
from discreet.studies.twins import KINDS, SIMILARITIES, ListTimes, NewProfile

__all__ = ["predictions"]

WAYS: dict[str, NewUsers] = {"computed": "compute", "TwinSearch c=3": "twins", "hash": "hash"}
AGAIN = "fitted again"
ASKED = 20
"""Items that a newcomer asks about."""

NEIGHBORS = 30

History = dict[Any, float]


def predictions(data: Interactions, *, newcomers: int, trials: int, seed: int) -> pl.DataFrame:
    """CPU times of the answers to equal newcomers, as ratios to computing their similarities.

    Returns
    -------
    polars.DataFrame
        similarity, new, way; "first", "later" and "all equal": how many times as fast as the computation; "set up":
        computed predictions that the first newcomer of all costs, for whom lists or dictionary are made.
    """
    rows = []
    for similarity, name in SIMILARITIES.items():
        setting = {"k": NEIGHBORS, "axis": "user", "similarity": similarity, "centering": None}
        for kind, make in KINDS.items():
            set_up, times = _measured(data, setting, make, newcomers=newcomers, trials=trials, seed=seed)
            full = times["computed"]
            for way, here in times.items():
                rows.append(
                    {
                        "similarity": name,
                        "new": kind,
                        "way": way,
                        "first": full.all_lists(1) / here.all_lists(1),
                        "later": full.later_lists / here.later_lists,
                        "all equal": full.all_lists(newcomers) / here.all_lists(newcomers),
                        "set up": set_up[way] / full.later_lists if way in set_up else None,
                    }
                )
    return pl.DataFrame(rows)


def _measured(
    data: Interactions, setting: dict[str, Any], make: NewProfile, *, newcomers: int, trials: int, seed: int
) -> tuple[dict[str, float], dict[str, ListTimes]]:
    """Seconds of the first question of all, and those of the others, by way."""
    generator = np.random.default_rng(seed)
    asked = generator.choice(data.n_items, min(ASKED, data.n_items), replace=False)
    items = data.items.decode(np.sort(asked))
    models = {way: KNN(**setting, new_users=how).fit(data) for way, how in WAYS.items()}
    _answer(models["computed"], items, _history(data, make, generator))  # compiles
    someone = _history(data, make, generator)
    set_up = {way: _answer(model, items, someone)[0] for way, model in models.items()}
    times = {way: ListTimes() for way in (*WAYS, AGAIN)}
    for trial in range(trials):
        history = _history(data, make, generator)
        right: list[float | None] | None = None
        for way, model in models.items():
            for number in range(newcomers):
                seconds, told = _answer(model, items, history)
                right = told if right is None else right
                if told != right:
                    raise AssertionError(f"{way} gave another answer than the computation")
                (times[way].later if number else times[way].first).append(seconds)
        if trial == 0:  # what all others cost again, too
            seconds = _fitted_again(data, setting, items, history)
            times[AGAIN].first.append(seconds)
            times[AGAIN].later.append(seconds)
    return set_up, times


def _history(data: Interactions, make: NewProfile, generator: np.random.Generator) -> History:
    """What a newcomer has rated, given somebody who is there."""
    row = data.csr[[int(generator.integers(data.n_users))]]
    profile = make(Profile.of(row.indices, row.data.astype(np.float64)), generator)
    return dict(zip(data.items.decode(profile.columns), profile.ratings.tolist(), strict=True))


def _answer(model: KNN, items: list[Any], history: Mapping[Any, float]) -> tuple[float, list[float | None]]:
    """Seconds and predictions; where the records have no ratings, the scores of a ranking."""
    begin = time.process_time()
    if model.records_ is not None and model.records_.rating is not None:
        told = model.predict(items, history=history)["score"]
    else:
        told = model.recommend(history=list(history), n=len(items), exclude_seen=False)["score"]
    return time.process_time() - begin, told.to_list()


def _fitted_again(data: Interactions, setting: dict[str, Any], items: list[Any], history: Mapping[Any, float]) -> float:
    """Seconds of fitting a model to the records with the newcomer among them, and of its answer."""
    codes = data.items.encode(list(history))
    columns: dict[str, Any] = {
        "user_id": np.concatenate([data.user, np.full(codes.size, data.n_users)]),
        "item_id": np.concatenate([data.item, codes]),
    }
    if data.rating is not None:
        columns["rating"] = np.concatenate([data.rating, list(history.values())])
    begin = time.process_time()
    joined = Interactions(columns, duplicates="keep" if data.may_repeat else "error")
    model = KNN(**setting).fit(joined)
    known = [code for code in data.items.encode(items).tolist() if code in joined.items]
    model.predict([(data.n_users, code) for code in known])
    return time.process_time() - begin
