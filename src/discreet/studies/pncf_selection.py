"""What the published choice of neighbors chooses, looked at directly, and the questions of one split."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.data.splits import all_but_one
from discreet.errors import DataError
from discreet.models.recommender import Recommender
from discreet.neighbors.dense import Form
from discreet.neighbors.pair_table import PairTable
from discreet.neighbors.prediction import Pools, ragged
from discreet.neighbors.profiles import Axis
from discreet.neighbors.selection import PNCF, CandidateLists, NaiveExponential, Nearest, SelectionStrategy
from discreet.neighbors.similarity import Similarity

__all__ = ["AXES", "UNIFORM", "Question", "choices", "codes_of", "pools_of", "question", "spaced", "truncation"]

AXES: tuple[Axis, ...] = ("item", "user")
UNIFORM = "uniform, no noise"
RHO = 0.5
"""ρ of Theorem 3.4.1."""


@dataclass(frozen=True, eq=False)
class Question:
    """One split: what models learn from, and the ratings that they are asked for.

    Attributes
    ----------
    user
        Code, among the users of all records, of whoever gave the held-out rating.
    unanswerable
        How many held-out ratings were left out because nobody else has rated the item.
    """

    train: Interactions
    pairs: list[tuple[Hashable, Hashable]]
    actual: Floats
    user: Codes
    unanswerable: int

    def some(self, most: int) -> Question:
        """The same split with at most so many of its ratings asked for, evenly spaced."""
        places = spaced(len(self.pairs), most)
        pairs = [self.pairs[place] for place in places.tolist()]
        return replace(self, pairs=pairs, actual=self.actual[places], user=self.user[places])

    def errors(self, model: Recommender) -> Floats:
        """Absolute error of each answer."""
        fitted = model.fit(self.train, allow_refuted=True)
        return np.abs(fitted.predict(self.pairs)["score"].to_numpy() - self.actual)


def question(data: Interactions, *, seed: int) -> Question:
    """Hold out one rating of each user, All-But-One."""
    split = all_but_one(data, seed=seed)
    test = split.test
    assert test.rating is not None
    known = split.train.records_per_item[split.train.items.encode(test.items.series)][test.item] > 0
    if known.sum() < 2:
        raise DataError(
            "fewer than two held-out ratings are of items that somebody else has rated; nothing can be measured."
        )
    users, items = test.users.take(test.user[known]), test.items.take(test.item[known])
    return Question(
        train=split.train,
        pairs=list(zip(users.to_list(), items.to_list(), strict=True)),
        actual=test.rating[known].astype(np.float64),
        user=data.users.encode(users),
        unanswerable=int((~known).sum()),
    )


def choices(asked: Question, *, axis: Axis, similarity: str, k: int, epsilon: str) -> dict[str, tuple[float, float]]:
    """What each way to choose chooses on one split, where there are more than k to choose from.

    Mean similarity of the chosen, and the share of them who are among the k nearest; nothing where nobody has more
    than k candidates.
    """
    exact, lemma = (_lists(asked, axis=axis, similarity=similarity, form=form, k=k) for form in ("exact", "lemma"))
    if not len(lemma):
        return {}
    first, best = lemma.starts[:-1, None], Nearest(k, ties="id").choose_many(lemma)
    among = np.zeros(lemma.similarity.size, dtype=bool)
    among[first + best] = True

    def drawn(strategy: SelectionStrategy, lists: CandidateLists) -> tuple[float, float]:
        cells = first + strategy.choose_many(lists)
        return float(lemma.similarity[cells].mean()), float(among[cells].mean())

    sizes = lemma.sizes
    whole = np.add.reduceat(lemma.similarity, lemma.starts[:-1]) / sizes
    global_sensitivity = 2.0 if similarity == "pearson" else 1.0
    return {
        "non-private": (float(lemma.similarity[first + best].mean()), 1.0),
        # Of a uniform choice the expectation is known, so that nothing has to be drawn.
        UNIFORM: (float(whole.mean()), float((k / sizes).mean())),
        "DP": drawn(NaiveExponential(k, epsilon=epsilon, rs=global_sensitivity), lemma),
        "PNCF": drawn(PNCF(k, epsilon=epsilon), lemma),
        "PNCF, C0 each": drawn(PNCF(k, epsilon=epsilon, c0="each"), lemma),
        "PNCF, exact RS": drawn(PNCF(k, epsilon=epsilon, rs="exact"), exact),
    }


def truncation(asked: Question, *, axis: Axis, similarity: str, k: int) -> tuple[Floats, float]:
    """From which epsilon on truncation acts, for each question with more than k candidates; ∞ where none is enough.

    Theorem 3.4.1 cuts at s_k − w with w = min(s_k, 4k·RS/ε · ln(k(n − k)/ρ)). It raises a positive similarity only
    where the second argument is the smaller one, and that one falls with ε. Returned with it: the share of the
    candidates with a similarity below 0, which stand in C0 whatever epsilon is.
    """
    lists = _lists(asked, axis=axis, similarity=similarity, form="lemma", k=k)
    begins = []
    for _, block in lists.blocks():
        assert block.sensitivity is not None
        kth, largest = block.ranked_similarity(k), block.sensitivity.max(axis=1, initial=0.0)
        width_at_one = 4 * k * largest * np.log(k * (block.sizes - k) / RHO)
        with np.errstate(divide="ignore"):
            begins.append(np.where(kth > 0, width_at_one / np.maximum(kth, 0.0), np.inf))
    negative = float((lists.similarity < 0).mean()) if lists.similarity.size else 0.0
    return np.concatenate(begins) if begins else np.zeros(0), negative


def _lists(asked: Question, *, axis: Axis, similarity: str, form: Form, k: int) -> CandidateLists:
    """The candidates of every held-out rating that has more than k of them."""
    table = PairTable(asked.train, axis=axis, similarity=Similarity(similarity), form=form)  # type: ignore[arg-type]
    pools = pools_of(asked.train, *codes_of(asked), table)
    sizes = np.diff(pools.starts)
    pools = pools.only(np.repeat(sizes > k, sizes))
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > k])])
    return CandidateLists(pools.similarity, starts, pools.sensitivity)


def codes_of(asked: Question) -> tuple[Codes, Codes]:
    """Users and items of the held-out ratings, as codes of what models learn from."""
    users, items = zip(*asked.pairs, strict=True)
    return asked.train.users.encode(list(users)), asked.train.items.encode(list(items))


def pools_of(train: Interactions, user: Codes, item: Codes, table: PairTable) -> Pools:
    """Who may speak about each pair: items that the user rated, or users who rated the item, with a similarity."""
    source, which, target = (train.csr, user, item) if table.axis == "item" else (train.csc, item, user)
    begin, size = source.indptr[which].astype(np.int64), np.diff(source.indptr).astype(np.int64)[which]
    starts, cells = ragged(begin, size)
    other = source.indices[cells]
    alike, sensitivity = table.at(np.repeat(target, size), other)
    return Pools(starts, other, alike, sensitivity, source.data[cells].astype(np.float64)).only(alike != 0)


def spaced(size: int, most: int) -> Integers:
    """Places of at most so many, evenly spaced.

    Examples
    --------
    >>> spaced(10, 3), spaced(2, 3)
    (array([0, 4, 9]), array([0, 1]))
    """
    return np.linspace(0, size - 1, min(size, most)).astype(np.int64)
