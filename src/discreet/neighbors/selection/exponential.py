"""PNCF, neighbor selection with truncated similarities, and the exponential mechanism that Zhu compares it with.

Both are as published; ``PNCF`` is refuted, and so is the other with RS.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3.
T. Zhu, Y. Ren, W. Zhou, J. Rong, P. Xiong: An effective privacy preserving algorithm for neighborhood-based
collaborative filtering. Future Generation Computer Systems 36 (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.common.arrays import Integers, Mask, Matrix, Vector
from discreet.errors import UsageError
from discreet.neighbors.selection.lists import Block, Candidates
from discreet.neighbors.selection.strategies import Draw, SelectionStrategy
from discreet.neighbors.selection.wallenius import Law, sampling_law
from discreet.neighbors.sensitivity import published_smooth_bound
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.published_draws import first_arrivals, log_exponentials, uniforms
from discreet.privacy.units import Unit

__all__ = [
    "PNCF",
    "NaiveExponential",
    "Sensitivity",
    "check_sensitivity",
    "log_exponential_weights",
    "pair_sensitivity",
    "sensitivity_form",
]

Sensitivity = float | Literal["lemma", "exact", "max"]

# A sensitivity of 0, which the exact form has for proportional co-ratings, leaves the exponent undefined. With this in
# its place such candidates come first, and equal ones among them with equal chance.
LEAST_SENSITIVITY = 1e-9

LOCAL = (
    "RS depends on the records: one user more takes a neighbor's chance from 2.29e-11 to 0.32, "
    "a loss of 23.36 where 0.5 was claimed at epsilon 1 (tests/refutations/test_pncf.py)"
)
SCALE = (
    "one user can move all k weights, so noise of scale 2Δ/ε on each costs k·ε/2, not ε/2 "
    "(tests/refutations/test_pncf.py)"
)
POOLED = (
    "C0 as one candidate divides a member's chance by |C0|: a loss of 6.56 where 0.5 was claimed "
    "(tests/refutations/test_pncf.py)"
)
SMOOTHED = "exp(−β) times a sensitivity is less than the sensitivity for every β > 0 (tests/refutations/test_pncf.py)"
CUT = "candidates below the cut are impossible on one side and possible on the other (tests/refutations/test_pncf.py)"
BARE = "the weights go into the prediction without noise (tests/refutations/test_pncf.py)"


@dataclass(frozen=True)
class NaiveExponential(SelectionStrategy):
    """k rounds without replacement with weight exp(ε·s/(4k·Δ)), then Laplace noise of scale 2Δ/ε on the similarities.

    Parameters
    ----------
    k
        How many neighbors.
    epsilon
        The budget as the paper divides it: half for the choice, half for the weights.
    rs
        Δ. A number: one global sensitivity for all (the papers' "DP" or GS&NM; 1 is the range of a cosine of
        ratings, 2 that of Pearson). "lemma" or "exact": RS of each pair (RS&NM). "max": the largest RS of the list.
    rs_cap
        RS is cut at this number; None for as it comes.
    smoothing
        β of Lemma 2: Δ is multiplied by exp(−β), before it is cut. The thesis gives β no value; 0 leaves Δ alone.
    laplace
        Noise on the weights: "2" for scale 2Δ/ε (equation 3.4.1), "2k" for 2kΔ/ε (Algorithm 1), None for none.

    Privacy
    -------
    Claimed: ε for one target, one user present or absent. Refuted with RS, which depends on the records. With a true
    global sensitivity the choice keeps ε/2, but the noise of equation 3.4.1 is too small by the factor k; with
    ``laplace="2k"`` no counterexample is known as long as neighbors are items, and nothing is proved here.
    ``guarantee()`` says which of these holds for the options taken.

    Notes
    -----
    At ε = 1 and k = 40 the exponents are at most 1/160, so the choice is uniform for all anybody can tell.

    Examples
    --------
    >>> naive = NaiveExponential(40, epsilon=1)
    >>> naive.log_weights(Candidates(np.array([1.0, 0.0])))
    array([0.00625, 0.     ])
    """

    _: KW_ONLY
    epsilon: Rational
    rs: Sensitivity = 1.0
    rs_cap: float | None = None
    smoothing: float = 0.0
    laplace: Literal["2", "2k"] | None = "2"
    name: ClassVar[str] = "naive exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon"))
        check_sensitivity(self.rs)
        if self.rs_cap is not None and self.rs_cap <= 0:
            raise UsageError(f"rs_cap = {self.rs_cap} must be above 0, or None.")
        if not 0 <= self.smoothing < np.inf:
            raise UsageError(f"smoothing = {self.smoothing} must be at least 0.")
        if self.laplace not in ("2", "2k", None):
            raise UsageError(f"laplace = {self.laplace!r} is not known.", remedy='Use "2", "2k" or None.')

    @property
    def sensitivity_form(self) -> Literal["lemma", "exact"] | None:
        return sensitivity_form(self.rs)

    def guarantee(self) -> Guarantee:
        errors = self._errors()
        return Guarantee(
            loss=Pure(as_positive(self.epsilon)),
            unit=Unit("user"),
            standing=Standing.REFUTED if errors else Standing.AS_PUBLISHED,
            basis="; ".join(errors) or "one constant sensitivity for all candidates",
            subject="the neighbors of one target with their weights",
            not_covered=("further targets, each of which costs as much again", "ratings of neighbors who are users"),
        )

    def _errors(self) -> list[str]:
        """What breaks the claim under these options."""
        errors = [] if isinstance(self.rs, int | float) else [LOCAL]
        if self.smoothing > 0:
            errors.append(SMOOTHED)
        if self.laplace is None:
            errors.append(BARE)
        elif self.laplace == "2" and self.k > 1:
            errors.append(SCALE)
        return errors

    def _sensitivity(self, block: Block) -> Matrix:
        values = published_smooth_bound(pair_sensitivity(block, self.rs), beta=self.smoothing)
        return values if self.rs_cap is None else np.minimum(values, self.rs_cap)

    def log_weights(self, candidates: Candidates) -> Vector:
        """Logarithm of each candidate's weight; −∞ for one that is never chosen."""
        return self._log_weights(Block.of(candidates))[0]

    def _draws(self, block: Block, ranks: Integers) -> Sequence[Draw]:
        return [(self._log_weights(block), np.full(ranks.shape[0], self.k))]

    def _log_weights(self, block: Block) -> Matrix:
        return self._exponents(block, block.similarity)

    def _exponents(self, block: Block, scores: Matrix) -> Matrix:
        return log_exponential_weights(block, scores, self._sensitivity(block), k=self.k, epsilon=float(self.epsilon))

    def _noise_scale(self, block: Block) -> Matrix:
        if self.laplace is None:
            return np.zeros(block.similarity.shape)
        factor = 2 if self.laplace == "2" else 2 * self.k
        return factor * self._sensitivity(block) / float(self.epsilon)


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
    smoothing
        β of Lemma 2: RS is multiplied by exp(−β), before it is cut. The thesis gives β no value; 0 leaves RS alone.
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
    ``PrivateItemKNN`` is the proved counterpart.

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
        threshold = self._threshold(block)[:, None]
        if self.beta is not None:
            return np.where(block.similarity < threshold, -np.inf, self._exponents(block, block.similarity))
        return self._exponents(block, np.maximum(block.similarity, threshold))

    def _pool(self, block: Block) -> tuple[Mask, Vector]:
        """Who stands in the draw only as part of C0, and the logarithm of the weight of C0."""
        threshold = self._threshold(block)[:, None]
        below = block.present & (block.similarity < threshold)
        if self.beta is not None or self.c0 == "each":
            below[:] = False
        sensitivity = np.where(below, self._sensitivity(block), 0.0).max(axis=1, keepdims=True, initial=0.0)
        one = Block(threshold, np.ones_like(threshold, dtype=bool), None)
        weight = log_exponential_weights(one, threshold, sensitivity, k=self.k, epsilon=float(self.epsilon))
        return below, weight[:, 0]

    def _choose(self, block: Block, ranks: Integers) -> Integers:
        pool, weight = self._pool(block)
        if not pool.any():
            return super()._choose(block, ranks)
        times = log_exponentials(block.similarity.shape) - self._log_weights(block)
        return first_arrivals(np.where(pool, _pool_times(pool, self.k) - weight[:, None], times), self.k)

    def _law(self, block: Block, ranks: Integers) -> Law:
        pool, weight = self._pool(block)
        members = np.flatnonzero(pool[0]).tolist()
        return sampling_law(self._log_weights(block)[0], self.k, pool=members, pool_log_weight=float(weight[0]))

    def _approximate_inclusion(self, block: Block, ranks: Integers) -> Vector:
        pool, weight = self._pool(block)
        if pool.size <= self.k or not pool.any():
            return super()._approximate_inclusion(block, ranks)
        return _pooled_means(self._log_weights(block)[0], pool[0], float(weight[0]), self.k)


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


