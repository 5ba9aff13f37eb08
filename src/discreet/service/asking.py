"""Answers from released models: post-processing, which costs nothing."""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy.engine import Row

from discreet.data import Interactions
from discreet.data.id_forms import typed
from discreet.errors import UnknownItemsWarning
from discreet.models.recommender import Recommender, load_model
from discreet.privacy import Release
from discreet.service.problems import Problem
from discreet.service.store import Store

__all__ = ["Asked", "Asking"]

MOST_ANSWERS = 10_000
"""Answers that are remembered for each model."""

MOST_ITEMS = 1000
"""The longest list that one request may ask for."""


class Asked:
    """One loaded model, and the answers that it gave.

    Equal questions get equal answers: a model is fixed, and what it answers is a function of the question.
    """

    def __init__(self, model: Recommender, titles: Mapping[Any, str]) -> None:
        self.model, self.titles = model, titles
        self._answers: OrderedDict[Any, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def recommend(self, history: Sequence[Any] | Mapping[str, float], n: int) -> dict[str, Any]:
        """The best items for somebody with this history; items that the model does not know are ignored and named."""
        pairs = tuple(history.items()) if isinstance(history, Mapping) else tuple(history)
        question = ("recommend", isinstance(history, Mapping), pairs, n)
        with self._lock:
            known = self._answers.get(question)
            if known is not None:
                self._answers.move_to_end(question)
                return known
        answer = self._recommended(history, n)
        with self._lock:
            self._answers[question] = answer
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return answer

    def _recommended(self, history: Sequence[Any] | Mapping[str, float], n: int) -> dict[str, Any]:
        items = self.model.items_
        named = [typed(one, items.series) if isinstance(one, str) else one for one in history]
        unknown = [one for one in named if one not in items]
        values = history.values() if isinstance(history, Mapping) else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownItemsWarning)
            given = named if values is None else dict(zip(named, values, strict=True))
            best = self.model.recommend(history=given, n=n)
        return {"items": self._named(best.to_dicts(), "item_id"), "ignored": unknown}

    def similar(self, item: Any, n: int) -> dict[str, Any]:
        """The items most like one."""
        named = typed(item, self.model.items_.series) if isinstance(item, str) else item
        if named not in self.model.items_:
            return {"items": [], "ignored": [item]}
        rows = self.model.similar_items([named], n=n).drop("item_id").rename({"similar_id": "item_id"}).to_dicts()
        return {"items": self._named(rows, "item_id"), "ignored": []}

    def predict(self, items: Sequence[Any], history: Mapping[str, float] | Sequence[Any]) -> dict[str, Any]:
        """Predicted ratings of items for somebody with this history."""
        known = self.model.items_
        named = [typed(one, known.series) if isinstance(one, str) else one for one in items]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownItemsWarning)
            asked = [one for one in named if one in known]
            rows = self.model.predict(asked, history=_typed(history, known)).to_dicts() if asked else []
        return {"items": self._named(rows, "item_id"), "ignored": [one for one in named if one not in known]}

    def complete(self, text: str, n: int = 10) -> list[dict[str, Any]]:
        """Items whose id or title has the text in it, for completion."""
        wanted, found = text.casefold(), []
        for item in self.model.items_.ids():
            title = self.titles.get(item, "")
            if wanted in str(item).casefold() or wanted in title.casefold():
                found.append({"item_id": item, "title": title})
                if len(found) == n:
                    break
        return found

    def _named(self, rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
        for row in rows:
            if (title := self.titles.get(row[column])) is not None:
                row["title"] = title
            if isinstance(row.get("score"), float) and not np.isfinite(row["score"]):
                row["score"] = None
        return rows


class Asking:
    """Models that are kept loaded."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._models: OrderedDict[str, Asked] = OrderedDict()
        self._lock = threading.Lock()

    def model(self, row: Row[Any]) -> Asked:
        """The model of a release, loaded where it is not."""
        with self._lock:
            if row.id in self._models:
                self._models.move_to_end(row.id)
                return self._models[row.id]
        if not row.is_model:
            raise Problem(
                409,
                "not-a-model",
                "This release is no model.",
                remedy="Its tables are under …/table; counts have …/top.",
            )
        asked = Asked(load_model(row.place), self._titles(row))
        with self._lock:
            self._models[row.id] = asked
            while len(self._models) > self.store.settings.models_in_memory:
                self._models.popitem(last=False)
        return asked

    def _titles(self, row: Row[Any]) -> dict[Any, str]:
        """Titles of items from the public catalog of the dataset."""
        from discreet.service.datasets import Datasets

        if row.dataset is None:
            return {}
        datasets = Datasets(self.store)
        found = datasets._find(row.tenant, row.dataset)
        if found is None or found.kind != "interactions":
            return {}
        public = datasets.public(row.tenant, found.id)
        assert isinstance(public, Interactions)
        if public.item_table is None or "title" not in public.item_table.columns:
            return {}
        return dict(zip(public.items.ids(), public.item_table["title"].to_list(), strict=True))


def top(place: str | Path, k: int, where: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The most popular items of a release of counts or of a top list, in all or in a context."""
    from discreet.counting import ContextPopularity
    from discreet.counting import top as best

    release = Release.load(place)
    if where:
        return ContextPopularity.of_release(release).recommend(context=dict(where), n=k).to_dicts()
    if release.kind == "top-items":
        return release.table("top").head(k).to_dicts()
    if release.kind != "item-counts":
        raise Problem(409, "not-counts", f"A release of kind {release.kind!r} has no list of popular items.")
    return best(release, min(k, release.table("counts").height)).to_dicts()


def _typed(history: Mapping[str, float] | Sequence[Any], known: Any) -> Any:
    if isinstance(history, Mapping):
        return {typed(item, known.series): value for item, value in history.items()}
    return [typed(one, known.series) if isinstance(one, str) else one for one in history]
