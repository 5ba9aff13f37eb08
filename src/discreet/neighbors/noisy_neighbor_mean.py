"""What the neighbors think, with noise: user-based predictions that never name a neighbor.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. Thesis, University of
Adelaide, 2015, chapter 5 (the published selection of neighbors).
M. Kearns, M. Pai, A. Roth, J. Ullman: Mechanism design in large games. ITCS 2014 (joint differential privacy).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
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
from discreet.neighbors.item_means import ItemMeans, item_sums
from discreet.neighbors.pair_likeness import Likeness, Raters
from discreet.neighbors.questions import (
    Answers,
    Key,
    Recipient,
    answers_of,
    answers_table,
    question_key,
    strangers,
)
from discreet.privacy.bounding import BoundedSums, distinct_items, require_catalog
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.recommender import Recommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["NoisyNeighborMean", "neighbor_sums"]

BITS = 20


@dataclass
class NoisyNeighborMean(Recommender):
    """User-based neighbors: what the k most similar users think, with noise, for a limited number of questions.

    The neighbors are the exact ones; they and their ids stay inside. Only the noisy mean comes out, so choosing
    neighbors at random would protect nobody any better. Every question (who asks, about which item) is paid for when it
    is first asked. Its answer is kept: asked again, it costs nothing and has the same answer.

    Parameters
    ----------
    epsilon
        The budget for the item means and for all questions together.
    queries
        How many different questions may be asked; each costs the same share.
    k
        Neighbors of a user; the sum is always divided by k. Many neighbors, little noise.
    bound
        B, in stars: ratings count as at most this far from the mean of their item.
    similarity
        "pearson", "cosine", "cosine_full" or "cosine_shrunk" between users, as in ``Similarity``. Each depends on the
        two users' ratings and on nothing else, which the proof needs.
    shrinkage, minimum_overlap
        As in ``Similarity``. Only users of similarity above 0 are neighbors.
    first_share
        Share of the budget for the item means.
    center
        A public number of stars instead of the item means; nothing is then spent on these.

    Attributes
    ----------
    means_ : ItemMeans or None
        Noisy means of the items; None where ``center`` is given.
    centers_ : float array
        What ratings of each item are compared with.
    asked_ : int
        How many questions were paid for.
    noise_ : float
        Standard deviation of an answer, in stars.

    Privacy
    -------
    Unit: one user, present or absent; joint: the answers to all *others* together. One user changes the list of
    neighbors by at most one exchange, so the sum of the bounded ratings moves by at most 2B. Spent: ε_first when
    fitted, ε_query = (ε − ε_first)/queries for each question, charged before its noise is drawn. Proof:
    ``docs/proofs/neighbors.md``, Theorem 5. Not covered: which questions are asked, a history that is handed in with a
    question, one's own answers.

    Notes
    -----
    An answer has noise of scale 2B/(k·ε_query): with ε = 1, a fifth of it for the means, 20 questions, B = 2 and
    k = 100 this is one star. Neighbors who have not rated the item count as its mean, so rare items get their mean.
    Recommending asks one question for each item that may be recommended, seen or not (how many are seen is nobody
    else's business): give ``items``. For more than a handful of questions take
    :class:`~discreet.neighbors.PrivateItemKNN`.

    A saved model holds the answers given so far. They belong to those who asked: the folder is the curator's.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> model = NoisyNeighborMean(epsilon=4, queries=3, k=100).fit(films)
    >>> first = model.predict([("u17", "film-3")])["score"].item()
    >>> first == model.predict([("u17", "film-3")])["score"].item(), model.queries_left
    (True, 2)
    """

    name: ClassVar[str] = "noisy-neighbor-mean"

    epsilon: Rational = 1
    queries: int = 20
    k: int = 100
    bound: Rational = 2
    similarity: Literal["pearson", "cosine", "cosine_full", "cosine_shrunk"] = "pearson"
    shrinkage: Rational = 10
    minimum_overlap: int = 1
    first_share: Rational = "1/5"
    center: Rational | None = None

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

    # Fitting

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        require_catalog(data, "neighbor means")
        self._check(data)
        rated = distinct_items(data)
        parts: dict[str, Any] = {"items": pl.DataFrame({"item_id": data.items.series})}
        parameters = {**self.config(), "scale": str(data.scale), "noise_first": 0.0}
        guarantee = self._promise(as_positive(self.epsilon, "epsilon"), f"{self.queries:,} neighbor means", first=True)
        if self.center is None:
            mechanism, sums = LaplaceMechanism(self.first_epsilon), item_sums(rated)
            mechanism.check(sums)
            parameters["noise_first"] = mechanism.standard_deviation(sums)
            spent = self._promise(self.first_epsilon, f"noisy means of {data.n_items:,} items")
            with charged(ledger, data, spent, mechanism=self.name, parameters=self.config()) as charge:
                parts["first"] = mechanism.release(sums)
                release = Release(self.name, guarantee, self.name, parameters, parts, data.name)
                charge.settle(release.id)
        else:
            release = Release(self.name, guarantee, self.name, parameters, parts, data.name)
        self._build(release, {}, 0)
        self._admit(data, ledger)

    def _check(self, data: Interactions) -> None:
        if data.rating is None or data.scale is None:
            raise UsageError("neighbor means need ratings on a public scale.", remedy='Declare it: scale="1:5".')
        for name in ("queries", "k"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} = {getattr(self, name)} must be at least 1.")
        if self._bound_steps < 1:
            raise UsageError(f"bound = {self.bound} is too small.")
        Likeness.of(self.similarity, self.minimum_overlap, self.shrinkage, data.scale)
        LaplaceMechanism(self.query_epsilon).check(self._bounded(np.zeros(1, dtype=np.int64)))
        if pl.Object in (data.items.series.dtype, data.users.series.dtype):
            raise UsageError("a saved model names items and users: their ids must be numbers or text.")

    def _build(self, release: Release, answers: Answers, asked: int) -> None:
        self.release_, self.guarantee_ = release, release.guarantee
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        self.scale_ = RatingScale.of(release.parameters["scale"])
        self.means_ = None
        if self.center is None:
            self.means_ = ItemMeans.of(release.array("first"), self.scale_, release.parameters["noise_first"])
            self.centers_ = self.means_.means
        else:
            self.centers_ = np.full(len(self.items_), float(as_fraction(self.center, "center")))
        one = self._bounded(np.zeros(1, dtype=np.int64))
        self.noise_ = LaplaceMechanism(self.query_epsilon).standard_deviation(one) / self.k
        self._answers, self.asked_ = answers, asked
        self._raters: Raters | None = None
        self._ledger: Ledger | None = None
        self._lock = Lock()

    def _admit(self, data: Interactions, ledger: Ledger | None) -> None:
        """Let new questions be answered from these records, at the expense of this book."""
        likeness = Likeness.of(self.similarity, self.minimum_overlap, self.shrinkage, self.scale_)
        self._raters = Raters.of(distinct_items(data), likeness)
        self._ledger = ledger

    def attach(self, data: Interactions, *, ledger: Ledger | None = None) -> Self:
        """Give a loaded model the records, and the book, that new questions are answered from.

        The promise counts the questions of one model: a saved model that is loaded twice needs one book for both.
        """
        super().attach(data)
        assert self.records_ is not None
        self._admit(self.records_, ledger)
        return self

    def _promise(self, epsilon: Fraction, subject: str, *, first: bool = False) -> Guarantee:
        return Guarantee(
            loss=Pure(epsilon),
            unit=Unit("user"),
            standing=Standing.PROVED,
            basis="noisy mean of the exact neighbors, docs/proofs/neighbors.md, Theorem 5",
            subject=f"item means and at most {subject}" if first and self.center is None else subject,
            caps=(),
            not_covered=(
                "the public list of items and rating scale",
                "which questions are asked, and histories handed in with them",
                "one's own answers",
            ),
            joint=True,
        )

    # Asking

    def recommend(
        self,
        users: Iterable[Hashable] | None = None,
        n: int = 10,
        *,
        history: Mapping[Any, float] | Sequence[Any] | None = None,
        exclude_seen: bool = True,
        items: Iterable[Hashable] | None = None,
    ) -> pl.DataFrame:
        """The best ``n`` of ``items`` (all, unless told), one question for each of them and each user."""
        self._require_fitted()
        if n < 1:
            raise UsageError(f"n = {n} must be at least 1.")
        named = np.arange(len(self.items_)) if items is None else self.items_.encode(list(items))
        codes = np.unique(named).astype(np.int32)
        recipients = self._strangers(users, history) if history is not None else self._users(users)
        if any(recipient.items is None for recipient in recipients):
            raise UsageError(
                "a saved model holds nobody's records.",
                remedy="Give a history, or the records: attach(data, ledger=…).",
            )
        scores = self._scored(recipients, codes)
        tables = []
        for recipient, row in zip(recipients, scores, strict=True):
            assert recipient.items is not None
            seen = np.isin(codes, recipient.items) if exclude_seen else np.zeros(codes.size, dtype=bool)
            order = np.flatnonzero(~seen)[np.argsort(-row[~seen], kind="stable")[:n]]
            best = {"item_id": self.items_.take(codes[order]), "score": row[order], "rank": np.arange(order.size) + 1}
            if history is None:
                best = {"user_id": pl.Series([recipient.key[1]] * order.size, dtype=self._user_type), **best}
            tables.append(pl.DataFrame(best))
        if tables:
            return pl.concat(tables)
        types = {"user_id": self._user_type, "item_id": self.items_.series.dtype, "score": pl.Float64, "rank": pl.Int64}
        return pl.DataFrame(schema=types)

    def predict(
        self, pairs: Iterable[Any], *, history: Mapping[Any, float] | Sequence[Any] | None = None
    ) -> pl.DataFrame:
        """Predicted ratings of (user, item) pairs, or of items for somebody with the given history.

        What was not asked before is charged: the ledger first, then the noise is drawn.
        """
        if history is not None:
            return super().predict(pairs, history=history)
        self._require_fitted()
        asked = list(pairs)
        if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in asked):
            raise UsageError("give (user, item) pairs.")
        users, names = [user for user, _ in asked], [item for _, item in asked]
        people = {recipient.key[1]: recipient for recipient in self._users(users)}
        item = self.items_.encode(names) if names else np.zeros(0, dtype=np.int32)
        scores = self._ask([(people[user], int(code)) for user, code in zip(users, item, strict=True)])
        return pl.DataFrame({"user_id": users, "item_id": self.items_.take(item), "score": scores})

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        return self._scored(strangers(rows), np.arange(len(self.items_), dtype=np.int32))

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        people = strangers(rows)
        return self._ask([(people[r], int(code)) for r, code in zip(row, item, strict=True)])

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        raise UsageError("this model compares users, not items.", remedy="Take PrivateItemKNN.")

    def _scored(self, recipients: Sequence[Recipient], codes: NDArray[np.int32]) -> NDArray[np.float64]:
        asked = [(recipient, int(code)) for recipient in recipients for code in codes]
        return self._ask(asked).reshape(len(recipients), codes.size)

    def _users(self, users: Iterable[Hashable] | None) -> list[Recipient]:
        """Users as recipients; without records only by name, for what is answered already."""
        if users is None:
            raise UsageError("say either whom to recommend to or which history to go by.")
        wanted = list(dict.fromkeys([users] if isinstance(users, str) else users))
        if self._raters is None:
            return [Recipient(("user", user)) for user in wanted]
        codes = self._raters.users.encode(wanted).tolist() if wanted else []
        names = self._raters.users.decode(codes)
        return [
            Recipient(("user", user), code, *self._raters.row(code)) for user, code in zip(names, codes, strict=True)
        ]

    @property
    def _user_type(self) -> pl.DataType | None:
        return None if self._raters is None else self._raters.users.series.dtype

    def _strangers(self, users: object, history: Mapping[Any, float] | Sequence[Any]) -> list[Recipient]:
        if users is not None:
            raise UsageError("say either whom to recommend to or which history to go by.")
        rows, _ = self._histories(None, history)
        return strangers(rows)

    def _ask(self, asked: Sequence[tuple[Recipient, int]]) -> NDArray[np.float64]:
        """Answers in stars; new questions are paid for, all of them or none."""
        with self._lock:
            new = list(dict.fromkeys(question for question in asked if question_key(question) not in self._answers))
            if new:
                self._draw(new)
            steps = np.array([self._answers[question_key(question)] for question in asked], dtype=np.int64)
        centers = self.centers_[np.array([item for _, item in asked], dtype=np.int64)]
        mean = centers + steps / (2**BITS * self.k)
        return np.clip(mean, float(self.scale_.low), float(self.scale_.high))

    def _draw(self, new: Sequence[tuple[Recipient, int]]) -> None:
        raters = self._raters
        if raters is None:
            raise UsageError(
                "a saved model holds nobody's records, and these questions were not asked before.",
                remedy="Give the records: attach(data, ledger=…).",
            )
        if len(new) > self.queries_left:
            raise BudgetError(
                f"{len(new):,} new questions were asked; of {self.queries:,} there are {self.queries_left:,} left.",
                remedy="Ask about fewer items (items=…), or fit again with more queries.",
            )
        of_all: dict[Key, NDArray[np.int64]] = {}
        for recipient, _ in new:
            if recipient.key not in of_all:
                of_all[recipient.key] = self._sums(raters, recipient)
        sums = self._bounded(np.array([of_all[recipient.key][item] for recipient, item in new], dtype=np.int64))
        epsilon = len(new) * self.query_epsilon
        promise = self._promise(epsilon, f"{len(new):,} neighbor means")
        with charged(self._ledger, raters.data, promise, mechanism=self.name, parameters=self.config()):
            self.asked_ += len(new)
            noisy = LaplaceMechanism(epsilon).release(sums)
        self._answers.update({question_key(question): int(value) for question, value in zip(new, noisy, strict=True)})

    def _sums(self, raters: Raters, recipient: Recipient) -> NDArray[np.int64]:
        """For every item, what the recipient's neighbors think of it: secret."""
        assert recipient.items is not None
        assert recipient.ratings is not None
        neighbors = raters.nearest(recipient.items, recipient.ratings, self.k, apart_from=recipient.code)
        return neighbor_sums(raters.rows, neighbors, self.centers_, self._bound_steps)

    @property
    def _bound_steps(self) -> int:
        return math.floor(as_positive(self.bound, "bound") * 2**BITS)

    def _bounded(self, values: NDArray[np.int64]) -> BoundedSums:
        """Sums of so many questions, each of which one user moves by at most 2B."""
        most = 2 * self._bound_steps
        return BoundedSums(
            values=values,
            step=Fraction(1, 2**BITS),
            l1=Fraction(values.size * most),
            l2_squared=Fraction(values.size * most**2),
            linf=Fraction(most),
            nonnegative=False,
            unit=Unit("user"),
            caps=(),
        )

    # On disk: item means and the answers given

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the item means and all answers into a folder, which is the curator's: answers belong to who asked."""
        self._require_fitted()
        with self._lock:
            release = Release(
                kind=self.name,
                guarantee=self.release_.guarantee,
                mechanism=self.name,
                parameters={**self.release_.parameters, "asked": self.asked_},
                parts={**self.release_.parts, "answers": answers_table(self._answers)},
                dataset=self.release_.dataset,
            )
        return release.save(folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        release = Release.load(folder)
        if release.kind != cls.name:
            raise ReleaseError(f"{folder} holds {release.kind!r}, not {cls.name!r}.")
        model = cls(**{field.name: release.parameters[field.name] for field in fields(cls)})
        model._build(release, answers_of(release.table("answers")), int(release.parameters["asked"]))
        model.records_ = None
        return model


def neighbor_sums(
    rows: csr_array, neighbors: NDArray[np.int64], centers: NDArray[np.float64], bound: int
) -> NDArray[np.int64]:
    """Sum over the neighbors of each item's rating minus its center, cut to ±bound; in grid steps, 0 where unrated.

    Each neighbor's part is put on the grid, towards zero, before it is added: the sum is exact.
    """
    near = rows[neighbors]
    steps = np.trunc((near.data - centers[near.indices]) * 2**BITS)
    steps = np.clip(steps, -bound, bound)
    # Whole numbers below 2^53 in all: adding them as floats makes no error.
    return np.bincount(near.indices, weights=steps, minlength=centers.size).astype(np.int64)
