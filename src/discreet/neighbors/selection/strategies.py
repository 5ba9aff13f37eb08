"""The one interface of all strategies: choose, tell the law, perturb the weights, state the guarantee.

Every strategy can draw from thousands of lists at once and tell the exact law of one short list. Outcomes are *sets*:
sorted tuples of places in the list. The order of the rounds is not part of what anybody sees.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.neighbors.selection.lists import Block, CandidateLists, Candidates
from discreet.neighbors.selection.ranking import Ties, count_splits, rankings, splits, tied_groups
from discreet.neighbors.selection.wallenius import Law, manly_mean, sampling_law
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.published_draws import first_arrivals, laplace, log_exponentials

__all__ = ["RankedStrategy", "SelectionStrategy", "WeightedStrategy"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]

# Up to so many outcomes, chances of being chosen are computed through the exact law.
EXACT_OUTCOMES = 5_000


@dataclass(frozen=True)
class SelectionStrategy(ABC):
    """How the neighbors of a target are chosen among its candidates.

    Parameters
    ----------
    k
        How many neighbors; all candidates where there are no more.
    """

    k: int
    name: ClassVar[str]

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1:
            raise UsageError(f"k = {self.k!r} must be a whole number from 1.")

    # One list

    def choose(self, candidates: Candidates) -> Integers:
        """Draw once: places of the neighbors, at most k."""
        row = self.choose_many(CandidateLists.of([candidates]))[0]
        return row[row >= 0]

    @abstractmethod
    def law(self, candidates: Candidates) -> Law:
        """Exact probability of each possible set of neighbors, as a sorted tuple of places; for short lists."""

    def inclusion(self, candidates: Candidates, *, exact: bool | None = None) -> Vector:
        """Chance of each candidate to be among the neighbors.

        Parameters
        ----------
        candidates
            One list.
        exact
            True: through the exact law, refused for long lists. False: by Manly's approximation. None: as the length
            of the list allows.
        """
        if exact is None:
            exact = self._outcomes(candidates) <= EXACT_OUTCOMES
        if not exact:
            return self._approximate_inclusion(candidates)
        chances = np.zeros(len(candidates))
        for chosen, probability in self.law(candidates).items():
            chances[list(chosen)] += probability
        return chances

    @abstractmethod
    def reach(self, candidates: Candidates) -> int:
        """How far down the ranking by similarity neighbors can be found: the last possible rank, from 1."""

    def noise_scale(self, candidates: Candidates) -> Vector:
        """Scale of the Laplace noise on the weight of each candidate, if chosen; 0 where there is none."""
        return self._noise_scale(Block.of(candidates))[0]

    def weights(self, candidates: Candidates, chosen: Sequence[int] | Integers) -> Vector:
        """Draw the weights with which the chosen enter the prediction: their similarities, perturbed."""
        row = np.asarray(chosen, dtype=np.int64)[None, :]
        return self.weights_many(CandidateLists.of([candidates]), row)[0]

    def guarantee(self) -> Guarantee | None:
        """What was claimed for one target, and what became of the claim; None where no epsilon was claimed."""
        return None

    @property
    def sensitivity_form(self) -> Literal["lemma", "exact"] | None:
        """Which RS of a pair the candidates must carry; None if none is needed."""
        return None

    # Many lists

    def choose_many(self, lists: CandidateLists) -> Integers:
        """Draw from every list: one row of k places a list, filled up with −1 where there are fewer neighbors."""
        chosen = np.full((len(lists), self.k), -1, dtype=np.int64)
        for rows, block in lists.blocks():
            chosen[rows] = self._choose(block)
        return chosen

    def weights_many(self, lists: CandidateLists, chosen: Integers) -> Matrix:
        """Draw the perturbed weights of what ``choose_many`` chose; 0 where it says −1."""
        weights = np.zeros(chosen.shape)
        for rows, block in lists.blocks():
            if block.similarity.shape[1] == 0:
                continue
            taken = chosen[rows]
            places = np.maximum(taken, 0)
            similarity = np.take_along_axis(block.similarity, places, axis=1)
            scale = np.take_along_axis(self._noise_scale(block), places, axis=1)
            noisy = similarity + laplace(scale) if np.any(scale > 0) else similarity
            weights[rows] = np.where(taken >= 0, noisy, 0.0)
        return weights

    # What a strategy fills in

    @abstractmethod
    def _choose(self, block: Block) -> Integers:
        """Draw from every row."""

    @abstractmethod
    def _approximate_inclusion(self, candidates: Candidates) -> Vector:
        """Chances of being chosen in a long list."""

    def _noise_scale(self, block: Block) -> Matrix:
        return np.zeros(block.similarity.shape)

    def _outcomes(self, candidates: Candidates) -> int:
        """About how long the exact law is."""
        return math.comb(len(candidates), min(self.k, len(candidates)))


@dataclass(frozen=True)
class WeightedStrategy(SelectionStrategy):
    """k rounds without replacement, in each one candidate with probability proportional to its weight."""

    def log_weights(self, candidates: Candidates) -> Vector:
        """Logarithm of each candidate's weight; −∞ for one that is never chosen."""
        return self._log_weights(Block.of(candidates))[0]

    def law(self, candidates: Candidates) -> Law:
        return sampling_law(self.log_weights(candidates), self.k)

    def reach(self, candidates: Candidates) -> int:
        order = rankings(Block.of(candidates), ties="id")[0]
        possible = np.flatnonzero(self.log_weights(candidates)[order] > -np.inf)
        return int(possible[-1]) + 1 if possible.size else 0

    @abstractmethod
    def _log_weights(self, block: Block) -> Matrix:
        """Logarithms of the weights of a block; −∞ where nobody is present."""

    def _choose(self, block: Block) -> Integers:
        return first_arrivals(log_exponentials(block.similarity.shape) - self._log_weights(block), self.k)

    def _approximate_inclusion(self, candidates: Candidates) -> Vector:
        return manly_mean(self.log_weights(candidates), np.ones(len(candidates)), self.k)


