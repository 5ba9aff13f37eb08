"""Item counts: how often each item of the catalog was touched, in all and in each context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.counting.cells import Cells, Level
from discreet.counting.contexts import Context
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.levels import as_share, fused, fused_noise, level_mechanisms, weighed, without_records
from discreet.counting.outlooks import weighed_outlook
from discreet.counting.profiles import Outlook, Profile
from discreet.data.interactions import Interactions
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release

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
        fused afterwards. Half unless given: Laplace noise grows as fast as a share falls.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. Released: a number for every item of the catalog, and for every
    item in every context. One user changes the weighted counts by at most ``cap`` in L1, on the grid as in theory, so
    discrete Laplace noise of scale cap/ε spends ε (``docs/proofs/bounding.md``, Theorem 2); counts of items and of
    edges add up. Not covered: the catalog itself, which is public.

    Weighing has the mean of drawing ``cap`` records at random and none of its variance. Items touched by many users
    who are over the cap come out too low, by how much depends on the records.
    """

    name: ClassVar[str] = "weighted"

    epsilon: Fraction
    cap: int
    item_share: Fraction = Fraction(1, 2)

    @classmethod
    def of(cls, *, epsilon: Rational, cap: int, item_share: Rational = "1/2") -> ItemCounts:
        return cls(as_positive(epsilon, "epsilon"), cap, as_share(item_share, "item_share"))

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, Pure(self.epsilon), self.item_share)

    def _plan(self, cells: Cells) -> Plan:
        empty = without_records(cells)
        return Plan(
            loss=Pure(self.epsilon),
            basis="weighted counts with discrete Laplace noise, docs/proofs/bounding.md, Theorem 2",
            caps=weighed(empty, "items", self.cap).caps,
            expected=fused_noise(cells, self._mechanisms(cells), lambda level: weighed(empty, level, self.cap)),
        )

    def _count(self, cells: Cells) -> Counted:
        return fused(cells, self._mechanisms(cells), lambda level: weighed(cells, level, self.cap))

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        return weighed_outlook(cells, level, profile, self.cap)


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