# What the strategies with RS share


def pair_sensitivity(block: Block, rs: Sensitivity) -> Matrix:
    """Δ of every cell of a block."""
    if isinstance(rs, int | float):
        return np.full(block.similarity.shape, float(rs))
    if block.sensitivity is None:
        raise UsageError(
            f"rs = {rs!r} needs the sensitivity of every pair.",
            remedy="Give Candidates(similarity, sensitivity), or a global sensitivity as a number.",
        )
    if rs == "max":
        return np.broadcast_to(block.sensitivity.max(axis=1, initial=0.0)[:, None], block.similarity.shape)
    return block.sensitivity


def log_exponential_weights(block: Block, scores: Matrix, sensitivity: Matrix, *, k: int, epsilon: float) -> Matrix:
    """Exponents ε·score/(4k·Δ); −∞ where nobody is present."""
    exponents = epsilon * np.where(block.present, scores, 0.0) / (4 * k * np.maximum(sensitivity, LEAST_SENSITIVITY))
    return np.where(block.present, exponents, -np.inf)


def check_sensitivity(rs: Sensitivity) -> None:
    if isinstance(rs, bool) or (isinstance(rs, int | float) and not 0 < rs < np.inf):
        raise UsageError(f"rs = {rs} must be above 0.")
    if not isinstance(rs, int | float) and rs not in ("lemma", "exact", "max"):
        raise UsageError(f"rs = {rs!r} is not known.", remedy='Use "lemma", "exact", "max" or a number.')


def sensitivity_form(rs: Sensitivity) -> Literal["lemma", "exact"] | None:
    """The form of RS that pairs must come with."""
    if isinstance(rs, int | float):
        return None
    return "exact" if rs == "exact" else "lemma"
