"""The most popular items, chosen directly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.cells import Cells
from discreet.counting.contexts import Context
from discreet.counting.levels import loss_of, part_of
from discreet.counting.lists import check_k
from discreet.counting.profiles import Outlook, Profile
from discreet.counting.tables import catalog_table, place_columns
from discreet.counting.user_counts import by_user_once, held_to_one_place, scores_by_place, winner_sums
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums, check_cap
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Concentrated, Loss, Pure, rho_for
from discreet.privacy.mechanisms import AdditiveMechanism, GaussianMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability
from discreet.privacy.release import Release
from discreet.privacy.selection import TopK
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["TopItems", "top_items"]

GUMBEL_SD = math.pi / math.sqrt(6)
"""Standard deviation of Gumbel noise of scale 1."""

LARGEST_RATE = 2**60
"""What the comparison of noisy scores can work with."""


@dataclass(frozen=True)
class TopItems:
    """The k items that most users touched, in order, chosen directly: no cap is needed, no counts unless asked for.

    Parameters
    ----------
    k
        How many; public.
    epsilon, delta
        The budget of everything that is released. Without a delta it is pure; with one it is spent as zCDP, which is
        far cheaper from a few picks on.
    count_share
        Share of the budget for noisy numbers of users of the winners; 0 releases the list alone.
    count_cap
        The most that one user weighs in these numbers; otherwise as many as there are winners.
    one_context_each
        Where contexts vary within a user: count each user in one context only, that of a record drawn at random. A
        list then costs as if there were no others.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. A user counts once for each item, and in each context, so one user
    raises each count by at most 1, whatever the number of items: the scores are monotone with Δ = 1. One shot of
    Gumbel noise of scale 1/ε′ is k exponential mechanisms of ε′ (``docs/proofs/selection.md``, Theorem 3), at kε′
    pure or kε′²/8 zCDP.

    *Contexts.* Each of the h combinations of values has a list of its own (``docs/proofs/selection.md``, Theorem 12).
    Where a user has one value (gender, age; or ``one_context_each``), one user moves the scores of one list: the lists
    together cost what one of them does. Elsewhere (weekday) one user may be in all of them, and h·k picks are charged.

    *Counts of winners.* Given the lists, a user has t of the m winners it can be among (m = k or h·k) and weighs
    min(1, l/t) in each with Laplace noise of scale l/ε_c, or min(1, √(l/t)) with Gaussian noise of variance l/(2ρ_c),
    l = min(m, ``count_cap``). Budgets add up (``docs/proofs/selection.md``, Theorem 13).
    """

    k: int
    epsilon: Fraction
    delta: Fraction | None = None
    count_share: Fraction = Fraction(0)
    count_cap: int | None = None
    one_context_each: bool = False

    @classmethod
    def of(
        cls,
        k: int,
        *,
        epsilon: Rational,
        delta: Rational | None = None,
        count_share: Rational = 0,
        count_cap: int | None = None,
        one_context_each: bool = False,
    ) -> TopItems:
        share = as_fraction(count_share, "count_share")
        if not 0 <= share < 1:
            raise UsageError(f"count_share = {count_share} must be at least 0 and below 1.")
        if count_cap is not None:
            check_cap(count_cap)
        check_k(k, None)
        chance = None if delta is None else as_probability(delta)
        return cls(k, as_positive(epsilon, "epsilon"), chance or None, share, count_cap, one_context_each)

    @property
    def parameters(self) -> dict[str, Any]:
        given = {"k": self.k, "epsilon": str(self.epsilon)}
        if self.delta is not None:
            given["delta"] = str(self.delta)
        if self.count_share:
            given |= {"count_share": str(self.count_share), "count_cap": self.count_cap}
        if self.one_context_each:
            given["one_context_each"] = True
        return given

    def picks(self, cells: Cells) -> int:
        """How many picks one user has a part in."""
        return self.k if cells.one_place_each or self.one_context_each else self.k * cells.n_places

    def mechanism(self, cells: Cells) -> TopK:
        """What makes the list of each context."""
        picks, share = self.picks(cells), 1 - self.count_share
        if self.delta is None:
            return TopK(self.k, TopK.for_total(picks, share * self.epsilon).epsilon)
        return TopK(self.k, TopK.for_rho(picks, share * rho_for(self.epsilon, self.delta)).epsilon)

    def count_mechanism(self) -> AdditiveMechanism | None:
        """What makes the counts of the winners, if they are wanted."""
        return part_of(loss_of(self.epsilon, self.delta), self.count_share) if self.count_share else None

    def loss(self, cells: Cells) -> Loss:
        """What is spent in all."""
        if self.delta is None:
            return Pure(self.epsilon)
        counts = self.count_mechanism()
        rho = self.picks(cells) * self.mechanism(cells).epsilon ** 2 / 8
        return Concentrated(rho + (counts.rho if isinstance(counts, GaussianMechanism) else 0))

    def guarantee(self, data: Interactions, *, contexts: Sequence[Context | str] = ()) -> Guarantee:
        """What a release will promise, known before it is made."""
        cells = Cells.of(data.emptied(), contexts)
        self._check(cells)
        return self._promise(cells)

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
        cells = Cells.of(data.emptied(), contexts)
        self._check(cells)
        assumed = profile or Profile()
        scale = 1 / float(self.mechanism(cells).epsilon)
        facts = {
            "method": "selection",
            **self.parameters,
            "items": cells.n_items,
            "lists": cells.n_places,
            "picks_charged": self.picks(cells),
            "loss": str(self.loss(cells)),
            "scale": scale,
            "noise_sd": GUMBEL_SD * scale,
        }
        truth = self.users_of_items(cells, assumed)
        facts["expected_precision"] = Outlook(truth).precision(self.k, "gumbel", facts["noise_sd"])
        if (counts := self.count_mechanism()) is not None:
            noise = counts.standard_deviation(self._winner_sums(cells))
            held = float(truth[: self.k].sum()) * cells.n_places / assumed.users
            kept = min(1.0, (self.count_cap or held) / max(held, 1.0)) ** (1.0 if self.delta is None else 0.5)
            facts |= {
                "count_noise_sd": noise,
                "expected_mse": Outlook(kept * truth[: self.k]).error(truth[: self.k], noise),
            }
        return {**facts, "assumed": str(assumed)}

    def users_of_items(self, cells: Cells, profile: Profile) -> NDArray[np.float64]:
        """Users of each item in one of the contexts, the most popular first, in an assumed world."""
        users = profile.counts(cells.n_items) / cells.n_places
        if not self.one_context_each:
            return users
        # Of n records, spread over h contexts, the one that is drawn has a context with 1 + (n − 1)/h of them.
        places = math.prod(len(one.values) for one in cells.contexts if not one.of_user)
        records = max(float(profile.of_one_user(cells.n_items).sum()), 1.0)
        return users * (1 / records + (1 - 1 / records) / places)

    def release(
        self, data: Interactions, *, contexts: Sequence[Context | str] = (), ledger: Ledger | None = None
    ) -> Release:
        """Charge the ledger, draw the noise, hand out the lists."""
        cells = Cells.of(data, contexts)
        self._check(cells)
        guarantee = self._promise(cells)
        parameters = {
            **self.parameters,
            "contexts": {context.name: list(context.values) for context in cells.contexts},
            "noise_sd": GUMBEL_SD / float(self.mechanism(cells).epsilon),
        }
        with charged(ledger, data, guarantee, mechanism="top_items", parameters=parameters) as charge:
            release = Release(
                kind="top-items",
                guarantee=guarantee,
                mechanism="top_items",
                parameters=parameters,
                parts={"top": self._lists(data, cells)},
                dataset=data.name,
            )
            charge.settle(release.id)
        return release

    def _lists(self, data: Interactions, cells: Cells) -> pl.DataFrame:
        if self.one_context_each and not cells.one_place_each:
            cells = held_to_one_place(data, cells)
        once = by_user_once(cells)
        mechanism = self.mechanism(cells)
        winners = np.stack([mechanism.choose(scores) for scores in scores_by_place(once)])
        columns: dict[str, Any] = place_columns(cells.contexts, np.repeat(np.arange(cells.n_places), self.k))
        columns["rank"] = np.tile(np.arange(1, self.k + 1), cells.n_places)
        if (counts := self.count_mechanism()) is not None:
            sums = self._winner_sums(once, winners)
            columns["count"] = counts.release(sums) * float(sums.step)
        return catalog_table(data, winners.ravel(), **columns)

    def _winner_sums(self, cells: Cells, winners: NDArray[np.int64] | None = None) -> BoundedSums:
        """Users of the winners; before there are any, the first items stand for them, as the noise is the same."""
        if winners is None:
            winners = np.tile(np.arange(self.k, dtype=np.int64), (cells.n_places, 1))
        norm = 1 if self.delta is None else 2
        return winner_sums(cells, winners, most=self.picks(cells), cap=self.count_cap, norm=norm)

    def _check(self, cells: Cells) -> None:
        """Find every mistake before anything is charged."""
        check_k(self.k, cells.n_items)
        if self.mechanism(cells).epsilon > LARGEST_RATE:
            raise UsageError(f"epsilon = {self.epsilon} is more than anybody can mean.", remedy="Take a smaller one.")
        if (counts := self.count_mechanism()) is not None:
            counts.check(self._winner_sums(cells.keep(np.zeros(cells.user.size, dtype=bool))))

    def _promise(self, cells: Cells) -> Guarantee:
        subject = f"the {self.k} most popular of {cells.n_items:,} items in order"
        basis, outside = TopK.theorem, "the public list of items"
        caps = ["each user was counted once for each item"]
        if cells.contexts:
            subject += f" by {', '.join(context.name for context in cells.contexts)}"
            outside += " and of the values of contexts"
            if self.picks(cells) == self.k:
                basis += ", in parallel over contexts of which each user has one (Theorem 12)"
            else:
                basis += f", for {self.picks(cells)} picks (Theorem 12)"
                caps[0] += " in each context"
            if self.one_context_each and not cells.one_place_each:
                caps.append("each user was held to one context")
        if self.count_share:
            subject += " with noisy numbers of their users"
            basis += "; numbers of users of the winners, docs/proofs/selection.md, Theorem 13"
            if self.count_cap is not None and self.count_cap < self.picks(cells):
                caps.append(f"each user was weighed down to {self.count_cap} in the numbers")
        return Guarantee(
            loss=self.loss(cells),
            unit=Unit("user"),
            standing=Standing.PROVED,
            basis=basis,
            subject=subject,
            caps=tuple(caps),
            not_covered=(outside, "facts about people at large"),
        )


def top_items(
    data: Interactions,
    k: int = 10,
    *,
    epsilon: Rational,
    delta: Rational | None = None,
    contexts: Sequence[Context | str] = (),
    ledger: Ledger | None = None,
) -> Release:
    """Release the k items that most users touched, in order, in all or in each context; see ``TopItems``.

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> top_items(shop, 2, epsilon=1).table("top").columns
    ['item_id', 'rank']
    """
    return TopItems.of(k, epsilon=epsilon, delta=delta).release(data, contexts=contexts, ledger=ledger)
