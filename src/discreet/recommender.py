"""The interface that every recommender has: fit, recommend, predict, similar items, save and load.

The public methods check, translate ids and shape the result; a model computes on codes in ``_fit``, ``_score``,
``_rate`` and ``_similar``.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import DataError, ReleaseError, UsageError
from discreet.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["MODELS", "Recommender", "load_model", "model_class"]

# Where each model lives; loaded when it is first asked for.
MODELS = {
    "private-recommender": "discreet.factors:PrivateRecommender",
    "private-ratings": "discreet.factors:PrivateRatings",
    "ease": "discreet.factors:EASE",
    "als": "discreet.factors:ALS",
    "popularity": "discreet.factors:Popularity",
    "biases": "discreet.factors:Biases",
    "dp-als": "discreet.factors:DPALS",
    "knn": "discreet.neighbors:KNN",
    "uniform-neighbors": "discreet.neighbors:UniformNeighbors",
    "npns": "discreet.neighbors:NPNS",
    "naive-exponential": "discreet.neighbors:NaiveExponentialNeighbors",
    "pncf": "discreet.neighbors:PNCF",
    "ppns": "discreet.neighbors:PPNS",
    "private-item-knn": "discreet.neighbors:PrivateItemKNN",
    "shrunk-pncf": "discreet.neighbors:ShrunkPNCF",
    "noisy-neighbor-mean": "discreet.neighbors:NoisyNeighborMean",
    "slope-one": "discreet.pairs:SlopeOne",
    "copurchase-cosine": "discreet.pairs:CoPurchaseCosine",
    "published-slope-one": "discreet.pairs:PublishedSlopeOne",
    "published-cosine": "discreet.pairs:PublishedCosine",
    "private-slope-one": "discreet.pairs:PrivateSlopeOne",
    "private-cosine": "discreet.pairs:PrivateCosine",
    "context-popularity": "discreet.counting:ContextPopularity",
}

USERS_AT_ONCE = 4_000_000
"""Scores are computed for so many users × items at a time."""


class Recommender(ABC):
    """What all models share.

    Attributes
    ----------
    items_ : IdMap
        The items that the model knows.
    guarantee_ : Guarantee or None
        What was promised when it was fitted; None for a model that protects nobody.
    records_ : Interactions or None
        The records it was fitted on, for people's own recommendations; None after loading.
    """

    name: ClassVar[str]

    items_: IdMap
    guarantee_: Guarantee | None
    records_: Interactions | None

    # Fitting

    def fit(self, data: Interactions, *, ledger: Ledger | None = None, allow_refuted: bool = False) -> Self:
        """Learn from records.

        Parameters
        ----------
        data
            The records.
        ledger
            The book to charge before anything is drawn.
        allow_refuted
            Let a published model run whose promise is known not to hold.
        """
        if not isinstance(data, Interactions):
            raise UsageError(
                f"a recommender learns from Interactions, not from {type(data).__name__}.",
                remedy='Wrap your table: Interactions(table, user="…", item="…", rating="…", scale="1:5").',
            )
        if len(data) == 0:
            raise DataError("there are no records to learn from.")
        self._fit(data, ledger=ledger, allow_refuted=allow_refuted)
        self.records_ = data
        return self

    @property
    def guarantee(self) -> Guarantee | None:
        """What was promised; None for a model that protects nobody."""
        self._require_fitted()
        return self.guarantee_

    # Using

    def recommend(
        self,
        users: Iterable[Hashable] | None = None,
        n: int = 10,
        *,
        history: Mapping[Any, float] | Sequence[Any] | None = None,
        exclude_seen: bool = True,
        items: Iterable[Hashable] | None = None,
    ) -> pl.DataFrame:
        """The best ``n`` items for each user, or for somebody with the given history.

        Parameters
        ----------
        users
            Ids of users among the records.
        n
            How many; fewer only where fewer exist.
        history
            Instead of users: the items (with ratings) of one person who need not be in the data. Ranking may go by the
            items alone; ``predict`` goes by the ratings.
        exclude_seen
            Leave out what the person has touched.
        items
            Recommend from these only.

        Returns
        -------
        polars.DataFrame
            user_id, item_id, score, rank (from 1), users in the order asked for; without user_id for a history.
        """
        self._require_fitted()
        if n < 1:
            raise UsageError(f"n = {n} must be at least 1.")
        if users is not None:
            users = list(users) if isinstance(users, Iterable) and not isinstance(users, str) else [users]
        rows, ids = self._histories(users, history)
        allowed = np.zeros(len(self.items_), dtype=bool)
        allowed[slice(None) if items is None else self.items_.encode(list(items))] = True
        best = _table(*self._top(rows, n, allowed=allowed, exclude_seen=exclude_seen))
        if ids is not None and users is not None:
            # People come in the order they were asked for; inside they stand in the order of their ids.
            place = np.zeros(len(ids), dtype=np.int64)
            place[ids.encode(list(dict.fromkeys(users)))] = np.arange(len(ids))
            best = best[np.argsort(place[best["row"].to_numpy()], kind="stable")]
        named = best.with_columns(self.items_.take(best["item_id"].to_numpy()).alias("item_id"))
        if ids is None:
            return named.drop("row")
        return named.with_columns(ids.take(named["row"].to_numpy()).alias("row")).rename({"row": "user_id"})

    def predict(
        self, pairs: Iterable[Any], *, history: Mapping[Any, float] | Sequence[Any] | None = None
    ) -> pl.DataFrame:
        """Predicted ratings of (user, item) pairs, or of items for somebody with the given history.

        Returns
        -------
        polars.DataFrame
            user_id, item_id, score; a score is null where the model has no answer.
        """
        self._require_fitted()
        asked = [(None, item) for item in pairs] if history is not None else [_pair(pair) for pair in pairs]
        item = self.items_.encode([i for _, i in asked]) if asked else np.zeros(0, dtype=np.int32)
        if history is not None:
            rows, _ = self._histories(None, history)
            row = np.zeros(len(asked), dtype=np.int64)
        else:
            people = list(dict.fromkeys(user for user, _ in asked))
            rows, ids = self._histories(people, None)
            assert ids is not None
            row = ids.encode([user for user, _ in asked]).astype(np.int64)
        scores = self._rate(rows, row, item)
        table = pl.DataFrame({"item_id": self.items_.take(item), "score": scores}).with_columns(
            pl.col("score").fill_nan(None)
        )
        if history is not None:
            return table
        return pl.DataFrame({"user_id": [user for user, _ in asked]}).hstack(table)

    def similar_items(self, items: Hashable | Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        """The items most like each of these: item_id, similar_id, score, rank."""
        self._require_fitted()
        wanted = [items] if isinstance(items, Hashable) and items in self.items_ else items
        if isinstance(wanted, str) or not isinstance(wanted, Iterable):
            wanted = [wanted]
        codes = self.items_.encode(list(wanted))
        scores = self._similar(codes)
        scores[np.arange(codes.size), codes] = -np.inf
        best = _table(*_largest(scores, min(n, len(self.items_))))
        return pl.DataFrame(
            {
                "item_id": self.items_.take(codes[best["row"].to_numpy()]),
                "similar_id": self.items_.take(best["item_id"].to_numpy()),
                "score": best["score"],
                "rank": best["rank"],
            }
        )

    # On disk

    @abstractmethod
    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model into a folder."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model from its folder."""

    # What a model fills in

    @abstractmethod
    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        """Learn; set ``items_`` and ``guarantee_``."""

    @abstractmethod
    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        """Scores of all items for each history, larger is better; −inf where there is none."""

    def _top(
        self, rows: csr_array, n: int, *, allowed: NDArray[np.bool_], exclude_seen: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Codes and scores of the best ``n`` of each history, best first, equal ones in the order of the items.

        Where fewer exist, what is left over scores −inf. For models that can tell the best without scoring all items.
        """
        people, n = rows.indptr.size - 1, min(n, len(self.items_))
        codes, best = np.zeros((people, n), dtype=np.int64), np.full((people, n), -np.inf)
        step = max(1, USERS_AT_ONCE // max(1, len(self.items_)))
        for begin in range(0, people, step):
            part = rows[begin : begin + step, :]
            scores = np.where(allowed, self._score(part), -np.inf)
            if exclude_seen:
                # By structure: a rating of 0 has been seen, too.
                scores[np.repeat(np.arange(scores.shape[0]), np.diff(part.indptr)), part.indices] = -np.inf
            codes[begin : begin + step], best[begin : begin + step] = _largest(scores, n)
        return codes, best

    @abstractmethod
    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """Predicted rating of ``item[i]`` for history ``rows[row[i]]``; NaN where there is none."""

    @abstractmethod
    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Likeness of all items to each of these; −inf where there is none."""

    # Helpers

    def _require_fitted(self) -> None:
        if not hasattr(self, "items_"):
            raise UsageError(f"this {type(self).__name__} has not been fitted.", remedy="Call fit(data) first.")

    def _histories(
        self, users: Iterable[Hashable] | None, history: Mapping[Any, float] | Sequence[Any] | None
    ) -> tuple[csr_array, IdMap | None]:
        """Histories as rows over the model's items, and the ids they belong to."""
        from scipy.sparse import csr_array

        if (users is None) == (history is None):
            raise UsageError("say either whom to recommend to or which history to go by.")
        if history is not None:
            rated = history if isinstance(history, Mapping) else dict.fromkeys(history, 1.0)
            codes = self.items_.encode(list(rated)) if rated else np.zeros(0, dtype=np.int32)
            values = np.array([float(value) for value in rated.values()], dtype=np.float64)
            if not np.isfinite(values).all():
                raise DataError("a rating of the history is not a finite number.")
            order = np.argsort(codes)
            return csr_array((values[order], codes[order], [0, codes.size]), shape=(1, len(self.items_))), None
        records = getattr(self, "records_", None)
        if records is None:
            raise UsageError(
                "a saved model holds nobody's records.", remedy="Give a history, or the records (attach(data))."
            )
        wanted = [users] if isinstance(users, str) else list(users or [])
        ids = IdMap(wanted, what="user")
        codes = records.users.encode(ids.series)
        return records.csr[codes].astype(np.float64), ids

    def attach(self, data: Interactions) -> Self:
        """Give a loaded model the records that people's own recommendations are made from."""
        self._require_fitted()
        if data.items != self.items_:
            data = data.with_catalog(self.items_, unknown="drop")
        self.records_ = data
        return self

    def config(self) -> dict[str, Any]:
        """The settings of this model, JSON-like."""
        if not is_dataclass(self):
            return {}
        return {name: str(v) if isinstance(v, Fraction) else v for name, v in asdict(self).items()}


def model_class(name: str) -> type[Recommender]:
    """The class of a model by its name on the command line."""
    if name not in MODELS:
        raise UsageError(f"there is no model {name!r}.", remedy=f"Models: {', '.join(sorted(MODELS))}.")
    module, _, attribute = MODELS[name].partition(":")
    return getattr(import_module(module), attribute)


def load_model(folder: str | Path) -> Recommender:
    """Read whatever model a folder holds."""
    path = Path(folder)
    for file, key in (("model.json", "model"), ("manifest.json", "kind")):
        if (path / file).is_file():
            try:
                name = json.loads((path / file).read_text(encoding="utf-8"))[key]
            except (ValueError, KeyError, TypeError) as error:
                raise ReleaseError(f"{path / file} is damaged: {error}.") from error
            if name not in MODELS:
                raise ReleaseError(f"{folder} holds {name!r}, which is not a model.")
            return model_class(name).load(path)
    raise ReleaseError(f"{folder} holds no model.", remedy="Fit one: discreet fit DATA --out FOLDER.")


def _table(codes: NDArray[np.int64], scores: NDArray[np.float64]) -> pl.DataFrame:
    """One row for each finite score, row by row: row, item_id (a code), score, rank."""
    row, place = np.nonzero(np.isfinite(scores))
    return pl.DataFrame({"row": row, "item_id": codes[row, place], "score": scores[row, place], "rank": place + 1})


def _largest(scores: NDArray[np.float64], n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Columns and values of the n largest of each row in order; equal ones stand in the order of the columns."""
    # A full stable sort only where few are left out.
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n] if scores.shape[1] <= 4 * n else _partial(scores, n)
    return order, np.take_along_axis(scores, order, axis=1)


def _partial(scores: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Indices of the n largest of each row, best first, ties by index."""
    cut = -np.partition(-scores, n - 1, axis=1)[:, n - 1 : n]
    above, level = scores > cut, scores == cut
    # Of those at the level of the n-th, the first ones fill the places that the better ones leave.
    room = n - above.sum(axis=1, keepdims=True)
    taken = above | (level & (np.cumsum(level, axis=1) <= room))
    columns = np.nonzero(taken)[1].reshape(scores.shape[0], n)
    values = np.take_along_axis(scores, columns, axis=1)
    return np.take_along_axis(columns, np.argsort(-values, axis=1, kind="stable"), axis=1)


def _pair(pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise UsageError(f"{pair!r} is not a (user, item) pair.")
    return pair[0], pair[1]
