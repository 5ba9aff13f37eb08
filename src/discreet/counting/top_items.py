"""The most popular items, chosen directly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.counting.cells import USER, Cells, moved_by_one
from discreet.counting.counts import check_k, normalize, store
from discreet.counting.profiles import Expectation, Profile
from discreet.data.contexts import Context
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.draws import Spend, paid_from
from discreet.privacy.losses import Concentrated, Loss
from discreet.privacy.method import Method, Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction, sqrt_up
from discreet.privacy.selection import TopK
from discreet.privacy.weighing import GRID_BITS

__all__ = ["TopItems", "place_scores", "scores_of", "winner_sums"]

GUMBEL_SD = math.pi / math.sqrt(6)
"""Standard deviation of Gumbel noise of scale 1."""

LARGEST_RATE = 2**60
"""What the comparison of noisy scores can work with."""


@dataclass(frozen=True)
class ListOfEachPlace:
    """One list for every place, all paid together: a user has a part in ``picks`` picks, however many lists there are.

    Parameters
    ----------
    top
        What makes each list.
    picks
        How many picks one user has a part in.
    """

    top: TopK
    picks: int

    @property
    def loss(self) -> Loss:
        """What all lists cost."""
        return self._all.loss

    @property
    def _all(self) -> TopK:
        return TopK(self.picks, self.top.epsilon)

    def release(self, scores: BoundedSums) -> Integers:
        """Codes of the items of each list, places × k."""
        with paid_from(Spend("lists of all contexts", self.loss, self._all.concentrated_loss)):
            places = range(scores.values.shape[1])
            return np.stack([self.top.choose(scores_of(scores, place)) for place in places])


@dataclass(frozen=True)
class TopItems(Method):
    """The k items that most users touched, in order, chosen directly: no cap is needed, no counts unless asked for.

    Parameters
    ----------
    epsilon
        The budget of everything that is released.
    k
        How many items; public.
    delta
        0 for a pure guarantee; above 0 it is spent as zCDP, which is far cheaper from a few picks on.
    count_share
        Share of the budget for noisy numbers of users of the winners; 0 releases the list alone.
    count_cap
        The most that one user weighs in these numbers; otherwise as many as there are winners.
    one_context_each
        Where contexts vary within a user: count each user in one context only, that of a record drawn at random. A
        list then costs as if there were no others.

    Privacy
    -------
    Unit: one user, present or absent. A user counts once for each item, and in each context, so one user raises each
    count by at most 1, whatever the number of items: the scores are monotone with Δ = 1. One draw of Gumbel noise of
    scale 1/ε′ on every score is k exponential mechanisms of ε′ (``docs/proofs/selection.md``, Theorem 3), at kε′ pure
    or kε′²/8 zCDP.

    *Contexts.* Each of the h combinations of values has a list of its own (``docs/proofs/selection.md``, Theorem 12).
    Where a user has one value (gender, age; or ``one_context_each``), one user moves the scores of one list: the lists
    together cost what one of them does. Elsewhere (weekday) one user may be in all of them, and h·k picks are charged.

    *Counts of winners.* Given the lists, a user has t of the m winners it can be among (m = k or h·k) and weighs
    min(1, l/t) in each with Laplace noise of scale l/ε_c, or min(1, √(l/t)) with Gaussian noise of variance l/(2ρ_c),
    l = min(m, ``count_cap``). Budgets add up (``docs/proofs/selection.md``, Theorem 13).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> TopItems(epsilon=1, k=2).release(shop).table("top").columns
    ['item_id', 'rank']
    """

    name: ClassVar[str] = "top-items"
    chooses: ClassVar[bool] = True
    kind: ClassVar[str] = "top-items"
    listed: ClassVar[str] = "item counts"

    epsilon: Rational
    k: int = 10
    delta: Rational = 0
    count_share: Rational = 0
    count_cap: int | None = None
    one_context_each: bool = False

    def __post_init__(self) -> None:
        normalize(self, unchecked=("count_share",))
        share = as_fraction(self.count_share, "count_share")
        if not 0 <= share < 1:
            raise UsageError(f"count_share must be at least 0 and below 1, got {self.count_share}.")
        store(self, count_share=share)
        check_k(self.k, None)

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, selects=True)

    @property
    def _count_budget(self) -> Budget | None:
        """What the numbers of the winners may spend, if they are wanted."""
        return self._budget.part(self.count_share) if self.count_share else None

    def picks(self, cells: Cells) -> int:
        """How many picks one user has a part in."""
        return self.k if cells.one_place_each or self.one_context_each else self.k * cells.n_places

    def mechanism(self, cells: Cells) -> TopK:
        """What makes the list of each context."""
        lists = self._budget.rest(self.count_share)
        return TopK(self.k, lists.for_top(self.picks(cells)).epsilon)

    def loss(self, cells: Cells) -> Loss:
        """What is spent in all."""
        if self._budget.is_pure:
            return self._budget.loss
        # The rate of a list is rounded down: it may spend a little less than its share.
        numbers = self._count_budget.amount if self._count_budget else 0
        return Concentrated(self.picks(cells) * self.mechanism(cells).epsilon ** 2 / 8 + numbers)

    # The release

    def plan(self, data: Interactions, *, contexts: Sequence[Context | str] = ()) -> Plan:
        """What a release will be and guarantee. Reads no record, spends nothing."""
        return self._plan(Cells.of(self._public(data), contexts))

    def _plan(self, public: Cells) -> Plan:
        check_k(self.k, public.n_items)
        if self.mechanism(public).epsilon > LARGEST_RATE:
            raise UsageError(f"epsilon = {self.epsilon} is too large.", remedy="Take a smaller one.")
        noise = {"noise_sd": GUMBEL_SD / float(self.mechanism(public).epsilon)}
        if self._count_budget:
            noise["count_noise_sd"] = self._count_budget.noise_on(self._winner_sums(public))["noise_sd"]
        subject, basis, caps = self._stated(public)
        return Plan(
            loss=self.loss(public),
            basis=basis,
            subject=subject,
            caps=caps,
            not_covered=public.not_covered,
            details=public.contexts_as_json,
            expected=noise,
            public=public,
        )

    def _stated(self, cells: Cells) -> tuple[str, str, tuple[str, ...]]:
        """Subject, basis and caps of the guarantee."""
        subject, basis = cells.named(f"the {self.k} most popular of {cells.n_items:,} items in order"), TopK.theorem
        caps = ["each user was counted once for each item"]
        if cells.contexts:
            if self.picks(cells) == self.k:
                basis += ", in parallel over contexts of which each user has one (Theorem 12)"
            else:
                basis += f", for {self.picks(cells)} picks (Theorem 12)"
                caps[0] += " in each context"
            if self.one_context_each and not cells.one_place_each:
                caps.append("each user was counted in one context")
        if self.count_share:
            subject += " with noisy numbers of their users"
            basis += "; numbers of users of the winners, docs/proofs/selection.md, Theorem 13"
            if self.count_cap is not None and self.count_cap < self.picks(cells):
                caps.append(f"each user's total weight in the numbers is at most {self.count_cap}")
        return subject, basis, tuple(caps)

    def _prepare(self, data: Interactions, plan: Plan) -> Cells:
        cells = Cells.of(data, plan.public.contexts)
        if self.one_context_each and not cells.one_place_each:
            cells = cells.in_one_place(data)
        return cells.once()

    def _rounds(self, plan: Plan) -> Rounds:
        cells = plan.public
        winners = yield Round(place_scores, ListOfEachPlace(self.mechanism(cells), self.picks(cells)))
        columns: dict[str, Any] = cells.place_columns(np.repeat(np.arange(cells.n_places), self.k))
        columns["rank"] = np.tile(np.arange(1, self.k + 1), cells.n_places)
        if self._count_budget:
            numbers = yield Round(partial(self._winner_sums, winners=winners), self._count_budget.for_sums())
            columns["count"] = numbers * float(self._winner_sums(cells).step)
        return {"top": cells.table(winners.ravel(), **columns)}

    def _winner_sums(self, cells: Cells, winners: Integers | None = None) -> BoundedSums:
        """Users of the winners; before there are any, the first items stand for them, as the noise is the same."""
        if winners is None:
            winners = np.tile(np.arange(self.k, dtype=np.int64), (cells.n_places, 1))
        return winner_sums(cells, winners, most=self.picks(cells), cap=self.count_cap, norm=self._budget.norm)

    # What to expect

    def estimate(
        self, data: Interactions, *, contexts: Sequence[Context | str] = (), profile: Profile | None = None
    ) -> dict[str, Any]:
        """What to expect, from public values alone: no record is read, nothing is spent.

        Parameters
        ----------
        profile
            The popularity that is assumed for ``expected_precision``, the share of a list that is expected to be right,
            and for ``expected_mse`` of the numbers of the winners where they are released.
        """
        plan, assumed = self.plan(data, contexts=contexts), profile or Profile()
        cells = plan.public
        truth = self.users_of_items(cells, assumed)
        facts = {
            **self._estimate(plan),
            "items": cells.n_items,
            "lists": cells.n_places,
            "picks_charged": self.picks(cells),
            "scale": 1 / float(self.mechanism(cells).epsilon),
            "expected_precision": Expectation(truth).precision(self.k, "gumbel", plan.expected["noise_sd"]),
        }
        if self._count_budget:
            held = float(truth[: self.k].sum()) * cells.n_places / assumed.users
            kept = min(1.0, (self.count_cap or held) / max(held, 1.0)) ** (1 / self._budget.norm)
            counted = Expectation(kept * truth[: self.k])
            facts["expected_mse"] = counted.error(truth[: self.k], plan.expected["count_noise_sd"])
        return {**facts, "assumed": str(assumed)}

    def users_of_items(self, cells: Cells, profile: Profile) -> Floats:
        """Users of each item in one of the contexts, the most popular first, for an assumed popularity."""
        users = profile.counts(cells.n_items) / cells.n_places
        if not self.one_context_each:
            return users
        # Of n records, spread over h contexts, the one that is drawn has a context with 1 + (n − 1)/h of them.
        places = math.prod(len(one.values) for one in cells.contexts if not one.of_user)
        records = max(float(profile.of_one_user(cells.n_items).sum()), 1.0)
        return users * (1 / records + (1 - 1 / records) / places)


def place_scores(once: Cells) -> BoundedSums:
    """The number of users of every item in every place, items × places. One user moves each by at most 1.

    Parameters
    ----------
    once
        Records that hold each user, item and place once.
    """
    return moved_by_one(once.totals("edges").reshape(once.n_items, once.n_places), once.size("edges"))


def scores_of(scores: BoundedSums, place: int) -> BoundedSums:
    """The scores of one place."""
    values = np.ascontiguousarray(scores.values[:, place])
    return replace(scores, values=values, l1=Fraction(values.size), l2_squared=Fraction(values.size))


def winner_sums(once: Cells, winners: Integers, *, most: int, cap: int | None, norm: int) -> BoundedSums:
    """How many users each winner has; the weight of one user in all of them is at most the cap.

    Parameters
    ----------
    once
        Records that hold each user, item and place once.
    winners
        Codes of items, one row a place.
    most
        The most winners that one user can be counted for.
    cap
        The most that one user weighs: the sum of the weights (norm 1), or of their squares (norm 2).
    """
    limit = most if cap is None else min(cap, most)
    bits = 0 if limit == most else GRID_BITS
    index = np.full(once.size("edges"), -1, dtype=np.int64)
    cells = winners * once.n_places + np.arange(once.n_places)[:, None]
    index[cells.ravel()] = np.arange(winners.size)
    found = index[once.cell("edges")]
    user, found = once.user[found >= 0], found[found >= 0]
    held = np.bincount(user, minlength=once.n_users)
    # Weights for every number of winners that somebody may hold, rounded down to the grid.
    if norm == 1:
        weights = [min(2**bits, limit * 2**bits // t) for t in range(1, most + 1)]
    else:
        weights = [min(2**bits, math.isqrt(limit * 4**bits // t)) for t in range(1, most + 1)]
    weight = np.array([0, *weights], dtype=np.int64)[held]
    values = np.bincount(found, weights=weight[user], minlength=winners.size)
    return BoundedSums(
        values=values.astype(np.int64),
        step=Fraction(1, 2**bits),
        l1=Fraction(limit * 2**bits) if norm == 1 else sqrt_up(Fraction(most * limit * 4**bits)),
        l2_squared=Fraction(limit * 4**bits),
        linf=Fraction(2**bits),
        nonnegative=True,
        unit=USER,
        caps=(),
    )
