"""Builders of workloads: random queries, ranges, prefix sums, marginals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import comb, prod
from typing import Any, Literal, get_args

import numpy as np

from discreet.common.arrays import Integers
from discreet.common.threads import available_threads, share_out
from discreet.coupled.workloads.product import Choice, ProductWorkload
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.domains import Domain, as_domain
from discreet.data.tables import Table
from discreet.errors import UsageError

__all__ = [
    "RandomKind",
    "RandomWorkload",
    "all_marginals",
    "check_seed",
    "chosen_attributes",
    "marginals",
    "prefix_sums",
    "random_queries",
    "range_queries",
]

WORTH_THREADS = 2**24
"""Weights from which on threads are worth starting."""

RandomKind = Literal["subset", "weighted"]

MOST_CELLS = 2**22
"""A random query weighs every cell; beyond this many a single one takes a millisecond."""

MOST_RANDOM = 2**31 - 1

MOST_QUERIES = 10_000_000
"""Builders refuse to write out more queries than this."""


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
        if isinstance(queries, bool) or not isinstance(queries, int) or not 1 <= queries <= MOST_RANDOM:
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

    def _identity(self) -> Any:
        return self.seed, self.kind, self.first, len(self)

    def labels(self) -> list[str]:
        return [f"random {self.kind} {query}" for query in range(self.first, self.first + len(self))]

    def _part(self, places: range) -> RandomWorkload:
        return RandomWorkload(
            self.domains, len(places), seed=self.seed, kind=self.kind, first=self.first + places.start
        )

    def _sums(self, histogram: Any) -> Any:
        from discreet.coupled.kernels import subset_sums, weighted_sums

        base = np.uint64(self.seed)
        if self.kind == "subset":
            return subset_sums(histogram, base, self.first, len(self)) * GRID
        sums = np.empty(len(self), dtype=histogram.dtype)

        def work(_: int, part: range) -> None:
            found = weighted_sums(histogram, base, self.first + part.start, len(part), GRID)
            sums[part.start : part.stop] = found

        # Each query is added up by itself, so the sums are the same however many threads there are.
        threads = available_threads() if len(self) * histogram.size >= WORTH_THREADS else 1
        step = max(1, -(-len(self) // threads))
        share_out(work, [range(at, min(at + step, len(self))) for at in range(0, len(self), step)], threads)
        return sums

    def _weights(self, query: int) -> Integers:
        from discreet.coupled.kernels import subset_weights, weighted_weights

        base = np.uint64(self.seed)
        if self.kind == "subset":
            return subset_weights(base, self.first + query, self.n_cells).astype(np.int64) * GRID
        return weighted_weights(base, self.first + query, self.n_cells, GRID)


def check_seed(seed: int) -> None:
    """Refuse what does not name a sequence of queries."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise UsageError(f"seed = {seed!r} must be a whole number from 0 up to 2^63.")


def random_queries(about: Any, queries: int, *, seed: int, kind: RandomKind = "subset") -> RandomWorkload:
    """Queries that weigh every cell at random.

    Parameters
    ----------
    about
        A ``Table`` or domains.
    queries
        How many.
    seed
        The same seed gives the same queries; they are public, and their randomness protects nothing.
    kind
        "subset" (each cell counts or does not) or "weighted" (weights uniform from 0 to 1).

    Examples
    --------
    >>> random_queries({"age": range(100)}, 10_000, seed=1)
    RandomWorkload(10,000 queries, 100 cells)
    """
    return RandomWorkload(domains_of(about), queries, seed=seed, kind=kind)


def range_queries(about: Any, attributes: str | Sequence[str], queries: int, *, seed: int) -> ProductWorkload:
    """Ranges with random ends of each of these attributes, in the order of their domains.

    Examples
    --------
    >>> range_queries({"age": range(100)}, "age", 2, seed=1).labels()
    ['age = 22 … 82', 'age = 0']
    """
    from discreet.coupled.kernels import query_key

    domains = domains_of(about)
    chosen = chosen_attributes(domains, attributes)
    _check_number(queries)
    check_seed(seed)
    found: list[dict[str, Choice]] = []
    for query in range(queries):
        ranges = {}
        for place, name in enumerate(chosen):
            size = domains[name].size
            # Two uniform codes from the halves of one word; the bias of the product form is below size/2^32.
            word = int(query_key(np.uint64(seed), query * len(chosen) + place))
            ends = sorted(((word & 0xFFFFFFFF) * size >> 32, (word >> 32) * size >> 32))
            ranges[name] = Choice(((ends[0], ends[1] + 1, 1),))
        found.append(ranges)
    return ProductWorkload(domains, found)


