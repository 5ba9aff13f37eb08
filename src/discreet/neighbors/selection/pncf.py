"""PNCF: private neighbor selection with truncated similarities, as published and refuted.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3.
T. Zhu, Y. Ren, W. Zhou, J. Rong, P. Xiong: An effective privacy preserving algorithm for neighborhood-based
collaborative filtering. Future Generation Computer Systems 36 (2014).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.neighbors.selection.exponential import NaiveExponential, Sensitivity, log_exponential_weights
from discreet.neighbors.selection.lists import Block, Candidates
from discreet.neighbors.selection.wallenius import Law, manly_mean, sampling_law
from discreet.privacy.published_draws import first_arrivals, log_exponentials, uniforms

__all__ = ["PNCF"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

POOLED = (
    "C0 as one candidate divides a member's chance by |C0|: a loss of 6.56 where 0.5 was claimed "
    "(tests/refutations/test_pncf.py)"
)
CUT = "candidates below the cut are impossible on one side and possible on the other (tests/refutations/test_pncf.py)"


@dataclass(frozen=True)
class PNCF(NaiveExponential):
    """Private neighbor selection to the letter: similarities are raised to s_k − w, then drawn by exponential weights.

    Parameters
    ----------
    k
        How many neighbors.
    epsilon
        The budget as the paper divides it: half for the choice, half for the weights.
    rs
        RS of each pair by equation 3.3.5 ("lemma") or by definition ("exact"), or the largest of the list by the lemma
        ("max"); or a number, one for all.
    rs_cap
        RS is cut at this number, such as the global sensitivity; None for as it comes.
    laplace
        Noise on the weights: "2" for scale 2·RS/ε (equation 3.4.1), "2k" for 2k·RS/ε (Algorithm 1), None for none.
    c0
        The candidates below s_k − w: "single" for one candidate together, drawn from uniformly (the prose); "each" for
        every one with its own weight (the display of Algorithm 2).
    w
        The width of truncation. None: min(s_k, 4k·RS/ε · ln(k(n − k)/rho)) of Theorem 3.4.1, with n candidates and the
        largest RS among them.
    rho
        The small constant of that theorem.
    beta
        Lu's reading in his comparisons instead of w: s_k − w is the similarity at rank beta·k, and whoever is below is
        never chosen.

    Privacy
    -------
    Claimed: ε for one target, one user present or absent. Refuted: ``guarantee()`` names why, for the options taken.
    ``ShrunkPNCF`` is the repaired counterpart.

    Notes
    -----
    The published tables leave open whether RS is by the lemma or exact, whether it is capped, and how C0 counts; the
    defaults are the reading that comes closest. Where C0 stands as one candidate and has a truncated similarity other
    than 0, its RS is taken to be the largest among its members, which the thesis does not say. With the theorem's w the
    truncated similarity is 0 in practice, and its RS does not matter.

    Examples
    --------
    >>> strategy = PNCF(1, epsilon=1, rs=1.0, w=0.3)
    >>> law = strategy.law(Candidates(np.array([1.0, 1.0, 0.0, 0.0])))
    >>> [round(law[chosen], 4) for chosen in [(0,), (1,), (2,), (3,)]]
    [0.3416, 0.3416, 0.1584, 0.1584]
    """

    _: KW_ONLY
    rs: Sensitivity = "lemma"
    c0: Literal["single", "each"] = "single"
    w: float | None = None
    rho: float = 0.5
    beta: int | None = None
    name: ClassVar[str] = "PNCF"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c0 not in ("single", "each"):
            raise UsageError(f"c0 = {self.c0!r} is not known.", remedy='Use "single" or "each".')
        if not 0 < self.rho < 1:
            raise UsageError(f"rho = {self.rho} must lie between 0 and 1.")
        if self.w is not None and (self.w < 0 or self.beta is not None):
            raise UsageError("w must be at least 0, and it is given either by w or by beta.")
        if self.beta is not None and self.beta < 1:
            raise UsageError(f"beta = {self.beta} must be a number of partitions from 1, or None.")

    def law(self, candidates: Candidates) -> Law:
        draw = self._draw(Block.of(candidates))
        pool = np.flatnonzero(draw.pool[0]).tolist()
        return sampling_law(draw.log_weights[0], self.k, pool=pool, pool_log_weight=float(draw.pool_log_weight[0]))

    def threshold(self, candidates: Candidates) -> float:
        """s_k − w: similarities below are raised to it."""
        return float(self._threshold(Block.of(candidates))[0])

    def _errors(self) -> list[str]:
        errors = super()._errors()
        if self.beta is not None:
            errors.append(CUT)
        elif self.c0 == "single":
            errors.append(POOLED)
        return errors

    def _threshold(self, block: Block) -> Vector:
        if self.beta is not None:
            return block.ranked_similarity(self.beta * self.k)
        kth = block.ranked_similarity(self.k)
        if self.w is not None:
            return kth - self.w
        largest = self._sensitivity(block).max(axis=1, initial=0.0)
        # Lists of no more than k candidates are taken whole; the logarithm must not stop them.
        others = np.maximum(block.sizes - self.k, 1)
        width = 4 * self.k * largest / float(self.epsilon) * np.log(self.k * others / self.rho)
        return kth - np.minimum(kth, width)

    def _log_weights(self, block: Block) -> Matrix:
        return self._draw(block).log_weights

    def _draw(self, block: Block) -> _Draw:
        threshold = self._threshold(block)[:, None]
        below = block.present & (block.similarity < threshold)
        if self.beta is not None:
            weights = np.where(below, -np.inf, self._exponents(block, block.similarity))
            return _Draw(weights, np.zeros_like(below), np.zeros(threshold.size))
        weights = self._exponents(block, np.maximum(block.similarity, threshold))
        if self.c0 == "each" or not below.any():
            return _Draw(weights, np.zeros_like(below), np.zeros(threshold.size))
        sensitivity = np.where(below, self._sensitivity(block), 0.0).max(axis=1, keepdims=True)
        one = Block(threshold, np.ones_like(threshold, dtype=bool), None, None)
        weight = log_exponential_weights(one, threshold, sensitivity, k=self.k, epsilon=float(self.epsilon))
        return _Draw(weights, below, np.where(below.any(axis=1), weight[:, 0], 0.0))

    def _choose(self, block: Block) -> Integers:
        draw = self._draw(block)
        times = log_exponentials(block.similarity.shape) - draw.log_weights
        if draw.pool.any():
            times = np.where(draw.pool, _pool_times(draw.pool, self.k) - draw.pool_log_weight[:, None], times)
        return first_arrivals(times, self.k)

    def _approximate_inclusion(self, candidates: Candidates) -> Vector:
        draw = self._draw(Block.of(candidates))
        if len(candidates) <= self.k or not draw.pool.any():
            return manly_mean(draw.log_weights[0], np.ones(len(candidates)), self.k)
        return _pooled_means(draw.log_weights[0], draw.pool[0], float(draw.pool_log_weight[0]), self.k)


@dataclass(frozen=True, eq=False)
class _Draw:
    """What stands in the draw: everybody's weight, who stands there only as part of C0, and the weight of C0."""

    log_weights: Matrix
    pool: Mask
    pool_log_weight: Vector


