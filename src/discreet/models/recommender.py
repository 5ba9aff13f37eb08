"""The interface that every recommender has: fit, recommend, predict, similar items, save and load.

The public methods check, translate ids and shape the result; a model computes on codes in ``_fit``, ``_score``,
``_rate`` and ``_similar``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats, Integers, Mask
from discreet.common.plain_json import read_json
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted, WithCatalog
from discreet.errors import DataError, ReleaseError, Remedy, UsageError
from discreet.models.item_histories import as_pair, history_codes, unrated_value
from discreet.models.model_folder import guarded_load, load_with_records, save_with_records
from discreet.models.ranking import largest, ranked_table
from discreet.models.registry import names, registered
from discreet.privacy.guarantees import Guarantee, guarantee_of_released
from discreet.privacy.method import settings_as_json

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["Recommender", "load_model"]

WRAP = 'Wrap your table: Interactions(table, user="…", item="…", rating="…", scale="1:5").'

OWN_MODEL = Remedy("Give its class: load_model(folder, YourClass).", cli="Give its class: --model module:Class.")
NO_MODEL = "Fit one: discreet fit DATA --out FOLDER. Rounds of several curators: discreet release combine."

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
    needs_records: ClassVar[bool] = False
    """Whether data without records are refused. Only models that protect nobody may: the refusal tells."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Whatever ``load`` of a model stumbles over in a folder that somebody else wrote is a ``ReleaseError``."""
        super().__init_subclass__(**given)
        if "load" in vars(cls):
            cls.load = classmethod(guarded_load(vars(cls)["load"].__func__))  # type: ignore[method-assign]

    items_: IdMap
    guarantee_: Guarantee | None = None
    records_: Interactions | None

    # Fitting

    def fit(self, data: Any, *, ledger: Ledger | None = None, allow_refuted: bool = False) -> Self:
        """Learn from records.

        Parameters
        ----------
        data
            The records: ``Interactions``, or those of ``discreet.scan``.
        ledger
            The ledger to charge before anything is drawn.
        allow_refuted
            Let a published model run whose promise is known not to hold.
        """
        if isinstance(data, Parted):
            data.require_sums(self)
        elif not isinstance(data, Interactions):
            raise UsageError(f"a recommender learns from Interactions, not from {type(data).__name__}.", remedy=WRAP)
        elif self.needs_records and len(data) == 0:
            raise DataError("there are no records to learn from.")
        self._fit(data, ledger=ledger, allow_refuted=allow_refuted)  # type: ignore[arg-type]
        if getattr(data, "released", None) is not None:  # what is learned from a release is post-processing
            self.guarantee_ = guarantee_of_released(data)
        self.records_ = data  # type: ignore[assignment]
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
            Instead of users: the items (with ratings) of one person who need not be in the data. Without ratings they
            are items that the person likes; ``predict`` goes by the ratings. Items that the model does not know are
            ignored, with an ``UnknownItemsWarning`` that names them: a new item never breaks a request.
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
        best = ranked_table(*self._top(rows, n, allowed=allowed, exclude_seen=exclude_seen))
        if ids is not None and users is not None:
            # People come in the order they were asked for; inside they stand in the order of their ids.
            place = np.zeros(len(ids), dtype=np.int64)
            place[ids.encode(list(dict.fromkeys(users)))] = np.arange(len(ids))
            best = best[np.argsort(place[best["row"].to_numpy()], kind="stable")]
        named = best.with_columns(self.items_.take(best["item_id"].to_numpy()).alias("item_id"))
        if ids is None:
            return named.drop("row")
        return named.with_columns(ids.take(named["row"].to_numpy()).alias("row")).rename({"row": "user_id"})

    def recommend_all(
        self,
        path: str | Path,
        n: int = 10,
        *,
        users: Iterable[Hashable] | None = None,
        exclude_seen: bool = True,
        overwrite: bool = False,
        progress: Callable[[float, str], None] | None = None,
    ) -> Path:
        """Write the best ``n`` items of every user to a .parquet, .arrow or .csv file: as ``recommend``, in batches.

        Memory does not grow with the number of users, and the file appears when it is complete. ``users`` are all
        users of the records by default; somebody without records gets what an empty history gets.

        Privacy
        -------
        Each row is made from that person's own records and is for that person alone: the file is as secret as the
        records, and only its owner may read it (mode 0600).
        """
        from discreet.models.export import export_recommendations

        return export_recommendations(
            self, path, n, users=users, exclude_seen=exclude_seen, overwrite=overwrite, progress=progress
        )

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
        asked = [(None, item) for item in pairs] if history is not None else [as_pair(pair) for pair in pairs]
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
        best = ranked_table(*largest(scores, min(n, len(self.items_))))
        return pl.DataFrame(
            {
                "item_id": self.items_.take(codes[best["row"].to_numpy()]),
                "similar_id": self.items_.take(best["item_id"].to_numpy()),
                "score": best["score"],
                "rank": best["rank"],
            }
        )

    def similar_all(
        self,
        path: str | Path,
        n: int = 10,
        *,
        catalog: Interactions | None = None,
        features: Sequence[str] = (),
        overwrite: bool = False,
        progress: Callable[[float, str], None] | None = None,
    ) -> Path:
        """Write the ``n`` items most like each item of the catalog to a file; no item comes back empty.

        Where the model knows fewer, items with the same public features follow, then popular ones; the column
        ``source`` says which: "model", "features" or "popular".

        ``features`` are columns of the table of items of ``catalog``, such as "genre".
        """
        from discreet.models.export import export_similar_items

        return export_similar_items(
            self, path, n, catalog=catalog, features=features, overwrite=overwrite, progress=progress
        )

    # On disk

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model into a folder **with the raw records** that it was fitted on."""
        self._require_fitted()
        if self.records_ is None:
            raise UsageError("there are no records to save this model with.", remedy="Fit it first.")
        guarantee = {} if self.guarantee_ is None else {"guarantee": self.guarantee_.to_json()}
        described = {"model": self.name, "config": self.parameters, **guarantee}
        return save_with_records(folder, described, self.records_, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model from its folder. One that was saved with records learns from them again, without a charge."""
        described, data = load_with_records(folder, cls.name)
        stated = described.get("guarantee")
        try:
            model = cls(**cls._saved_settings(described["config"]))
            guarantee = None if stated is None else Guarantee.from_json(stated)
        except (KeyError, TypeError, UsageError) as error:
            raise ReleaseError(f"the description of the model in {folder} is damaged: {error}.") from error
        model._start(data, guarantee)
        return model

    @classmethod
    def _saved_settings(cls, saved: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings of a saved model in the words of this version."""
        return saved

    def _start(self, data: Interactions, guarantee: Guarantee | None) -> None:
        """Learn again from records that were saved with the model."""
        self.fit(data, allow_refuted=True)
        self.guarantee_ = guarantee

    # What a model fills in

    @abstractmethod
    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        """Learn; set ``items_`` and, where something is guaranteed, ``guarantee_``."""

    @abstractmethod
    def _score(self, rows: csr_array) -> Floats:
        """Scores of all items for each history, larger is better; −inf where there is none."""

    def _top(self, rows: csr_array, n: int, *, allowed: Mask, exclude_seen: bool) -> tuple[Integers, Floats]:
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
            codes[begin : begin + step], best[begin : begin + step] = largest(scores, n)
        return codes, best

    def _top_of_one(
        self, codes: Codes, values: Floats, n: int, *, allowed: Mask, exclude_seen: bool
    ) -> tuple[Integers, Floats]:
        """The same for one history of codes, rising, and ratings; for models that need no matrix for it."""
        from scipy.sparse import csr_array

        rows = csr_array((values, codes, [0, codes.size]), shape=(1, len(self.items_)))
        best, scores = self._top(rows, n, allowed=allowed, exclude_seen=exclude_seen)
        return best[0], scores[0]

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        """Predicted rating of ``item[i]`` for history ``rows[row[i]]``; NaN where there is none, as for all here."""
        return np.full(item.size, np.nan)

    def _similar(self, items: Codes) -> Floats:
        """Likeness of all items to each of these; −inf where there is none, as for all here."""
        return np.full((items.size, len(self.items_)), -np.inf)

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
            codes, values = history_codes(self.items_, history, unrated_value(self))
            return csr_array((values, codes, [0, codes.size]), shape=(1, len(self.items_))), None
        records = getattr(self, "records_", None)
        if records is None:
            raise UsageError(
                "a saved model holds nobody's records.",
                remedy=Remedy(
                    "Give a history, or the records (attach(data)).", cli="Give --history FILE or --data FILE."
                ),
            )
        wanted = [users] if isinstance(users, str) else list(users or [])
        ids = IdMap(wanted, what="user")
        records = records.of_users(wanted) if isinstance(records, Parted) else records
        codes = records.users.encode(ids.series)
        return records.csr[codes].astype(np.float64), ids

    def attach(self, data: Interactions | Parted) -> Self:
        """Give a loaded model the records that people's own recommendations are made from."""
        self._require_fitted()
        if isinstance(data, Parted):
            alike = data.public.catalog_is_public and data.public.items == self.items_
            self.records_ = data if alike else WithCatalog(data, self.items_)  # type: ignore[assignment]
            return self
        if not data.catalog_is_public or data.items != self.items_:
            data = data.with_catalog(self.items_, unknown="drop")
        self.records_ = data
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings of this model, JSON-able."""
        return settings_as_json(self) if is_dataclass(self) else {}


def load_model(folder: str | Path, kind: type[Any] | None = None) -> Recommender:
    """Read whatever model a folder holds; ``kind`` is its class, for one of your own that has no registered name."""
    path = Path(folder)
    for file, key in (("model.json", "model"), ("manifest.json", "kind")):
        if (path / file).is_file():
            try:
                name = (told := read_json(path / file))[key]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise ReleaseError(f"{path / file} is damaged: {error}.") from error
            if kind is not None and issubclass(kind, Recommender):
                return kind.load(path)
            if not isinstance(name, str) or name not in names("recommender"):
                own = key == "model" or told.get("model")
                what = f"{folder} holds {name!r}, which is not a model{' that is known here' if own else ''}."
                raise ReleaseError(what, remedy=OWN_MODEL if own else NO_MODEL)
            return registered(name, "recommender").load(path)
    raise ReleaseError(f"{folder} holds no model.", remedy=NO_MODEL)
