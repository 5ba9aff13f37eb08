"""Private alternating least squares: the published competitor, with everything that it uses charged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from discreet.common.arguments import require_positive, require_whole
from discreet.common.arrays import Codes, Floats, Integers, places_of
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.als import cosines, fixed_normals
from discreet.factors.dp_als_statistics import ROW_SIDE, FactorPlan, Shares, equations, head_shares, whole_rows
from discreet.factors.kernels import all_scores, ridge_rows
from discreet.factors.statistics import POPULARITY_STEP, NoisyPopularity, popularity_sums
from discreet.models.likes import liked_records, liked_rows, threshold_of
from discreet.models.released_model import NOT_COVERED, ReleasedModel
from discreet.privacy.bounding import require_named_items
from discreet.privacy.budget import Budget
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["DPALS"]

# Shares of μ²: the popularity of items first; of each round the left sides, everybody's sum, and the right sides.
FIRST_SHARE = Fraction(1, 10)
LEFT_SHARE, WHOLE_SHARE = Fraction(10, 100), Fraction(1, 100)
RIGHT_SHARE = 1 - LEFT_SHARE - WHOLE_SHARE

LEAST_CLIP, MOST_CLIP = 1e-6, 1e6
"""Within this range no step of the arithmetic on people's factors overflows or comes to nothing."""

NOISE_RIDGE = 9.0
"""Ridge of an item in units of the noise on its left side."""


