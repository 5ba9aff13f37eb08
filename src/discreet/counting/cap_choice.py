"""A cap chosen from the records, and paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.bounding import BoundedSums, check_cap, require_catalog
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure, rho_for
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release
from discreet.privacy.selection import ExponentialMechanism
from discreet.privacy.units import Unit
from discreet.privacy.weighing import squared_norms

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["choose_cap", "chosen_cap"]

Objective = Literal["absolute", "squared"]

BASIS = {
    "histogram": "a histogram of users by records, docs/proofs/counting.md, Theorem 10",
    "rank": "a rank of users by records, docs/proofs/counting.md, Theorem 11",
}


def choose_cap(
    data: Interactions,
    *,
    epsilon: Rational,
    counts_epsilon: Rational,
    counts_delta: Rational | None = None,
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
        The budget of the choice; a twentieth of that of the counts is plenty.
    counts_epsilon, counts_delta
        The budget of the counts to come. With a delta the choice is of ``norm_squared`` for ``ClippedCounts``,
        otherwise of ``cap`` for ``ItemCounts``.
    method
        "histogram": how many users have 1, 2, 3–4, 5–8, … records, with noise; the cap follows from it, and the
        histogram is yours, too. "rank": one of a public grid of caps, such that counts/counts_epsilon users have more,
        where the sum of absolute errors is least.
    objective
        For the histogram: the sum of "absolute" errors, or of "squared" ones. With a delta always squared.
    counts
        How many counts matter; public. All items of the catalog unless given.
    concentration
        Σp² over the shares of the items, assumed; three times that of equally popular items unless given.
    most
        The largest cap to consider; public. Users with more records are counted with those who have so many.
    ledger
        The book to charge.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. A user is in one bin of the histogram, so that discrete Laplace
    noise of scale 1/ε on every bin spends ε. For the rank rule a user moves every score by at most 1, and the
    exponential mechanism spends ε (``docs/proofs/counting.md``, Theorems 10 and 11). What follows is post-processing.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=500, items=60, seed=5)
    >>> release = choose_cap(films, epsilon="1/20", counts_epsilon=1, most=64)
    >>> 1 <= chosen_cap(release) <= 64
    True
    """
    spent = as_positive(epsilon, "epsilon")
    plan = _Purpose.of(data, counts_epsilon, counts_delta, objective, counts, concentration, most)
    if method not in BASIS:
        raise UsageError(f"method={method!r}?", remedy="Choose 'histogram' or 'rank'.")
    if method == "rank" and spent > 2**32:
        raise UsageError(f"epsilon = {epsilon} is too large to be meant.")
    if method == "rank" and plan.rho is not None:
        raise UsageError("the rank rule is about records, not lengths.", remedy="Choose the histogram.")
    guarantee = Guarantee(
        loss=Pure(spent),
        unit=Unit("user"),
        standing=Standing.PROVED,
        basis=BASIS[method],
        subject="a cap on what one user counts",
        caps=(),
        not_covered=("facts about people at large",),
    )
    parameters = {"epsilon": str(spent), "method": method, **plan.parameters}
    sizes = _sizes(data, squared=plan.rho is not None)
    sums = _binned(sizes, most) if method == "histogram" else _scores(sizes, plan)
    histogram, rank = LaplaceMechanism(spent), ExponentialMechanism(spent)
    if method == "histogram":
        histogram.check(sums)
    with charged(ledger, data, guarantee, mechanism="choose_cap", parameters=parameters) as charge:
        parts = {}
        if method == "histogram":
            users = histogram.release(sums)
            parts["histogram"] = pl.DataFrame({"up_to": _edges(most), "users": users})
            # A bin that noise alone fills often enough counts as empty: far bins weigh most, and are mostly empty.
            cap = plan.best(_edges(most), np.where(users > 2 / float(spent), users, 0).astype(np.float64))
        else:
            cap = int(_grid(most)[rank.choose(sums)])
        release = Release(
            kind="cap",
            guarantee=guarantee,
            mechanism="choose_cap",
            parameters=parameters,
            parts={"cap": pl.DataFrame({"cap": [cap]}), **parts},
            dataset=data.name,
        )
        charge.settle(release.id)
    return release


def chosen_cap(release: Release) -> int:
    """The cap of a release of ``choose_cap``: public from then on."""
    if release.kind != "cap":
        raise ReleaseError(f"a release of kind {release.kind!r} holds no cap.")
    return int(release.table("cap")["cap"][0])


