"""Dense similarities: some rows, or a whole matrix where that is small, with the sensitivities of each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.common.threads import share_out
from discreet.errors import UsageError
from discreet.neighbors.profiles import Profiles

if TYPE_CHECKING:
    from discreet.neighbors.kernels import Rule

__all__ = ["PairSensitivities", "dense_matrix", "dense_rows", "dense_sensitivities", "refuse_large"]

MOST_BYTES = 4 * 2**30
ROWS = 16  # rows that a thread takes at a time


@dataclass(frozen=True)
class PairSensitivities:
    """Similarities, and how far the leaving of one co-rater can move each: one row an entity, one column a code.

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

    similarity: NDArray[np.float32]
    lemma: NDArray[np.float32]
    exact: NDArray[np.float32]
    overlap: NDArray[np.int32]


def refuse_large(n: int, bytes_each: int, rows: int | None = None) -> None:
    """Refuse to make matrices of n columns, and as many rows unless told, that would not be small."""
    size = n * (n if rows is None else rows) * bytes_each
    if size > MOST_BYTES:
        raise UsageError(
            f"{n if rows is None else rows:,} × {n:,} pairs would take {size / 2**30:,.1f} GiB; "
            f"{MOST_BYTES / 2**30:.0f} are the most.",
            remedy="Ask for neighbor_lists, or for a few rows at a time.",
        )


def dense_rows(profiles: Profiles, rule: Rule, codes: NDArray[np.int64], threads: int) -> NDArray[np.float64]:
    """Similarities of some entities to all."""
    from discreet.neighbors.kernels import SUMS, similarities_into

    refuse_large(profiles.n, 8, codes.size)
    out, parts = np.empty((codes.size, profiles.n)), _parts(codes.size)
    sums = [np.zeros((profiles.n, SUMS)) for _ in range(min(threads, len(parts)))]

    def work(worker: int, part: NDArray[np.int64]) -> None:
        similarities_into(out, part, False, profiles.position[codes[part]], profiles, rule, sums[worker])

    share_out(work, parts, threads)
    return out


def dense_matrix(profiles: Profiles, rule: Rule, threads: int) -> NDArray[np.float32]:
    """Similarities of all pairs."""
    from discreet.neighbors.kernels import SUMS, similarities_into

    out = np.empty((profiles.n, profiles.n), dtype=np.float32)
    sums = [np.zeros((profiles.n, SUMS)) for _ in range(threads)]

    def work(worker: int, part: NDArray[np.int64]) -> None:
        similarities_into(out, profiles.code[part], True, part.astype(np.int32), profiles, rule, sums[worker])

    share_out(work, _parts(profiles.n), threads)
    return out


def dense_sensitivities(
    profiles: Profiles, rule: Rule, codes: NDArray[np.int64] | None, threads: int
) -> PairSensitivities:
    """Similarities and sensitivities of some entities to all, or of all pairs."""
    from discreet.neighbors.kernels import SUMS, sensitivities_into

    n, mirror = profiles.n, codes is None
    rows = n if codes is None else codes.size
    found = PairSensitivities(
        *(np.empty((rows, n), dtype=np.float32) for _ in range(3)), overlap=np.empty((rows, n), dtype=np.int32)
    )
    sums = [np.zeros((n, SUMS)) for _ in range(threads)]
    room = [np.zeros((n, 3)) for _ in range(threads)]

    def work(worker: int, part: NDArray[np.int64]) -> None:
        positions = part.astype(np.int32) if codes is None else profiles.position[codes[part]]
        sensitivities_into(
            found.similarity,
            found.lemma,
            found.exact,
            found.overlap,
            profiles.code[part] if codes is None else part,
            mirror,
            positions,
            profiles,
            rule,
            sums[worker],
            room[worker],
        )

    share_out(work, _parts(rows), threads)
    return found


def _parts(size: int) -> list[NDArray[np.int64]]:
    return [np.arange(first, min(first + ROWS, size)) for first in range(0, size, ROWS)]
