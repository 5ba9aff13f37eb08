"""The linear adversary: one secret rating, or one purchase, out of the answers that its owner is shown.

An answer of Slope One is a mean over everything its reader rated, so it is linear in every one of these ratings.
Whoever knows the others, and how items relate, solves for the last one; noise on the answer becomes noise on the
solution, multiplied by the number of ratings.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. 2011,
section 3.3 (Definition 4, Theorems 3.3 and 3.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.common.remedies import DECLARE_SCALE
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError

__all__ = [
    "Floats",
    "HistorySizes",
    "Outputs",
    "PurchaseAdversary",
    "RatingAdversary",
    "mean_noise_tail",
    "stepped",
    "values_of",
]

Outputs = Literal["one", "all"]
Secret = Literal["uniform", "own"]

EXACT = 48
"""Up to this many outputs the law of their mean is summed exactly; beyond, two terms of its expansion are enough."""


@dataclass(frozen=True)
class HistorySizes:
    """What the risk of people depends on.

    Parameters
    ----------
    sizes
        How many items each person rated.
    outputs
        How many answers each person is shown: one for every item that the person has not rated.
    ends
        Which share of each person's ratings is at an end of the scale, where a clipped guess can err on one side only.

    Examples
    --------
    >>> shop = Interactions([("ann", "tea", 5), ("ann", "rum", 3), ("bob", "gin", 2)], scale="1:5")
    >>> people = HistorySizes.of(shop)
    >>> people.sizes.tolist(), people.outputs.tolist(), people.ends.tolist()
    ([2, 1], [1, 2], [0.5, 0.0])
    """

    sizes: Integers
    outputs: Integers
    ends: Floats

    @classmethod
    def of(cls, data: Interactions) -> Self:
        """Everybody among the records who is shown at least one answer."""
        scale = stepped(data.scale)
        assert data.rating is not None
        rating = data.rating.astype(np.float64)
        half = float(scale.step or 1) / 2
        outer = (rating < float(scale.low) + half) | (rating > float(scale.high) - half)
        sizes = data.records_per_user
        share = np.bincount(data.user, weights=outer, minlength=data.n_users) / np.maximum(sizes, 1)
        asked = (sizes > 0) & (sizes < data.n_items)
        if not asked.any():
            raise UsageError("nobody is shown an answer: everybody has rated everything.")
        return cls(sizes[asked], data.n_items - sizes[asked], share[asked])


def stepped(scale: RatingScale | None) -> RatingScale:
    """A scale on which a guess is right or wrong."""
    if scale is None or scale.step is None:
        raise UsageError(
            "whether a guess is right needs ratings on a public scale with steps.",
            remedy=DECLARE_SCALE,
        )
    return scale


def values_of(scale: RatingScale) -> int:
    """How many ratings a scale has."""
    return int(scale.width / (scale.step or 1)) + 1


@dataclass(frozen=True)
class RatingAdversary:
    """Reads one rating of a person from what Slope One predicts for that person (Theorem 3.3).

    Parameters
    ----------
    scale
        The public rating scale, with steps.
    outputs
        ``"one"`` answer, as published, or the mean over ``"all"`` of them: each has independent noise.
    clipped
        Whether a guess beyond the scale becomes the nearest rating. As published it stays, and is wrong.

    Notes
    -----
    With all s_jk, the other ratings r_ik of person i and the answers A_j the guess for r_il is

        n·mean_j(A_j − mean_k s_jk) − sum of the other r_ik,

    rounded to the step h of the scale. It is off by n times the mean of J draws of Laplace noise of scale b. With
    τ = P(n·mean > h/2) it is right with probability 1 − 2τ, and at an end of the scale, when clipped, with 1 − τ. For
    one output τ = exp(−h/(2·n·b))/2. Where the rating is uniform on V values, a clipped guess is right with
    1 − 2τ(V − 1)/V, which is 1/V without any information; unclipped it falls to 0, less than a blind guess gets.

    Examples
    --------
    >>> stars = RatingScale.of("1:5")
    >>> person = HistorySizes(np.array([20]), np.array([1000]), np.array([0.0]))
    >>> for adversary in (RatingAdversary(stars, clipped=False), RatingAdversary(stars, outputs="all", clipped=False)):
    ...     print(adversary.risk(person, noise=0.5).round(3))  # sensitivity 0.5, epsilon 1
    [0.049]
    [0.737]
    """

    scale: RatingScale
    outputs: Outputs = "one"
    clipped: bool = True

    def __post_init__(self) -> None:
        stepped(self.scale)

    def guess(self, answers: Floats, slopes: Floats, others: Floats) -> float:
        """Solve for the missing rating.

        Parameters
        ----------
        answers
            What was shown, one number for each item j; of these the first, or all, are used.
        slopes
            For each of these items the mean of s_jk over everything the person rated, the secret one included.
        others
            The other ratings of the person.
        """
        used = slice(1) if self.outputs == "one" else slice(None)
        n = others.size + 1
        return float(self.rounded(n * np.mean(answers[used] - slopes[used]) - others.sum()))

    def rounded(self, estimates: Floats | float) -> Floats:
        """The rating nearest to each estimate."""
        low, step = float(self.scale.low), float(self.scale.step or 1)
        nearest = low + step * np.floor((np.asarray(estimates) - low) / step + 0.5)
        return np.clip(nearest, low, float(self.scale.high)) if self.clipped else nearest

    def risk(self, people: HistorySizes, *, noise: float, secret: Secret = "uniform") -> Floats:
        """How often the guess about each person is right, in closed form.

        Parameters
        ----------
        people
            Whom it is about.
        noise
            Scale of the Laplace noise on every answer.
        secret
            ``"uniform"``: any value of the scale is as likely as any other, so that 1/V is chance. ``"own"``: a rating
            of the person, drawn from those in the data. It matters for clipped guesses only.
        """
        tail = self._tail(people, noise)
        if not self.clipped:
            return 1 - 2 * tail
        ends = people.ends if secret == "own" else np.full(tail.shape, 2 / values_of(self.scale))
        return 1 - 2 * tail + ends * tail

    def simulate(
        self, people: HistorySizes, *, noise: float, seed: int, rounds: int = 1, secret: Secret = "uniform"
    ) -> Floats:
        """The same by drawing: the share of ``rounds`` games that was won about each person."""
        draw = np.random.default_rng(seed)
        low, step, count = float(self.scale.low), float(self.scale.step or 1), values_of(self.scale)
        won = np.zeros(people.sizes.size)
        for place, (n, shown, ends) in enumerate(zip(people.sizes, people.outputs, people.ends, strict=True)):
            used = 1 if self.outputs == "one" else int(shown)
            if secret == "uniform":
                truth = low + step * draw.integers(count, size=rounds)
            else:
                # Only whether a rating is at an end matters: any inner one stands for all of them.
                inner = np.full(rounds, low + step) if count > 2 else np.full(rounds, low)
                truth = np.where(draw.random(rounds) < ends, low, inner)
            errors = n * draw.laplace(0.0, noise, (rounds, used)).mean(axis=1)
            won[place] = np.mean(np.abs(self.rounded(truth + errors) - truth) < step / 2)
        return won

    def _tail(self, people: HistorySizes, noise: float) -> Floats:
        shown = np.ones_like(people.outputs) if self.outputs == "one" else people.outputs
        return mean_noise_tail(float(self.scale.step or 1) / 2 / people.sizes, noise=noise, outputs=shown)


@dataclass(frozen=True)
class PurchaseAdversary:
    """Tells whether a person bought one more item from what the co-purchase cosine shows that person (Theorem 3.4).

    Parameters
    ----------
    outputs
        The most telling ``"one"`` of the answers, or ``"all"`` of them.

    Notes
    -----
    The attacker computes every answer twice, with the purchase and without it, and decides for the nearer one. The
    theorem keeps the number n of purchases the same in both; as that alone would give the secret away, the answer
    without the purchase is a mean over n − 1 here, as the algorithm makes it. With answers that are d_j apart and noise
    of scale b, one answer is read right with probability 1 − exp(−d_j/(2b))/2. Of all answers the attacker sums up
    d_j·A_j; the law of that sum has no short form, so it is drawn.

    Examples
    --------
    >>> PurchaseAdversary().risk(np.array([[0.1, 0.3]]), noise=0.1).round(3)
    array([0.888])
    """

    outputs: Outputs = "one"

    def guess(self, answers: Floats, without: Floats, bought: Floats) -> bool:
        """Whether the answers are nearer to those with the purchase (``bought``) than to those ``without``."""
        apart = bought - without
        if self.outputs == "one":
            place = int(np.argmax(np.abs(apart)))
            apart, answers, without, bought = (each[[place]] for each in (apart, answers, without, bought))
        return bool(np.dot(answers - (without + bought) / 2, apart) > 0)

    def risk(self, apart: Floats, *, noise: float) -> Floats:
        """How often each row is told right, in closed form, for one answer; ``apart`` is people × answers."""
        if self.outputs == "all":
            raise UsageError("the law of a weighted sum of Laplace noise has no short form.", remedy="Use simulate.")
        return 1 - np.exp(-np.abs(apart).max(axis=1) / (2 * noise)) / 2

    def simulate(self, apart: Floats, *, noise: float | Sequence[float], seed: int, rounds: int = 1) -> Floats:
        """The same by drawing: the share of ``rounds`` games won about each row; a column for each scale of noise."""
        draw = np.random.default_rng(seed)
        noises = np.atleast_1d(np.asarray(noise, dtype=np.float64))
        chosen = apart
        if self.outputs == "one":
            chosen = np.take_along_axis(apart, np.abs(apart).argmax(axis=1)[:, np.newaxis], axis=1)
        won = np.zeros((apart.shape[0], noises.size))
        for place, row in enumerate(chosen):
            # By symmetry both cases are as easy: the guess is wrong where the noise passes the middle. Answers
            # that do not tell at all leave a coin.
            sums = draw.laplace(0.0, 1.0, (rounds, row.size)) @ row
            excess = noises * sums[:, np.newaxis] + np.dot(row, row) / 2
            coin = draw.random(rounds)[:, np.newaxis] < 0.5
            won[place] = np.mean(np.where(excess == 0, coin, excess > 0), axis=0)
        return won if np.ndim(noise) else won[:, 0]


# The mean of many independent draws of Laplace noise


def mean_noise_tail(limit: Floats | float, *, noise: float, outputs: Integers | int) -> Floats:
    """P(mean of so many independent Laplace draws of scale ``noise`` > limit), for limits from 0.

    The sum of J standard Laplace draws is the difference of two Gamma(J) times. It exceeds x if the first process has
    fewer than J events when the second has its J-th, x later: a Poisson(x) number of events comes before, and then a
    negative binomial one, which makes a finite sum. For many draws the sum is normal but for its fourth cumulant.

    Examples
    --------
    >>> mean_noise_tail(1.0, noise=1.0, outputs=1).round(4)  # exp(−1)/2
    array([0.1839])
    """
    if not noise > 0:
        raise UsageError(f"noise must be a scale above 0, got {noise}.")
    limits, counts = np.broadcast_arrays(np.atleast_1d(np.asarray(limit, dtype=np.float64)), outputs)
    tails = np.empty(limits.shape)
    for count in np.unique(counts[counts <= EXACT]):
        here = counts == count
        tails[here] = _sum_tail(limits[here] * count / noise, int(count))
    many = counts > EXACT
    tails[many] = _expanded_tail(limits[many] / noise, counts[many])
    return tails


def _sum_tail(x: Floats, count: int) -> Floats:
    """P(sum of ``count`` standard Laplace draws > x)."""
    from scipy.stats import nbinom, poisson

    before = np.arange(count)
    left = nbinom.cdf(count - 1 - before, count, 0.5)
    return poisson.pmf(before, x[:, np.newaxis]) @ left


def _expanded_tail(limit: Floats, count: Integers) -> Floats:
    """P(mean of ``count`` standard Laplace draws > limit): normal, and the next term of Edgeworth's expansion."""
    from scipy.special import ndtr

    z = limit * np.sqrt(count / 2)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    # The excess kurtosis of one draw is 3, of the mean 3/J.
    return np.clip(ndtr(-z) + 3 / count / 24 * (z**3 - 3 * z) * density, 0.0, 0.5)