@dataclass(frozen=True)
class _Purpose:
    """What the cap is for: public values alone."""

    epsilon: Fraction
    rho: Fraction | None
    objective: Objective
    counts: int
    concentration: float
    most: int

    @classmethod
    def of(
        cls,
        data: Interactions,
        epsilon: Rational,
        delta: Rational | None,
        objective: Objective,
        counts: int | None,
        concentration: Rational | None,
        most: int,
    ) -> _Purpose:
        budget = as_positive(epsilon, "counts_epsilon")
        if objective not in ("absolute", "squared"):
            raise UsageError(f"objective={objective!r}?", remedy="Choose 'absolute' or 'squared'.")
        if counts is None:
            require_catalog(data, "a cap for the counts of all items")
            counts = max(data.n_items, 1)
        for name, value in (("counts", counts), ("most", most)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} = {value!r} must be a whole number from 1.")
        check_cap(most)
        assumed = Fraction(3, counts) if concentration is None else as_positive(concentration, "concentration")
        rho = None if delta is None else rho_for(budget, delta)
        return cls(budget, rho, objective, counts, min(1.0, float(assumed)), most)

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "counts_epsilon": str(self.epsilon),
            "counts_rho": None if self.rho is None else str(self.rho),
            "objective": self.objective,
            "counts": self.counts,
            "concentration": self.concentration,
            "most": self.most,
        }

    @property
    def users_above(self) -> int:
        """How many users have more records than the best cap for absolute errors: m/ε."""
        # Beyond the largest possible number of users it makes no difference how many are wanted.
        return min(round(self.counts / self.epsilon), 2**31)

    def best(self, edges: NDArray[np.int64], users: NDArray[np.float64]) -> int:
        """The cap of the grid with the least expected error, for users spread evenly within their bins."""
        below = np.concatenate([[0], edges[:-1]])
        spread = (np.arange(8) + 1) / 8
        sizes = (below[:, None] + (edges - below)[:, None] * spread).ravel()
        weights = np.repeat(users / 8, 8)
        errors = [self._error(cap, sizes, weights) for cap in _grid(self.most)]
        return int(_grid(self.most)[int(np.argmin(errors))])

    def _error(self, cap: int, sizes: NDArray[np.float64], users: NDArray[np.float64]) -> float:
        if self.rho is not None:
            lost = float(users @ np.maximum(sizes - np.sqrt(cap * sizes), 0))
            return self.concentration * lost**2 + self.counts * cap / (2 * float(self.rho))
        lost = float(users @ np.maximum(sizes - cap, 0))
        scale = cap / float(self.epsilon)
        if self.objective == "absolute":
            return lost + self.counts * scale
        return self.concentration * lost**2 + 2 * self.counts * scale**2


def _sizes(data: Interactions, *, squared: bool) -> NDArray[np.int64]:
    """What a cap is compared with: a user's records, or the squared length of a user's counts."""
    if not squared:
        return data.records_per_user
    return squared_norms(data.user, data.item, data.user_starts, may_repeat=data.may_repeat)


def _edges(most: int) -> NDArray[np.int64]:
    """Upper ends of the bins: powers of two, the last one open."""
    return 2 ** np.arange(math.ceil(math.log2(most)) + 1 if most > 1 else 1, dtype=np.int64)


def _grid(most: int) -> NDArray[np.int64]:
    """Caps to choose from: about eight between a number and its double."""
    return np.unique(np.minimum(np.round(2 ** (np.arange(8 * math.log2(most) + 1) / 8)), most).astype(np.int64))


def _binned(sizes: NDArray[np.int64], most: int) -> BoundedSums:
    """How many users there are in each bin."""
    edges = _edges(most)
    place = np.minimum(np.searchsorted(edges, sizes), edges.size - 1)
    return _moved_by_one(np.bincount(place, minlength=edges.size).astype(np.int64), l1=1, nonnegative=True)


def _scores(sizes: NDArray[np.int64], purpose: _Purpose) -> BoundedSums:
    """Minus how far the number of users above each cap is from the one that is wanted."""
    grid = _grid(purpose.most)
    above = sizes.size - np.searchsorted(np.sort(sizes), grid, side="right")
    return _moved_by_one(-np.abs(above.astype(np.int64) - purpose.users_above), l1=grid.size, nonnegative=False)


def _moved_by_one(values: NDArray[np.int64], *, l1: int, nonnegative: bool) -> BoundedSums:
    """Whole numbers of which one user changes ``l1`` by at most 1 each."""
    return BoundedSums(
        values=values,
        step=Fraction(1),
        l1=Fraction(l1),
        l2_squared=Fraction(l1),
        linf=Fraction(1),
        nonnegative=nonnegative,
        unit=Unit("user"),
        caps=(),
    )
