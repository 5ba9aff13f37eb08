"""Dense similarities: some rows, or a whole matrix where that is small, with the sensitivities of each pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import AnyIntegers, Floats, Integers
from discreet.common.threads import share_out
from discreet.errors import UsageError
from discreet.neighbors.profiles import Profiles

if TYPE_CHECKING:
    from discreet.neighbors.kernels import Rule, Wanted

__all__ = ["Form", "Likeness", "dense_sensitivities", "dense_similarities", "refuse_large"]

Form = Literal["lemma", "exact"]

MOST_BYTES = 4 * 2**30
ROWS = 16  # rows that a thread takes at a time


@dataclass(frozen=True, eq=False)
class Likeness:
    """Rows of similarities and, where asked for, how far the leaving of one co-rater can move each; one column a code.

    Attributes
    ----------
    similarity : float32 array
    lemma : float32 array
        RS by Zhu's equation 3.3.5: the maximum over co-raters x of |x_i·x_j|/n' and |r_i·r_j|·|n − n'|/(n·n'), where
        n is the denominator of the similarity and n' the same without x. It is 1 for one co-rater, and where nothing
        but zeros or fewer than the minimum of co-raters would be left. It can exceed the range of the similarity.
    exact : float32 array
        The maximum over co-raters x of |s − s'|, where s' is the similarity without x; 1 for one co-rater.
    overlap : int32 array
        How many co-raters there are. Both sensitivities are 0 where that is fewer than the minimum.
    """

    similarity: NDArray[Any]
    lemma: Any = None
    exact: Any = None
    overlap: Any = None

    def at(self, row: AnyIntegers, other: AnyIntegers, form: Form | None) -> tuple[Floats, Floats | None]:
        """Similarity and RS of each pair of a row and a column."""
        sensitivity = None if form is None else getattr(self, form)[row, other].astype(np.float64)
        return self.similarity[row, other].astype(np.float64), sensitivity

    def mapped(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Likeness:
        """The same after a change of every array."""
        rest = (None if part is None else change(part) for part in (self.lemma, self.exact, self.overlap))
        return Likeness(change(self.similarity), *rest)


def refuse_large(n: int, bytes_each: int, rows: int | None = None) -> None:
    """Refuse to make matrices of n columns, and as many rows unless told, that would not be small."""
    size = n * (n if rows is None else rows) * bytes_each
    if size > MOST_BYTES:
        raise UsageError(
            f"{n if rows is None else rows:,} × {n:,} pairs would take {size / 2**30:,.1f} GiB; "
            f"{MOST_BYTES / 2**30:.0f} are the most.",
            remedy="Ask for neighbor_lists, or for a few rows at a time.",
        )


def dense_similarities(profiles: Profiles, rule: Rule, codes: Integers | None, threads: int) -> NDArray[Any]:
    """Similarities of some entities to all, in 64 bits, or of all pairs, in 32."""
    from discreet.neighbors.kernels import SUMS, similarities_into

    rows, dtype = (profiles.n, np.float32) if codes is None else (codes.size, np.float64)
    out, parts = np.empty((rows, profiles.n), dtype=dtype), _parts(rows)
    sums = [np.zeros((profiles.n, SUMS)) for _ in range(min(threads, len(parts)))]

    def work(worker: int, part: Integers) -> None:
        similarities_into(out, _wanted(profiles, codes, part), profiles, rule, sums[worker])

    share_out(work, parts, threads)
    return out


def dense_sensitivities(profiles: Profiles, rule: Rule, codes: Integers | None, threads: int) -> Likeness:
    """Similarities and sensitivities of some entities to all, or of all pairs."""
    from discreet.neighbors.kernels import SUMS, sensitivities_into

    n = profiles.n
    shape = (n if codes is None else codes.size, n)
    similarity, lemma, exact = (np.empty(shape, dtype=np.float32) for _ in range(3))
    found = (similarity, lemma, exact, np.empty(shape, dtype=np.int32))
    sums, room = ([np.zeros((n, width)) for _ in range(threads)] for width in (SUMS, 3))

    def work(worker: int, part: Integers) -> None:
        sensitivities_into(*found, _wanted(profiles, codes, part), profiles, rule, sums[worker], room[worker])

    share_out(work, _parts(shape[0]), threads)
    return Likeness(*found)


def _wanted(profiles: Profiles, codes: Integers | None, part: Integers) -> Wanted:
    """Rows of the result: those of some codes, or a part of all, where each pair is computed once for both sides."""
    from discreet.neighbors.kernels import Wanted

    if codes is None:
        return Wanted(profiles.code[part], True, part.astype(np.int32))
    return Wanted(part, False, profiles.position[codes[part]])


def _parts(size: int) -> list[Integers]:
    return [np.arange(first, min(first + ROWS, size)) for first in range(0, size, ROWS)]
