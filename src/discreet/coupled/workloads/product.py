"""Queries that are products: each asks something of some attributes and counts the rows for which all of it holds."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from discreet.common.arrays import Codes, Floats, Integers, Mask
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.tables import MOST_DENSE_CELLS, Table
from discreet.errors import UsageError

__all__ = ["Choice", "ProductWorkload", "bin_ends"]

TERMS_AT_ONCE = 2**20
"""Products of terms that are in memory at a time."""


@dataclass(frozen=True)
class Choice:
    """Codes of one attribute that a query counts.

    Parameters
    ----------
    runs
        First code, code after the last, weight: rising, apart from each other, at least one. The weight is 1 for
        membership, or grid steps.
    weighted
        Whether the weights are grid steps.
    """

    runs: tuple[tuple[int, int, int], ...]
    weighted: bool = False

    @classmethod
    def codes(cls, inside: Mask) -> Choice:
        """The codes at which the mask is true."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
        return cls(tuple((int(a), int(b), 1) for a, b in zip(edges[::2], edges[1::2], strict=True)))

    @classmethod
    def steps(cls, weights: Integers) -> Choice:
        """A weight in grid steps for each code."""
        if np.isin(weights, (0, GRID)).all():
            return cls.codes(weights == GRID)
        edges = np.concatenate([[0], np.flatnonzero(np.diff(weights)) + 1, [weights.size]])
        runs = zip(edges[:-1].tolist(), edges[1:].tolist(), weights[edges[:-1]].tolist(), strict=True)
        return cls(tuple(run for run in runs if run[2]), weighted=True)

    def is_all(self, size: int) -> bool:
        """Whether every code counts fully."""
        return self.runs == ((0, size, 1),) and not self.weighted

    def over(self, size: int) -> Integers:
        """The weight of each code: 0 or 1, or grid steps."""
        weights = np.zeros(size, dtype=np.int64)
        for start, stop, weight in self.runs:
            weights[start:stop] = weight
        return weights

    def label(self, name: str, words: Sequence[str]) -> str:
        """The choice in words, given what each code is called."""
        if self.weighted:
            return f"{name} weighted"
        if len(self.runs) == 1:
            start, stop, _ = self.runs[0]
            return f"{name} = {words[start]}" if stop == start + 1 else f"{name} = {words[start]} … {words[stop - 1]}"
        listed = [word for start, stop, _ in self.runs for word in words[start:stop]]
        return f"{name} in {{{', '.join(listed[:6])}{', …' if len(listed) > 6 else ''}}}"


def bin_ends(label: str) -> tuple[int, int]:
    """First and last number of a bin, from what it is called."""
    first, _, last = label.partition("–")
    return int(first), int(last or first)


class _Terms(NamedTuple):
    """The choices of one attribute as lists of terms (code, factor); list i begins at ``starts[i]``.

    Σ_j w_j·m_j over codes j is also Σ_j (w_j − w_{j+1})·C_j with C_j the sum up to j: two terms for a run however long.
    Whichever takes fewer terms over all choices is used.
    """

    summed: bool
    starts: Integers
    codes: Integers
    factors: Integers

    @classmethod
    def of(cls, choices: Sequence[Choice]) -> _Terms:
        runs = np.array([run for choice in choices for run in choice.runs], dtype=np.int64).reshape(-1, 3)
        owner = np.repeat(np.arange(len(choices)), [len(choice.runs) for choice in choices])
        lengths = runs[:, 1] - runs[:, 0]
        summed = int(lengths.sum()) > 2 * len(runs)
        if summed:
            codes = np.column_stack([runs[:, 1] - 1, runs[:, 0] - 1]).ravel()
            factors, owner = (runs[:, 2:] * np.array([[1, -1]])).ravel(), np.repeat(owner, 2)
            real = codes >= 0  # what stands before the first code is 0
            codes, factors, owner = codes[real], factors[real], owner[real]
        else:
            before = np.cumsum(lengths) - lengths
            codes = np.arange(lengths.sum()) + np.repeat(runs[:, 0] - before, lengths)
            factors, owner = np.repeat(runs[:, 2], lengths), np.repeat(owner, lengths)
        return cls(summed, np.searchsorted(owner, np.arange(len(choices) + 1)), codes, factors)