def _pool_times(pool: Mask, k: int) -> Matrix:
    """Logarithms of the times, at rate 1, at which members of the pool are drawn.

    The pool keeps its rate until it is empty, so its arrivals are sums of exponential variables; which member comes at
    each is a matter of a random order.
    """
    order = np.argsort(np.where(pool, uniforms(pool.shape), np.inf), axis=1)
    most = min(k, pool.shape[1])  # later arrivals cannot be among the first k
    times = np.full(pool.shape, np.inf)
    arrivals = np.log(np.cumsum(np.exp(log_exponentials((pool.shape[0], most))), axis=1))
    np.put_along_axis(times, order[:, :most], arrivals, axis=1)
    return np.where(pool, times, np.inf)


def _pooled_means(log_weights: Vector, pool: Mask, pool_log_weight: float, k: int) -> Vector:
    """Manly's approximation with a pool, whose arrivals grow with time until it is empty."""
    members = int(pool.sum())

    def means(log_time: float) -> Vector:
        chances = -np.expm1(-np.exp(np.minimum(log_weights + log_time, 700.0)))
        arrivals = min(float(np.exp(min(pool_log_weight + log_time, 700.0))), members)
        return np.where(pool, arrivals / members, chances)

    rates = np.append(log_weights[~pool], pool_log_weight)
    # At the lower end next to nobody is expected, at the upper end everybody.
    low, high = -float(rates.max()) - 60.0, -float(rates.min()) + float(np.log(members + 60.0))
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if means(middle).sum() >= k else (middle, high)
    return means(high)
