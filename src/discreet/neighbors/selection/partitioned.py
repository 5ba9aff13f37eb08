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
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

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
from discreet.neighbors.selection.wallenius import manly_mean
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.units import Unit

__all__ = ["PPNS", "AssuredPPNS"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]

# Beyond e^−60 a partition's weight makes no difference that a float could show.
STEEPEST = 60.0


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
        return Guarantee(
            loss=Pure(as_positive(self.epsilon)),
            unit=Unit("record", "replace"),
            standing=Standing.REFUTED,
            basis=(
                "where ranks k and k+1 change places, sets of probability 0 get (1−1/k)²+1/k² "
                "(tests/refutations/test_ppns.py)"
            ),
            subject="the neighbors of one target",
            not_covered=("the weights, which are not perturbed", "the ratings of the neighbors"),
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
    """Neighbors from every partition, the deeper the less likely, as evenly as a required accuracy allows.

    Parameters
    ----------
    k
        How many neighbors, and the size of a partition.
    accuracy
        What share of the kNN's alpha, the summed similarity of the k nearest, must be kept in expectation: above 0, at
        most 1, which leaves kNN.
    ties
        Who goes first among equals in the ranking.

    Privacy
    -------
    No epsilon is claimed and none holds: θ and the partitions depend on the records.

    Notes
    -----
    This is our construction. The chapter that defines the algorithm is missing from the copy of the thesis we have. Its
    summary says that neighbors are selected from each exclusive partition of size k with decreasing probability, so
    that a required accuracy alpha is ensured. We *assume* a geometric decrease: k rounds without replacement in which
    each member of partition i has weight θ^(i−1). The members of a partition are thus one category of Wallenius' law,
    the tool of the thesis' third chapter. θ is the largest number up to 1 for which alpha, by Manly's approximation,
    is what is required; θ = 1 is the uniform choice and θ → 0 is kNN. The original may differ in the form of the
    decrease; what the summary says is all we can vouch for.
    """

    _: KW_ONLY
    accuracy: float
    name: ClassVar[str] = "accuracy-assured PPNS"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.accuracy <= 1:
            raise UsageError(f"accuracy = {self.accuracy} must be above 0 and at most 1.")

    def theta(self, candidates: Candidates) -> float:
        """How much less a member of the next partition weighs."""
        return float(np.exp(-self._steepness(Block.of(candidates))[0]))

    def _cuts(self, size: int) -> Sequence[int]:
        return range(self.k, size, self.k)

    def _draws(self, block: Block, ranks: Integers) -> Sequence[Draw]:
        partition = ranks // self.k
        with np.errstate(invalid="ignore"):  # ∞·0 in the first partition
            weights = np.where(partition == 0, 0.0, -self._steepness(block)[:, None] * partition)
        return [(np.where(block.present, weights, -np.inf), np.full(ranks.shape[0], self.k))]

    def _steepness(self, block: Block) -> Vector:
        """−ln θ of every row: the least that keeps the accuracy, by halving; ∞ where only kNN does."""
        sums, counts = self._partition_sums(block)
        if sums.shape[1] == 0:
            return np.zeros(sums.shape[0])
        required = self.accuracy * sums[:, 0]
        low, high = np.zeros(required.size), np.full(required.size, STEEPEST)
        even = self._alpha(low, sums, counts) >= required
        attainable = (self._alpha(high, sums, counts) >= required) & (self.accuracy < 1)
        for _ in range(26):
            middle = (low + high) / 2
            enough = self._alpha(middle, sums, counts) >= required
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        return np.where(even, 0.0, np.where(attainable, high, np.inf))

    def _partition_sums(self, block: Block) -> tuple[Matrix, Matrix]:
        """Summed similarity and number of members of every partition of every row."""
        rows, columns = block.similarity.shape
        partitions = -(-columns // self.k)
        ordered = np.zeros((rows, partitions * self.k))
        ordered[:, :columns] = np.where(block.present, -np.sort(-block.similarity, axis=1), 0.0)
        # Those present stand in front in a block, and the sorted similarities do as well.
        counts = np.zeros((rows, partitions * self.k))
        counts[:, :columns] = block.present
        shape = (rows, partitions, self.k)
        return ordered.reshape(shape).sum(axis=2), counts.reshape(shape).sum(axis=2)

    def _alpha(self, steepness: Vector, sums: Matrix, counts: Matrix) -> Vector:
        """Expected summed similarity: every member of a partition is chosen with the same chance."""
        log_weights = -steepness[:, None] * np.arange(sums.shape[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            chances = np.where(counts > 0, manly_mean(log_weights, counts, self.k) / counts, 0.0)
        return (sums * chances).sum(axis=1)
