"""Partitioned probabilistic neighbor selection (PPNS): the ranking is cut into partitions of size k.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis,
University of Adelaide 2015, chapters 4 and 5.
Z. Lu, H. Shen: A security-assured accuracy-maximised privacy preserving collaborative filtering recommendation
algorithm. IDEAS 2015.
Z. Lu, H. Shen: An accuracy-assured privacy-preserving recommender system for Internet commerce. ComSIS 12 (2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from discreet.common.arrays import Integers, Matrix, Vector
from discreet.errors import UsageError
from discreet.neighbors.selection.exponential import (
    Sensitivity,
    check_sensitivity,
    log_exponential_weights,
    pair_sensitivity,
    sensitivity_form,
)
from discreet.neighbors.selection.lists import Block, Candidates
from discreet.neighbors.selection.strategies import Draw, RankedStrategy
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.published_draws import log_exponentials
from discreet.privacy.units import Unit

__all__ = ["PPNS", "AssuredPPNS"]

THOUSANDTHS = 1000
"""The steps in which a share p is searched for a required accuracy."""


def _refuted(epsilon: Rational, basis: str) -> Guarantee:
    """What the thesis claims for a choice from partitions, and why it does not hold."""
    return Guarantee(
        loss=Pure(as_positive(epsilon)),
        unit=Unit("record", "replace"),
        standing=Standing.REFUTED,
        basis=basis,
        subject="the neighbors of one target",
        not_covered=("the weights, which are not perturbed", "the ratings of the neighbors"),
    )


@dataclass(frozen=True)
class PPNS(RankedStrategy):
    """k − 1 neighbors from the k most similar, one from a partition further down, none from between.

    Parameters
    ----------
    k
        How many neighbors, and the size of a partition.
    epsilon
        The budget that enters the weights exp(ε·s/(4k·RS)) within a partition.
    beta
        The papers' security metric, from 1.
    against
        "knn": the one comes from partition beta (equation 5.6; beta = 1 is kNN). "beta-knn": from partition beta + 1
        (equation 5.11).
    rs
        RS of each pair by the lemma or exact, the largest of the list, or a number for all.
    ties
        Who goes first among equals in the ranking.

    Privacy
    -------
    Said to be differentially private, with a list of similarities for the data and one of them different.
    Refuted for every ε: where ranks k and k + 1 change places, sets of neighbors that had probability 0 get a total of
    (1 − 1/k)² + 1/k² (``tests/refutations/test_ppns.py``). Neither is beta a cost to an attacker: k − 1 sybils
    suffice, because partition 1 keeps all but one of its members. Weights are not perturbed.

    Notes
    -----
    Lists that do not reach down to the partition asked for give the one neighbor from their last partition.

    Examples
    --------
    >>> law = PPNS(2, epsilon=1, beta=2, rs=1.0).law(Candidates(np.array([0.9, 0.8, 0.4, 0.4])))
    >>> sorted(law)
    [(0, 2), (0, 3), (1, 2), (1, 3)]
    """

    _: KW_ONLY
    epsilon: Rational
    beta: int
    against: Literal["knn", "beta-knn"] = "knn"
    rs: Sensitivity = "lemma"
    name: ClassVar[str] = "PPNS"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon"))
        check_sensitivity(self.rs)
        if self.beta < 1:
            raise UsageError(f"beta = {self.beta} must be a number of partitions from 1.")
        if self.against not in ("knn", "beta-knn"):
            raise UsageError(f"against = {self.against!r} is not known.", remedy='Use "knn" or "beta-knn".')

    @property
    def sensitivity_form(self) -> Literal["lemma", "exact"] | None:
        return sensitivity_form(self.rs)

    def guarantee(self) -> Guarantee:
        return _refuted(
            self.epsilon,
            "where ranks k and k+1 change places, sets of probability 0 get (1−1/k)²+1/k² "
            "(tests/refutations/test_ppns.py)",
        )

    def _far_partition(self, sizes: Integers) -> Integers:
        """The partition, from 0, that one neighbor comes from."""
        asked = self.beta - 1 if self.against == "knn" else self.beta
        return np.minimum(asked, np.maximum(-(-sizes // self.k) - 1, 0))

    def _cuts(self, size: int) -> Sequence[int]:
        far = int(self._far_partition(np.array([size]))[0]) * self.k
        return sorted({self.k, far, far + self.k} - {0})

    def _draws(self, block: Block, ranks: Integers) -> Sequence[Draw]:
        sensitivity = pair_sensitivity(block, self.rs)
        weights = log_exponential_weights(block, block.similarity, sensitivity, k=self.k, epsilon=float(self.epsilon))
        partition, far = ranks // self.k, self._far_partition(block.sizes)
        near = np.where(partition == 0, weights, -np.inf)
        other = np.where((partition == far[:, None]) & (far[:, None] > 0), weights, -np.inf)
        one = (far > 0).astype(np.int64)
        return [(near, self.k - one), (other, one)]


@dataclass(frozen=True)
class AssuredPPNS(RankedStrategy):
    """Neighbors from one partition after the other, fewer from each, so that no draw falls below a known accuracy.

    Parameters
    ----------
    k
        How many neighbors, and the size of a partition.
    p
        The share of those still to be found that each partition gives: above 0, at most 1, which leaves kNN. 1/2 unless
        told, or unless an accuracy is required.
    accuracy
        In the place of p: the share of the kNN's alpha, the summed similarity of the k nearest, that *every* draw must
        keep. Of the thousandths the smallest p that does is taken, for each list by itself.
    epsilon
        The budget that enters the weights exp(ε·s/(4k·RS)) within a partition; None for a uniform choice there.
    rs
        RS of each pair by the lemma or exact, the largest of the list, or a number for all.
    ties
        Who goes first among equals in the ranking.

    Privacy
    -------
    The thesis calls its algorithm differentially private. For this construction that is refuted for every ε: where
    ranks k and k + 1 change places, sets of neighbors that had probability 0 get q₁(1 − q₂) + q₂(1 − q₁), with qᵢ the
    share of partition i that is drawn (``tests/refutations/test_ppns_assured.py``). Weights are not perturbed.

    Notes
    -----
    A construction after the abstract, not the authors' rule: the chapter that defines the algorithm is missing from the
    copy of the thesis at hand. The abstract says that neighbors are selected from each exclusive partition of size k
    with a decreasing probability, so that a required accuracy is ensured. Here partition i gives f(i) = ⌈p·Rᵢ⌉
    neighbors, where R₁ = k and Rᵢ₊₁ = Rᵢ − f(i). The last of partition i has the similarity sim(a, i·k), so every draw
    has α ≥ Σ f(i)·sim(a, i·k), and β is the number of partitions until nothing is left: 22, 9, 6, 4 and 2 for
    p = .1, .3, .5, .7 and .9 at k = 50. The weights within a partition are those of chapter 5.

    Where a list ends before all are found, the rest is taken from its nearest partitions that have some left.

    Examples
    --------
    >>> films = Candidates(np.linspace(0.9, 0.1, 9))
    >>> AssuredPPNS(4, p=0.5).counts(films).tolist()
    [2, 1, 1]
    >>> round(AssuredPPNS(4, p=0.5).least_alpha(films), 6)
    1.5
    """

    _: KW_ONLY
    p: Rational | None = None
    accuracy: float | None = None
    epsilon: Rational | None = None
    rs: Sensitivity = "lemma"
    name: ClassVar[str] = "accuracy-assured PPNS"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p is not None and self.accuracy is not None:
            raise UsageError("p and accuracy were both given.", remedy="Give one of them: an accuracy finds its p.")
        if self.p is None and self.accuracy is None:
            object.__setattr__(self, "p", Fraction(1, 2))
        if self.p is not None:
            share = as_positive(self.p, "p")
            if share > 1:
                raise UsageError(f"p = {self.p} must be above 0 and at most 1.")
            object.__setattr__(self, "p", share)
        if self.accuracy is not None and not 0 < self.accuracy <= 1:
            raise UsageError(f"accuracy = {self.accuracy} must be above 0 and at most 1.")
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon"))
        check_sensitivity(self.rs)

    @property
    def sensitivity_form(self) -> Literal["lemma", "exact"] | None:
        return None if self.epsilon is None else sensitivity_form(self.rs)

    def guarantee(self) -> Guarantee | None:
        if self.epsilon is None:
            return None
        return _refuted(
            self.epsilon,
            "a construction after the abstract, not the authors' rule; where ranks k and k+1 change places, sets "
            "of probability 0 get q₁(1−q₂)+q₂(1−q₁), qᵢ the drawn share of partition i "
            "(tests/refutations/test_ppns_assured.py)",
        )

    def counts(self, candidates: Candidates) -> Integers:
        """f(1), f(2), …: how many neighbors each partition gives, down to the last that gives one."""
        found = self._counts(Block.of(candidates))[0]
        return found[: np.flatnonzero(found).max(initial=-1) + 1]

    def least_alpha(self, candidates: Candidates) -> float:
        """Σ f(i)·sim(a, i·k): what the summed similarity of the neighbors is at least, in every draw."""
        found, falling = self.counts(candidates), -np.sort(-candidates.similarity)
        last = np.minimum(np.arange(1, found.size + 1) * self.k, falling.size) - 1
        return float(found @ falling[last])

    def _cuts(self, size: int) -> Sequence[int]:
        if self.p is None:
            return range(self.k, size, self.k)
        used = np.flatnonzero(self._counts_by_share(np.array([size]))[0]).max(initial=-1)
        return range(self.k, min(size, (int(used) + 1) * self.k + 1), self.k)

    def _draws(self, block: Block, ranks: Integers) -> Sequence[Draw]:
        weights, counts, partition = self._weights(block), self._counts(block), ranks // self.k
        return [
            (np.where(block.present & (partition == i), weights, -np.inf), counts[:, i])
            for i in np.flatnonzero(counts.any(axis=0)).tolist()
        ]

    def _choose(self, block: Block, ranks: Integers) -> Integers:
        """All partitions at once: who arrives first in each, as many as it gives."""
        rows, columns = ranks.shape
        if columns == 0:
            return np.full((rows, self.k), -1, dtype=np.int64)
        arrival = log_exponentials(ranks.shape) - self._weights(block)
        order = np.lexsort((arrival, np.where(block.present, ranks // self.k, columns)), axis=1)
        place = np.arange(columns)  # in the order: partition by partition, in each by arrival
        taken = place % self.k < self._counts(block)[:, place // self.k]
        first = np.argsort(~taken, axis=1, kind="stable")[:, : self.k]
        chosen = np.full((rows, self.k), -1, dtype=np.int64)
        found = np.take_along_axis(taken, first, axis=1)
        chosen[:, : first.shape[1]] = np.where(found, np.take_along_axis(order, first, axis=1), -1)
        return chosen

    def _weights(self, block: Block) -> Matrix:
        if self.epsilon is None:
            return np.zeros(block.similarity.shape)
        sensitivity = pair_sensitivity(block, self.rs)
        return log_exponential_weights(block, block.similarity, sensitivity, k=self.k, epsilon=float(self.epsilon))

    def _counts_by_share(self, sizes: Integers) -> Integers:
        assert self.p is not None
        return partition_counts(sizes, self.k, *as_fraction(self.p).as_integer_ratio())

    def _counts(self, block: Block) -> Integers:
        """How many neighbors each partition of each row gives."""
        sizes = block.sizes
        if self.p is not None:
            return self._counts_by_share(sizes)
        assert self.accuracy is not None
        falling = np.where(block.present, -np.sort(-np.where(block.present, block.similarity, -np.inf), axis=1), 0.0)
        required = self.accuracy * falling[:, : self.k].sum(axis=1)
        # A larger p takes from nearer partitions, so that the least alpha never falls; p = 1 is kNN.
        low, high = np.zeros(sizes.size, dtype=np.int64), np.full(sizes.size, THOUSANDTHS)
        while np.any(high - low > 1):
            middle = (low + high + 1) // 2
            counts = partition_counts(sizes, self.k, middle, THOUSANDTHS)
            enough = _least(falling, sizes, counts, self.k) >= required
            high, low = np.where(enough, middle, high), np.where(enough, low, np.minimum(middle, high - 1))
        return partition_counts(sizes, self.k, high, THOUSANDTHS)


def partition_counts(sizes: Integers, k: int, numerator: Integers | int, denominator: int) -> Integers:
    """⌈p·Rᵢ⌉ of each partition of size k of lists of these sizes, R the number still to be found; one row a list.

    What is left where a list ends is taken from its first partitions that have some left. Whole numbers throughout:
    ⌈0.1·30⌉ is 3, and 4 in floating point.

    Examples
    --------
    >>> [int((partition_counts(np.array([2000]), 50, p, 10) > 0).sum()) for p in (1, 3, 5, 7, 9)]
    [22, 9, 6, 4, 2]
    >>> partition_counts(np.array([9, 5]), 4, 1, 2).tolist()
    [[2, 1, 1], [3, 1, 0]]
    """
    partitions = -(-int(sizes.max(initial=0)) // k)
    members = np.clip(sizes[:, None] - k * np.arange(partitions), 0, k)
    counts, left = np.zeros(members.shape, dtype=np.int64), np.minimum(sizes, k).astype(np.int64)
    for share in (True, False):
        for i in range(partitions):
            if not left.any():
                return counts
            wanted = _rounded_up(numerator, left, denominator) if share else left
            given = np.minimum(wanted, members[:, i] - counts[:, i])
            counts[:, i] += given
            left = left - given
    return counts


def _rounded_up(numerator: Integers | int, left: Integers, denominator: int) -> Integers:
    """⌈left·numerator/denominator⌉, exactly; one fraction may have more digits than 64 bits hold."""
    if isinstance(numerator, int):
        return np.array([-(-numerator * n // denominator) for n in range(int(left.max()) + 1)], dtype=np.int64)[left]
    return -(-numerator * left // denominator)


def _least(falling: Matrix, sizes: Integers, counts: Integers, k: int) -> Vector:
    """The least summed similarity of so many from each partition: of its last members."""
    place = np.arange(falling.shape[1])
    partition = place // k
    members = np.clip(sizes[:, None] - k * partition, 0, k)
    return np.where(place % k >= members - counts[:, partition], falling, 0.0).sum(axis=1)
