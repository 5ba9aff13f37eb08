"""Models of discreet inside other libraries, so that *their* pipelines and evaluations run them.

``lenskit_scorer(model)`` is a component of LensKit, ``rectools_model(model)`` a model of RecTools. The libraries are
imported when one of these is called. ``python -m benchmarks bridges`` checks both with the real libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.data.interactions import Interactions
from discreet.models.foreign.libraries import load
from discreet.models.recommender import Recommender

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy.ledger import Ledger

__all__ = ["lenskit_scorer", "rectools_model"]


def lenskit_scorer(model: Recommender, *, scale: str | None = None, ledger: Ledger | None = None) -> Any:
    """A model as a LensKit scorer: ``lenskit.pipeline.topn_pipeline(lenskit_scorer(model))``.

    Parameters
    ----------
    model
        Not fitted; each training fits a new one with its settings.
    scale
        The public scale of ratings, such as "1:5", for models that learn from ratings.
    ledger
        Where each training is charged.

    Privacy
    -------
    The items of a LensKit dataset are taken for the public catalog. Scores for a person come from the model and from
    the history in that person's query.
    """
    training: Any = load("lenskit.training", "lenskit")
    ItemList: Any = load("lenskit.data", "lenskit").ItemList
    component: Any = load("lenskit.pipeline", "lenskit").Component
    TrainingOptions: Any = training.TrainingOptions

    class DiscreetScorer(component[ItemList], training.Trainable):
        config: None

        def train(self, data: Any, options: Any = TrainingOptions()) -> None:  # noqa: B008
            if hasattr(self, "fitted") and not options.retrain:
                return
            table = data.interaction_table(format="pandas", original_ids=True)
            rated = "rating" in table.columns and scale is not None
            columns = ["user_id", "item_id", *(["rating"] if rated else [])]
            frame = pl.DataFrame({name: table[name].to_numpy() for name in columns})
            self.vocabulary = data.items
            self.fitted = _fitted(model, frame, data.items.ids().tolist(), scale if rated else None, ledger)

        def __call__(self, query: Any, items: Any) -> Any:
            history = query.query_items
            codes, values = np.zeros(0, dtype=np.int64), np.zeros(0)
            if history is not None and len(history):
                found = history.numbers(vocabulary=self.vocabulary, missing="negative")
                ratings = history.field("rating")
                given = np.ones(len(found)) if ratings is None else np.asarray(ratings, dtype=np.float64)
                codes, values = found[found >= 0].astype(np.int64), given[found >= 0]
            wanted = items.numbers(vocabulary=self.vocabulary, missing="negative")
            scores = np.full(len(items), np.nan)
            known = wanted >= 0
            scores[known] = _scores(self.fitted, codes, values)[wanted[known]]
            return ItemList(items, scores=scores)

    return DiscreetScorer()


def rectools_model(model: Recommender, *, scale: str | None = None, ledger: Ledger | None = None) -> Any:
    """A model with the interface of RecTools: ``fit(dataset)``, ``recommend(users, dataset, k, filter_viewed)``.

    Parameters as in ``lenskit_scorer``; the weights of interactions are ratings where there is a scale.

    Privacy
    -------
    The items of a RecTools dataset are taken for the public catalog.
    """
    columns: Any = load("rectools", "rectools").Columns
    base: Any = load("rectools.models.base", "rectools").ModelBase

    class DiscreetModel(base):
        recommends_for_warm = False
        recommends_for_cold = False

        def _fit(self, dataset: Any, *given: Any, **more: Any) -> None:
            table = dataset.interactions.df
            frame = {"user_id": table[columns.User].to_numpy(), "item_id": table[columns.Item].to_numpy()}
            if scale is not None:
                frame["rating"] = table[columns.Weight].to_numpy().astype(np.float64)
            items = list(range(dataset.item_id_map.size))
            self.fitted = _fitted(model, pl.DataFrame(frame), items, scale, ledger)
            # RecTools numbers items from 0, as the catalog does that was just made; the order of ids may differ.
            self.places = self.fitted.items_.encode(items)

        def _recommend_u2i(
            self, user_ids: Any, dataset: Any, k: int, filter_viewed: bool, sorted_item_ids_to_recommend: Any
        ) -> tuple[Sequence[int], Sequence[int], Sequence[float]]:
            rows = dataset.get_user_item_matrix(include_weights=scale is not None)
            allowed = np.ones(len(self.places), dtype=bool)
            if sorted_item_ids_to_recommend is not None:
                allowed[:] = False
                allowed[sorted_item_ids_to_recommend] = True
            users: list[int] = []
            chosen: list[int] = []
            best: list[float] = []
            for user in np.asarray(user_ids).tolist():
                row = rows[user]
                scores = _scores(self.fitted, self.places[row.indices], row.data.astype(np.float64))[self.places]
                scores[~allowed] = -np.inf
                if filter_viewed:
                    scores[row.indices] = -np.inf
                order = np.argsort(-scores, kind="stable")[:k]
                order = order[np.isfinite(scores[order])]
                users += [user] * order.size
                chosen += order.tolist()
                best += scores[order].tolist()
            return users, chosen, best

        def _recommend_i2i(self, *given: Any, **more: Any) -> Any:
            raise NotImplementedError("use similar_items of the model of discreet")

    return DiscreetModel()


def _fitted(model: Recommender, frame: pl.DataFrame, items: list[Any], scale: str | None, ledger: Any) -> Recommender:
    """A new model with the same settings, fitted on somebody else's table over their catalog."""
    catalog = items if isinstance(items[0], str) else [int(item) for item in items]
    data = Interactions(frame, items=catalog, scale=scale, duplicates="last")
    return type(model)(**model.parameters).fit(data, ledger=ledger, allow_refuted=True)


def _scores(model: Recommender, codes: Any, values: Floats) -> Floats:
    """Scores of all items, by code, for a history."""
    from scipy.sparse import csr_array

    order = np.argsort(codes, kind="stable")
    history = csr_array((values[order], codes[order], [0, codes.size]), shape=(1, len(model.items_)))
    return np.array(model._score(history)[0], dtype=np.float64)
