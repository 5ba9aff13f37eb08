"""Item counts: how often each item of the catalog was touched, in all and in each context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.counting.cells import Cells, Level
from discreet.counting.contexts import Context
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.fusion import fuse
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.bounding import GRID_BITS, BoundedSums, check_cap
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["ItemCounts", "item_counts"]


@dataclass(frozen=True)
class ItemCounts(CountMethod):
    """Weighted counts with discrete Laplace noise; nobody weighs more than ``cap`` records.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The most that one user weighs in all; public. A user with more records has each weighed down to cap/records.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges. Both are
        fused afterwards.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. Released: a number for every item of the catalog, and for every
    item in every context. One user changes the weighted counts by at most ``cap`` in L1, on the grid as in theory, so
    discrete Laplace noise of scale cap/ε spends ε (``docs/proofs/bounding.md``, Theorem 2); counts of items and of
    edges add up. Not covered: the catalog itself, which is public.

    Weighing has the mean of drawing ``cap`` records at random and none of its variance. Items touched by many users
    who are over the cap come out too low; ``estimate`` tells the noise, not this bias, which depends on the records.
    """

    name: ClassVar[str] = "weighted"

    epsilon: Fraction
    cap: int
    item_share: Fraction = Fraction(1, 2)

    @classmethod
    def of(cls, *, epsilon: Rational, cap: int, item_share: Rational = "1/2") -> ItemCounts:
        share = as_fraction(item_share, "item_share")
        if not 0 < share < 1:
            raise UsageError(f"item_share = {item_share} must be between 0 and 1.")
        return cls(as_positive(epsilon, "epsilon"), cap, share)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon), "cap": self.cap, "item_share": str(self.item_share)}

    def _mechanisms(self, cells: Cells) -> dict[Level, LaplaceMechanism]:
        if not cells.contexts:
            return {"items": LaplaceMechanism(self.epsilon)}
        return {
            "items": LaplaceMechanism(self.epsilon * self.item_share),
            "edges": LaplaceMechanism(self.epsilon * (1 - self.item_share)),
        }

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """Each of T records weighs ⌊2^bits·cap/T⌋ steps, so a user weighs at most cap·2^bits: rounding down is safe."""
        counts = np.maximum(cells.records_per_user, 1)
        weight = np.minimum(2**GRID_BITS, self.cap * 2**GRID_BITS // counts)
        linf = self.cap if cells.may_repeat else 1
        return BoundedSums(
            values=cells.totals(level, weight[cells.user]),
            step=Fraction(1, 2**GRID_BITS),
            l1=Fraction(self.cap * 2**GRID_BITS),
            l2_squared=Fraction(self.cap * linf * 4**GRID_BITS),
            linf=Fraction(linf * 2**GRID_BITS),
            nonnegative=True,
            unit=Unit("user"),
            caps=(f"each user's records were weighed down to at most {self.cap} in all",),
        )

    def _plan(self, cells: Cells) -> Plan:
        check_cap(self.cap)
        expected, empty = {}, cells.keep(np.zeros(cells.user.size, dtype=bool))
        for level, mechanism in self._mechanisms(cells).items():
            sums = self._sums(empty, level)
            mechanism.check(sums)
            word = "" if level == "items" else "edge_"
            expected[f"{word}noise_sd"] = mechanism.standard_deviation(sums)
            expected[f"{word}noise_95"] = mechanism.interval(sums, 0.95)
        return Plan(
            loss=Pure(self.epsilon),
            basis="weighted counts with discrete Laplace noise, docs/proofs/bounding.md, Theorem 2",
            caps=self._sums(empty, "items").caps,
            expected=expected,
        )

    def _count(self, cells: Cells) -> Counted:
        noisy, variance = {}, {}
        for level, mechanism in self._mechanisms(cells).items():
            sums = self._sums(cells, level)
            noisy[level] = mechanism.release(sums) * float(sums.step)
            variance[level] = mechanism.standard_deviation(sums) ** 2
        if "edges" not in noisy:
            return Counted(noisy["items"])
        edges = noisy["edges"].reshape(cells.n_items, cells.n_places)
        return Counted(*fuse(noisy["items"], edges, item_variance=variance["items"], edge_variance=variance["edges"]))


def item_counts(
    data: Interactions,
    *,
    epsilon: Rational,
    cap: int,
    contexts: Sequence[Context | str] = (),
    ledger: Ledger | None = None,
) -> Release:
    """Release noisy counts of every item of the catalog; see ``ItemCounts``.

    Parameters
    ----------
    data
        The records; their catalog must be public.
    epsilon
        The budget: an int, a Fraction, a Decimal, text such as "1/2", or a float by its shortest decimal.
    cap
        The most that one user weighs in all.
    contexts
        What to count by beside items, with public values: ``"weekday"``, ``"device=phone,laptop"``, ``"age=<25,25+"``.
    ledger
        The book to charge. Without one nothing is booked.

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> release = item_counts(shop, epsilon="1/2", cap=10)
    >>> release.table("counts").columns
    ['item_id', 'count']
    >>> print(release.guarantee.loss)
    ε = 0.5
    """
    return ItemCounts.of(epsilon=epsilon, cap=cap).release(data, contexts=contexts, ledger=ledger)
