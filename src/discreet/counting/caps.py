"""How many records of a user should count: chosen from the records and paid for, or by formulas for assumed data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice, require_whole
from discreet.common.arrays import Floats, Integers
from discreet.counting.cells import moved_by_one
from discreet.counting.counts import store
from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.bounding import BoundedSums, check_cap, require_catalog
from discreet.privacy.budget import Budget
from discreet.privacy.losses import Loss
from discreet.privacy.method import Method, Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.release import Release
from discreet.privacy.selection import ExponentialMechanism
from discreet.privacy.weighing import squared_norms

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = [
    "CapChoice",
    "best_cap",
    "best_cap_as_published",
    "best_cap_over_items",
    "best_weight",
    "choose_cap",
    "chosen_cap",
]

Objective = Literal["absolute", "squared"]

BASIS: Mapping[str, str] = {
    "histogram": "a histogram of users by records, docs/proofs/counting.md, Theorem 10",
    "rank": "a rank of users by records, docs/proofs/counting.md, Theorem 11",
}


def choose_cap(
    data: Interactions,
    *,
    epsilon: Rational,
    counts_epsilon: Rational,
    counts_delta: Rational = 0,
    method: Literal["histogram", "rank"] = "histogram",
    objective: Objective = "squared",
    counts: int | None = None,
    concentration: Rational | None = None,
    most: int = 4096,
    ledger: Ledger | None = None,
) -> Release:
    """Choose a cap for a later release of counts, from the records and at a price; ``chosen_cap`` reads it.

    Parameters
    ----------
    data
        The records.
    epsilon
        The budget of the choice; a twentieth of that of the counts is enough.
    counts_epsilon, counts_delta
        The budget of the counts to come; the choice is of ``cap`` for ``ItemCounts`` with this budget.
    method
        "histogram": how many users have 1, 2, 3–4, 5–8, … records, with noise; the cap follows from it, and the
        histogram is released with it. "rank": one of a public grid of caps, such that counts/counts_epsilon users have
        more, where the sum of absolute errors is least.
    objective
        For the histogram: the sum of "absolute" errors, or of "squared" ones. With a delta always squared.
    counts
        How many counts matter; public. All items of the catalog unless given.
    concentration
        Σp² over the shares of the items, assumed; three times that of equally popular items unless given.
    most
        The largest cap to consider; public. Users with more records are in the last bin.
    ledger
        Where the loss is charged.

    Privacy
    -------
    Unit: one user, present or absent. A user is in one bin of the histogram, so that discrete Laplace noise of scale
    1/ε on every bin spends ε. For the rank rule a user moves every score by at most 1, and the exponential mechanism
    spends ε (``docs/proofs/counting.md``, Theorems 10 and 11). What follows is post-processing.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=500, items=60, seed=5)
    >>> release = choose_cap(films, epsilon="1/20", counts_epsilon=1, most=64)
    >>> 1 <= chosen_cap(release) <= 64
    True
    """
    purpose = {"counts_epsilon": counts_epsilon, "counts_delta": counts_delta, "objective": objective}
    choice = CapChoice(epsilon, method=method, counts=counts, concentration=concentration, most=most, **purpose)  # type: ignore[arg-type]
    return choice.release(data, ledger=ledger)


def chosen_cap(release: Release) -> int:
    """The cap of a release of ``choose_cap``: public from then on."""
    if release.kind != "cap":
        raise ReleaseError(f"a release of kind {release.kind!r} holds no cap.")
    return int(release.table("cap")["cap"][0])


@dataclass(frozen=True)
class CapChoice(Method):
    """The method of ``choose_cap``, with its settings."""

    name: ClassVar[str] = "choose_cap"
    kind: ClassVar[str] = "cap"

    epsilon: Rational
    counts_epsilon: Rational
    counts_delta: Rational = 0
    method: Literal["histogram", "rank"] = "histogram"
    objective: Objective = "squared"
    counts: int | None = None
    concentration: Rational | None = None
    most: int = 4096

    def __post_init__(self) -> None:
        spent = as_positive(self.epsilon, "epsilon")
        store(self, epsilon=spent, counts_epsilon=as_positive(self.counts_epsilon, "counts_epsilon"))
        store(self, counts_delta=self._purpose.delta)
        require_choice(self.method, "method", tuple(BASIS))
        require_choice(self.objective, "objective", ("absolute", "squared"))
        for name, value in (("counts", self.counts), ("most", self.most)):
            if value is not None:
                require_whole(value, name)
        check_cap(self.most)
        if self.concentration is not None:
            store(self, concentration=as_positive(self.concentration, "concentration"))
        if self.method == "rank" and spent > 2**32:
            raise UsageError(f"epsilon = {self.epsilon} is too large.", remedy="Take a smaller one.")
        if self.method == "rank" and not self._purpose.is_pure:
            raise UsageError("the rank rule is about records, not lengths.", remedy="Choose the histogram.")

    @property
    def _purpose(self) -> Budget:
        """The budget of the counts to come."""
        return Budget(self.counts_epsilon, self.counts_delta)

    @property
    def _mechanism(self) -> Any:
        budget = Budget(self.epsilon)
        return budget.for_sums() if self.method == "histogram" else RankChoice(budget.amount)

    def _described(self) -> dict[str, Any]:
        return self.parameters

    def _plan(self, public: Interactions) -> Plan:
        counts = self.counts
        if counts is None:
            require_catalog(public, "a cap for the counts of all items")
            counts = max(public.n_items, 1)
        assumed = Fraction(3, counts) if self.concentration is None else as_fraction(self.concentration)
        if self.method == "histogram":
            self._mechanism.check(binned(np.zeros(0, dtype=np.int64), self.most))
        return Plan(
            loss=Budget(self.epsilon).loss,
            basis=BASIS[self.method],
            subject="a cap on what one user counts",
            not_covered=("facts that would be true without this person's data",),
            details={"counts": counts, "concentration": min(1.0, float(assumed))},
        )

    def _rounds(self, plan: Plan) -> Rounds:
        squared, counts = not self._purpose.is_pure, plan.details["counts"]
        if self.method == "rank":
            # Beyond the largest possible number of users it makes no difference how many are wanted.
            wanted = min(round(counts / as_fraction(self.counts_epsilon)), 2**31)
            chosen = yield Round(
                lambda data: users_above(sizes_of(data, squared=squared), self.most),
                replace(self._mechanism, wanted=wanted),
            )
            return {"cap": pl.DataFrame({"cap": [int(_grid(self.most)[chosen])]})}
        users = yield Round(lambda data: binned(sizes_of(data, squared=squared), self.most), self._mechanism)
        # A bin that noise alone fills often enough counts as empty: far bins weigh most, and are mostly empty.
        likely = np.where(users > 2 / float(as_fraction(self.epsilon)), users, 0).astype(np.float64)
        return {
            "cap": pl.DataFrame({"cap": [self._best(likely, counts, plan.details["concentration"])]}),
            "histogram": pl.DataFrame({"up_to": _edges(self.most), "users": users}),
        }

    def _best(self, users: Floats, counts: int, concentration: float) -> int:
        """The cap of the grid with the least expected error, for users spread evenly within their bins."""
        edges = _edges(self.most)
        below = np.concatenate([[0], edges[:-1]])
        spread = (np.arange(8) + 1) / 8
        sizes = (below[:, None] + (edges - below)[:, None] * spread).ravel()
        weights = np.repeat(users / 8, 8)

        def error(cap: int) -> float:
            budget = float(self._purpose.amount)
            if not self._purpose.is_pure:
                lost = float(weights @ np.maximum(sizes - np.sqrt(cap * sizes), 0))
                return concentration * lost**2 + counts * cap / budget
            lost = float(weights @ np.maximum(sizes - cap, 0))
            if self.objective == "absolute":
                return lost + counts * cap / budget
            return concentration * lost**2 + 2 * counts * (cap / budget) ** 2

        return int(min(_grid(self.most), key=error))


@dataclass(frozen=True)
class RankChoice:
    """The exponential mechanism over caps: the number of users above the cap should be ``wanted``."""

    epsilon: Fraction
    wanted: int = 0

    @property
    def loss(self) -> Loss:
        return ExponentialMechanism(self.epsilon).loss

    def scores(self, above: BoundedSums) -> BoundedSums:
        """Minus how far the number of users above each cap is from the wanted one; moves in either direction."""
        return replace(above, values=-np.abs(above.values - self.wanted), nonnegative=False)

    def release(self, above: BoundedSums) -> int:
        return ExponentialMechanism(self.epsilon).choose(self.scores(above))


def sizes_of(data: Interactions, *, squared: bool) -> Integers:
    """What a cap is compared with: a user's records, or the squared length of a user's counts."""
    if not squared:
        return data.records_per_user
    return squared_norms(data.user, data.item, data.user_starts, may_repeat=data.may_repeat)


def _edges(most: int) -> Integers:
    """Upper ends of the bins: powers of two, the last one open."""
    return 2 ** np.arange(math.ceil(math.log2(most)) + 1 if most > 1 else 1, dtype=np.int64)


def _grid(most: int) -> Integers:
    """Caps to choose from: about eight between a number and its double."""
    return np.unique(np.minimum(np.round(2 ** (np.arange(8 * math.log2(most) + 1) / 8)), most).astype(np.int64))


def binned(sizes: Integers, most: int) -> BoundedSums:
    """How many users there are in each bin."""
    edges = _edges(most)
    place = np.minimum(np.searchsorted(edges, sizes), edges.size - 1)
    return moved_by_one(np.bincount(place, minlength=edges.size).astype(np.int64), 1)


def users_above(sizes: Integers, most: int) -> BoundedSums:
    """How many users are above each cap of the grid."""
    grid = _grid(most)
    above = sizes.size - np.searchsorted(np.sort(sizes), grid, side="right")
    return moved_by_one(above.astype(np.int64), grid.size)


# Formulas for assumed data


def best_cap(users: float, *, records: float, share: float, epsilon: float) -> float:
    """The number of sampled records of each user for which one item's count has the least mean squared error.

    For n users with M independent records each, a share p of them of the item: of the n(M − l) records that are left
    out a binomial number is of the item, so the error is n(M−l)p(1−p) + (n(M−l)p)² + 2l²/ε², convex in l.

    Examples
    --------
    >>> round(best_cap(20, records=10, share=0.05, epsilon=2), 3)
    6.983
    """
    return best_cap_over_items(users, records=records, shares_squared=share**2, epsilon=epsilon, items=1, total=share)


def best_cap_over_items(
    users: float, *, records: float, shares_squared: float, epsilon: float, items: int, total: float = 1.0
) -> float:
    """The same for the errors of all items together.

    Parameters
    ----------
    users, records
        How many users there are, and how many records each of them has.
    shares_squared
        Σp², from 1/items where all items are equally popular up to 1.
    items
        How many counts are released.
    total
        Σp over these: 1 for all items.
    """
    bias = 2 * users**2 * shares_squared
    best = (bias * records + users * (total - shares_squared)) / (bias + 4 * items / epsilon**2)
    return min(max(best, 1.0), float(records))


def best_weight(users: float, *, records: float, share: float, epsilon: float) -> float:
    """What one user should weigh in all where records are weighed instead of sampled: A·M/(A + 2M²/ε²).

    Weighing leaves (1 − l/M) of the count out, no more and no less; A = nMp(1−p) + (nMp)² is its expected square.

    Examples
    --------
    >>> round(best_weight(20, records=10, share=0.05, epsilon=2), 3)
    6.865
    """
    mean = users * records * share
    square = mean * (1 - share) + mean**2
    return min(max(square * records / (square + 2 * records**2 / epsilon**2), 1.0), float(records))


def best_cap_as_published(users: float, *, records: float, share: float, epsilon: float) -> float:
    """Formula 22 of Fan and Jin, to the letter: for comparison.

    It follows from their formula 21, which takes what is sampled and what there is for independent. Without noise (ε →
    ∞) it may drop half of the records, and for rare items it is negative.

    Examples
    --------
    >>> round(best_cap_as_published(20, records=10, share=0.05, epsilon=2), 3)
    6.355

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015.
    """
    numerator = 2 * users**2 * share**2 * records - users * share
    return numerator / (4 / epsilon**2 - 2 * users * share**2 / records + 2 * users**2 * share**2)
