"""Answers from released models: post-processing, which costs nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from sqlalchemy.engine import Row

from discreet.counting import ContextPopularity
from discreet.counting import top as best_counts
from discreet.data import Interactions, TagAssignments
from discreet.errors import UnknownItemsWarning
from discreet.models.quick_lists import QuickList, QuickLists
from discreet.models.ranking import largest
from discreet.models.recommender import Recommender, load_model
from discreet.privacy import Release
from discreet.service.asking_queries import AskedAnswers
from discreet.service.datasets import Datasets
from discreet.service.own_records import OwnRecords
from discreet.service.problems import Problem
from discreet.service.remembering import Bounded
from discreet.service.store import Store
from discreet.service.writing import ListWriter

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "MOST_BATCH",
    "MOST_HISTORY",
    "MOST_ITEMS",
    "MOST_LETTERS",
    "MOST_ROWS",
    "Asked",
    "AskedTags",
    "Asking",
    "History",
]

MOST_ITEMS = 1000
"""The longest list that one request may ask for."""

MOST_HISTORY, MOST_BATCH, MOST_LETTERS = 10_000, 10_000, 1000
"""The most items of a history, histories or users of a batch, and letters of a name."""

MOST_ROWS = 1_000_000
"""Lines of all lists of one answer together."""

AT_A_TIME = 50
"""Items whose likeness to all others is in memory at a time."""

RANKS = range(1, MOST_ITEMS + 1)

MOST_BYTES = 16 * 1024**2
"""Of the answers that are remembered."""

KEY_BYTES = 200
"""What an entry takes beside its answer."""

NOBODY = "\0"
"""Whoever posts their tags has no name."""

History = Sequence[Any] | Mapping[Any, float]


class Asked:
    """One loaded model.

    Equal questions get equal answers: a model is fixed, and what it answers is a function of the question.
    """

    def __init__(self, model: Recommender, titles: Mapping[Any, str]) -> None:
        self.model, self.titles, self.lists = model, titles, QuickLists(model)
        self.writer = ListWriter(self.lists.ids, titles)

    def recommend(
        self,
        history: History,
        n: int,
        *,
        context: Mapping[str, str] | None = None,
        exclude_seen: bool = True,
        items: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """The best items for somebody with this history; items that the model does not know are ignored and named."""
        if context is None:
            found = self.lists.recommend(history, n, exclude_seen=exclude_seen, items=items)
        else:
            found = self._in_context(history, n, context, exclude_seen=exclude_seen, items=items)
        answer = self._shown(found)
        if items is not None:
            answer["ignored"] = [*answer["ignored"], *(one for one in items if self.lists.code(one) is None)]
        return answer

    def recommend_many(self, histories: Sequence[History], n: int) -> bytes:
        """The same for many histories, in their order, as a list in JSON."""
        return self.recommend_rows(*self.lists.rows_of(histories), n)

    def recommend_rows(self, rows: csr_array, unknown: Mapping[int, Sequence[Any]], n: int) -> bytes:
        """The same for histories that are rows over the items of the model; ``unknown`` items of some of them."""
        best, scores = self.lists.best_of_rows(rows, n)
        if np.isfinite(scores).all():
            return self.writer.entries(best, scores, unknown)
        lists = zip(best.tolist(), scores.tolist(), strict=True)
        named = [self.lists.named(*one, unknown.get(place, ())) for place, one in enumerate(lists)]
        return orjson.dumps([self._shown(one) for one in named], default=str)

    def _in_context(
        self, history: History, n: int, context: Mapping[str, str], *, exclude_seen: bool, items: Sequence[Any] | None
    ) -> QuickList:
        if not isinstance(self.model, ContextPopularity):
            raise Problem(
                422, "request", "This model has no contexts.", remedy="Leave context out, or ask context-popularity."
            )
        known, unknown = self._known(history)
        some = None if items is None else self._known(items)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownItemsWarning)
            best = self.model.recommend(history=known, n=n, context=context, exclude_seen=exclude_seen, items=some)
        return QuickList(best["item_id"].to_list(), best["score"].to_list(), unknown)

    def similar(self, item: Any, n: int) -> dict[str, Any]:
        """The items most like one."""
        return self.similar_many([item], n)[0]

    def similar_many(self, items: Sequence[Any], n: int) -> list[dict[str, Any]]:
        """The items most like each of these, in their order, each once; none of an unknown one."""
        codes = {item: self.lists.code(item) for item in items}
        known = list(dict.fromkeys(code for code in codes.values() if code is not None))
        found: dict[int, QuickList] = {}
        for start in range(0, len(known), AT_A_TIME):
            some = known[start : start + AT_A_TIME]
            scores = self.model._similar(np.array(some, dtype=np.int32))
            scores[np.arange(len(some)), some] = -np.inf
            best, values = largest(scores, min(n, scores.shape[1]))
            for code, row, value in zip(some, best.tolist(), values.tolist(), strict=True):
                found[code] = self.lists.named(row, value)
        nothing = QuickList([], [], [])
        return [
            self._shown(found[code] if code is not None else nothing._replace(unknown=[item]))
            for item, code in codes.items()
        ]

    def predict(self, items: Sequence[Any], history: History) -> dict[str, Any]:
        """Predicted ratings of items for somebody with this history."""
        asked, unknown = self._known(items)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownItemsWarning)
            rows = self.model.predict(asked, history=self._known(history)[0]).to_dicts() if asked else []
        for row in rows:
            self._add_title(row)
        return {"items": rows, "ignored": unknown}

    def complete(self, text: str, n: int = 10) -> list[dict[str, Any]]:
        """Items whose id or title has the text in it, for completion."""
        wanted, found = text.casefold(), []
        for item in self.lists.ids:
            title = self.titles.get(item, "")
            if wanted in str(item).casefold() or wanted in title.casefold():
                found.append({"item_id": item, "title": title})
                if len(found) == n:
                    break
        return found

    def _known(self, given: History) -> tuple[Any, list[Any]]:
        """What is given in the ids of the model, and what it does not know."""
        ids, unknown = self.lists.ids, []
        values = given if isinstance(given, Mapping) else None
        known = dict[Any, float]()
        for item in given:
            code = self.lists.code(item)
            if code is None:
                unknown.append(item)
            else:
                known[ids[code]] = 1.0 if values is None else values[item]
        return known if values is not None else list(known), unknown

    def _shown(self, found: QuickList) -> dict[str, Any]:
        titles, ranked = self.titles, zip(found.items, found.scores, RANKS, strict=False)
        if not titles:
            rows = [{"item_id": item, "score": score, "rank": rank} for item, score, rank in ranked]
        else:
            rows = [
                {"item_id": item, "score": score, "rank": rank, "title": title}
                if (title := titles.get(item)) is not None
                else {"item_id": item, "score": score, "rank": rank}
                for item, score, rank in ranked
            ]
        return {"items": rows, "ignored": found.unknown}

    def _add_title(self, row: dict[str, Any]) -> None:
        if (title := self.titles.get(row["item_id"])) is not None:
            row["title"] = title


class AskedTags:
    """One loaded release of tags, with the recommender that is made from it."""

    def __init__(self, release: Release) -> None:
        from discreet.tagging import recommender

        self.model = recommender(release)

    def recommend(self, resources: Sequence[Any], own: Iterable[tuple[Any, Any]], n: int) -> dict[str, Any]:
        """The best tags for somebody who is about to tag each of these resources and has tagged before as given."""
        triples = list(own)
        mine = None
        if triples:
            columns = {
                "user_id": [NOBODY] * len(triples),
                "resource_id": [str(resource) for resource, _ in triples],
                "tag": [str(tag) for _, tag in triples],
            }
            mine = TagAssignments(columns)
        lists: dict[Any, list[dict[str, Any]]] = {resource: [] for resource in resources}
        best = self.model.recommend([(NOBODY, resource) for resource in lists], n=n, own=mine)
        for row in best.drop("user_id").to_dicts():
            lists[row.pop("resource_id")].append(row)
        return {"entries": [{"resource": resource, "tags": tags} for resource, tags in lists.items()]}


class Asking:
    """What is kept loaded: models, releases of tags and of answers, counts; and answers that were given."""

    def __init__(self, store: Store) -> None:
        self.store, self.own = store, OwnRecords(store)
        self._loaded: Bounded[Any] = Bounded(store.settings.models_in_memory)
        self._answers: Bounded[bytes] = Bounded(MOST_BYTES)

    # Answers that were given

    def known(self, *question: str | bytes) -> tuple[bytes, bytes | None]:
        """What stands for a question, and the answer that was given to it.

        The questions themselves are not kept: a digest is. The key of the caller belongs to it, so that nobody can
        tell by the time of an answer what somebody else has asked.
        """
        digest = blake2b(digest_size=16)
        for part in question:
            digest.update(part if isinstance(part, bytes) else part.encode())
            digest.update(b"\0")
        name = digest.digest()
        return name, self._answers.get(name)

    def remember(self, name: bytes, answer: bytes) -> bytes:
        return self._answers.put(name, answer, len(answer) + KEY_BYTES)

    # What is loaded

    def model(self, row: Row[Any]) -> Asked:
        """The model of a release, loaded where it is not."""
        if not row.is_model:
            raise Problem(
                409,
                "not-a-model",
                "This release is no model.",
                remedy="Its tables are under …/table; counts have …/top, tags …/tags, answers …/answers.",
            )
        known = self.loaded(row)
        return known if known is not None else self._loaded.put(row.id, Asked(load_model(row.place), self._titles(row)))

    def loaded(self, row: Row[Any]) -> Asked | None:
        """The model of a release, if it is loaded."""
        return self._loaded.get(row.id) if row.is_model else None

    def tags(self, row: Row[Any]) -> AskedTags:
        """The recommender of a release of tags."""
        if row.gives != "tags":
            raise Problem(409, "not-tags", "This is no release of tags.", remedy="Ask one whose `gives` is tags.")
        known = self._loaded.get(row.id)
        return known if known is not None else self._loaded.put(row.id, AskedTags(Release.load(row.place)))

    def answers(self, row: Row[Any]) -> AskedAnswers:
        """The answers of a release of answers."""
        if row.gives != "answers":
            raise Problem(
                409, "not-answers", "This is no release of answers.", remedy="Ask one whose `gives` is answers."
            )
        known = self._loaded.get(row.id)
        if known is not None:
            return known
        datasets = Datasets(self.store)
        found = None if row.dataset is None else datasets._find(row.tenant, row.dataset)
        public = None if found is None else datasets.public(row.tenant, found.id)
        return self._loaded.put(row.id, AskedAnswers(Release.load(row.place), getattr(public, "domains", None)))

    def top(self, row: Row[Any], k: int, where: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """The most popular items of a release of counts or of a top list, in all or in a context."""
        name = (row.id, "counts")
        release = self._loaded.get(name)
        if release is None:
            release = self._loaded.put(name, Release.load(row.place))
        if where:
            return ContextPopularity.of_release(release).recommend(context=dict(where), n=k).to_dicts()
        if release.kind == "top-items":
            return release.table("top").head(k).to_dicts()
        if "counts" not in release.parts:
            raise Problem(409, "not-counts", f"A release of kind {release.kind!r} has no list of popular items.")
        return best_counts(release, min(k, release.table("counts").height)).to_dicts()

    def _titles(self, row: Row[Any]) -> dict[Any, str]:
        """Titles of items from the public catalog of the dataset."""
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
