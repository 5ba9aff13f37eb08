"""Models of other libraries behind the interface that the attacks use: fit, predict, recommend.

Each is wrapped so that a client sees what the library itself would show; nothing is added and no noise is drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import DataError, MissingExtraError, UsageError

__all__ = ["ImplicitModel", "LensKitModel", "ScoreModel", "SurpriseModel"]

Pair = tuple[Hashable, Hashable]


@dataclass
class ImplicitModel:
    """A model of ``implicit``: it recommends lists and predicts no ratings.

    Parameters
    ----------
    make
        Makes a model that has not been fitted; without it, cosine item neighbors.
    k
        Neighbors of the model that is made without ``make``.

    Examples
    --------
    >>> from discreet.attacks import SybilAttack
    >>> report = SybilAttack(k=20).run(ImplicitModel, films)  # doctest: +SKIP
    """

    name: ClassVar[str] = "implicit"

    make: Callable[[], Any] | None = None
    k: int = 20

    def fit(self, data: Interactions) -> Self:
        """Learn from records."""
        from scipy.sparse import csr_matrix

        nearest = _load("implicit.nearest_neighbours", "implicit")
        self.model_ = self.make() if self.make is not None else nearest.CosineRecommender(K=self.k)
        self.data_ = data
        self.rows_ = csr_matrix(data.csr, dtype=np.float64)
        with warnings.catch_warnings():
            # It warns of a conversion that it makes itself.
            warnings.filterwarnings("ignore", message="Method expects CSR input")
            self.model_.fit(self.rows_, show_progress=False)
        return self

    def recommend(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        """user_id, item_id, score, rank: the best ``n`` items that a user has not touched."""
        asked = list(users)
        tables = []
        for user, code in zip(asked, _fitted(self).users.encode(asked), strict=True):
            items, scores = self.model_.recommend(int(code), self.rows_[code], N=n, filter_already_liked_items=True)
            # Where there are not enough items, lists are padded with −1 or with the least number there is.
            real = (np.asarray(items) >= 0) & (np.asarray(scores) > -np.finfo(np.float32).max)
            codes = np.asarray(items)[real][:n].astype(np.int32)
            tables.append(_ranked(user, self.data_.items.decode(codes), np.asarray(scores)[real][:n]))
        return _stacked(tables)


@dataclass
class SurpriseModel:
    """A model of Surprise: it predicts ratings.

    Parameters
    ----------
    make
        Makes a model that has not been fitted; without it, the weighted mean of the nearest users' ratings.
    k
        Neighbors of the model that is made without ``make``.

    Notes
    -----
    Surprise answers with the mean of all ratings where it has no neighbors; it says that it does, and such an answer
    counts as none.
    """

    name: ClassVar[str] = "surprise"

    make: Callable[[], Any] | None = None
    k: int = 20

    def fit(self, data: Interactions) -> Self:
        """Learn from rated records."""
        surprise = _load("surprise", "surprise")
        if data.rating is None or data.scale is None:
            raise UsageError("Surprise learns from ratings on a public scale.")
        reader = surprise.Reader(rating_scale=(float(data.scale.low), float(data.scale.high)))
        users, items = data.user.tolist(), data.item.tolist()
        records = [(u, i, r, None) for u, i, r in zip(users, items, data.rating.tolist(), strict=True)]
        options = {"name": "cosine", "user_based": True}
        self.model_ = (
            self.make() if self.make is not None else surprise.KNNBasic(k=self.k, sim_options=options, verbose=False)
        )
        self.data_ = data
        self.model_.fit(surprise.Dataset(reader).construct_trainset(records))
        return self

    def predict(self, pairs: Iterable[Pair]) -> pl.DataFrame:
        """user_id, item_id, score; a score is null where the model has no neighbors to go by."""
        asked = list(pairs)
        data = _fitted(self)
        users = data.users.encode([user for user, _ in asked]).tolist()
        items = data.items.encode([item for _, item in asked]).tolist()
        told = [self.model_.predict(user, item) for user, item in zip(users, items, strict=True)]
        return _answers(asked, [None if one.details.get("was_impossible") else float(one.est) for one in told])


@dataclass
class LensKitModel:
    """A scorer of LensKit in its standard pipeline: it predicts ratings and recommends lists.

    Parameters
    ----------
    make
        Makes a scorer that has not been trained; without it, user neighbors.
    k
        Neighbors of the scorer that is made without ``make``.
    """

    name: ClassVar[str] = "lenskit"

    make: Callable[[], Any] | None = None
    k: int = 20

    def fit(self, data: Interactions) -> Self:
        """Learn from records."""
        pipelines = _load("lenskit.pipeline", "lenskit")
        scorer = (
            self.make() if self.make is not None else _load("lenskit.knn", "lenskit").UserKNNScorer(max_nbrs=self.k)
        )
        columns: dict[str, Any] = {"user_id": data.user, "item_id": data.item}
        if data.rating is not None:
            columns["rating"] = data.rating.astype(np.float64)
        frame = _load("pandas", "lenskit").DataFrame(columns)
        # Without a fallback: a rating that the scorer does not know is not answered.
        self.pipeline_ = pipelines.topn_pipeline(scorer, predicts_ratings="raw")
        self.pipeline_.train(_load("lenskit.data", "lenskit").from_interactions_df(frame))
        self.data_ = data
        return self

    def predict(self, pairs: Iterable[Pair]) -> pl.DataFrame:
        """user_id, item_id, score; a score is null where the scorer has none."""
        asked = list(pairs)
        data = _fitted(self)
        users = data.users.encode([user for user, _ in asked])
        items = data.items.encode([item for _, item in asked])
        scores = np.full(len(asked), np.nan)
        for user in np.unique(users):
            places = np.flatnonzero(users == user)
            told = _load("lenskit", "lenskit").predict(self.pipeline_, int(user), items[places].tolist())
            known = dict(zip(np.asarray(told.ids()).tolist(), np.asarray(told.scores()).tolist(), strict=True))
            scores[places] = [known.get(int(item), np.nan) for item in items[places]]
        return _answers(asked, [None if np.isnan(score) else float(score) for score in scores])

    def recommend(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        """user_id, item_id, score, rank: the best ``n`` items that a user has not touched."""
        asked = list(users)
        tables = []
        for user, code in zip(asked, _fitted(self).users.encode(asked), strict=True):
            told = _load("lenskit", "lenskit").recommend(self.pipeline_, int(code), n=n)
            items = self.data_.items.decode(np.asarray(told.ids(), dtype=np.int32))
            tables.append(_ranked(user, items, np.asarray(told.scores())))
        return _stacked(tables)


@dataclass
class ScoreModel:
    """Anything that scores all items for some users, as the models of RecBole do in ``full_sort_predict``.

    Parameters
    ----------
    learn
        Is handed the records and returns a function from codes of users to scores, a row a user and a column an item;
        an array, a tensor on the processor, or the rows one after another in one vector. NaN and −∞ stand for none.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=30, items=12, seed=7)
    >>> def popular(data):
    ...     return lambda users: np.tile(data.records_per_item, (users.size, 1))
    >>> ScoreModel(popular).fit(films).recommend(["u1"], n=2)["rank"].to_list()
    [1, 2]
    """

    name: ClassVar[str] = "scores"

    learn: Callable[[Interactions], Callable[[Any], Any]]

    def fit(self, data: Interactions) -> Self:
        """Learn from records."""
        self.data_ = data
        self.scores_ = self.learn(data)
        return self

    def predict(self, pairs: Iterable[Pair]) -> pl.DataFrame:
        """user_id, item_id, score as it is, which need not be on the scale of the ratings; null where there is none."""
        asked = list(pairs)
        data = _fitted(self)
        if not asked:
            return _answers([], [])
        people, row = np.unique(data.users.encode([user for user, _ in asked]), return_inverse=True)
        scores = self._scored(people)[row, data.items.encode([item for _, item in asked])]
        return _answers(asked, [float(score) if np.isfinite(score) else None for score in scores])

    def recommend(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        """user_id, item_id, score, rank: the best ``n`` items that a user has not touched."""
        asked = list(users)
        data = _fitted(self)
        codes = data.users.encode(asked)
        tables = []
        for user, code, scores in zip(asked, codes, self._scored(codes), strict=True):
            scores[data.item[data.user == code]] = -np.inf
            best = np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")[:n]
            best = best[np.isfinite(scores[best])]
            tables.append(_ranked(user, data.items.decode(best.astype(np.int32)), scores[best]))
        return _stacked(tables)

    def _scored(self, codes: Any) -> Any:
        scores = np.array(self.scores_(codes), dtype=np.float64)
        if scores.size != codes.size * self.data_.n_items:
            raise DataError(
                f"{scores.size} scores came for {codes.size} users and {self.data_.n_items} items.",
                remedy="Return one row a user and one column an item, in the order of the codes.",
            )
        return scores.reshape(codes.size, self.data_.n_items)


def _load(module: str, extra: str) -> ModuleType:
    """An optional library, or an error that says how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or module, extra) from error


def _fitted(model: Any) -> Interactions:
    if not hasattr(model, "data_"):
        raise UsageError(f"this {type(model).__name__} has not been fitted.", remedy="Call fit(data) first.")
    return model.data_


def _answers(pairs: list[Pair], scores: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user_id": [user for user, _ in pairs],
            "item_id": [item for _, item in pairs],
            "score": pl.Series(scores, dtype=pl.Float64),
        }
    )


def _ranked(user: Hashable, items: list[Any], scores: Any) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user_id": [user] * len(items),
            "item_id": items,
            "score": pl.Series(np.asarray(scores, dtype=np.float64)),
            "rank": pl.Series(range(1, len(items) + 1), dtype=pl.Int64),
        }
    )


def _stacked(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """One table of those with rows; an empty one, which knows no types of ids, gives way to the others."""
    full = [table for table in tables if table.height]
    return pl.concat(full) if full else _ranked(None, [], [])
