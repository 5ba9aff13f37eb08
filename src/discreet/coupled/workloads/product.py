"""Queries that are products: each asks something of some attributes and counts the rows for which all of it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.workloads.choices import Choice, Terms, check_choice
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.tables import MOST_DENSE_CELLS
from discreet.errors import UsageError

__all__ = ["ProductWorkload"]

Marginal = Callable[[tuple[int, ...]], Any]


@dataclass(frozen=True)
class _Group:
    """Queries that ask of the same attributes."""

    axes: tuple[int, ...]
    queries: NDArray[np.int64]


class ProductWorkload(Workload):
    """Conjunctions: ranges, marginals, prefix sums and whatever else asks attribute by attribute.

    Parameters
    ----------
    domains
        The public domain of each attribute.
    queries
        For each query the ``Choice`` of each attribute that it asks of. At most one of them may be weighted, so that
        products of weights stay on the grid.

    Notes
    -----
    Queries that ask of the same attributes are answered together on the marginal of these attributes, along which
    counts are summed up first where queries choose long runs; a range of d attributes then takes at most 2^d additions.
    No domain is too large as long as the marginals are not.
    """

    def __init__(self, domains: Mapping[str, Any], queries: Sequence[Mapping[str, Choice]]) -> None:
        super().__init__(domains)
        if not len(queries):
            raise UsageError("a workload needs at least one query.", remedy="Ask something.")
        axis_of = {name: axis for axis, name in enumerate(self.domains)}
        # Choice 0 of each attribute asks nothing of it.
        found: list[dict[Choice, int]] = [{Choice(((0, size, 1),)): 0} for size in self.shape]
        index = np.zeros((len(queries), len(axis_of)), dtype=np.int32)
        for place, query in enumerate(queries):
            for name, choice in query.items():
                if name not in axis_of:
                    raise UsageError(
                        f"query {place}: there is no attribute {name!r}.",
                        remedy=f"Choose from {', '.join(map(repr, axis_of))}.",
                    )
                axis = axis_of[name]
                if choice not in found[axis]:
                    check_choice(choice, self.shape[axis], f"query {place}, attribute {name!r}")
                index[place, axis] = found[axis].setdefault(choice, len(found[axis]))
            if sum(choice.weighted for choice in query.values()) > 1:
                raise UsageError(
                    f"query {place} weighs several attributes; products of weights leave the grid.",
                    remedy="Weigh one attribute and choose values of the others.",
                )
        self._choices = [tuple(choices) for choices in found]
        self._index = index

    def __len__(self) -> int:
        return len(self._index)

    def choices(self, query: int) -> dict[str, Choice]:
        """What one query asks, attribute by attribute."""
        row = self._index[query]
        return {name: self._choices[axis][row[axis]] for axis, name in enumerate(self.domains) if row[axis]}

    def labels(self) -> list[str]:
        words = [
            [choice.label(name, called) for choice in choices]
            for name, called, choices in zip(self.domains, self._called, self._choices, strict=True)
        ]
        return [
            " and ".join(words[axis][row[axis]] for axis in np.flatnonzero(row)) or "all rows" for row in self._index
        ]

    @cached_property
    def _called(self) -> list[list[str]]:
        """What the codes of each attribute are called."""
        return [domain.labels() for domain in self.domains.values()]

    def _part(self, places: range) -> ProductWorkload:
        part = object.__new__(ProductWorkload)
        part.domains, part._choices = self.domains, self._choices
        part._index = self._index[places.start : places.stop]
        part._terms = self._terms  # a stream of slices must not lay out the same lists again
        return part

    # Evaluation: group by group on marginals

    @cached_property
    def _terms(self) -> list[Terms]:
        return [Terms(choices) for choices in self._choices]

    @cached_property
    def _groups(self) -> list[_Group]:
        masks, group = np.unique(self._index != 0, axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        cuts = np.cumsum(np.bincount(group.ravel(), minlength=len(masks)))[:-1]
        return [
            _Group(tuple(np.flatnonzero(mask).tolist()), queries)
            for mask, queries in zip(masks, np.split(order, cuts), strict=True)
        ]

    @cached_property
    def _steps(self) -> NDArray[np.int64]:
        """Grid steps that a product of weights counts in: a weighted attribute brings its own."""
        weighted = np.zeros(len(self), dtype=bool)
        for axis, choices in enumerate(self._choices):
            weighted |= np.array([choice.weighted for choice in choices])[self._index[:, axis]]
        return np.where(weighted, 1, GRID).astype(np.int64)

    def _sums(self, histogram: Any) -> Any:
        counts = histogram.reshape(self.shape)
        everything = frozenset(range(len(self.shape)))
        return self._grouped(lambda axes: counts.sum(axis=tuple(everything.difference(axes))), histogram.dtype)

    def _cell_sums(self, cells: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        codes = _codes(cells, self.shape)

        def marginal(axes: tuple[int, ...]) -> NDArray[np.int64] | None:
            shape = tuple(self.shape[axis] for axis in axes)
            if prod(shape) > MOST_DENSE_CELLS:
                return None
            flat = np.zeros(len(cells), dtype=np.int64)
            for axis in axes:
                flat = flat * self.shape[axis] + codes[axis]
            table = np.zeros(prod(shape), dtype=np.int64)
            np.add.at(table, flat, counts)
            return table.reshape(shape)

        return self._grouped(marginal, np.int64, lambda query: self._row_sum(query, codes, counts))

    def _grouped(self, marginal: Marginal, dtype: Any, alone: Callable[[int], int] | None = None) -> Any:
        from discreet.coupled.workloads.product_kernels import product_sums

        sums = np.zeros(len(self), dtype=dtype)
        for group in self._groups:
            table: Any = marginal(group.axes)
            if table is None:
                assert alone is not None
                sums[group.queries] = [alone(int(query)) for query in group.queries]
                continue
            for place, axis in enumerate(group.axes):
                if self._terms[axis].summed:
                    table = np.cumsum(table, axis=place)
            # Adding up makes 64-bit numbers of either kind; a group that asks nothing has one cell.
            flat = np.ascontiguousarray(table, dtype=dtype).ravel()
            sums[group.queries] = product_sums(flat, *self._lists(group)) if group.axes else flat[0]
        return sums * self._steps

    def _row_sum(self, query: int, codes: list[NDArray[np.int64]], counts: NDArray[np.int64]) -> int:
        """One query on the rows themselves, for marginals that no array holds."""
        weights = counts.copy()
        for axis in np.flatnonzero(self._index[query]):
            choice = self._choices[axis][self._index[query, axis]]
            weights *= choice.over(self.shape[axis])[codes[axis]]
        return int(weights.sum())

    def _lists(self, group: _Group) -> tuple[NDArray[np.int64], ...]:
        """The lists of terms of a group, with offsets into its flat marginal."""
        starts, offsets, factors, columns = [np.zeros(1, np.int64)], [], [], []
        stride, lists = prod(self.shape[axis] for axis in group.axes), 0
        for axis in group.axes:
            terms = self._terms[axis]
            stride //= self.shape[axis]
            columns.append(self._index[group.queries, axis].astype(np.int64) + lists)
            starts.append(terms.starts[1:] + starts[-1][-1])
            offsets.append(terms.codes * stride)
            factors.append(terms.factors)
            lists += len(terms.starts) - 1
        return np.column_stack(columns), np.concatenate(starts), np.concatenate(offsets), np.concatenate(factors)

    def _weights(self, query: int) -> NDArray[np.int64]:
        weights = np.full(1, self._steps[query], dtype=np.int64)
        for axis, size in enumerate(self.shape):
            weights = np.multiply.outer(weights, self._choices[axis][self._index[query, axis]].over(size)).ravel()
        return weights

    def _combined(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        from discreet.coupled.workloads.product_kernels import scatter_products

        combined = np.zeros(self.shape)
        scaled = coefficients * self._steps
        for group in self._groups:
            if not group.axes:
                combined += scaled[group.queries].sum()
                continue
            shape = tuple(self.shape[axis] for axis in group.axes)
            table = scatter_products(prod(shape), scaled[group.queries], *self._lists(group)).reshape(shape)
            for place, axis in enumerate(group.axes):
                if self._terms[axis].summed:  # w_j is the sum of all differences from j on
                    table = np.flip(np.cumsum(np.flip(table, axis=place), axis=place), axis=place)
            combined += np.expand_dims(table, tuple(set(range(len(self.shape))).difference(group.axes)))
        return combined.ravel()

    def __iter__(self) -> Iterator[dict[str, Choice]]:
        return (self.choices(query) for query in range(len(self)))


def _codes(cells: NDArray[np.int64], shape: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """The code of each attribute from the number of the cell."""
    codes: list[NDArray[np.int64]] = []
    rest = cells
    for size in reversed(shape):
        rest, code = np.divmod(rest, size)
        codes.append(code)
    return codes[::-1]
