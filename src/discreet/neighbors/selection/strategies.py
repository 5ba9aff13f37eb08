"""The one interface of all strategies: choose, tell the law, perturb the weights, state the guarantee; the plain ones.

A strategy says in which draws by weight its neighbors are found; from that follow the choice in thousands of lists at
once, the exact law of one short list, and the chances in a long one. Outcomes are *sets*: sorted tuples of places in
the list. The order of the draws is not part of what anybody sees.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.common.arrays import Integers, Matrix, Vector
from discreet.errors import UsageError
from discreet.neighbors.selection.lists import (
    Block,
    CandidateLists,
    Candidates,
    Ties,
    count_splits,
    rankings,
    ranks_of,
    splits,
    tied_groups,
)
from discreet.neighbors.selection.wallenius import Law, manly_mean, sampling_law
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.published_draws import first_arrivals, laplace, log_exponentials

__all__ = ["Draw", "Nearest", "Probabilistic", "RankedStrategy", "SelectionStrategy", "Uniform", "alpha", "beta"]

Draw = tuple[Matrix, Integers]
"""Rounds without replacement, each by weight: logarithms of the weights (−∞ for never), and rounds of each list."""

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

    # What a strategy fills in

    @abstractmethod
    def _draws(self, block: Block, ranks: Integers) -> Sequence[Draw]:
        """The draws that give the neighbors of every row; nobody is in two of them.

        ``ranks`` are the places in the ranking, from 0; all 0 where the ranking is not cut.
        """

    def _cuts(self, size: int) -> Sequence[int]:
        """Ranks before which it matters on which side one stands; none where there is no ranking."""
        return ()

    def _ties(self) -> Ties:
        return "id"

    def _noise_scale(self, block: Block) -> Matrix:
        return np.zeros(block.similarity.shape)

    def guarantee(self) -> Guarantee | None:
        """What was claimed for one target, and what became of the claim; None where no epsilon was claimed."""
        return None

    @property
    def sensitivity_form(self) -> Literal["lemma", "exact"] | None:
        """Which RS of a pair the candidates must carry; None if none is needed."""
        return None

    # One list

    def choose(self, candidates: Candidates) -> Integers:
        """Draw once: places of the neighbors, at most k."""
        row = self.choose_many(CandidateLists.of([candidates]))[0]
        return row[row >= 0]

    def law(self, candidates: Candidates) -> Law:
        """Exact probability of each possible set of neighbors, as a sorted tuple of places; for short lists."""
        block, law = Block.of(candidates), Law()
        for ranking, share in splits(candidates, self._cuts(len(candidates)), ties=self._ties()):
            for chosen, probability in self._law(block, ranks_of(ranking[None, :])).items():
                law[chosen] = law.get(chosen, 0.0) + share * probability
        return law

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
        cuts = self._cuts(len(candidates))
        if exact is None:
            ways = count_splits(candidates, cuts, ties=self._ties())
            exact = ways * math.comb(len(candidates), min(self.k, len(candidates))) <= EXACT_OUTCOMES
        chances = np.zeros(len(candidates))
        if exact:
            for chosen, probability in self.law(candidates).items():
                chances[list(chosen)] += probability
            return chances
        chances = self._approximate_inclusion(*_ranked(candidates))
        if self._ties() == "random":
            # Equals on both sides of a cut take each other's place with equal chance.
            begin = 0
            for group in tied_groups(candidates):
                if any(begin < cut < begin + len(group) for cut in cuts):
                    chances[group] = chances[group].mean()
                begin += len(group)
        return chances

    def reach(self, candidates: Candidates) -> int:
        """How far down the ranking by similarity neighbors can be found: the last possible rank, from 1."""
        block, ranks = _ranked(candidates)
        possible = [ranks[0, weights[0] > -np.inf] for weights, rounds in self._draws(block, ranks) if rounds[0]]
        return int(np.concatenate([[-1], *possible]).max()) + 1

    def noise_scale(self, candidates: Candidates) -> Vector:
        """Scale of the Laplace noise on the weight of each candidate, if chosen; 0 where there is none."""
        return self._noise_scale(Block.of(candidates))[0]

    def weights(self, candidates: Candidates, chosen: Sequence[int] | Integers) -> Vector:
        """Draw the weights with which the chosen enter the prediction: their similarities, perturbed."""
        row = np.asarray(chosen, dtype=np.int64)[None, :]
        return self.weights_many(CandidateLists.of([candidates]), row)[0]

    # Many lists

    def choose_many(self, lists: CandidateLists) -> Integers:
        """Draw from every list: one row of k places a list, filled up with −1 where there are fewer neighbors."""
        chosen = np.full((len(lists), self.k), -1, dtype=np.int64)
        for rows, block in lists.blocks():
            chosen[rows] = self._choose(block, self._ranks(block))
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

    # What follows from the draws

    def _ranks(self, block: Block) -> Integers:
        if not self._cuts(block.similarity.shape[1]):
            return np.zeros(block.similarity.shape, dtype=np.int64)  # sorting thousands of lists would be for nothing
        return ranks_of(rankings(block, ties=self._ties()))

    def _choose(self, block: Block, ranks: Integers) -> Integers:
        taken = []
        for weights, rounds in self._draws(block, ranks):
            arrived = first_arrivals(log_exponentials(weights.shape) - weights, self.k)
            taken.append(np.where(np.arange(self.k) < rounds[:, None], arrived, -1))
        together = np.hstack(taken)
        return np.take_along_axis(together, np.argsort(together < 0, axis=1, kind="stable"), axis=1)[:, : self.k]

    def _law(self, block: Block, ranks: Integers) -> Law:
        """The law in a block of one list once the ties are broken."""
        law: Law = {(): 1.0}
        for weights, rounds in self._draws(block, ranks):
            further = sampling_law(weights[0], int(rounds[0]))
            law = {tuple(sorted((*a, *b))): p * q for a, p in law.items() for b, q in further.items()}
        return law

    def _approximate_inclusion(self, block: Block, ranks: Integers) -> Vector:
        """Chances of being chosen in a block of one long list once the ties are broken."""
        chances = np.zeros(ranks.shape[1])
        for weights, rounds in self._draws(block, ranks):
            chances += manly_mean(weights[0], np.ones(chances.size), int(rounds[0]))
        return chances


def _ranked(candidates: Candidates) -> tuple[Block, Integers]:
    block = Block.of(candidates)
    return block, ranks_of(rankings(block, ties="id"))


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

    def _ties(self) -> Ties:
        return self.ties


# Lu's two measures of a selection (thesis, section 3.5)


def alpha(strategy: SelectionStrategy, candidates: Candidates, *, exact: bool | None = None) -> float:
    """Expected summed similarity of the neighbors, Lu's equation 3.15: accuracy. Arguments as in ``inclusion``.

    Examples
    --------
    >>> films = Candidates(np.array([0.9, 0.6, 0.3]))
    >>> round(alpha(Nearest(2), films), 6), round(alpha(Uniform(2), films), 6)
    (1.5, 1.2)
    """
    return float(strategy.inclusion(candidates, exact=exact) @ candidates.similarity)


def beta(strategy: SelectionStrategy, candidates: Candidates) -> int:
    """Number of partitions of size k across which the neighbors are selected, down to the last that can give one.

    Notes
    -----
    Lu *means* it as the attacker's cost: to fill all partitions with sybils takes beta·k of them. It is no such
    cost, because an attacker need not fill them all; see ``PPNS``.
    """
    return -(-strategy.reach(candidates) // strategy.k)


# Strategies without an epsilon


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

    def _cuts(self, size: int) -> Sequence[int]:
        return [self.k]

    def _draws(self, block: Block, ranks: Integers) -> Sequence[Draw]:
        return [(np.where(block.present & (ranks < self.k), 0.0, -np.inf), np.full(ranks.shape[0], self.k))]

    def _choose(self, block: Block, ranks: Integers) -> Integers:
        return first_arrivals(np.where(block.present, ranks, np.inf), self.k)  # best first, nothing is drawn


@dataclass(frozen=True)
class Uniform(SelectionStrategy):
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

    def _draws(self, block: Block, ranks: Integers) -> Sequence[Draw]:
        return [(np.where(block.present, 0.0, -np.inf), np.full(ranks.shape[0], self.k))]


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

    def _cuts(self, size: int) -> Sequence[int]:
        return [] if self.beta is None else [self.beta * self.k]

    def _draws(self, block: Block, ranks: Integers) -> Sequence[Draw]:
        with np.errstate(divide="ignore"):
            weights = np.log(np.maximum(block.similarity, self.floor))
        possible = block.present if self.beta is None else block.present & (ranks < self.beta * self.k)
        return [(np.where(possible, weights, -np.inf), np.full(ranks.shape[0], self.k))]