def prefix_sums(about: Any, attribute: str) -> ProductWorkload:
    """How many rows are at or below each value of an attribute, in the order of its domain.

    Examples
    --------
    >>> prefix_sums({"age": range(3)}, "age").labels()
    ['age = 0', 'age = 0 … 1', 'all rows']
    """
    domains = domains_of(about)
    (name,) = chosen_attributes(domains, attribute)
    size = domains[name].size
    _check_number(size)
    return ProductWorkload(domains, [{name: Choice(((0, code + 1, 1),))} for code in range(size)])


def marginals(about: Any, attributes: str | Sequence[str] | Sequence[Sequence[str]]) -> ProductWorkload:
    """How many rows have each combination of values: one marginal of these attributes, or several of several.

    Examples
    --------
    >>> survey = {"sex": ["F", "M"], "smokes": ["no", "yes"], "age": range(3)}
    >>> marginals(survey, ["sex", "smokes"]).labels()[:2]
    ['sex = F and smokes = no', 'sex = F and smokes = yes']
    >>> len(marginals(survey, [["sex"], ["sex", "age"]]))
    8
    """
    domains = domains_of(about)
    if isinstance(attributes, str) or all(isinstance(one, str) for one in attributes):
        attributes = [attributes]  # type: ignore[list-item]
    sets = [chosen_attributes(domains, one) for one in attributes]
    return _marginals(domains, sets)


def all_marginals(about: Any, k: int) -> ProductWorkload:
    """The marginals of every choice of k attributes.

    Examples
    --------
    >>> len(all_marginals({"a": range(2), "b": range(3), "c": range(4)}, 2))
    26
    """
    domains = domains_of(about)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(domains):
        raise UsageError(f"k must be between 1 and the number of attributes ({len(domains)}), got {k!r}.")
    _check_number(comb(len(domains), k))
    return _marginals(domains, list(combinations(domains, k)))


def domains_of(about: Any) -> dict[str, Domain]:
    """The domains of a table, or the domains themselves."""
    given = about.domains if isinstance(about, Table) else about
    if not isinstance(given, Mapping):
        raise UsageError(
            f"queries are about a Table or about domains, not about {type(about).__name__}.",
            remedy='Give a table or {"sex": ["F", "M"]}.',
        )
    return {name: as_domain(domain) for name, domain in given.items()}


def _marginals(domains: Mapping[str, Domain], sets: Sequence[Sequence[str]]) -> ProductWorkload:
    _check_number(sum(prod(domains[name].size for name in chosen) for chosen in sets))
    axis_of, used = {name: axis for axis, name in enumerate(domains)}, {name for names in sets for name in names}
    choices = []
    for name, domain in domains.items():
        # The only value of an attribute is the same as asking nothing of it.
        single = range(domain.size) if name in used and domain.size > 1 else ()
        choices.append((Choice(((0, domain.size, 1),)), *(Choice(((code, code + 1, 1),)) for code in single)))
    blocks = []
    for names in sets:
        shape = tuple(domains[name].size for name in names)
        block = np.zeros((prod(shape), len(domains)), dtype=np.int32)
        for name, codes in zip(names, np.indices(shape, dtype=np.int32).reshape(len(names), -1), strict=True):
            block[:, axis_of[name]] = codes + (domains[name].size > 1)
        blocks.append(block)
    return ProductWorkload.of_choices(domains, choices, np.concatenate(blocks))


def chosen_attributes(domains: Mapping[str, Domain], attributes: str | Iterable[str]) -> tuple[str, ...]:
    """Names of attributes, as a tuple; refuses unknown and repeated names."""
    chosen = (attributes,) if isinstance(attributes, str) else tuple(attributes)
    for name in chosen:
        if name not in domains:
            raise UsageError(f"there is no attribute {name!r}.", remedy=f"Choose from {', '.join(map(repr, domains))}.")
    if not chosen or len(set(chosen)) < len(chosen):
        raise UsageError(
            f"attributes must be named once each, got {', '.join(chosen) or 'none'}.",
            remedy="Name at least one attribute.",
        )
    return chosen


def _check_number(queries: int) -> None:
    if isinstance(queries, bool) or not isinstance(queries, int) or not 1 <= queries <= MOST_QUERIES:
        raise UsageError(
            f"{queries!r} queries are not a workload that can be written out.",
            remedy=f"Ask from 1 to {MOST_QUERIES:,}: name fewer attributes or declare wider bins.",
        )
