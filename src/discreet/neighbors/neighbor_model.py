"""What all models of chosen neighbors share: candidates, choice, prediction, and a folder with the records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from discreet.common.arguments import require_choice
from discreet.common.arrays import AnyIntegers, Codes, Integers, Matrix, Vector
from discreet.common.remedies import KEEP_LATEST
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import DataError, ReleaseError, UsageError
from discreet.models.published_model import Answers, PublishedModel, entity_means, height_of, owners_of
from discreet.neighbors.dense import Likeness
from discreet.neighbors.newcomers import Newcomers, NewUsers
from discreet.neighbors.pair_table import PairTable
from discreet.neighbors.prediction import Pools, parts_of_size, ragged, weighted_mean
from discreet.neighbors.profiles import Axis
from discreet.neighbors.selection import Nearest, SelectionStrategy
from discreet.neighbors.similarity import Similarity
from discreet.privacy.guarantees import Guarantee, Standing

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.models.histories import Histories

__all__ = ["NeighborModel"]


@dataclass(kw_only=True)
class NeighborModel(PublishedModel):
    """Predictions from the ratings of k chosen neighbors. What is chosen, and how, is the strategy of each model.

    Parameters
    ----------
    k
        How many neighbors.
    similarity
        The name of a similarity, or a ``Similarity`` with its minimum overlap and shrinkage.
    axis
        Who the neighbors are: "item", items like the one asked about, or "user", people like the one who asks.
    candidates
        "rated": neighbors are chosen among those that have a rating to offer, the items that the person rated or the
        people who rated the item. "all": among all, and those without a rating say nothing; for studies of attacks.
        Nobody of similarity 0, such as one without common raters, is a candidate.
    centering
        "mean": every rating counts as its distance from the mean of the entity, item or user, that it belongs to.
        None: ratings count as they are.
    weighting
        "similarity", or "equal" for the plain average of the neighbors.
    fallback
        Where no neighbor says anything: "mean" of the item or user, or None for no answer.
    new_users
        How a user-based model comes to the similarities of somebody who is not in the data (``history=``): "compute"
        them, or first look for somebody with the same ratings, by TwinSearch ("twins") or in a dictionary ("hash").
        All give the same answers; see ``Newcomers``.

    Attributes
    ----------
    item_means_, user_means_ : float arrays
        Mean rating of each item and user; NaN where there is none.
    """

    k: int = 40
    similarity: str | Similarity | Mapping[str, Any] = "pearson"
    axis: Axis = "item"
    candidates: Literal["rated", "all"] = "rated"
    centering: Literal["mean"] | None = "mean"
    weighting: Literal["similarity", "equal"] = "similarity"
    fallback: Literal["mean"] | None = "mean"
    new_users: NewUsers = "compute"

    def __post_init__(self) -> None:
        require_choice(self.axis, "axis", ("item", "user"))
        require_choice(self.candidates, "candidates", ("rated", "all"))
        require_choice(self.weighting, "weighting", ("similarity", "equal"))
        for name in ("centering", "fallback"):
            require_choice(getattr(self, name), name, ("mean", None))
        require_choice(self.new_users, "new_users", get_args(NewUsers))
        if self.new_users != "compute" and (self.axis == "item" or self._measure().kind == "cosine_adjusted"):
            raise UsageError(
                f"new_users={self.new_users!r} is for user-based models whose similarity is a matter of two users.",
                remedy='Give axis="user" and another similarity than "cosine_adjusted", or leave new_users out.',
            )
        self._measure()
        self.strategy()

    @abstractmethod
    def strategy(self) -> SelectionStrategy:
        """How neighbors are chosen, and what was claimed for it."""

    def _as(self, kind: type[SelectionStrategy], **others: Any) -> SelectionStrategy:
        """A strategy with the settings that it shares with the model, and others."""
        shared = {one.name: getattr(self, one.name) for one in fields(kind) if one.name not in others}
        return kind(**shared, **others)

    def _measure(self) -> Similarity:
        if isinstance(self.similarity, Similarity):
            return self.similarity
        if isinstance(self.similarity, Mapping):
            return Similarity(**self.similarity)
        return Similarity(self.similarity)  # type: ignore[arg-type]

    @classmethod
    def _saved_settings(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Version 0.1 also saved who goes first among equals in a study of attacks."""
        if saved.get("ties") == "attacker":
            raise ReleaseError("this model breaks ties for a study of attacks.", remedy='Fit it again with ties="id".')
        return {name: value for name, value in saved.items() if name != "attacker"}

    # Fitting

    def _claimed(self) -> Guarantee | None:
        """What was claimed for the choice of neighbors, and what predictions use besides."""
        promise = self.strategy().guarantee()
        if promise is None:
            return None
        if promise.standing is not Standing.REFUTED:
            # What may hold for one choice of neighbors does not hold for a model that answers any number of questions.
            many = "one charge, but every target is a new run, and ratings of neighbors and means enter without noise"
            promise = replace(promise, standing=Standing.REFUTED, basis=f"{promise.basis}; {many}")
        if self.centering is None and self.fallback is None:
            return promise
        means = f"mean ratings of {self.axis}s, which predictions use without noise"
        return replace(promise, not_covered=(*promise.not_covered, means))

    def _check(self, data: Interactions) -> None:
        if data.rating is not None and data.scale is not None and data.may_repeat:
            raise UsageError(
                "a prediction needs one rating of each item by each user; these records may repeat.",
                remedy=KEEP_LATEST,
            )

    def _learn(self, data: Interactions) -> None:
        matrix = data.csr
        counts = np.diff(matrix.indptr)
        strategy = self.strategy()
        table = PairTable(data, axis=self.axis, similarity=self._measure(), form=strategy.sensitivity_form)
        self.item_means_ = entity_means(matrix.indices, matrix.data, data.n_items)
        self.user_means_ = entity_means(np.repeat(np.arange(data.n_users), counts), matrix.data, data.n_users)
        self._table, self._strategy = table, strategy
        self._strangers = Newcomers(table, self.new_users)
        self._alike = Answers()

    # Using

    def _histories(
        self, users: Iterable[Hashable] | None, history: Mapping[Any, float] | Sequence[Any] | None
    ) -> tuple[Histories, IdMap | None]:
        if history is not None and self._data.rating is not None:
            _check_history(history, self._data)
        return super()._histories(users, history)

    def _score(self, rows: csr_array) -> Matrix:
        """Predicted ratings before they are clipped, so that the best stay in order; sums of weights where none are."""
        n_items = len(self.items_)

        def draw(asking: Integers) -> Matrix:
            row, item = np.repeat(asking, n_items), np.tile(np.arange(n_items, dtype=np.int32), asking.size)
            return self._predicted(rows, row, item).reshape(asking.size, n_items)

        scores = self._answers.all(self._people(rows), draw) if self._draws else draw(np.arange(height_of(rows)))
        return np.where(np.isnan(scores), -np.inf, scores)

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Vector:
        if self._data.rating is None:
            return np.full(item.size, np.nan)

        def draw(places: Integers) -> Vector:
            return self._predicted(rows, row[places], item[places])

        if self._draws:
            people = self._people(rows)
            predicted = self._answers.some([people[r] for r in row.tolist()], item, draw)
        else:
            predicted = draw(np.arange(item.size))
        scale = self._data.scale
        return predicted if scale is None else np.clip(predicted, float(scale.low), float(scale.high))

    def _similar(self, items: Codes) -> Matrix:
        """All similarities; where a promise was made, only the neighbors that were chosen, with perturbed weights."""
        table = self._table
        if self.axis != "item":
            form = self._strategy.sensitivity_form
            table = PairTable(self._data, axis="item", similarity=self._measure(), form=form, whole=False)

        def draw(places: Integers) -> Matrix:
            return self._likeness(table, items[places])

        if self._strategy.guarantee() is None:
            return draw(np.arange(items.size))
        return self._alike.all(items.tolist(), draw).copy()

    def _likeness(self, table: PairTable, items: Codes) -> Matrix:
        n_items = len(self.items_)
        other, target = np.tile(np.arange(n_items), items.size), np.repeat(items, n_items)
        similarity, sensitivity = table.at(target, other)
        if self._strategy.guarantee() is None:
            return np.where(similarity == 0, -np.inf, similarity).reshape(items.size, n_items)
        starts = np.arange(items.size + 1, dtype=np.int64) * n_items
        pools = Pools(starts, other, similarity, sensitivity, np.ones(other.size))
        chosen = pools.only((similarity != 0) & (other != target)).choose(self._strategy)
        scores = np.full((items.size, n_items), -np.inf)
        row, place = np.nonzero(chosen.other >= 0)
        scores[row, chosen.other[row, place]] = chosen.weight[row, place]
        return scores

    # Prediction

    @property
    def _draws(self) -> bool:
        """Whether asking twice could give two answers."""
        return not (isinstance(self._strategy, Nearest) and self._strategy.ties == "id")

    def _predicted(self, rows: csr_array, row: Integers, item: Codes) -> Vector:
        """Predictions of pairs, part by part, those with the same target together."""
        target = item if self.axis == "item" else row
        order = np.argsort(target, kind="stable")
        sizes = self._sizes(rows, row, item)[order]
        if not self._table.is_whole:
            # Where rows are computed on demand, each new target costs one.
            sizes = sizes + self._table.n * np.concatenate([[True], np.diff(target[order]) != 0])[: sizes.size]
        predicted = np.empty(item.size)
        newcomers = self._newcomers(rows)
        for part in parts_of_size(sizes + 4 * self.k):
            places = order[part]
            predicted[places] = self._combined(rows, row[places], item[places], newcomers)
        return predicted

    def _sizes(self, rows: csr_array, row: Integers, item: Codes) -> Integers:
        """How many candidates each pair has."""
        if self.candidates == "all":
            return np.full(item.size, self._table.n, dtype=np.int64)
        starts, which = (rows.indptr, row) if self.axis == "item" else (self._data.csc.indptr, item)
        return np.diff(starts).astype(np.int64)[which]

    def _newcomers(self, rows: csr_array) -> tuple[Likeness, Integers] | None:
        """Similarities of strangers to all users, and which row each stranger has there."""
        strangers = np.flatnonzero(owners_of(rows) < 0)
        if self.axis == "item" or not strangers.size:
            return None
        place = np.full(height_of(rows), -1, dtype=np.int64)
        place[strangers] = np.arange(strangers.size)
        return self._strangers.rows(rows[strangers]), place

    def _combined(
        self, rows: csr_array, row: Integers, item: Codes, newcomers: tuple[Likeness, Integers] | None
    ) -> Vector:
        pools = self._pools(rows, row, item, newcomers)
        chosen = pools.choose(self._strategy)
        if self._data.rating is None:
            # Where nobody speaks for an item, it stands below the others by popularity.
            spoken = np.where(np.isnan(chosen.value), 0.0, chosen.weight).sum(axis=1)
            return np.where(spoken > 0, spoken, -1 / (1 + self._data.records_per_item[item]))
        if self.axis == "item":
            level, means = self.item_means_[item], self.item_means_
        else:
            owner = np.repeat(np.arange(height_of(rows)), np.diff(rows.indptr))
            level, means = entity_means(owner, rows.data, height_of(rows))[row], self.user_means_
        centered = self.centering == "mean"
        said = weighted_mean(chosen, means=means if centered else None, equal=self.weighting == "equal")
        predicted = said + level if centered else said
        return predicted if self.fallback is None else np.where(np.isnan(predicted), level, predicted)

    def _pools(self, rows: csr_array, row: Integers, item: Codes, newcomers: tuple[Likeness, Integers] | None) -> Pools:
        """The candidates of each pair, without the target and without those of similarity 0."""
        # Who could say something: the person's own ratings for items, everybody's ratings of the item for users.
        source, which = (rows, row) if self.axis == "item" else (self._data.csc, item)
        begin, size = source.indptr[which].astype(np.int64), np.diff(source.indptr).astype(np.int64)[which]
        starts, cells = ragged(begin, size)
        other, value = source.indices[cells], source.data[cells].astype(np.float64)
        if self.candidates == "all":
            n, told = self._table.n, np.repeat(np.arange(item.size), size)
            everything = np.full((item.size, n), np.nan)
            everything[told, other] = value
            starts, other = np.arange(item.size + 1, dtype=np.int64) * n, np.tile(np.arange(n), item.size)
            value = everything.ravel()
        question = np.repeat(np.arange(item.size), np.diff(starts))
        if self.axis == "item":
            target = item.astype(np.int64)[question]
            similarity, sensitivity = self._table.at(target, other)
        else:
            target = owners_of(rows)[row][question]
            similarity, sensitivity = self._user_likeness(target, other, row[question], newcomers)
        pools = Pools(starts, other, similarity, sensitivity, value)
        return pools.only((similarity != 0) & (other != target))

    def _user_likeness(
        self, target: Integers, other: AnyIntegers, row: Integers, newcomers: tuple[Likeness, Integers] | None
    ) -> tuple[Vector, Vector | None]:
        """Similarities of users to users; strangers, whose code is −1, have theirs from their history."""
        if newcomers is None:
            return self._table.at(target, other)
        likeness, place = newcomers
        new = target < 0
        form = self._strategy.sensitivity_form
        similarity, sensitivity = np.empty(other.size), None if form is None else np.empty(other.size)
        for mask, found in (
            (new, likeness.at(place[row[new]], other[new], form)),
            (~new, self._table.at(target[~new], other[~new])),
        ):
            similarity[mask] = found[0]
            if sensitivity is not None:
                sensitivity[mask] = found[1]
        return similarity, sensitivity


def _check_history(history: Mapping[Any, float] | Sequence[Any], data: Interactions) -> None:
    if not isinstance(history, Mapping):
        raise UsageError(
            "this model goes by ratings, and the history has none.", remedy="Give a mapping of items to ratings."
        )
    scale = data.scale
    for item, value in history.items():
        if scale is not None and not float(scale.low) <= float(value) <= float(scale.high):
            raise DataError(f"the history rates {item!r} with {value}, which is not on the scale {scale}.")
