"""Random linear queries, each made again from a seed and its number whenever it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.workloads.workload import GRID, Workload
from discreet.errors import UsageError

__all__ = ["RandomKind", "RandomWorkload", "check_seed"]

RandomKind = Literal["subset", "weighted"]

MOST_CELLS = 2**22
"""A random query weighs every cell; beyond this many a single one takes a millisecond."""
MOST_QUERIES = 2**31 - 1


class RandomWorkload(Workload):
    """Queries that weigh every cell at random. The same seed gives the same queries, in any slice and any block.

    The randomness is a public way to write down many queries; it has nothing to do with noise.

    Parameters
    ----------
    domains
        The public domain of each attribute.
    queries
        How many.
    seed
        From 0 up to 2⁶³: the same one gives the same queries.
    kind
        "subset": each cell counts or does not, one as likely as the other. "weighted": each weight is uniform from
        0 to 1, on the grid.
    first
        Number of the first query, for slices.

    Examples
    --------
    >>> workload = RandomWorkload({"a": range(4)}, 3, seed=1)
    >>> workload.weights(2), workload[2:3].weights(0)
    (array([   0, 4096,    0, 4096]), array([   0, 4096,    0, 4096]))
    """

    def __init__(
        self, domains: Mapping[str, Any], queries: int, *, seed: int, kind: RandomKind = "subset", first: int = 0
    ) -> None:
        super().__init__(domains)
        if isinstance(queries, bool) or not isinstance(queries, int) or not 1 <= queries <= MOST_QUERIES:
            raise UsageError(f"{queries!r} queries cannot be asked.", remedy="Ask at least 1.")
        check_seed(seed)
        if kind not in get_args(RandomKind):
            raise UsageError(f"kind must be one of {', '.join(get_args(RandomKind))}, got {kind!r}.")
        if self.n_cells > MOST_CELLS:
            raise UsageError(
                f"a random query weighs each cell, and there are {self.n_cells:,}; {MOST_CELLS:,} is the most.",
                remedy="Declare wider bins or fewer attributes, or ask ranges or marginals, which name few attributes.",
            )
        self.seed, self.first = seed, first
        self.kind: RandomKind = kind
        self._queries = queries

    def __len__(self) -> int:
        return self._queries

    def labels(self) -> list[str]:
        return [f"random {self.kind} {query}" for query in range(self.first, self.first + len(self))]

    def _part(self, places: range) -> RandomWorkload:
        return RandomWorkload(
            self.domains, len(places), seed=self.seed, kind=self.kind, first=self.first + places.start
        )

    def _sums(self, histogram: Any) -> Any:
        from discreet.coupled.workloads.random_kernels import subset_sums, weighted_sums

        base = np.uint64(self.seed)
        if self.kind == "subset":
            return subset_sums(histogram, base, self.first, len(self)) * GRID
        return weighted_sums(histogram, base, self.first, len(self), GRID)

    def _cell_sums(self, cells: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        histogram = np.zeros(self.n_cells, dtype=np.int64)
        np.add.at(histogram, cells, counts)
        return self._sums(histogram)

    def _weights(self, query: int) -> NDArray[np.int64]:
        from discreet.coupled.workloads.random_kernels import subset_weights, weighted_weights

        base = np.uint64(self.seed)
        if self.kind == "subset":
            return subset_weights(base, self.first + query, self.n_cells).astype(np.int64) * GRID
        return weighted_weights(base, self.first + query, self.n_cells, GRID)

    def _combined(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        from discreet.coupled.workloads.random_kernels import subset_combination, weighted_combination

        base = np.uint64(self.seed)
        if self.kind == "subset":
            return subset_combination(coefficients, base, self.first, self.n_cells) * GRID
        return weighted_combination(coefficients, base, self.first, self.n_cells, GRID)


def check_seed(seed: int) -> None:
    """Refuse what does not name a sequence of queries."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise UsageError(f"seed = {seed!r} must be a whole number from 0 up to 2^63.")
