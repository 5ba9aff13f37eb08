"""What the neighbors think, with noise: user-based predictions that never name a neighbor.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. Thesis, University of
Adelaide, 2015, chapter 5 (the published selection of neighbors).
M. Kearns, M. Pai, A. Roth, J. Ullman: Mechanism design in large games. ITCS 2014 (joint differential privacy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import BudgetError, ReleaseError, UsageError
from discreet.neighbors.asking import AskedModel, Roster
from discreet.neighbors.drawn_neighbors import PublicUsers, RatingLevel
from discreet.neighbors.item_means import ItemMeans
from discreet.neighbors.mean_levels import Level, UserLevel
from discreet.neighbors.neighbor_sums import BITS, bound_steps, neighbor_sums
from discreet.neighbors.questions import Answers, Recipient, answers_of, answers_table, question_key
from discreet.privacy.bounding import BoundedSums, require_catalog
from discreet.privacy.charging import charged
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["BITS", "NoisyNeighborMean", "neighbor_sums"]


@dataclass
class NoisyNeighborMean(AskedModel):
    """User-based neighbors: what k similar users think, with noise, for a limited number of questions.

    Neighbors and their ids stay inside; only noisy means come out. What was paid for once is kept: asked again, it
    costs nothing and has the same answer.

    Parameters
    ----------
    epsilon
        The budget for the item means and for all questions together.
    queries
        How many different questions may be asked; each costs the same share. For ``unit="user"`` a question is a
        recipient and an item, for ``unit="rating"`` a recipient, with all items.
    k
        Neighbors of a user; the sum is always divided by k. Many neighbors, little noise.
    bound
        B, in stars: ratings count as at most this far from the mean of their item.
    similarity
        "pearson" (the default), "cosine", "cosine_full" or "cosine_shrunk" between users, as in ``Similarity``. Each
        depends on two users' ratings and on nothing else. For ``unit="rating"`` always "cosine_shrunk".
    shrinkage, minimum_overlap
        As in ``Similarity``. For ``unit="user"`` only users of similarity above 0 are neighbors; for ``unit="rating"``
        any user may be one, and the overlap must be 1.
    first_share
        Share of the budget for the item means.
    center
        A public number of stars instead of the item means; nothing is then spent on these.
    unit
        Whose secret. "user": all ratings of a user; the neighbors are the k most similar ones. "rating": every single
        rating; the neighbors are drawn once for each recipient, sets of similar ones with higher probability.
    users
        For ``unit="rating"``: the ids of all users, a public list, or "observed" to declare that it is public who has
        records. Records of users who are not on the list count for nothing.

    Attributes
    ----------
    means_ : ItemMeans or None
        Noisy means of the items; None where ``center`` is given.
    centers_ : float array
        What ratings of each item are compared with.
    asked_ : int
        How many questions were paid for.
    noise_ : float
        Standard deviation of an answer for given neighbors, in stars.

    Privacy
    -------
    Joint: the answers to all *others* together. Spent: ε_first when fitted, ε_query = (ε − ε_first)/queries for each
    question, charged before anything is drawn. Proofs: ``docs/proofs/neighbors.md``. Not covered: which questions are
    asked, a history that is handed in with a question, one's own answers.

    *Unit user* (Theorem 5): one user, present or absent, changes the list of neighbors by at most one exchange, so
    the sum of the bounded ratings moves by at most 2B. *Unit rating* (Theorem 6): one rating, present or absent, of a
    user on a public list changes one similarity by at most 1/(1+λ) if the recipient has rated the item, and one sum by
    at most B if not; never both. So neighbors are drawn with ε_query, all sums get noise for ε_query, and both together
    cost ε_query. What the recipient has rated is not predicted (null).

    Notes
    -----
    For ``unit="user"`` an answer has noise of scale 2B/(k·ε_query): one star for ε = 1, a fifth of it for the means,
    20 questions, B = 2 and k = 100; for ``unit="rating"`` it is half of that. Neighbors who have not rated the item
    count as its mean, so rare items get their mean. With ``unit="user"`` recommending asks one question for each item
    that may be recommended, seen or not (how many are seen is nobody else's business): give ``items``. For more than a
    handful of questions take :class:`~discreet.neighbors.PrivateItemKNN`. A saved model holds the answers given so
    far. They belong to those who asked: the folder is the curator's.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> model = NoisyNeighborMean(epsilon=4, queries=3, k=100).fit(films)
    >>> first = model.predict([("u17", "film-3")])["score"].item()
    >>> first == model.predict([("u17", "film-3")])["score"].item(), model.queries_left
    (True, 2)
    >>> model = NoisyNeighborMean(unit="rating", users="observed", epsilon=4, queries=3, k=100).fit(films)
    >>> model.recommend(["u17", "u99"], n=5).height, model.queries_left
    (10, 1)
    """

    name: ClassVar[str] = "noisy-neighbor-mean"

    epsilon: Rational = 1
    queries: int = 20
    k: int = 100
    bound: Rational = 2
    similarity: Literal["pearson", "cosine", "cosine_full", "cosine_shrunk"] | None = None
    shrinkage: Rational = 10
    minimum_overlap: int = 1
    first_share: Rational = "1/5"
    center: Rational | None = None
    unit: Literal["user", "rating"] = "user"
    users: PublicUsers = None

    # What it costs

    @property
    def first_epsilon(self) -> Fraction:
        """What the item means cost."""
        if self.center is not None:
            return Fraction(0)
        share = as_fraction(self.first_share, "first_share")
        if not 0 < share < 1:
            raise UsageError(f"first_share = {share} must be between 0 and 1.")
        return as_positive(self.epsilon, "epsilon") * share

    @property
    def query_epsilon(self) -> Fraction:
        """What one question costs."""
        return (as_positive(self.epsilon, "epsilon") - self.first_epsilon) / self.queries

    @property
    def queries_left(self) -> int:
        """How many new questions may be asked."""
        self._require_fitted()
        return self.queries - self.asked_

    def config(self) -> dict[str, Any]:
        """The settings of this model; a list of users is a part of the release, not a setting."""
        listed = self.users is not None and not isinstance(self.users, str)
        return {**super().config(), **({"users": "listed"} if listed else {})}

    # Fitting

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        require_catalog(data, "neighbor means")
        self._check(data)
        level, raters = self._level, self._level.lay_out(data)
        parts: dict[str, Any] = {"items": pl.DataFrame({"item_id": data.items.series})}
        if self.unit == "rating":
            parts["users"] = pl.DataFrame({"user_id": raters.users.series})
        parameters = {**self.config(), "scale": str(data.scale), "noise_first": 0.0}
        whole = ("item means and at most " if self.center is None else "") + f"{self.queries:,} {level.sold}"
        guarantee = level.promise(as_positive(self.epsilon, "epsilon"), whole)
        if self.center is None:
            mechanism, sums = LaplaceMechanism(self.first_epsilon), level.first_sums(raters)
            mechanism.check(sums)
            parameters["noise_first"] = mechanism.standard_deviation(sums)
            spent = level.promise(self.first_epsilon, f"noisy means of {data.n_items:,} items")
            with charged(ledger, data, spent, mechanism=self.name, parameters=self.config()) as charge:
                parts["first"] = mechanism.release(sums)
                release = Release(self.name, guarantee, self.name, parameters, parts, data.name)
                charge.settle(release.id)
        else:
            release = Release(self.name, guarantee, self.name, parameters, parts, data.name)
        self._build(release, {}, 0)
        self._raters, self._ledger = raters, ledger

    def _check(self, data: Interactions) -> None:
        for name in ("queries", "k"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} = {getattr(self, name)} must be at least 1.")
        self._level.check(data)

    @property
    def _level(self) -> Level:
        """What the proof speaks of."""
        shared = (self.k, self._bound_steps, self.query_epsilon, self.shrinkage, self.minimum_overlap)
        if self.unit == "rating":
            return RatingLevel(*shared, users=self.users, similarity=self.similarity)
        if self.unit != "user":
            raise UsageError(f"unit={self.unit!r}?", remedy="Choose 'user' or 'rating'.")
        return UserLevel(*shared, similarity=self.similarity or "pearson")

    @property
    def _bound_steps(self) -> int:
        return bound_steps(self.bound)

    def _bounded(self, values: NDArray[np.int64]) -> BoundedSums:
        return self._level.bounded(values)

    def _build(self, release: Release, answers: Answers, asked: int) -> None:
        self.release_, self.guarantee_ = release, release.guarantee
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        self.scale_ = RatingScale.of(release.parameters["scale"])
        self.means_: ItemMeans | None = None
        if self.center is None:
            self.means_ = self._level.means(release.array("first"), self.scale_, release.parameters["noise_first"])
            self.centers_ = self.means_.means
        else:
            self.centers_ = np.full(len(self.items_), float(as_fraction(self.center, "center")))
        self.noise_ = self._level.deviation
        self._answers, self.asked_ = answers, asked
        self._raters: Roster | None = None
        self._ledger: Ledger | None = None
        self._lock = Lock()

    def attach(self, data: Interactions, *, ledger: Ledger | None = None) -> Self:
        """Give a loaded model the records, and the book, that new questions are answered from.

        The promise counts the questions of one model: a saved model that is loaded twice needs one book for both.
        """
        super().attach(data)
        assert self.records_ is not None
        level = self._level
        if isinstance(level, RatingLevel):  # the list stays what it was, whoever has records now
            level = replace(level, users=self.release_.table("users")["user_id"])
        self._raters, self._ledger = level.lay_out(self.records_), ledger
        return self

    # Asking

    def _ask(self, asked: Sequence[tuple[Recipient, int]]) -> NDArray[np.float64]:
        with self._lock:
            if new := self._level.unanswered(asked, self._answers):
                self._pay(new)
            # What the recipient of a whole list has rated is not on it.
            steps = np.array([self._answers.get(question_key(question), math.nan) for question in asked])
        centers = self.centers_[np.array([item for _, item in asked], dtype=np.int64)]
        mean = centers + steps / (2**BITS * self.k)
        return np.clip(mean, float(self.scale_.low), float(self.scale_.high))

    def _pay(self, new: list[Any]) -> None:
        """Answer new questions, all of them or none."""
        level, raters = self._level, self._raters
        if raters is None:
            raise UsageError(
                "a saved model holds nobody's records, and these questions were not asked before.",
                remedy="Give the records: attach(data, ledger=…).",
            )
        if len(new) > self.queries_left:
            raise BudgetError(
                f"{len(new):,} new questions were asked; of {self.queries:,} there are {self.queries_left:,} left.",
                remedy=level.fewer,
            )
        prepared = level.prepare(raters, new, self.centers_)
        promise = level.promise(len(new) * self.query_epsilon, f"{len(new):,} {level.sold}")
        with charged(self._ledger, raters.data, promise, mechanism=self.name, parameters=self.config()):
            self.asked_ += len(new)
            self._answers.update(level.draw(prepared))

    # On disk: item means and the answers given

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the item means and all answers into a folder, which is the curator's: answers belong to who asked."""
        self._require_fitted()
        with self._lock:
            parameters = {**self.release_.parameters, "asked": self.asked_}
            parts = {**self.release_.parts, "answers": answers_table(self._answers)}
            release = replace(self.release_, parameters=parameters, parts=parts, id="")
        return release.save(folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        release = Release.load(folder)
        if release.kind != cls.name:
            raise ReleaseError(f"{folder} holds {release.kind!r}, not {cls.name!r}.")
        known = {field.name for field in fields(cls)}
        model = cls(**{name: value for name, value in release.parameters.items() if name in known})
        if isinstance(model.users, str) and model.users == "listed":
            model.users = release.table("users")["user_id"]
        model._build(release, answers_of(release.table("answers")), int(release.parameters["asked"]))
        model.records_ = None
        return model
