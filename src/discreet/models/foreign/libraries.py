"""Models of other libraries behind one interface: fit, predict, recommend.

Each is wrapped so that a client sees what the library itself would show; nothing is added and no noise is drawn.
"""

from __future__ import annotations

import io
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats
from discreet.data.interactions import Interactions
from discreet.errors import DataError, DiscreetError, EvaluationError, MissingExtraError, UsageError
from discreet.models.foreign.answers import Pair, list_table, score_table
from discreet.models.foreign.making import Made

__all__ = ["ImplicitModel", "LensKitModel", "RecToolsModel", "ScoreModel", "ScoringModel", "SurpriseModel", "load"]


TOGETHER = 256
"""How many users are asked about at a time, by models that take several."""


class CodedModel(ABC):
    """A model that works on the codes of users and items. It defines ``_predict``, ``_recommend`` or both."""

    name: ClassVar[str]
    data_: Interactions

    def fit(self, data: Interactions) -> Self:
        """Learn from records."""
        try:
            with redirect_stdout(io.StringIO()):  # what libraries say on the way
                self._fit(data)
        except DiscreetError:
            raise
        except Exception as error:
            raise EvaluationError(f"{self.name}.fit raised {type(error).__name__}: {error}.") from error
        self.data_ = data
        return self

    @abstractmethod
    def _fit(self, data: Interactions) -> None:
        """Make and train the model of the library."""

    def _scores_of(self, users: Codes, items: Codes) -> Iterable[float | None]:
        """A score of each pair; NaN, infinity or None where there is none."""
        raise NotImplementedError

    def _list_of(self, user: int, n: int) -> tuple[Any, Any]:
        """The best ``n`` items that a user has not touched, and their scores."""
        raise NotImplementedError

    def _lists_of(self, users: Codes, n: int) -> Iterable[tuple[Any, Any]]:
        """The same for several users, one after another."""
        return (self._list_of(int(user), n) for user in users)

    def _predicted(self, pairs: Iterable[Pair]) -> pl.DataFrame:
        asked, data = list(pairs), self._fitted()
        if not asked:
            return score_table([], [])
        users, items = data.users.encode([user for user, _ in asked]), data.items.encode([item for _, item in asked])
        told = [None if one is None or not np.isfinite(one) else float(one) for one in self._scores_of(users, items)]
        return score_table(asked, told)

    def _recommended(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        asked, data, lists = list(users), self._fitted(), []
        for user, (items, scores) in zip(asked, self._lists_of(data.users.encode(asked), n), strict=True):
            ids = data.items.decode(np.asarray(items, dtype=np.int32))
            lists.append((user, list(zip(ids, np.asarray(scores, dtype=np.float64).tolist(), strict=True))))
        return list_table(lists, "user_id", "item_id")

    def _fitted(self) -> Interactions:
        if not hasattr(self, "data_"):
            raise UsageError(f"this {type(self).__name__} has not been fitted.", remedy="Call fit(data) first.")
        return self.data_


@dataclass
class LibraryModel(CodedModel):
    """A model of a library: the one that ``make`` makes, or one with ``k`` neighbors."""

    make: Callable[[], Any] | None = None
    k: int = 20

    @classmethod
    def named(cls, kind: Callable[..., Any], settings: Mapping[str, Any]) -> Self:
        """One of the library's models, found by its name, with settings of its own."""
        return cls(make=Made(kind, settings))


class ImplicitModel(LibraryModel):
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

    recommend = CodedModel._recommended

    def _fit(self, data: Interactions) -> None:
        from scipy.sparse import csr_matrix

        nearest = load("implicit.nearest_neighbours", "implicit")
        self.model_ = self.make() if self.make is not None else nearest.CosineRecommender(K=self.k)
        self.rows_ = csr_matrix(data.csr, dtype=np.float64)
        # Its kernels take 32-bit positions and no others.
        self.rows_.indices, self.rows_.indptr = (
            part.astype(np.int32) for part in (self.rows_.indices, self.rows_.indptr)
        )
        with warnings.catch_warnings():
            # It warns of a conversion that it makes itself.
            warnings.filterwarnings("ignore", message="Method expects CSR input")
            self.model_.fit(self.rows_, show_progress=False)

    def _list_of(self, user: int, n: int) -> tuple[Any, Any]:
        items, scores = self.model_.recommend(user, self.rows_[user], N=n, filter_already_liked_items=True)
        # Where there are not enough items, lists are padded with −1 or with the least number there is.
        real = (np.asarray(items) >= 0) & (np.asarray(scores) > -np.finfo(np.float32).max)
        return np.asarray(items)[real][:n], np.asarray(scores)[real][:n]


class SurpriseModel(LibraryModel):
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

    predict = CodedModel._predicted

    def _fit(self, data: Interactions) -> None:
        surprise = load("surprise", "surprise")
        if data.rating is None or data.scale is None:
            raise UsageError("Surprise learns from ratings on a public scale.")
        reader = surprise.Reader(rating_scale=(float(data.scale.low), float(data.scale.high)))
        columns = (data.user.tolist(), data.item.tolist(), data.rating.tolist())
        records = [(user, item, rating, None) for user, item, rating in zip(*columns, strict=True)]
        options = {"name": "cosine", "user_based": True}
        make = self.make or (lambda: surprise.KNNBasic(k=self.k, sim_options=options, verbose=False))
        self.model_ = make()
        self.model_.fit(surprise.Dataset(reader).construct_trainset(records))

    def _scores_of(self, users: Codes, items: Codes) -> Iterable[float | None]:
        told = (self.model_.predict(user, item) for user, item in zip(users.tolist(), items.tolist(), strict=True))
        return [None if one.details.get("was_impossible") else one.est for one in told]


class LensKitModel(LibraryModel):
    """A scorer of LensKit in its standard pipeline: it predicts ratings and recommends lists.

    Parameters
    ----------
    make
        Makes a scorer that has not been trained; without it, user neighbors.
    k
        Neighbors of the scorer that is made without ``make``.
    """

    name: ClassVar[str] = "lenskit"

    predict = CodedModel._predicted
    recommend = CodedModel._recommended

    def _fit(self, data: Interactions) -> None:
        pipelines, knn = load("lenskit.pipeline", "lenskit"), load("lenskit.knn", "lenskit")
        scorer = self.make() if self.make is not None else knn.UserKNNScorer(max_nbrs=self.k)
        columns: dict[str, Any] = {"user_id": data.user, "item_id": data.item}
        if data.rating is not None:
            columns["rating"] = data.rating.astype(np.float64)
        frame = load("pandas", "lenskit").DataFrame(columns)
        # Without a fallback: a rating that the scorer does not know is not answered.
        self.pipeline_ = pipelines.topn_pipeline(scorer, predicts_ratings="raw")
        self.pipeline_.train(load("lenskit.data", "lenskit").from_interactions_df(frame))

    def _scores_of(self, users: Codes, items: Codes) -> Iterable[float | None]:
        scores = np.full(users.size, np.nan)
        for user in np.unique(users):
            places = np.flatnonzero(users == user)
            told = load("lenskit", "lenskit").predict(self.pipeline_, int(user), items[places].tolist())
            known = dict(zip(np.asarray(told.ids()).tolist(), np.asarray(told.scores()).tolist(), strict=True))
            scores[places] = [known.get(int(item), np.nan) for item in items[places]]
        return scores

    def _list_of(self, user: int, n: int) -> tuple[Any, Any]:
        told = load("lenskit", "lenskit").recommend(self.pipeline_, user, n=n)
        return told.ids(), told.scores()


class RecToolsModel(LibraryModel):
    """A model of RecTools: it recommends lists.

    Parameters
    ----------
    make
        Makes a model that has not been fitted; without it, cosine item neighbors of implicit.
    k
        Neighbors of the model that is made without ``make``.
    """

    name: ClassVar[str] = "rectools"

    def _fit(self, data: Interactions) -> None:
        models, datasets = load("rectools.models", "rectools"), load("rectools.dataset", "rectools")
        pandas = load("pandas", "rectools")
        weight = np.ones(len(data)) if data.rating is None else data.rating.astype(np.float64)
        times = np.zeros(len(data), dtype=np.int64) if data.timestamp is None else data.timestamp
        columns = {"user_id": data.user, "item_id": data.item, "weight": weight}
        columns["datetime"] = pandas.to_datetime(times, unit="s")
        self.dataset_ = datasets.Dataset.construct(pandas.DataFrame(columns))
        if self.make is not None:
            self.model_ = self.make()
        else:
            nearest = load("implicit.nearest_neighbours", "rectools")
            self.model_ = models.ImplicitItemKNNWrapperModel(nearest.CosineRecommender(K=self.k))
        self.model_.fit(self.dataset_)

    def recommend(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        """The best ``n`` items that each user has not touched."""
        asked, data = list(users), self._fitted()
        codes = data.users.encode(asked).tolist()
        told = self.model_.recommend(users=codes, dataset=self.dataset_, k=n, filter_viewed=True)
        by_user: dict[int, list[tuple[Any, float]]] = {code: [] for code in codes}
        columns = (told[name].tolist() for name in ("user_id", "item_id", "score"))
        for user, item, score in zip(*columns, strict=True):
            by_user[user].append((data.items.decode(np.array([item], dtype=np.int32))[0], float(score)))
        return list_table(
            [(user, by_user[code]) for user, code in zip(asked, codes, strict=True)], "user_id", "item_id"
        )


class ScoringModel(CodedModel):
    """A model that scores all items for some users: ``scores_`` goes from codes of users to a row each."""

    scores_: Callable[[Any], Any]

    predict = CodedModel._predicted
    recommend = CodedModel._recommended

    def _scores_of(self, users: Codes, items: Codes) -> Iterable[float | None]:
        people, row = np.unique(users, return_inverse=True)
        return self._scored(people)[row, items]

    def _lists_of(self, users: Codes, n: int) -> Iterable[tuple[Any, Any]]:
        by_user = np.argsort(self.data_.user, kind="stable")
        begins = np.searchsorted(self.data_.user[by_user], np.arange(self.data_.n_users + 1))
        for first in range(0, users.size, TOGETHER):
            some = users[first : first + TOGETHER]
            for user, scores in zip(some, self._scored(some), strict=True):
                scores[self.data_.item[by_user[begins[user] : begins[user + 1]]]] = -np.inf
                best = np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")[:n]
                best = best[np.isfinite(scores[best])]
                yield best, scores[best]

    def _scored(self, codes: Codes) -> Floats:
        scores = np.array(self.scores_(codes), dtype=np.float64)
        if scores.size != codes.size * self.data_.n_items:
            raise DataError(
                f"{scores.size} scores came for {codes.size} users and {self.data_.n_items} items.",
                remedy="Return one row a user and one column an item, in the order of the codes.",
            )
        return scores.reshape(codes.size, self.data_.n_items)


@dataclass
class ScoreModel(ScoringModel):
    """Anything that scores all items for some users.

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

    def _fit(self, data: Interactions) -> None:
        self.scores_ = self.learn(data)


def load(module: str, extra: str) -> ModuleType:
    """An optional library, or an error that says how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or module, extra) from error
