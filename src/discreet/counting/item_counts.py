"""Item counts: how often each item of the catalog was touched."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.counting.tables import catalog_table
from discreet.data.interactions import Interactions
from discreet.privacy.bounding import BoundedSums, weigh
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["ItemCounts", "item_counts"]


@dataclass(frozen=True)
class ItemCounts:
    """Counts of every item of a public catalog with discrete Laplace noise; nobody weighs more than ``cap`` records.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The most that one user weighs in all; public. A user with more records has each weighed down to cap/records.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. Released: a number for every item of the catalog. One user changes
    the weighted counts by at most ``cap`` in L1, on the grid as in theory, so discrete Laplace noise of scale cap/ε
    spends ε (``docs/proofs/bounding.md``, Theorem 2). Not covered: the catalog itself, which is public.

    Weighing has the mean of drawing ``cap`` records at random and none of its variance. Items touched by many users
    who are over the cap come out too low; ``estimate`` tells the noise, not this bias, which depends on the records.
    """

    epsilon: Fraction
    cap: int

    @classmethod
    def of(cls, *, epsilon: Rational, cap: int) -> ItemCounts:
        return cls(as_positive(epsilon, "epsilon"), cap)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon), "cap": self.cap}

    def guarantee(self, data: Interactions) -> Guarantee:
        """What a release will promise, known before it is made."""
        return self._promise(weigh(data.emptied(), self.cap))

    def estimate(self, data: Interactions) -> dict[str, Any]:
        """What to expect, from public values alone: no record is read, nothing is spent."""
        sums = weigh(data.emptied(), self.cap)
        mechanism = LaplaceMechanism(self.epsilon)
        mechanism.check(sums)
        return {
            "epsilon": str(self.epsilon),
            "cap": self.cap,
            "items": data.n_items,
            "noise_sd": mechanism.standard_deviation(sums),
            "noise_95": mechanism.interval(sums, 0.95),
        }

    def release(self, data: Interactions, *, ledger: Ledger | None = None) -> Release:
        """Charge the ledger, draw the noise, hand out the counts."""
        sums = weigh(data, self.cap)
        mechanism = LaplaceMechanism(self.epsilon)
        mechanism.check(sums)
        guarantee = self._promise(sums)
        with charged(ledger, data, guarantee, mechanism="item_counts", parameters=self.parameters) as charge:
            counts = mechanism.release(sums) * float(sums.step)
            noise = {"noise_sd": mechanism.standard_deviation(sums), "noise_95": mechanism.interval(sums, 0.95)}
            release = Release(
                kind="item-counts",
                guarantee=guarantee,
                mechanism="item_counts",
                parameters={**self.parameters, **noise},
                parts={"counts": catalog_table(data, count=counts)},
                dataset=data.name,
            )
            charge.settle(release.id)
        return release

    def _promise(self, sums: BoundedSums) -> Guarantee:
        return Guarantee(
            loss=LaplaceMechanism(self.epsilon).loss,
            unit=sums.unit,
            standing=Standing.PROVED,
            basis="weighted counts with discrete Laplace noise, docs/proofs/bounding.md, Theorem 2",
            subject=f"noisy counts of {sums.values.size:,} items",
            caps=sums.caps,
            not_covered=("the public list of items", "facts about people at large"),
        )


def item_counts(data: Interactions, *, epsilon: Rational, cap: int, ledger: Ledger | None = None) -> Release:
    """Release noisy counts of every item of the catalog; see ``ItemCounts``.

    Parameters
    ----------
    data
        The records; their catalog must be public.
    epsilon
        The budget: an int, a Fraction, a Decimal, text such as "1/2", or a float by its shortest decimal.
    cap
        The most that one user weighs in all.
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
    return ItemCounts.of(epsilon=epsilon, cap=cap).release(data, ledger=ledger)
