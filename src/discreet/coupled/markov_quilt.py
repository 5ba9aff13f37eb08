"""The Markov quilt mechanism: rows of a chain, of which the far ones learn little of the near ones.

References
----------
S. Song, Y. Wang, K. Chaudhuri: Pufferfish privacy mechanisms for correlated data. SIGMOD 2017 (Section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.product_workload import ProductWorkload
from discreet.coupled.pufferfish import PufferfishCount
from discreet.coupled.workload import Workload
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.numbers import Rational, as_fraction, as_positive, round_up

__all__ = ["MarkovChain", "MarkovQuiltCount", "Quilt"]

Floats = NDArray[np.float64]

MOST_LENGTH = 100_000
LEAST_PROBABILITY = 1e-250


@dataclass(frozen=True)
class MarkovChain:
    """A public law of a chain: where it begins and how it goes on.

    Parameters
    ----------
    initial
        Probability of each state at the first row.
    transition
        Row x: probabilities of the next state after state x. All add up to 1, exactly.

    Examples
    --------
    >>> chain = MarkovChain.of([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]])
    >>> [round(chain.influence(before, after, place=50), 3) for before, after in ((1, 1), (10, 10))]
    [4.394, 0.431]
    """

    initial: tuple[Fraction, ...]
    transition: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(cls, initial: Sequence[Rational], transition: Sequence[Sequence[Rational]]) -> MarkovChain:
        begins = tuple(as_fraction(p, "probability") for p in initial)
        moves = tuple(tuple(as_fraction(p, "probability") for p in row) for row in transition)
        if not begins or len(moves) != len(begins) or any(len(row) != len(begins) for row in moves):
            raise UsageError(f"{len(begins)} states do not have {len(moves)} rows of transitions.")
        for row in (begins, *moves):
            if sum(row) != 1 or min(row) < 0:
                raise UsageError(
                    f"the probabilities {[float(p) for p in row]} are not from 0 or do not add up to 1.",
                    remedy='Give exact ones: "1/3" instead of 0.333.',
                )
        return cls(begins, moves)

    @property
    def states(self) -> int:
        return len(self.initial)

    def influence(self, before: int, after: int, *, place: int) -> float:
        """Max-influence of a row on the rows ``before`` and ``after`` steps away (0: none on that side).

        The largest log-ratio of the laws of these two rows given two values of the row at ``place`` (from 0).
        """
        return float(self.influences(place, before, after)[before, after])

    def influences(self, place: int, before: int, after: int) -> Floats:
        """Max-influences of one row for all quilts up to so many steps before and after it."""
        # Given the row itself, what was before is independent of what comes after.
        both = self._backward(place, before)[:, None] + self._forward(after)[None, :]
        possible = np.flatnonzero(self._reached(place))
        return both[:, :, possible[:, None], possible].max(axis=(2, 3))

    # Numbers are sums and products of numbers from 0, so relative errors stay small (``_margin``). What is possible at
    # all is worked out without numbers.

    @cached_property
    def _floats(self) -> Floats:
        return np.array([[float(p) for p in row] for row in self.transition])

    @cached_property
    def _seen(self) -> dict[str, list[NDArray[Any]]]:
        begin = np.array([float(p) for p in self.initial])
        unit = np.eye(self.states)
        return {"powers": [unit], "paths": [unit > 0], "laws": [begin], "reached": [begin > 0]}

    def _walk(self, what: str, steps: int) -> list[NDArray[Any]]:
        """Powers of the matrix, or laws of the rows, from 0 to so many steps; of numbers or of what is possible."""
        walked = self._seen[what]
        step = self._floats if what in ("powers", "laws") else self._floats > 0
        if len(walked) <= steps:
            # A list of its own, put in place when it is done: others may be walking, too.
            walked = list(walked)
            while len(walked) <= steps:
                walked.append(walked[-1] @ step)
            self._seen[what] = walked
        return walked[: steps + 1]

    def _reached(self, place: int) -> NDArray[np.bool_]:
        return self._walk("reached", place)[place]

    def _margin(self, steps: int) -> float:
        """More than what rounding can do to the logarithm of a ratio after so many steps."""
        return 8 * (steps + 2) * (self.states + 2) * 2.0**-52

    def _forward(self, most: int) -> Floats:
        """max over y of ln Pr[y | x]/Pr[y | x′] of the row 1, 2, … steps on, for each x and x′; 0 for no row."""
        ratios = _worst_ratio(np.stack(self._walk("powers", most)), np.stack(self._walk("paths", most)))
        ratios += self._margin(most)
        ratios[0] = 0.0
        return ratios

    def _backward(self, place: int, most: int) -> Floats:
        """The same for rows before the one at ``place``."""
        powers, paths = np.stack(self._walk("powers", most)), np.stack(self._walk("paths", most))
        laws = np.stack(self._walk("laws", place)[place - most :][::-1])
        reached = np.stack(self._walk("reached", place)[place - most :][::-1])
        # Pr[z before | x here] = Pr[z]·Pr[x after z] / Σ over z of the same.
        joint, possible = laws[:, :, None] * powers, reached[:, :, None] & paths
        totals = joint.sum(axis=1, keepdims=True)
        given = np.divide(joint, totals, out=np.zeros_like(joint), where=totals > 0)
        # Products near the smallest float have lost their digits: they count as too small to be known.
        given[possible & (joint < LEAST_PROBABILITY)] = 0.0
        ratios = _worst_ratio(given.transpose(0, 2, 1), possible.transpose(0, 2, 1)) + self._margin(2 * place + most)
        ratios[0] = 0.0
        return ratios


@dataclass(frozen=True)
class Quilt:
    """Two rows, or one, or none, that separate the near rows from the far ones.

    Parameters
    ----------
    before, after
        How many steps away they are; 0 where there is none on that side.
    near
        How many rows they enclose.
    influence
        Max-influence of the row in the middle on them.
    """

    before: int
    after: int
    near: int
    influence: float


@dataclass(frozen=True)
class MarkovQuiltCount(PufferfishCount):
    """One query on rows that form Markov chains, one chain a group, in the order of the table.

    Parameters
    ----------
    epsilon
        The budget; from ``of`` any number.
    chains
        The class of laws of a chain.
    reach
        How many steps away a quilt is looked for.

    Privacy
    -------
    Secrets: the state of one row against any other state. Class: each of the given chains, independently for each
    group. For a row with a quilt that encloses ``near`` rows and on which it has max-influence e < ε, noise of scale
    near/(ε − e) is enough; each row takes its best quilt, and the worst row decides. PROVED,
    ``docs/proofs/query_strategies.md``, Theorem 5.

    Examples
    --------
    >>> from discreet.coupled import queries_from_json
    >>> days = {"asleep": ["no", "yes"] * 500, "person": [0] * 1000}
    >>> table = Table(days, domains={"asleep": ["no", "yes"]}, group="person")
    >>> method = MarkovQuiltCount.of([MarkovChain.of([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]])], epsilon=1)
    >>> round(method.estimate(table, queries_from_json(table, [{"asleep": "yes"}]))["distance"], 1)
    6.7
    """

    chains: tuple[MarkovChain, ...] = ()
    reach: int = 64
    name: ClassVar[str] = "markov-quilt"

    @classmethod
    def of(cls, chains: Sequence[MarkovChain], *, epsilon: Rational, reach: int = 64) -> MarkovQuiltCount:
        if not chains or len({chain.states for chain in chains}) > 1:
            raise UsageError("a class of chains needs at least one, all over the same states.")
        if isinstance(reach, bool) or not isinstance(reach, int) or not 1 <= reach <= 1024:
            raise UsageError(f"reach = {reach!r} must be a whole number from 1 to 1,024.")
        return cls(as_positive(epsilon, "epsilon"), tuple(chains), reach)

    @property
    def parameters(self) -> dict[str, Any]:
        return {**super().parameters, "reach": self.reach}

    def quilts(self, length: int) -> list[Quilt]:
        """The best quilt of each row of a chain of this length, over all laws of the class."""
        if not 1 <= length <= MOST_LENGTH:
            raise UsageError(f"a chain of {length:,} rows?", remedy=f"Give 1 to {MOST_LENGTH:,}.")
        return [self._best(place, length) for place in range(length)]

    def distance(self, sizes: Mapping[int, int]) -> Fraction:
        # A hair more than any rounding of the quotient.
        return round_up(max(1.0, *(_distance(self, length) for length in sizes)) * (1 + 1e-9))

    def _best(self, place: int, length: int) -> Quilt:
        """Of all quilts within reach the one that needs the least noise; the whole chain needs no quilt at all."""
        most_before, most_after = min(place, self.reach), min(length - 1 - place, self.reach)
        influence = np.max([chain.influences(place, most_before, most_after) for chain in self.chains], axis=0)
        before, after = np.arange(most_before + 1)[:, None], np.arange(most_after + 1)[None, :]
        first = np.where(before > 0, place - before + 1, 0)
        last = np.where(after > 0, place + after - 1, length - 1)
        near = last - first + 1
        left = float(self.epsilon) - influence
        scale = np.divide(near, left, out=np.full(left.shape, np.inf), where=left > 0)
        best = np.unravel_index(np.argmin(scale), scale.shape)
        return Quilt(int(best[0]), int(best[1]), int(near[best]), float(influence[best]))

    def _check(self, table: Table, workload: Workload) -> None:
        asked = workload.choices(0) if isinstance(workload, ProductWorkload) else {}
        if len(asked) != 1 or not isinstance(workload, ProductWorkload):
            raise UsageError("a chain is about the values of one attribute.", remedy="Ask a query of one attribute.")
        (attribute,) = asked
        if table.domains[attribute].size != self.chains[0].states:
            raise UsageError(
                f"the chains have {self.chains[0].states} states, {attribute!r} has "
                f"{table.domains[attribute].size} values.",
                remedy="Give chains over the values of the attribute, in their order.",
            )

    def _basis(self) -> str:
        return (
            f"{self._stated()}: Markov quilt mechanism, docs/proofs/query_strategies.md, Theorem 5; secrets: the state "
            f"of a row; class: {len(self.chains)} given Markov chain{'s'[: len(self.chains) > 1]}, one chain a group"
        )


@lru_cache(maxsize=64)
def _distance(method: MarkovQuiltCount, length: int) -> float:
    """near·ε/(ε − e) of the row that needs the most noise."""
    epsilon = float(method.epsilon)
    return max(quilt.near * epsilon / (epsilon - quilt.influence) for quilt in method.quilts(length))


def _worst_ratio(laws: Floats, possible: NDArray[np.bool_]) -> Floats:
    """max over outcomes of ln laws[…, x, y]/laws[…, x′, y] for each x and x′; outcomes that x cannot have do not count.

    A probability that is too small for a float makes the ratio infinite, which rules a quilt out and is always safe.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(laws)
        ratios = logs[..., :, None, :] - logs[..., None, :, :]
    too_small = possible & (laws < LEAST_PROBABILITY)
    unknown = too_small[..., :, None, :] | too_small[..., None, :, :]
    ratios = np.where(unknown, np.inf, np.where(possible[..., :, None, :], ratios, -np.inf))
    worst = ratios.max(axis=-1)
    # A state x without any possible outcome is no secret; any number will do for it.
    return np.where(np.isneginf(worst), 0.0, worst)