def _check_choice(choice: Choice, size: int, where: str) -> None:
    """Refuse runs that are none, overlap, or leave the codes of an attribute, and weights that are not from 0 to 1.

    Noise is scaled for weights from 0 to 1, so this is where what one row can change is bounded.
    """
    ends = [0, *(end for start, stop, _ in choice.runs for end in (start, stop)), size]
    rising = all(start < stop for start, stop, _ in choice.runs)
    if not choice.runs or not rising or any(a > b for a, b in itertools.pairwise(ends)):
        raise UsageError(
            f"{where}: the runs of codes must rise from 0 to {size} without overlap.",
            remedy="Choose at least one value.",
        )
    most = GRID if choice.weighted else 1
    if any(not 0 < weight <= most for _, _, weight in choice.runs):
        raise UsageError(
            f"{where}: a weight must be {f'from 1 to {GRID} grid steps' if choice.weighted else '1'}.",
            remedy="Give weights from 0 to 1.",
        )


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
                    _check_choice(choice, self.shape[axis], f"query {place}, attribute {name!r}")
                index[place, axis] = found[axis].setdefault(choice, len(found[axis]))
            if sum(choice.weighted for choice in query.values()) > 1:
                raise UsageError(
                    f"query {place} weighs several attributes; products of weights leave the grid.",
                    remedy="Weigh one attribute and choose values of the others.",
                )
        self._choices = [tuple(choices) for choices in found]
        self._index = index

    @classmethod
    def of_choices(
        cls, domains: Mapping[str, Any], choices: Sequence[tuple[Choice, ...]], index: Codes
    ) -> ProductWorkload:
        """Queries by number: for each attribute its choices, the first of which asks nothing, and which each query has.

        For builders of very many queries, whose choices are right by construction.
        """
        made = object.__new__(cls)
        Workload.__init__(made, domains)
        made._choices, made._index = list(choices), index
        return made

    @classmethod
    def of_arrays(cls, domains: Mapping[str, Any], index: Codes, runs: Integers) -> ProductWorkload:
        """Queries from what ``arrays`` gave; refuses arrays that no queries have."""
        found: list[list[Choice]] = [[] for _ in domains]
        for axis, number, start, stop, weight, weighted in np.asarray(runs).tolist():
            if number == len(found[axis]):
                found[axis].append(Choice((), bool(weighted)))
            known = found[axis][number]
            found[axis][number] = Choice((*known.runs, (start, stop, weight)), known.weighted)
        made = cls.of_choices(domains, [tuple(choices) for choices in found], index)
        for axis, (choices, size) in enumerate(zip(found, made.shape, strict=True)):
            for choice in choices:
                _check_choice(choice, size, "a written query")
            if not choices[0].is_all(size) or not 0 <= index[:, axis].min() <= index[:, axis].max() < len(choices):
                raise UsageError("these arrays are no queries.")
        return made

    def arrays(self) -> tuple[Codes, Integers]:
        """Which choice of each attribute each query has, and the runs of all choices: attribute, choice, run, kind."""
        runs = [
            (axis, number, *run, choice.weighted)
            for axis, choices in enumerate(self._choices)
            for number, choice in enumerate(choices)
            for run in choice.runs
        ]
        return self._index, np.array(runs, dtype=np.int64).reshape(-1, 6)

    def __len__(self) -> int:
        return len(self._index)

    def choices(self, query: int) -> dict[str, Choice]:
        """What one query asks, attribute by attribute."""
        row = self._index[query]
        return {name: self._choices[axis][row[axis]] for axis, name in enumerate(self.domains) if row[axis]}

    def on_asked_attributes(self) -> ProductWorkload:
        """The same queries on the attributes that any of them asks of, or on the first one."""
        asked = np.flatnonzero((self._index != 0).sum(axis=0))
        names = [name for axis, name in enumerate(self.domains) if axis in asked] or [*self.domains][:1]
        if len(names) == len(self.domains):
            return self
        kept = [axis for axis, name in enumerate(self.domains) if name in names]
        choices = [self._choices[axis] for axis in kept]
        return ProductWorkload.of_choices({name: self.domains[name] for name in names}, choices, self._index[:, kept])

    def weights_by_attribute(self) -> Iterator[tuple[Floats, Codes]]:
        """For each attribute the distinct rows of weights, from 0 to 1, and which of them each query has."""
        for axis, (choices, size) in enumerate(zip(self._choices, self.shape, strict=True)):
            rows = [choice.over(size) / (GRID if choice.weighted else 1) for choice in choices]
            yield np.stack(rows), self._index[:, axis]

    def _identity(self) -> Any:
        return [hashlib.sha256(one.astype(np.int64).tobytes()).hexdigest() for one in self.arrays()]

    def labels(self) -> list[str]:
        words = [
            [choice.label(name, called) for choice in choices]
            for name, called, choices in zip(self.domains, self._called, self._choices, strict=True)
        ]
        found = np.empty(len(self), dtype=object)
        for axes, queries in self.groups:
            parts = [np.array(words[axis], dtype=object)[self._index[queries, axis]] for axis in axes]
            found[queries] = reduce(lambda left, right: left + " and " + right, parts) if parts else "all rows"
        return found.tolist()

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

    # Evaluation: queries that ask of the same attributes together, on the marginal of these attributes

    @cached_property
    def _terms(self) -> list[_Terms]:
        return [_Terms.of(choices) for choices in self._choices]

    @cached_property
    def groups(self) -> list[tuple[tuple[int, ...], Integers]]:
        """Attributes that some queries ask of, by their places, and these queries."""
        masks, group = self._masks()
        order = np.argsort(group.ravel(), kind="stable")
        cuts = np.cumsum(np.bincount(group.ravel(), minlength=len(masks)))[:-1]
        axes = [tuple(np.flatnonzero(mask).tolist()) for mask in masks]
        return list(zip(axes, np.split(order, cuts), strict=True))

    def _masks(self) -> tuple[Mask, Integers]:
        """The distinct sets of attributes that queries ask of, and which of them each query has."""
        asked = self._index != 0
        if asked.shape[1] > 62:
            return np.unique(asked, axis=0, return_inverse=True)
        # One number a query sorts many times faster than a row of truth values.
        keys = np.zeros(len(self), dtype=np.int64)
        for axis in range(asked.shape[1]):
            keys |= asked[:, axis].astype(np.int64) << axis
        distinct, group = np.unique(keys, return_inverse=True)
        return (distinct[:, None] >> np.arange(asked.shape[1]) & 1).astype(bool), group

    @cached_property
    def _steps(self) -> Integers:
        """Grid steps that a product of weights counts in: a weighted attribute brings its own."""
        weighted = np.zeros(len(self), dtype=bool)
        for axis, choices in enumerate(self._choices):
            weighted |= np.array([choice.weighted for choice in choices])[self._index[:, axis]]
        return np.where(weighted, 1, GRID).astype(np.int64)

    def _sums(self, histogram: Any) -> Any:
        counts = histogram.reshape(self.shape)
        everything = frozenset(range(len(self.shape)))
        sums = np.zeros(len(self), dtype=histogram.dtype)
        for axes, queries in self.groups:
            self._add_up(sums, axes, queries, counts.sum(axis=tuple(everything.difference(axes))))
        return sums * self._steps

    def answers_from(self, marginal: Callable[[tuple[int, ...]], Floats]) -> Floats:
        """The answers, in records, on the marginals of the attributes that queries ask of, given by their places.

        Parameters
        ----------
        marginal
            Counts by these attributes, one axis each, in rising order of their places; the number of rows for none.
        """
        sums = np.zeros(len(self))
        for axes, queries in self.groups:
            self._add_up(sums, axes, queries, np.asarray(marginal(axes), dtype=np.float64))
        return sums * self._steps / GRID

    def _table_sums(self, table: Table) -> Integers:
        if self.is_dense:
            return super()._table_sums(table)
        sums, names = np.zeros(len(self), dtype=np.int64), table.attributes
        for axes, queries in self.groups:
            if prod(self.shape[axis] for axis in axes) <= MOST_DENSE_CELLS:
                marginal = table.histogram([names[axis] for axis in axes]) if axes else np.array(len(table))
                self._add_up(sums, axes, queries, marginal)
                continue
            for query in queries:  # on the rows themselves: no array holds this marginal
                weights = [self._choices[axis][self._index[query, axis]].over(self.shape[axis]) for axis in axes]
                rows = [weight[table.codes[names[axis]]] for axis, weight in zip(axes, weights, strict=True)]
                sums[query] = reduce(np.multiply, rows).sum()
        return sums * self._steps

    def _add_up(self, sums: Any, axes: tuple[int, ...], queries: Integers, marginal: Any) -> None:
        for place, axis in enumerate(axes):
            if self._terms[axis].summed:
                marginal = np.cumsum(marginal, axis=place)
        flat = marginal.ravel()
        for query, cell, factor in self._products(axes, queries):
            begins = np.flatnonzero(np.diff(query, prepend=-1))
            sums[query[begins]] = np.add.reduceat(factor * flat[cell], begins)

    def _products(self, axes: tuple[int, ...], queries: Integers) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Query, cell of the marginal and factor of each product of terms, some of the queries at a time."""
        sizes = np.ones(queries.size, dtype=np.int64)
        for axis in axes:
            sizes *= np.diff(self._terms[axis].starts)[self._index[queries, axis]]
        for query in np.split(queries, np.flatnonzero(np.diff(np.cumsum(sizes) // TERMS_AT_ONCE)) + 1):
            cell, factor = np.zeros(query.size, dtype=np.int64), np.ones(query.size, dtype=np.int64)
            for axis in axes:
                terms, chosen = self._terms[axis], self._index[query, axis]
                first, many = terms.starts[chosen], terms.starts[chosen + 1] - terms.starts[chosen]
                entry = np.repeat(np.arange(query.size), many)
                place = np.arange(entry.size) + (first - np.cumsum(many) + many)[entry]
                cell = cell[entry] * self.shape[axis] + terms.codes[place]
                query, factor = query[entry], factor[entry] * terms.factors[place]
            yield query, cell, factor

    def _weights(self, query: int) -> Integers:
        weights = np.full(1, self._steps[query], dtype=np.int64)
        for axis, size in enumerate(self.shape):
            weights = np.multiply.outer(weights, self._choices[axis][self._index[query, axis]].over(size)).ravel()
        return weights

    def _combined(self, coefficients: Floats) -> Floats:
        combined, scaled = np.zeros(self.shape), coefficients * self._steps
        for axes, queries in self.groups:
            shape = tuple(self.shape[axis] for axis in axes)
            table = np.zeros(prod(shape))
            for query, cell, factor in self._products(axes, queries):
                table += np.bincount(cell, weights=factor * scaled[query], minlength=table.size)
            table = table.reshape(shape)
            for place, axis in enumerate(axes):
                if self._terms[axis].summed:  # w_j is the sum of all differences from j on
                    table = np.flip(np.cumsum(np.flip(table, axis=place), axis=place), axis=place)
            combined += np.expand_dims(table, tuple(set(range(len(self.shape))).difference(axes)))
        return combined.ravel()

    def __iter__(self) -> Iterator[dict[str, Choice]]:
        return (self.choices(query) for query in range(len(self)))
