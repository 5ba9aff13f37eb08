"""What the published choice of neighbors chooses, looked at directly."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.neighbors.dense import Form
from discreet.neighbors.pair_table import PairTable
from discreet.neighbors.prediction import Pools, ragged
from discreet.neighbors.profiles import Axis
from discreet.neighbors.selection import PNCF, CandidateLists, NaiveExponential, Nearest, SelectionStrategy
from discreet.neighbors.similarity import Similarity
from discreet.studies.pncf.grid import UNIFORM, Question

__all__ = ["Choice", "Truncation", "choices", "truncation"]


@dataclass(frozen=True)
class Choice:
    """How good the chosen neighbors are, where there are more than k to choose from.

    Attributes
    ----------
    similarity
        Mean similarity of the chosen.
    nearest
        Share of the chosen who are among the k nearest.
    """

    similarity: float
    nearest: float

    @classmethod
    def means(cls, splits: list[dict[str, Choice]]) -> dict[str, Choice]:
        """Means over the splits in which there was something to choose."""
        some = [split for split in splits if split]
        return {
            name: cls(fmean(one[name].similarity for one in some), fmean(one[name].nearest for one in some))
            for name in (some[0] if some else {})
        }


@dataclass(frozen=True, eq=False)
class Truncation:
    """From which epsilon on truncation raises a similarity at all, question by question.

    Attributes
    ----------
    begins
        That epsilon, for each question with more than k candidates; ∞ where no epsilon is large enough.
    negative
        Share of the candidates with a similarity below 0, which stand in C0 whatever epsilon is.
    """

    begins: NDArray[np.float64]
    negative: float

    @classmethod
    def joined(cls, of: list[Truncation]) -> Truncation:
        return cls(np.concatenate([one.begins for one in of]), fmean(one.negative for one in of))

    def acting(self, epsilon: float) -> float:
        """Share of the questions in which it acts at this epsilon."""
        return float((self.begins < epsilon).mean()) if self.begins.size else 0.0

    @property
    def median(self) -> float | None:
        return float(np.median(self.begins)) if self.begins.size else None


def choices(asked: Question, *, axis: Axis, similarity: str, k: int, epsilon: str) -> dict[str, Choice]:
    """What each way to choose chooses on one split; nothing where nobody has more than k candidates."""
    exact, lemma = (_lists(asked, axis=axis, similarity=similarity, form=form, k=k) for form in ("exact", "lemma"))
    if not len(lemma):
        return {}
    first, best = lemma.starts[:-1, None], Nearest(k, ties="id").choose_many(lemma)
    among = np.zeros(lemma.similarity.size, dtype=bool)
    among[first + best] = True

    def drawn(strategy: SelectionStrategy, lists: CandidateLists) -> Choice:
        cells = first + strategy.choose_many(lists)
        return Choice(float(lemma.similarity[cells].mean()), float(among[cells].mean()))

    sizes = lemma.sizes
    whole = np.add.reduceat(lemma.similarity, lemma.starts[:-1]) / sizes
    global_sensitivity = 2.0 if similarity == "pearson" else 1.0
    return {
        "non-private": Choice(float(lemma.similarity[first + best].mean()), 1.0),
        # Of a uniform choice the expectation is known, so that nothing has to be drawn.
        UNIFORM: Choice(float(whole.mean()), float((k / sizes).mean())),
        "DP": drawn(NaiveExponential(k, epsilon=epsilon, rs=global_sensitivity), lemma),
        "PNCF": drawn(PNCF(k, epsilon=epsilon), lemma),
        "PNCF, C0 each": drawn(PNCF(k, epsilon=epsilon, c0="each"), lemma),
        "PNCF, exact RS": drawn(PNCF(k, epsilon=epsilon, rs="exact"), exact),
    }


def truncation(asked: Question, *, axis: Axis, similarity: str, k: int, rho: float = 0.5) -> Truncation:
    """When truncation acts. Theorem 3.4.1 cuts at s_k − w with w = min(s_k, 4k·RS/ε · ln(k(n − k)/rho)).

    It raises a positive similarity only where the second argument is the smaller one, and that one falls with ε.
    """
    lists = _lists(asked, axis=axis, similarity=similarity, form="lemma", k=k)
    begins = []
    for _, block in lists.blocks():
        assert block.sensitivity is not None
        kth, largest = block.ranked_similarity(k), block.sensitivity.max(axis=1, initial=0.0)
        width_at_one = 4 * k * largest * np.log(k * (block.sizes - k) / rho)
        with np.errstate(divide="ignore"):
            begins.append(np.where(kth > 0, width_at_one / np.maximum(kth, 0.0), np.inf))
    negative = float((lists.similarity < 0).mean()) if lists.similarity.size else 0.0
    return Truncation(np.concatenate(begins) if begins else np.zeros(0), negative)


def _lists(asked: Question, *, axis: Axis, similarity: str, form: Form, k: int) -> CandidateLists:
    """The candidates of every held-out rating that has more than k of them."""
    train = asked.train
    user = train.users.encode([who for who, _ in asked.pairs])
    item = train.items.encode([what for _, what in asked.pairs])
    pools = _pools(train, user, item, PairTable(train, axis=axis, similarity=Similarity(similarity), form=form))  # type: ignore[arg-type]
    sizes = np.diff(pools.starts)
    pools = pools.only(np.repeat(sizes > k, sizes))
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > k])])
    return CandidateLists(pools.similarity, starts, pools.sensitivity)


def _pools(train: Interactions, user: NDArray[np.int32], item: NDArray[np.int32], table: PairTable) -> Pools:
    """Who may speak about each pair: items that the user rated, or users who rated the item, with a similarity."""
    source, which, target = (train.csr, user, item) if table.axis == "item" else (train.csc, item, user)
    begin, size = source.indptr[which].astype(np.int64), np.diff(source.indptr).astype(np.int64)[which]
    starts, cells = ragged(begin, size)
    other = source.indices[cells]
    alike, sensitivity = table.at(np.repeat(target, size), other)
    return Pools(starts, other, alike, sensitivity, source.data[cells].astype(np.float64)).only(alike != 0)
