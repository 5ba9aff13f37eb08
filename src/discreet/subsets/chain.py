"""The birth-death chain that was published for drawing a private top-k set, with its exact distributions.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. 2011,
section 4.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.errors import UsageError
from discreet.privacy.charging import require_allowed
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.published_draws import uniforms
from discreet.privacy.units import Unit

__all__ = ["BirthDeathChain", "States", "Uniforms", "all_states", "printed_swap", "swap", "window_states"]

Uniforms = Callable[[int], Floats]
"""Returns a given number of independent numbers between 0 and 1."""

MOST_STATES = 10**6
"""The largest number of subsets that are listed."""

AT_ONCE = 2**20
DIRECT_WORK = 10**9
"""Steps × states up to which distributions are computed step by step; beyond, from the spectrum of the chain."""


@dataclass(frozen=True)
class BirthDeathChain:
    """k items of a completed row, by a chain that moves up and down a list of sets, one place at a time.

    Parameters
    ----------
    k
        Number of items.
    epsilon
        The epsilon of the paper: rates of the chain are (φ′/φ)^(ε/2), with φ = exp(Σ ratings/U_r) (eq. 31).
    top_rating
        U_r, the largest possible rating.
    time_step
        Δt: a move has probability rate·Δt (eq. 34). The paper takes 1/20, and 10⁻⁸ where ε = 100.
    steps
        Number of steps before the set is read.
    left, right
        The windows N₁ and N₂ of the list of sets; None for both lists *all* sets, for short rows.
    strict
        Whether to refuse a time step for which the probability of leaving a state is above 1 (eq. 36). Otherwise a run
        leaves such a state at every step, in the right proportions; no exact distribution is given for that.

    Privacy
    -------
    REFUTED. The paper claims ε for one entry of the row. (1) The list of sets depends on the true top-k: some sets are
    possible for one row and impossible for its neighbor. (2) From the true top-k, n steps reach only n sets: even on
    the list of all sets the loss is infinite at first and stays far above ε for many steps. Numbers:
    ``tests/refutations/test_subsets.py``. The proved alternative is :class:`~discreet.subsets.KSubset`.

    Notes
    -----
    The index formulas of section 4.4 are wrong as printed; the sets are those that its text describes
    (:func:`~discreet.subsets.chain.swap`). The limit of the chain is φ^ε (eq. 32), not the φ^(ε/2) of eq. 28.

    Examples
    --------
    >>> chain = BirthDeathChain(2, epsilon=1, left=2, right=2)
    >>> law = chain.law(np.array([5.0, 4.0, 3.0, 2.0]))
    >>> len(law), (2, 3) in law, round(law[0, 1], 4)
    (5, False, 0.2697)
    """

    k: int = 10
    epsilon: Rational = 1
    top_rating: float = 5.0
    time_step: float = 1 / 20
    steps: int = 100_000
    left: int | None = 2
    right: int | None = 3
    strict: bool = True
    name: ClassVar[str] = "birth-death chain"

    def guarantee(self) -> Guarantee:
        """The published claim, and its standing."""
        return Guarantee(
            loss=Pure(as_positive(self.epsilon, "epsilon")),
            unit=Unit("score", "value"),
            standing=Standing.REFUTED,
            basis=(
                "sets of probability 0 get 0.18, or 0.87 in all, when one entry changes; a chain of finite length "
                "loses more than ε (tests/refutations/test_subsets.py)"
            ),
            subject=f"a set of {self.k} items",
            not_covered=("the ratings that the row was completed from",),
        )

    def states(self, ratings: Floats) -> States:
        """The list of sets that the chain moves through."""
        row = np.asarray(ratings, dtype=np.float64)
        if self.left is None or self.right is None:
            return all_states(row, self.k)
        return window_states(row, self.k, self.left, self.right)

    # Distributions

    def law(self, ratings: Floats, *, exponent: float = 1.0) -> dict[tuple[int, ...], float]:
        """The limit distribution of the chain: φ^(ε·exponent) over its sets. exponent = 1/2 is that of eq. 28."""
        states = self.states(ratings)
        return dict(zip(states.sets(), self.limit(states, exponent=exponent).tolist(), strict=True))

    def limit(self, states: States, *, exponent: float = 1.0) -> Floats:
        """The same as an array over the states."""
        return _softmax(exponent * self._slope * states.totals)

    def law_after(self, states: States, steps: int | None = None) -> Floats:
        """The exact distribution of the set after a number of steps."""
        return self.laws_after(states, [self.steps if steps is None else steps])[0]

    def laws_after(self, states: States, steps: Sequence[int]) -> list[Floats]:
        """The same for several numbers of steps."""
        if any(n < 0 for n in steps):
            raise UsageError(f"steps must be at least 0, got {min(steps)}.")
        up, down = self.moves(states)
        spectrum = None
        laws = []
        for n in steps:
            if n * len(states) <= DIRECT_WORK:
                laws.append(_step_by_step(up, down, n))
            else:
                spectrum = spectrum or _by_spectrum(up, down, self.limit(states))
                laws.append(spectrum(n))
        return laws

    def moves(self, states: States) -> tuple[Floats, Floats]:
        """Probabilities of going one place up the list, and down, from each state (eq. 34)."""
        up, down = self._log_moves(states)
        leaving = np.exp(min(float(np.logaddexp(up, down).max()), 700.0))
        if leaving > 1:
            raise UsageError(
                f"with a time step of {self.time_step:g} a state would be left with probability {leaving:.3g}.",
                remedy="Equation 36 asks for a smaller time_step or epsilon; for runs there is strict=False.",
            )
        return np.exp(up), np.exp(down)

    def _log_moves(self, states: States) -> tuple[Floats, Floats]:
        if not self.time_step > 0:
            raise UsageError(f"time_step must be above 0, for example 1/20, got {self.time_step}.")
        change = self._slope / 2 * np.diff(states.totals)
        up, down = np.full(len(states), -np.inf), np.full(len(states), -np.inf)
        up[:-1], down[1:] = change + math.log(self.time_step), math.log(self.time_step) - change
        return up, down

    def _run_moves(self, states: States) -> tuple[Floats, Floats]:
        if self.strict:
            return self.moves(states)
        up, down = self._log_moves(states)
        beyond = np.maximum(np.logaddexp(up, down), 0.0)
        return np.exp(up - beyond), np.exp(down - beyond)

    # Runs

    def choose(self, ratings: Floats, *, allow_refuted: bool = False, source: Uniforms | None = None) -> Integers:
        """The set that one run of the chain ends in, its items ascending."""
        require_allowed(self.guarantee(), allow_refuted=allow_refuted)
        states = self.states(ratings)
        return states.members[self._run(states, self.steps, source)[0]]

    def occupation(self, states: States, *, steps: int | None = None, source: Uniforms | None = None) -> Integers:
        """How often one run is in each state: the sampled distribution of Figure 4."""
        return self._run(states, self.steps if steps is None else steps, source)[1]

    def _run(self, states: States, steps: int, source: Uniforms | None) -> tuple[int, Integers]:
        """Where a run ends, and how often it was in each state."""
        from discreet.subsets.chain_kernels import walk

        up, down = self._run_moves(states)
        draw = source or (lambda n: uniforms((n,)))
        state, visits = 0, np.zeros(len(states), dtype=np.int64)
        for begin in range(0, steps, AT_ONCE):
            state = walk(up, down, draw(min(AT_ONCE, steps - begin)), visits, state)
        return state, visits

    @property
    def _slope(self) -> float:
        """The factor of a total of ratings: ε/U_r."""
        if not self.top_rating > 0:
            raise UsageError(f"top_rating must be above 0, got {self.top_rating}.")
        return float(as_positive(self.epsilon, "epsilon")) / self.top_rating


def _softmax(exponents: Floats) -> Floats:
    weights = np.exp(exponents - exponents.max())
    return weights / weights.sum()


def _step_by_step(up: Floats, down: Floats, steps: int) -> Floats:
    from discreet.subsets.chain_kernels import evolve

    law = np.zeros(up.size)
    law[0] = 1.0
    evolve(up, down, law, steps)
    return law


def _by_spectrum(up: Floats, down: Floats, limit: Floats) -> Callable[[int], Floats]:
    """Distributions after many steps from state 0: a reversible chain is similar to a symmetric matrix.

    With D = diag(√π), D·P·D⁻¹ is symmetric and tridiagonal. The first state is the most likely one, so that no
    entry of a result is multiplied with more than 1.
    """
    from scipy.linalg import eigh_tridiagonal

    values, vectors = eigh_tridiagonal(1 - up - down, np.sqrt(up[:-1] * down[1:]))
    values, scale = np.clip(values, -1, 1), np.sqrt(limit / limit[0])
    return lambda steps: np.maximum(scale * (vectors @ (vectors[0] * values**steps)), 0.0)


# The sets that the chain moves through, in their order (section 4.4)


@dataclass(frozen=True, eq=False)
class States:
    """Sets of k items in the order of a chain.

    Parameters
    ----------
    members
        Sets × k: the items of each, ascending.
    totals
        The sum of the ratings of each.
    """

    members: Integers
    totals: Floats

    def __len__(self) -> int:
        return self.totals.size

    def sets(self) -> Iterator[tuple[int, ...]]:
        """The sets, one after the other."""
        return (tuple(row) for row in self.members.tolist())


def swap(j: int, left: int, right: int) -> tuple[int, int]:
    """The item that set number j + 1 leaves out, and the one it has instead, counted from rank k to either side.

    The first is 1 for the k-th best item, the second 1 for the best item that is not among the k. This follows the text
    of the paper: a window of ``left`` ranks and one of ``right`` ranks, the latter moving on after ``left·right`` sets.

    Examples
    --------
    >>> [swap(j, 2, 3) for j in range(7)]
    [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (1, 4)]
    """
    return j // right % left + 1, j // (left * right) * right + j % right + 1


def printed_swap(j: int, left: int, right: int) -> tuple[int, int]:
    """The same by the formulas as printed, j from 1: they repeat pairs and leave the windows.

    Examples
    --------
    >>> [printed_swap(j, 2, 3) for j in range(1, 8)]
    [(1, 1), (1, 2), (1, 2), (1, 3), (1, 4), (1, 4), (2, 8)]
    """
    block = (j - 1) // right + 1
    return block - block // left, (j - 1) // (left * right) * right + j - j // right


def window_states(ratings: Floats, k: int, left: int, right: int) -> States:
    """The k best and every set that exchanges one of them, window after window.

    Parameters
    ----------
    ratings
        One user's completed row.
    k
        Number of items of a set.
    left, right
        Sizes of the windows (N₁ and N₂): how many of the k best can be left out, and how many of the others replace
        them before the window moves on. Windows that the list does not fill are left out, as in the paper.
    """
    _check(ratings, k)
    if not 1 <= left <= k or right < 1:
        raise UsageError(
            f"the windows must be 1 to k = {k} to the left and at least 1 to the right, got {left} and {right}."
        )
    order = np.argsort(-ratings, kind="stable")
    n = (ratings.size - k) // right * right * left
    pairs = np.array([swap(j, left, right) for j in range(n)], dtype=np.int64).reshape(n, 2)
    out, into = k - pairs[:, 0], k + pairs[:, 1] - 1
    members = np.tile(order[:k], (n + 1, 1))
    members[np.arange(1, n + 1), out] = order[into]
    ranked = ratings[order]
    gained = np.concatenate([[0.0], ranked[into] - ranked[out]])
    return States(np.sort(members, axis=1), math.fsum(ranked[:k]) + gained)


def all_states(ratings: Floats, k: int) -> States:
    """Every set of k items, the best first."""
    _check(ratings, k)
    if math.comb(ratings.size, k) > MOST_STATES:
        raise UsageError(f"there are {math.comb(ratings.size, k):,} sets of {k} of {ratings.size} items: too many.")
    sets = np.array(list(itertools.combinations(range(ratings.size), k)), dtype=np.int64)
    totals = ratings[sets].sum(axis=1)
    order = np.argsort(-totals, kind="stable")
    return States(sets[order], totals[order])


def _check(ratings: Floats, k: int) -> None:
    if ratings.ndim != 1 or not 1 <= k <= ratings.size:
        raise UsageError(f"k must be between 1 and the number of ratings in the row ({ratings.size:,}), got {k}.")
    if not np.isfinite(ratings).all():
        raise UsageError("a completed row has a rating for every item.", remedy="Leave out items without a prediction.")
