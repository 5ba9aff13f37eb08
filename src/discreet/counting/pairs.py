"""Item–item edges: who touched this also touched that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells
from discreet.counting.head_tail import of_items
from discreet.counting.levels import as_share, loss_of, part_of, without_records
from discreet.counting.popularity import head_of, popularity_sums, released_popularity
from discreet.counting.profiles import Outlook, Profile
from discreet.counting.tables import catalog_table
from discreet.data.ids import IdMap, group_order
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.bounding import check_cap, distinct_items, require_catalog
from discreet.privacy.charging import charged
from discreet.privacy.gram import BoundedGram, GramMechanism, LaplaceGramMechanism, SymmetricMechanism
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Loss, Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_positive, as_probability
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.privacy.weighing import GRID_BITS

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["ItemPairs", "pair_sums", "pair_weights"]

MOST_HEAD = 8192
"""Larger heads would need more than half a gigabyte for each matrix."""


@dataclass(frozen=True)
class ItemPairs:
    """How many users touched two items both, for all pairs of a head of the catalog, with noise.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        So many items of a user go together in full; public. The pairs of a user with n > cap items weigh (cap/n)²
        each, with ``delta`` cap/n.
    head
        How many items to look at, the most popular by a first look that is paid for; or the ids of these items, where
        it is public which ones they are: then there is no first look.
    first, first_share
        What one user weighs in the first look, and its share of the budget.
    delta
        Where given, lengths are bounded in L2 and the noise is Gaussian: far better where users have many items.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. A user with n items of the head contributes a symmetric n × n matrix
    of one weight w_n, the diagonal included. Its entries add up to n²·w_n ≤ cap² (with ``delta`` their squares do), and
    symmetric noise spends ε or ρ (``docs/proofs/counting.md``, Theorem 12). With a first look, shares of the
    budget add up. Not covered: the catalog, and a head that was declared public.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=400, items=60, seed=7)
    >>> release = ItemPairs.of(epsilon=4, delta="1e-6", cap=5, head=20).release(films)
    >>> release.array("pairs").shape
    (20, 20)
    >>> item = release.table("items")["item_id"][0]
    >>> from discreet.counting import also
    >>> also(release, item, 3).columns
    ['item_id', 'title', 'count', 'share', 'rank']
    """

    name: ClassVar[str] = "item-pairs"

    epsilon: Fraction
    cap: int
    head: int | tuple[Any, ...]
    first: int = 1
    first_share: Fraction = Fraction(1, 5)
    delta: Fraction | None = None

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        cap: int,
        head: int | Sequence[Any],
        first: int = 1,
        first_share: Rational = "1/5",
        delta: Rational | None = None,
    ) -> ItemPairs:
        return cls(
            as_positive(epsilon, "epsilon"),
            cap,
            head if isinstance(head, int) else tuple(head),
            first,
            as_share(first_share, "first_share"),
            None if delta is None else as_probability(delta),
        )

    @property
    def parameters(self) -> dict[str, Any]:
        looks = {"first": self.first, "first_share": str(self.first_share)} if isinstance(self.head, int) else {}
        return {
            "epsilon": str(self.epsilon),
            "cap": self.cap,
            "head": self.size,
            "head_is_public": not isinstance(self.head, int),
            **looks,
            "delta": None if self.delta is None else str(self.delta),
        }

    @property
    def size(self) -> int:
        """How many items the head has."""
        return self.head if isinstance(self.head, int) else len(self.head)

    @property
    def loss(self) -> Loss:
        """All that is spent: ε, or the largest ρ that keeps (ε, δ)."""
        return loss_of(self.epsilon, self.delta)

    def guarantee(self, data: Interactions) -> Guarantee:
        """What a release will promise, known before it is made."""
        cells = self._cells(data.emptied())
        self._check(cells, data.items)
        return self._promise(cells)

    def estimate(self, data: Interactions, *, profile: Profile | None = None, k: int = 10) -> dict[str, Any]:
        """What to expect, from public values alone: no record is read, nothing is spent.

        Parameters
        ----------
        profile
            The popularity that is assumed for ``expected_mse``, the mean squared error of a pair's count, and for
            ``expected_precision``, the share of what goes most often with the most popular item that is expected to be
            found: for users to whom having one item says nothing about the next.
        k
            How long that list is.
        """
        cells = self._cells(data.emptied())
        self._check(cells, data.items)
        facts = {"method": self.name, **self.parameters, "loss": str(self.loss)}
        noise = self._mechanism().standard_deviation(self._shape())
        return {**facts, "noise_sd": noise, **self._expected(cells, profile or Profile(), k, noise)}

    def release(self, data: Interactions, *, ledger: Ledger | None = None) -> Release:
        """Charge the ledger, draw the noise, hand out the counts of pairs."""
        cells = self._cells(data)
        declared = self._check(cells, data.items)
        guarantee = self._promise(cells)
        with charged(ledger, data, guarantee, mechanism=self.name, parameters=self.parameters) as charge:
            parts: dict[str, Any] = {}
            if declared is None:
                assert isinstance(self.head, int)
                parts["popularity"] = released_popularity(cells, self.first, self.loss, self._first_mechanism())
                declared = head_of(parts["popularity"], self.head)
            gram = pair_sums(of_items(cells, declared), self.cap, squared=self.delta is not None)
            (parts["pairs"],) = self._mechanism().release(gram)
            release = Release(
                kind="item-pairs",
                guarantee=guarantee,
                mechanism=self.name,
                parameters={**self.parameters, "noise_sd": self._mechanism().standard_deviation(gram)},
                parts={**parts, "items": catalog_table(data, declared)},
                dataset=data.name,
            )
            charge.settle(release.id)
        return release

    def _cells(self, data: Interactions) -> Cells:
        """Each user's items, once each."""
        require_catalog(data, "counts of pairs")
        return Cells.of(distinct_items(data))

    def _first_mechanism(self) -> AdditiveMechanism:
        return part_of(self.loss, self.first_share)

    def _mechanism(self) -> SymmetricMechanism:
        share = 1 - self.first_share if isinstance(self.head, int) else Fraction(1)
        loss = part_of(self.loss, share).loss
        return LaplaceGramMechanism(loss.epsilon) if isinstance(loss, Pure) else GramMechanism(loss.rho)  # type: ignore[union-attr]

    def _shape(self) -> BoundedGram:
        """The bounds with a small matrix: what one user changes does not depend on what is in it."""
        weights = pair_weights(self.size, self.cap, squared=self.delta is not None)
        return _bounded(np.zeros((2, 2), dtype=np.int64), weights, self.cap, squared=self.delta is not None)

    def _expected(self, cells: Cells, profile: Profile, k: int, noise: float) -> dict[str, Any]:
        """Error and precision where items go together by chance alone, and the head is the most popular items."""
        touched = profile.of_one_user(cells.n_items)[: self.size]
        squared = self.delta is not None
        kept = min(1.0, (self.cap / max(float(touched.sum()), 1e-12)) ** (1 if squared else 2))
        # The mean of (users·tᵢ·tⱼ)² over all pairs of different items.
        square = (touched**2).sum() ** 2 - (touched**4).sum()
        lost = (1 - kept) ** 2 * profile.users**2 * float(square) / (self.size * (self.size - 1))
        beside = kept * profile.users * touched[0] * touched[1:]
        return {
            "scale": noise if squared else noise / math.sqrt(2),
            "expected_mse": lost + noise**2,
            "expected_precision": Outlook(beside).precision(k, "gaussian" if squared else "laplace", noise),
            "k": k,
            "assumed": str(profile),
        }

    def _check(self, cells: Cells, items: IdMap) -> NDArray[np.int64] | None:
        """Find every mistake; codes of a head that is public."""
        check_cap(self.cap)
        check_cap(self.first)
        if isinstance(self.head, bool) or not 2 <= self.size <= min(MOST_HEAD, cells.n_items):
            raise UsageError(
                f"pairs of {self.size} out of {cells.n_items:,} items?",
                remedy=f"Take a head of 2 to {min(MOST_HEAD, cells.n_items):,} items.",
            )
        self._mechanism().check(self._shape())
        if isinstance(self.head, int):
            self._first_mechanism().check(popularity_sums(without_records(cells), self.first, self.loss))
            return None
        codes = np.unique(items.encode(list(self.head))).astype(np.int64)
        if codes.size != self.size:
            raise UsageError("the head names an item twice.")
        return codes

    def _promise(self, cells: Cells) -> Guarantee:
        return Guarantee(
            loss=self.loss,
            unit=Unit("user"),
            standing=Standing.PROVED,
            basis="weighted pairs with symmetric noise, docs/proofs/counting.md, Theorem 12",
            subject=f"noisy counts of users for all pairs of {self.size:,} out of {cells.n_items:,} items",
            caps=self._shape().caps,
            not_covered=("the public list of items", "facts about people at large"),
        )


