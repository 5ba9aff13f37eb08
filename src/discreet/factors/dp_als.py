"""Private alternating least squares: the published competitor, with everything that it uses charged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.als import cosines
from discreet.factors.dp_als_plan import Plan
from discreet.factors.likes import liked_records, liked_rows, threshold_of
from discreet.factors.settings import require_named_items, require_positive, require_whole
from discreet.factors.statistics import popularity_sums
from discreet.neighbors.released_model import ReleasedModel
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.privacy.normal import NormalGramMechanism, NormalMechanism
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["DPALS"]

# Shares of μ²: the popularity of items first; of each round the left sides, everybody's sum, and the right sides.
FIRST_SHARE = Fraction(1, 10)
LEFT_SHARE, WHOLE_SHARE = Fraction(10, 100), Fraction(1, 100)
RIGHT_SHARE = 1 - LEFT_SHARE - WHOLE_SHARE

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
        Ratings from here on say that an item is liked; None for three quarters of the way up the scale. Without
        ratings every record does.
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
    release_ : Release
        What was released; the model is a function of it.
    popularity_ : float array
        Noisy popularity of every item.
    head_ : int32 array
        Codes of the items that have factors.
    item_factors_ : float array, head × factors

    Privacy
    -------
    Unit: one user, present or absent; joint: a person's own results use that person's own records. Standing: proved.

    *What is released.* The popularity of every item (``statistics.popularity_sums``, length at most 1 for one user),
    and in each of T rounds A and b of the items and K.

    *What one user changes.* Let u be the user's factors and w the weights of the user's items, both as whole numbers
    on their grids, where ‖u‖ ≤ S and Σᵢ wᵢ² ≤ W² are enforced on the whole numbers themselves. In A the user adds
    wᵢ·u uᵀ to the matrix of each item i, of squared Frobenius length Σᵢ wᵢ²‖u‖⁴ ≤ W²S⁴ in all; in b the vectors wᵢ·u,
    of squared length Σᵢ wᵢ²‖u‖² ≤ W²S²; in K the matrix u uᵀ, of squared length ‖u‖⁴ ≤ S⁴. All other contributions
    stay as they are: u and w depend on the user's own records, on what was released before, and on nobody else. With a
    cap of k items every weight is ⌊W/√k⌋ and the same bound holds, whichever k are drawn.

    *What is spent.* Rounded normal noise of deviation length/μ makes each release μ-GDP (``docs/proofs/noise.md``,
    Theorem 6; for symmetric matrices with the noise of ``NormalGramMechanism``). Releases one after the other, each
    a function of the earlier ones and of the records, compose to μ² = μ₀² + T·(μ_A² + μ_b² + μ_K²), which is chosen to
    keep (ε, δ). Initial factors are fixed numbers; ridges and the head follow from what was released.

    Not covered: the catalog, the rating scale, one's own screen.

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

    epsilon: Rational = 1
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

    # Fitting

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        self._check_settings()
        mu_squared = mu_for(self.epsilon, self.delta) ** 2
        liked = liked_records(require_named_items(data, "recommendations"), self.positive)
        first, sums = NormalMechanism(mu_squared * FIRST_SHARE), popularity_sums(liked)
        budget = mu_squared * (1 - FIRST_SHARE) / self.rounds
        first.check(sums)
        _check_budget(budget, self.clip)
        guarantee = self._promise(mu_squared, data.n_items, sums.caps)
        parameters = {**self.config(), "threshold": threshold_of(data, self.positive)}
        with charged(ledger, data, guarantee, mechanism=self.name, parameters=parameters) as charge:
            noisy = first.release(sums).astype(np.float64) * float(sums.step)
            plan = Plan.of(noisy, first.standard_deviation(sums), math.sqrt(mu_squared), self)
            factors = self._rounds(liked, plan, budget)
            release = Release(
                kind=self.name,
                guarantee=guarantee,
                mechanism=self.name,
                parameters={**parameters, "mu_squared": str(mu_squared)},
                parts={
                    "popularity": plan.popularity,
                    "head": plan.head,
                    "factors": factors,
                    "items": pl.DataFrame({"item_id": data.items.series}),
                },
                dataset=data.name,
            )
            charge.settle(release.id)
        self._build(release)

    def _check_settings(self) -> None:
        require_whole(self.rounds, "rounds")
        for name, value in (("factors", self.factors), ("head", self.head), ("cap", self.cap)):
            if value is not None:
                require_whole(value, name)
        for name in ("clip", "unobserved_weight", "regularization"):
            require_positive(getattr(self, name), name)
        if not 0 <= self.weight_exponent <= 1:
            raise UsageError(f"weight_exponent = {self.weight_exponent} must be from 0 to 1.")

    def _promise(self, mu_squared: Fraction, n_items: int, caps: tuple[str, ...]) -> Guarantee:
        return Guarantee(
            loss=GaussianLoss(mu_squared),
            unit=Unit("user"),
            standing=Standing.PROVED,
            basis="noisy normal equations of items, discreet.factors.DPALS, Privacy",
            subject=f"a ranking model of {n_items:,} items",
            caps=(*caps, f"each user's factors were shortened to {self.clip} and weights of items to length 1"),
            not_covered=(
                "the public list of items and rating scale",
                "facts about people at large",
                "one's own screen",
            ),
            joint=True,
        )

    def _rounds(self, liked: Interactions, plan: Plan, budget: Fraction) -> NDArray[np.float64]:
        """Factors of the head after all rounds: functions of what was released."""
        from discreet.factors.als_kernels import fixed_normals
        from discreet.factors.dp_als_statistics import ROW_SIDE, equations, head_shares, whole_rows

        shares, everything = head_shares(liked, plan.head, plan.weights, self.cap)
        factors = fixed_normals(plan.head.size, plan.factors) * np.sqrt(plan.known / plan.known.max())[:, None]
        for _ in range(self.rounds):
            people = self._people(everything.starts, everything.items, factors)
            rows = whole_rows(people, self.clip, ROW_SIDE)
            factors = self._solved(plan, budget, *equations(shares, rows, plan.head.size, Fraction(self.clip)))
        return factors

    def _solved(self, plan: Plan, budget: Fraction, left: Any, right: Any, whole: Any) -> NDArray[np.float64]:
        """One release of the normal equations, solved."""
        lefts, rights = NormalGramMechanism(budget * LEFT_SHARE), NormalMechanism(budget * RIGHT_SHARE)
        a = _without_negative(np.stack(lefts.release(left)))
        k = _without_negative(NormalGramMechanism(budget * WHOLE_SHARE).release(whole)[0])
        b = rights.release(right).reshape(plan.head.size, plan.factors) * float(right.step)
        noise = lefts.standard_deviation(left) * math.sqrt(plan.factors)
        ridge = NOISE_RIDGE * noise + self.regularization * plan.totals
        matrices = a + self.unobserved_weight * k + ridge[:, None, None] * np.eye(plan.factors)
        return np.asarray(np.linalg.solve(matrices, b[:, :, None])[:, :, 0], dtype=np.float64)

    # Post-processing and a person's own records

    def _build(self, release: Release) -> None:
        threshold = release.parameters["threshold"]
        self.release_, self.guarantee_ = release, release.guarantee
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        self.threshold_ = None if threshold is None else float(Fraction(threshold))
        self.popularity_ = release.array("popularity")
        self.head_ = release.array("head").astype(np.int32)
        self.item_factors_ = np.ascontiguousarray(release.array("factors"))

    def _people(
        self, starts: NDArray[np.int64], items: NDArray[np.int64], factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Factors of people, each from that person's own liked items and from the public factors of items."""
        from discreet.factors.als_kernels import ridge_rows

        n_items, width = factors.shape
        whole = factors.T @ factors
        # In units of the mean squared length of an item, so that the scale of the factors makes no difference.
        ridge = self.regularization * np.trace(whole) / n_items
        penalty = ridge * (np.diff(starts) + self.unobserved_weight * n_items)
        nothing = np.zeros((starts.size - 1, width))
        gram = self.unobserved_weight * whole
        return ridge_rows(starts, items.astype(np.int32), factors, gram, penalty, nothing, 2 * width)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        from discreet.factors.als_kernels import all_scores

        liked = liked_rows(rows, self.threshold_)[:, self.head_]
        people = self._people(liked.indptr.astype(np.int64), liked.indices.astype(np.int64), self.item_factors_)
        tastes = all_scores(people, np.ascontiguousarray(self.item_factors_.T))
        # Below everything of the head, items stand by popularity; so does everything for who likes nothing of it.
        scores = np.tile(self.popularity_, (tastes.shape[0], 1))
        known = np.diff(liked.indptr) > 0
        scores[known] += tastes[known].min(axis=1, keepdims=True) - self.popularity_.max() - 1
        scores[np.ix_(known, self.head_)] = tastes[known]
        return scores

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """It ranks; it does not predict ratings."""
        return np.full(item.size, np.nan)

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        place = np.full(len(self.items_), -1, dtype=np.int32)
        place[self.head_] = np.arange(self.head_.size)
        known = place[items] >= 0
        scores = np.full((items.size, len(self.items_)), -np.inf)
        scores[np.ix_(known, self.head_)] = cosines(self.item_factors_, place[items[known]])
        return scores


def _check_budget(budget: Fraction, clip: float) -> None:
    """Refuse a budget whose noise cannot be drawn: bounds are the same for all records, so none will do."""
    from discreet.factors.dp_als_statistics import Shares, equations

    nobody = Shares(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    left, right, whole = equations(nobody, np.zeros((0, 1), np.int64), 1, Fraction(clip))
    NormalGramMechanism(budget * LEFT_SHARE).check(left)
    NormalMechanism(budget * RIGHT_SHARE).check(right)
    NormalGramMechanism(budget * WHOLE_SHARE).check(whole)


def _without_negative(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest symmetric matrices without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
