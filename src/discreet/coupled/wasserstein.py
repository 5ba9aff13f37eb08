"""The Wasserstein mechanism: noise for how far one row's value can move the whole answer, through all it depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb
from typing import ClassVar

from discreet.coupled.pufferfish import PufferfishCount
from discreet.coupled.workload import GRID, Workload
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.numbers import Rational, as_fraction, as_positive

__all__ = ["BinaryLaw", "WassersteinCount", "farthest_shift"]

MOST_ROWS = 4096


def farthest_shift(first: Mapping[int, Fraction], second: Mapping[int, Fraction]) -> int:
    """∞-Wasserstein distance of two laws on the whole numbers: the farthest that mass must be carried, at best.

    Parameters
    ----------
    first, second
        Value to probability; each adds up to 1, exactly.

    Notes
    -----
    On a line it is best to carry quantile to quantile, so it is enough to walk both distribution functions at once.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> farthest_shift({0: half, 1: half}, {0: half, 4: half})
    3
    """
    for law in (first, second):
        if sum(law.values()) != 1 or any(p < 0 for p in law.values()):
            raise UsageError("the probabilities of a law must be from 0 and add up to 1.", remedy="Give fractions.")
    left = sorted((value, p) for value, p in first.items() if p)
    right = sorted((value, p) for value, p in second.items() if p)
    farthest, i, j = 0, 0, 0
    here, there = left[0][1], right[0][1]
    while True:
        farthest = max(farthest, abs(left[i][0] - right[j][0]))
        moved = min(here, there)
        here, there = here - moved, there - moved
        if not here:
            i += 1
            if i == len(left):
                return farthest
            here = left[i][1]
        if not there:
            j += 1
            there = right[j][1]


@dataclass(frozen=True)
class BinaryLaw:
    """A public law of which rows of a group count, as far as the number of them goes.

    Parameters
    ----------
    size
        Rows of the group.
    given
        For each row and each of its two values (row, counts or not) the law of how many rows of the group count.

    Examples
    --------
    >>> alike = BinaryLaw.mixture(10, together="0.3", probability="0.01")
    >>> alike.distance
    10
    """

    size: int
    given: tuple[tuple[dict[int, Fraction], dict[int, Fraction]], ...]

    @classmethod
    def of(cls, size: int, probability: Callable[[tuple[int, ...]], Rational]) -> BinaryLaw:
        """From the probability of every combination of values of the rows; for small groups."""
        if not 1 <= size <= 16:
            raise UsageError(f"the combinations of {size} rows are not listed.", remedy="Give groups of 1 to 16.")
        joint = {values: as_fraction(probability(values), "probability") for values in product((0, 1), repeat=size)}
        if sum(joint.values()) != 1 or min(joint.values()) < 0:
            raise UsageError("the probabilities of a law must be from 0 and add up to 1.", remedy="Give fractions.")
        given = []
        for row in range(size):
            laws = []
            for value in (0, 1):
                law: dict[int, Fraction] = {}
                for values, p in joint.items():
                    if values[row] == value and p:
                        law[sum(values)] = law.get(sum(values), Fraction(0)) + p
                laws.append(_normalized(law))
            given.append((laws[0], laws[1]))
        return cls(size, tuple(given))

    @classmethod
    def mixture(cls, size: int, *, together: Rational, probability: Rational) -> BinaryLaw:
        """All rows have one value with the chance ``together``, otherwise each its own; each counts as likely."""
        if not 1 <= size <= MOST_ROWS:
            raise UsageError(f"a group of {size} rows?", remedy=f"Give 1 to {MOST_ROWS:,}.")
        alike, p = as_fraction(together, "together"), as_fraction(probability, "probability")
        if not (0 <= alike <= 1 and 0 < p < 1):
            raise UsageError("together must be from 0 to 1, probability between them.")
        laws = []
        for value in (0, 1):
            law = {
                value + others: (1 - alike) * comb(size - 1, others) * p**others * (1 - p) ** (size - 1 - others)
                for others in range(size)
            }
            law[value * size] += alike
            laws.append(law)
        return cls(size, ((laws[0], laws[1]),) * size)

    @property
    def distance(self) -> int:
        """The largest distance between the laws of the count given the two values of one row."""
        # A value that never occurs is no secret: there is nothing to tell it from.
        able = [(no, yes) for no, yes in self.given if no and yes]
        return max((farthest_shift(no, yes) for no, yes in able), default=0)


@dataclass(frozen=True)
class WassersteinCount(PufferfishCount):
    """How many rows a yes-or-no query counts, with noise for a public law of dependence within groups.

    Parameters
    ----------
    epsilon
        The budget; from ``of`` any number.
    laws
        The class of laws: for groups of each size at least one law of which of their rows count.

    Privacy
    -------
    Secrets: "row i counts" against "row i does not". Class: every law given, independently for each group. The noise
    has scale W∞/ε, W∞ the largest distance of the laws of the count given the one and the other. PROVED,
    ``docs/proofs/query_strategies.md``, Theorem 4. W∞ is at most the size of the largest group, and often it is that.

    Examples
    --------
    >>> from discreet.coupled import queries_from_json
    >>> rows = {"flu": ["no", "yes"] * 20, "home": [row // 4 for row in range(40)]}
    >>> table = Table(rows, domains={"flu": ["no", "yes"]}, group="home")
    >>> laws = [BinaryLaw.mixture(4, together="0.5", probability="0.1")]
    >>> WassersteinCount.of(laws, epsilon=1).estimate(table, queries_from_json(table, [{"flu": "yes"}]))["distance"]
    4.0
    """

    laws: tuple[BinaryLaw, ...] = ()
    name: ClassVar[str] = "wasserstein"

    @classmethod
    def of(cls, laws: list[BinaryLaw] | tuple[BinaryLaw, ...], *, epsilon: Rational) -> WassersteinCount:
        if not laws:
            raise UsageError("a class of no laws?", remedy="Give a BinaryLaw for groups of each size.")
        return cls(as_positive(epsilon, "epsilon"), tuple(laws))

    def distance(self, sizes: Mapping[int, int]) -> Fraction:
        # Rows of other groups add the same to both laws, which brings them no further apart.
        return Fraction(max(1, *(law.distance for law in self._of(sizes))))

    def _of(self, sizes: Mapping[int, int]) -> Iterator[BinaryLaw]:
        for size in sizes:
            found = [law for law in self.laws if law.size == size]
            if not found:
                raise UsageError(
                    f"there are groups of {size} rows, and no law for them.",
                    remedy=f"Add BinaryLaw.mixture({size}, …).",
                )
            yield from found

    def _check(self, table: Table, workload: Workload) -> None:
        workload.require_dense("looking at the weights of a query")
        if not set(workload.weights(0).tolist()) <= {0, GRID}:
            raise UsageError("the law is about rows that count or do not.", remedy="Ask a query without weights.")

    def _basis(self) -> str:
        return (
            f"{self._stated()}: Wasserstein mechanism, docs/proofs/query_strategies.md, Theorem 4; secrets: whether a "
            f"row counts; class: the {len(self.laws)} given law{'s'[: len(self.laws) > 1]} of rows within groups"
        )


def _normalized(law: dict[int, Fraction]) -> dict[int, Fraction]:
    total = sum(law.values(), Fraction(0))
    return {value: p / total for value, p in law.items()} if total else {}
