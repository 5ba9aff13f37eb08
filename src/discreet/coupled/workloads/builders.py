"""Builders of workloads: random queries, ranges, prefix sums, marginals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np

from discreet.coupled.workloads.choices import Choice
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.random import RandomKind, RandomWorkload, check_seed
from discreet.data.domains import Domain, as_domain
from discreet.data.tables import Table
from discreet.errors import UsageError

__all__ = ["all_marginals", "chosen_attributes", "marginals", "prefix_sums", "random_queries", "range_queries"]

MOST_QUERIES = 10_000_000
"""Builders refuse to write out more queries than this."""


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
    from discreet.coupled.workloads.random_kernels import query_key

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
    single = {name: [Choice(((code, code + 1, 1),)) for code in range(domains[name].size)] for name in domains}
    return ProductWorkload(
        domains,
        [dict(zip(names, cell, strict=True)) for names in sets for cell in product(*(single[name] for name in names))],
    )


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