@dataclass
class DPALS(ReleasedModel):
    """Factors of items from noisy normal equations, round after round; factors of people stay with the people.

    Each round: everybody works out their own factors u from the public factors of items, clipped to length Γ. Released
    with noise are, for every item of the head, A = Σ w·u uᵀ and b = Σ w·u over the people who like it, and K = Σ u uᵀ
    over everybody. An item's new factors are (A⁺ + α·K⁺ + λ·I)⁻¹ b, where A⁺ is the nearest matrix without negative
    eigenvalues. Items outside of the head are ranked below it, by their noisy popularity.

    Parameters
    ----------
    epsilon, delta
        The budget of one fit.
    positive
        From which rating on an item is liked, as in ``PrivateRecommender``.
    factors
        How many; None for the rule 0.45·√(users·μ), from 4 to 64.
    rounds
        How often the factors of items are learned anew; the budget is divided among the rounds.
    head
        How many items, by noisy popularity, factors are learned for; None for the rule 8·√(users·μ).
    cap
        At most so many liked items of each user, drawn at random, enter with equal weights, as in the first paper.
        None: all enter, with weights that fall with their popularity, as in the second.
    weight_exponent
        Without a cap, weights fall with this power of the popularity.
    clip
        Γ, the greatest length of a person's factors.
    unobserved_weight
        α: what an item that is not liked weighs, where a liked one weighs 1.
    regularization
        Ridge for each person and, beside that for the noise, for each unit of an item's popularity.

    Attributes
    ----------
    popularity_ : float array
        Noisy popularity of every item.
    head_ : int32 array
        Codes of the items that have factors.
    item_factors_ : float array, head × factors

    Privacy
    -------
    Unit: one user, present or absent; joint: a person's own results use that person's own records. Standing: proved
    (``docs/proofs/factors.md``, Theorem 7).

    *What is released.* The popularity of every item, and in each of T rounds A and b of the items and K.

    *What one user changes.* With whole numbers u of length at most S and weights w of length at most W, squared lengths
    of at most W²S⁴ in A, W²S² in b and S⁴ in K.

    *What is spent.* Rounded normal noise makes each release Gaussian-private; together they spend
    μ² = μ₀² + T·(μ_A² + μ_b² + μ_K²), which is chosen to keep (ε, δ).

    Not covered: the catalog, the rating scale, own results.

    Notes
    -----
    The defaults were tuned on one split of MovieLens 1M, by about 600 fits that
    nothing was charged for.

    References
    ----------
    S. Chien, P. Jain, W. Krichene, S. Rendle, S. Song, A. Thakurta, L. Zhang: Private alternating least squares:
    practical private matrix completion with tighter rates. ICML 2021.
    W. Krichene, P. Jain, S. Song, M. Sundararajan, A. Thakurta, L. Zhang: Multi-task differential privacy under
    distribution skew. ICML 2023 (weights that favor rare items).

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=600, items=80, seed=7)
    >>> model = DPALS(epsilon=8).fit(films)
    >>> model.recommend(history={"film-3": 5, "film-8": 4}, n=2).height
    2
    >>> model.guarantee.standing.name
    'PROVED'
    """

    name: ClassVar[str] = "dp-als"

    epsilon: Rational
    delta: Rational = "1e-6"
    positive: Rational | None = None
    factors: int | None = None
    rounds: int = 2
    head: int | None = None
    cap: int | None = None
    weight_exponent: float = 0.35
    clip: float = 0.3
    unobserved_weight: float = 0.2
    regularization: float = 0.015

    def __post_init__(self) -> None:
        require_whole(self.rounds, "rounds")
        if self.positive is not None:
            as_fraction(self.positive, "positive")
        for name, value in (("factors", self.factors), ("head", self.head), ("cap", self.cap)):
            if value is not None:
                require_whole(value, name)
        for name in ("clip", "unobserved_weight", "regularization"):
            require_positive(getattr(self, name), name)
        if not LEAST_CLIP <= self.clip <= MOST_CLIP:
            raise UsageError(f"clip must be from {LEAST_CLIP} to {MOST_CLIP:,.0f}, got {self.clip}.")
        if not 0 <= self.weight_exponent <= 1:
            raise UsageError(f"weight_exponent must be from 0 to 1, got {self.weight_exponent}.")
        self._budget.require_delta("factors are learned with normal noise")

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    @property
    def _mechanisms(self) -> tuple[AdditiveMechanism, AdditiveMechanism, AdditiveMechanism]:
        """For the left sides, the right sides and everybody's sum, in each round."""
        each = self._budget.part((1 - FIRST_SHARE) / self.rounds)
        return each.part(LEFT_SHARE).for_sums(), each.part(RIGHT_SHARE).for_sums(), each.part(WHOLE_SHARE).for_sums()

    # The release

    def _plan(self, public: Interactions) -> Plan:
        sums = popularity_sums(self._liked(public))
        for mechanism, bounds in zip(self._mechanisms, self._bounds, strict=True):
            mechanism.check(bounds)
        return Plan(
            loss=self._budget.loss,
            basis="noisy normal equations of items, docs/proofs/factors.md, Theorem 7",
            subject=f"a ranking model of {public.n_items:,} items",
            caps=(*sums.caps, f"each user's factors were clipped to length {self.clip} and weights to length 1"),
            not_covered=NOT_COVERED,
            joint=True,
            details={"threshold": threshold_of(public, self.positive), "mu_squared": str(self._budget.amount)},
            public=(public.items.series, self._budget.part(FIRST_SHARE).deviation(sums)),
        )

    @property
    def _bounds(self) -> tuple[Any, Any, Any]:
        """The normal equations of nobody: their bounds are the same for all records."""
        nobody = Shares(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        return equations(nobody, np.zeros((0, 1), np.int64), 1, Fraction(self.clip))

    def _prepare(self, data: Interactions, plan: Plan) -> Interactions:
        return self._liked(data)

    def _liked(self, data: Interactions) -> Interactions:
        return liked_records(require_named_items(data, "recommendations"), self.positive)

    def _rounds(self, plan: Plan) -> Rounds:
        items, noise = plan.public
        popularity = yield Round(popularity_sums, self._budget.part(FIRST_SHARE).for_sums())
        first = NoisyPopularity.of(popularity.astype(np.float64) * float(POPULARITY_STEP), noise)
        chosen = FactorPlan.of(first, math.sqrt(self._budget.amount), self)
        factors = fixed_normals(chosen.head.size, chosen.factors) * np.sqrt(chosen.known / chosen.known.max())[:, None]
        shared = _Shares(chosen, self.cap)
        for _ in range(self.rounds):

            def normal_equations(liked: Interactions, factors: Floats = factors) -> tuple[Any, Any, Any]:
                shares, everything = shared(liked)
                people = self._people(everything.starts, everything.items, factors)
                rows = whole_rows(people, self.clip, ROW_SIDE)
                return equations(shares, rows, chosen.head.size, Fraction(self.clip))

            factors = self._solved(chosen, *(yield Round(normal_equations, self._mechanisms)))
        return {
            "popularity": chosen.popularity,
            "head": chosen.head,
            "factors": factors,
            "items": pl.DataFrame({"item_id": items}),
        }

    def _solved(self, plan: FactorPlan, left: Any, right: Any, whole: Any) -> Floats:
        """The solutions of the released normal equations."""
        bounds = self._bounds
        a, k = _without_negative(np.stack(left)), _without_negative(whole[0])
        b = right.reshape(plan.head.size, plan.factors) * float(bounds[1].step)
        noise = self._mechanisms[0].spectral_deviation(bounds[0]) * math.sqrt(plan.factors)
        ridge = NOISE_RIDGE * noise + self.regularization * plan.totals
        matrices = a + self.unobserved_weight * k + ridge[:, None, None] * np.eye(plan.factors)
        return np.asarray(np.linalg.solve(matrices, b[:, :, None])[:, :, 0], dtype=np.float64)

    # Post-processing and a person's own records

    def _build(self, release: Release) -> None:
        threshold = release.parameters["threshold"]
        self.threshold_ = None if threshold is None else float(Fraction(threshold))
        self.popularity_ = release.array("popularity")
        self.head_ = release.array("head").astype(np.int32)
        self.item_factors_ = np.ascontiguousarray(release.array("factors"))

    def _people(self, starts: Integers, items: Integers, factors: Floats) -> Floats:
        """Factors of people, each from that person's own liked items and from the public factors of items."""
        n_items, width = factors.shape
        whole = factors.T @ factors
        # In units of the mean squared length of an item, so that the scale of the factors makes no difference.
        ridge = self.regularization * np.trace(whole) / n_items
        penalty = ridge * (np.diff(starts) + self.unobserved_weight * n_items)
        nothing = np.zeros((starts.size - 1, width))
        gram = self.unobserved_weight * whole
        return ridge_rows(starts, items.astype(np.int32), factors, gram, penalty, nothing, 2 * width)

    def _score(self, rows: csr_array) -> Floats:
        liked = liked_rows(rows, self.threshold_)[:, self.head_]
        people = self._people(liked.indptr.astype(np.int64), liked.indices.astype(np.int64), self.item_factors_)
        tastes = all_scores(people, np.ascontiguousarray(self.item_factors_.T))
        # Below everything of the head, items stand by popularity; so does everything for who likes nothing of it.
        scores = np.tile(self.popularity_, (tastes.shape[0], 1))
        known = np.diff(liked.indptr) > 0
        scores[known] += tastes[known].min(axis=1, keepdims=True) - self.popularity_.max() - 1
        scores[np.ix_(known, self.head_)] = tastes[known]
        return scores

    def _similar(self, items: Codes) -> Floats:
        place = places_of(self.head_, len(self.items_))
        known = place[items] >= 0
        scores = np.full((items.size, len(self.items_)), -np.inf)
        scores[np.ix_(known, self.head_)] = cosines(self.item_factors_, place[items[known]].astype(np.int32))
        return scores


class _Shares:
    """The shares of the people who were asked about last: all of them, every round, where they are in memory."""

    def __init__(self, plan: FactorPlan, cap: int | None) -> None:
        self._plan, self._cap = plan, cap
        self._last: tuple[Interactions, Any] | None = None

    def __call__(self, liked: Interactions) -> Any:
        if self._last is None or self._last[0] is not liked:
            self._last = liked, head_shares(liked, self._plan.head, self._plan.weights, self._cap)
        return self._last[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}  # other processes get nobody's records


def _without_negative(matrices: Floats) -> Floats:
    """The nearest symmetric matrices without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
