"""Strategies without an epsilon: the nearest, anybody, and by similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.neighbors.selection.lists import Block, Candidates
from discreet.neighbors.selection.ranking import rankings, ranks_of
from discreet.neighbors.selection.strategies import RankedStrategy, WeightedStrategy
from discreet.neighbors.selection.wallenius import Law, manly_mean, sampling_law
from discreet.privacy.published_draws import first_arrivals, log_exponentials

__all__ = ["Nearest", "Probabilistic", "Uniform"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Nearest(RankedStrategy):
    """The k most similar candidates: kNN, without any privacy.

    Parameters
    ----------
    k
        How many neighbors.
    ties
        Who goes first among equals: "random", or "id" for the one that stands first in the list.

    Examples
    --------
    >>> Nearest(2).law(Candidates(np.array([0.9, 0.3, 0.3])))
    {(0, 1): 0.5, (0, 2): 0.5}
    """

    name: ClassVar[str] = "kNN"

    def reach(self, candidates: Candidates) -> int:
        return min(self.k, len(candidates))

    def _cuts(self, size: int) -> Sequence[int]:
        return [self.k]

    def _ranked_law(self, candidates: Candidates, ranking: Integers) -> Law:
        return {tuple(sorted(ranking[: self.k].tolist())): 1.0}

    def _ranked_inclusion(self, candidates: Candidates, ranking: Integers) -> Vector:
        return np.where(np.isin(np.arange(len(candidates)), ranking[: self.k]), 1.0, 0.0)

    def _ranked_choose(self, block: Block, ranking: Integers) -> Integers:
        return first_arrivals(np.where(block.present, ranks_of(ranking), np.inf), self.k)


@dataclass(frozen=True)
class Uniform(WeightedStrategy):
    """k candidates at random, whatever their similarity: the baseline that every private choice must beat.

    Parameters
    ----------
    k
        How many neighbors.

    Privacy
    -------
    No epsilon is stated. The choice looks at nothing but who is a candidate, but the weights of the chosen go into the
    prediction as they are.

    Notes
    -----
    Where the weights of an exponential mechanism are all but equal, this is what it does.
    """

    name: ClassVar[str] = "uniform"

    def _log_weights(self, block: Block) -> Matrix:
        return np.where(block.present, 0.0, -np.inf)


@dataclass(frozen=True)
class Probabilistic(RankedStrategy):
    """Probabilistic neighbor selection (nPNS): k rounds without replacement, weight = similarity.

    Parameters
    ----------
    k
        How many neighbors.
    beta
        Choose among the beta·k most similar only, as in Lu's comparisons; None for all candidates.
    floor
        The least weight. With 0, as published, candidates whose similarity is not above 0 are never chosen, and where
        fewer than k others are left there are fewer neighbors.
    ties
        Who is among the beta·k most similar, among equals.

    Privacy
    -------
    No epsilon was claimed, and none holds: a first common item takes a candidate from probability 0 to a
    third (``tests/refutations/test_npns.py``). With a floor τ over all candidates, a change of one candidate's
    similarity in [0, 1] costs at most k·ln(1/τ).

    References
    ----------
    P. Adamopoulos, A. Tuzhilin: On over-specialization and concentration bias of recommendations: probabilistic
    neighborhood selection in collaborative filtering systems. RecSys 2014.

    Examples
    --------
    >>> law = Probabilistic(1).law(Candidates(np.array([1.0, 0.9, 0.0])))
    >>> {chosen: round(p, 4) for chosen, p in law.items()}
    {(0,): 0.5263, (1,): 0.4737}
    """

    _: KW_ONLY
    beta: int | None = None
    floor: float = 0.0
    name: ClassVar[str] = "nPNS"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta is not None and self.beta < 1:
            raise UsageError(f"beta = {self.beta} must be a number of partitions from 1, or None.")
        if not 0 <= self.floor <= 1:
            raise UsageError(f"floor = {self.floor} must lie between 0 and 1.")

    def reach(self, candidates: Candidates) -> int:
        possible = len(candidates) if self.floor > 0 else int((candidates.similarity > 0).sum())
        return possible if self.beta is None else min(possible, self.beta * self.k)

    def _cuts(self, size: int) -> Sequence[int]:
        return [] if self.beta is None else [self.beta * self.k]

    def _ranked_law(self, candidates: Candidates, ranking: Integers) -> Law:
        return sampling_law(self._ranked_log_weights(Block.of(candidates), ranking[None, :])[0], self.k)

    def _ranked_inclusion(self, candidates: Candidates, ranking: Integers) -> Vector:
        log_weights = self._ranked_log_weights(Block.of(candidates), ranking[None, :])[0]
        return manly_mean(log_weights, np.ones(len(candidates)), self.k)

    def _choose(self, block: Block) -> Integers:
        # A ranking is needed only where the list is cut.
        return self._ranked_choose(block, None if self.beta is None else rankings(block, ties=self.ties))

    def _ranked_choose(self, block: Block, ranking: Integers | None) -> Integers:
        times = log_exponentials(block.similarity.shape) - self._ranked_log_weights(block, ranking)
        return first_arrivals(times, self.k)

    def _ranked_log_weights(self, block: Block, ranking: Integers | None) -> Matrix:
        with np.errstate(divide="ignore"):
            weights = np.log(np.maximum(block.similarity, self.floor))
        possible = block.present
        if self.beta is not None and ranking is not None:
            possible = possible & (ranks_of(ranking) < self.beta * self.k)
        return np.where(possible, weights, -np.inf)