def pair_sums(cells: Cells, cap: int, *, squared: bool, bits: int = GRID_BITS) -> BoundedGram:
    """Weighted numbers of users of each pair of items, and of each item on the diagonal.

    Parameters
    ----------
    cells
        One record for each user and item; the catalog is the head.
    cap
        Users with n items weigh min(1, (cap/n)²) in each pair; min(1, cap/n) where ``squared``.
    """
    from discreet.neighbors.gram_kernels import gram_sums

    weights = pair_weights(cells.n_items, cap, squared=squared, bits=bits)
    order, item_starts = group_order(cells.item, cells.n_items)
    _, together = gram_sums(
        item_starts,
        cells.user[order],
        order.astype(np.int64),
        cells.starts,
        cells.item,
        np.ones(cells.item.size, dtype=np.int64),
        np.array([0, *weights], dtype=np.int64)[cells.records_per_user],
        1,
    )
    return _bounded(together, weights, cap, squared=squared, bits=bits)


def pair_weights(size: int, cap: int, *, squared: bool, bits: int = GRID_BITS) -> list[int]:
    """W_1, W_2, … for users with 1, 2, … up to ``size`` items, in whole steps, rounded down."""
    return [min(2**bits, cap * 2**bits // n if squared else cap**2 * 2**bits // n**2) for n in range(1, size + 1)]


def _bounded(
    matrix: NDArray[np.int64], weights: list[int], cap: int, *, squared: bool, bits: int = GRID_BITS
) -> BoundedGram:
    how = "cap/n" if squared else "(cap/n)²"
    return BoundedGram.weighted(
        (matrix,),
        weights,
        largest=1,
        step=Fraction(1, 2**bits),
        unit=Unit("user"),
        caps=(f"each user's pairs were weighed by {how} from n = cap = {cap} items on",),
    )