@dataclass(frozen=True)
class RankedStrategy(SelectionStrategy):
    """Choice by place in the ranking; with random ties the law is a mixture over the rankings.

    Parameters
    ----------
    ties
        Who goes first among equals: "random", or "id" for the one that stands first in the list.
    """

    _: KW_ONLY
    ties: Ties = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties not in ("random", "id"):
            raise UsageError(f"ties = {self.ties!r} is not known.", remedy='Use "random" or "id".')

    def law(self, candidates: Candidates) -> Law:
        law: Law = {}
        for ranking, share in splits(candidates, self._cuts(len(candidates)), ties=self.ties):
            for chosen, probability in self._ranked_law(candidates, ranking).items():
                law[chosen] = law.get(chosen, 0.0) + share * probability
        return law

    @abstractmethod
    def _cuts(self, size: int) -> Sequence[int]:
        """Ranks before which it matters on which side one stands."""

    @abstractmethod
    def _ranked_law(self, candidates: Candidates, ranking: Integers) -> Law:
        """The law once the ties are broken."""

    @abstractmethod
    def _ranked_inclusion(self, candidates: Candidates, ranking: Integers) -> Vector:
        """Chances of being chosen in a long list once the ties are broken."""

    @abstractmethod
    def _ranked_choose(self, block: Block, ranking: Integers) -> Integers:
        """Draw once the ties are broken."""

    def _choose(self, block: Block) -> Integers:
        return self._ranked_choose(block, rankings(block, ties=self.ties))

    def _approximate_inclusion(self, candidates: Candidates) -> Vector:
        chances = self._ranked_inclusion(candidates, rankings(Block.of(candidates), ties="id")[0])
        if self.ties == "random":
            # Equals on both sides of a cut take each other's place with equal chance.
            begin = 0
            for group in tied_groups(candidates):
                if any(begin < cut < begin + len(group) for cut in self._cuts(len(candidates))):
                    chances[group] = chances[group].mean()
                begin += len(group)
        return chances

    def _outcomes(self, candidates: Candidates) -> int:
        return super()._outcomes(candidates) * count_splits(candidates, self._cuts(len(candidates)), ties=self.ties)
