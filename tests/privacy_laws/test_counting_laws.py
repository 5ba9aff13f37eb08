"""SRA and HPA: the joint law of everything that is released, for every tiny dataset against every neighbor.

Lists are integers plus discrete Laplace noise. All exact counts lie between 0 and some top. Below 0 and above the top
an output has the same ratio as at the edge, since every term of both mixtures shrinks alike; so outputs "at most 0" and
"at least the top" are each one outcome, and the enumeration is complete.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.counting import DFT, HPA, SRA
from discreet.counting.cells import Cells, Level
from discreet.data.contexts import Context
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import AdditiveMechanism, LaplaceMechanism
from discreet.testing import max_log_ratio

DAY = (Context("day", ("dry", "wet")),)

Record = tuple[int, int]  # item, place
History = tuple[Record, ...]
Dataset = tuple[History, ...]
Law = NDArray[np.float64]


@dataclass(frozen=True)
class TooLittleNoise(LaplaceMechanism):
    """A broken mechanism: nine tenths of the scale."""

    def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
        return super().parameter(sums, off_diagonal=off_diagonal) * Fraction(9, 10)


# Tiny datasets


def histories(items: int, places: int, *, most: int, repeats: bool) -> list[History]:
    records = list(itertools.product(range(items), range(places)))
    if repeats:
        return [h for n in range(1, most + 1) for h in itertools.combinations_with_replacement(records, n)]
    every = [h for n in range(1, most + 1) for h in itertools.combinations(records, n)]
    return [h for h in every if len({item for item, _ in h}) == len(h)]


def neighbors(people: Sequence[History], most_others: int) -> Iterator[tuple[Dataset, Dataset]]:
    for n in range(most_others + 1):
        for others in itertools.combinations_with_replacement(people, n):
            for person in people:
                yield others, tuple(sorted((*others, person)))


def cells_of(dataset: Dataset, items: int, contexts: tuple[Context, ...], repeats: bool) -> Cells:
    rows = [(user, item, place) for user, history in enumerate(dataset) for item, place in sorted(history)]
    user, item, place = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    return Cells(user, item, place, len(dataset), items, contexts, repeats)


def masks(choices: Sequence[Sequence[tuple[int, ...]]], sizes: Sequence[int]) -> Iterator[NDArray[np.bool_]]:
    """Every way to choose for all users at once; for each user all choices are equally likely."""
    for chosen in itertools.product(*choices):
        parts = [np.isin(np.arange(size), places) for places, size in zip(chosen, sizes, strict=True)]
        yield np.concatenate([*parts, np.zeros(0, dtype=bool)])


def random_choices(size: int, cap: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(size), min(size, cap)))


def best_choices(scores: Sequence[int], cap: int) -> list[tuple[int, ...]]:
    """Choices with the highest sum of scores, which are those of the highest scores; ties are equally likely."""
    every = random_choices(len(scores), cap)
    best = max(sum(scores[place] for place in places) for places in every)
    return [places for places in every if sum(scores[place] for place in places) == best]


# Laws


@cache
def folded(scale: Fraction, value: int, top: int) -> Law:
    """Law of value + noise over "at most 0", 1, …, "at least top"."""
    q = math.exp(-1 / float(scale))
    inner = [(1 - q) / (1 + q) * q ** abs(y - value) for y in range(1, top)]
    return np.array([q**value / (1 + q), *inner, q ** (top - value) / (1 + q)])


def law_of_lists(lists: Sequence[tuple[AdditiveMechanism, BoundedSums]], top: int) -> Law:
    """Joint law of all counts of all lists, for one choice of records."""
    law = np.ones(1)
    for mechanism, sums in lists:
        for value in sums.values:
            law = np.multiply.outer(law, folded(mechanism.parameter(sums), int(value), top)).ravel()
    return law


def counts_law(method: SRA | HPA, cells: Cells, chosen: Iterator[NDArray[np.bool_]], top: int) -> Law:
    """Mixture over the choices of records of the law of the counts."""
    laws = []
    for mask in chosen:
        sample = cells.keep(mask)
        lists = [(mechanism, method._sums(sample, level)) for level, mechanism in method._mechanisms(cells).items()]
        laws.append(law_of_lists(lists, top))
    return np.mean(laws, axis=0)


def sra_losses(method: SRA, people: list[History], most_others: int, *, repeats: bool) -> list[float]:
    top = method.cap * (most_others + 1)

    @cache
    def law(dataset: Dataset) -> Law:
        cells = cells_of(dataset, 2, DAY, repeats)
        sizes = [len(history) for history in dataset]
        return counts_law(method, cells, masks([random_choices(n, method.cap) for n in sizes], sizes), top)

    return [max_log_ratio(law(one), law(other)) for one, other in neighbors(people, most_others)]


# SRA

ONCE = histories(2, 2, most=2, repeats=False)
OFTEN = histories(2, 2, most=3, repeats=True)


@pytest.mark.parametrize(("people", "cap", "others", "repeats"), [(ONCE, 1, 2, False), (OFTEN, 2, 1, True)])
def test_both_lists_of_sra_together_keep_epsilon_and_use_it(people, cap: int, others: int, repeats: bool) -> None:
    losses = sra_losses(SRA(epsilon=1, cap=cap), people, others, repeats=repeats)
    assert max(losses) <= 1 + 1e-9
    assert max(losses) >= 1 - 1e-9


def test_a_tenth_less_noise_in_sra_is_caught() -> None:
    class Broken(SRA):
        def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
            return {level: TooLittleNoise(Fraction(1, 2)) for level in ("items", "edges")}

    assert max(sra_losses(Broken(epsilon=1, cap=1), ONCE, 1, repeats=False)) > 1.1


def test_noise_for_the_cap_of_the_sample_alone_is_caught() -> None:
    """The broken mechanism that forgets that repeats add up: noise for one record where two are kept."""

    class Broken(SRA):
        def _sums(self, cells: Cells, level: Level) -> BoundedSums:
            return cells.counts(level, 1, caps=())

    assert max(sra_losses(Broken(epsilon=1, cap=2), OFTEN, 1, repeats=True)) > 1.9


# HPA

FAR = -40


def hpa_losses(
    method: HPA, items: int, contexts: tuple[Context, ...], people: list[History], most_others: int
) -> list[float]:
    """Largest log-ratio of (popularity, counts) for each pair.

    Popularity decides the choice through the order of max(p, 0). Below 0 nothing changes any more; from the top on only
    the order does, and as many values as there are items show every order.
    """
    users = most_others + 1
    top = max(len(history) for history in people) * users if method.first == "data" else int(method.first) * users
    values = [FAR, *range(top + items)]
    points = list(itertools.product(values, repeat=items))

    @cache
    def dataset_cells(dataset: Dataset) -> Cells:
        return cells_of(dataset, items, contexts, repeats=False)

    @cache
    def popularity_law(dataset: Dataset) -> Law:
        """Log-probabilities of every point of popularity."""
        cells, sizes = dataset_cells(dataset), [len(history) for history in dataset]
        first = method._first(cells)
        laws = []
        for mask in masks([random_choices(n, first) for n in sizes], sizes):
            sums = method._first_sums(cells.keep(mask), first)
            pmf = method._popularity.log_pmf(sums)
            each = [pmf(np.array(values) - count) for count in sums.values]
            laws.append([sum(parts) for parts in itertools.product(*each)])
        return np.logaddexp.reduce(np.array(laws), axis=0) - math.log(len(laws))

    @cache
    def given(dataset: Dataset, ranks: tuple[int, ...]) -> Law:
        """Law of the counts, given the order of popularity."""
        cells, sizes = dataset_cells(dataset), [len(history) for history in dataset]
        choices = [best_choices([ranks[item] for item, _ in sorted(history)], method.cap) for history in dataset]
        return counts_law(method, cells, masks(choices, sizes), method.cap * users)

    @cache
    def counts_ratio(one: Dataset, other: Dataset, ranks: tuple[int, ...]) -> tuple[float, float]:
        difference = np.log(given(one, ranks)) - np.log(given(other, ranks))
        return float(difference.min()), float(difference.max())

    orders = [_ranks(point) for point in points]
    losses = []
    for one, other in neighbors(people, most_others):
        shift = popularity_law(one) - popularity_law(other)
        ends = [counts_ratio(one, other, ranks) for ranks in orders]
        losses.append(max(max(s + high, -(s + low)) for s, (low, high) in zip(shift, ends, strict=True)))
    return losses


def _ranks(popularity: Sequence[int]) -> tuple[int, ...]:
    """The order of max(p, 0), from 0 for the lowest."""
    scores = [max(p, 0) for p in popularity]
    return tuple(sorted(set(scores)).index(score) for score in scores)


THREE = histories(3, 1, most=3, repeats=False)
DATASETS = {"three items": (3, (), THREE, 2), "two items by day": (2, DAY, ONCE, 1)}


@pytest.mark.parametrize("name", DATASETS)
def test_all_that_hpa_releases_together_keeps_epsilon_and_uses_it(name: str) -> None:
    losses = hpa_losses(HPA(epsilon=2, cap=1, first=1, first_share="1/2"), *DATASETS[name])
    assert max(losses) <= 2 + 1e-9
    assert max(losses) >= 2 - 1e-9


@pytest.mark.parametrize(("cap", "first"), [(2, 1), (1, 2)])
def test_hpa_with_other_numbers(cap: int, first: int) -> None:
    losses = hpa_losses(HPA(epsilon=1, cap=cap, first=first, first_share="1/4"), 3, (), THREE, 1)
    assert max(losses) <= 1 + 1e-9
    assert max(losses) > 0.8


def test_a_tenth_less_noise_in_hpa_is_caught() -> None:
    class BrokenFirst(HPA):
        @property
        def _popularity(self) -> LaplaceMechanism:
            return TooLittleNoise(Fraction(self.epsilon) * Fraction(self.first_share))

    class BrokenCounts(HPA):
        def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
            return {"items": TooLittleNoise(Fraction(self.epsilon) * (1 - Fraction(self.first_share)))}

    for broken in (BrokenFirst, BrokenCounts):
        losses = hpa_losses(broken(epsilon=2, cap=1, first=1, first_share="1/2"), 3, (), THREE, 1)
        assert max(losses) > 2.1


def test_a_first_look_of_as_many_records_as_the_least_active_user_has_is_caught() -> None:
    losses = hpa_losses(HPA(epsilon=2, cap=1, first="data", first_share="1/2"), 3, (), THREE, 1)
    assert max(losses) > 20


def test_a_choice_by_the_exact_popularity_is_caught() -> None:
    """The broken mechanism of the published proof: what is chosen depends on everybody, and nobody paid for it."""
    method = HPA(epsilon=2, cap=1, first=1, first_share="1/2")

    def law(dataset: Dataset) -> Law:
        cells = cells_of(dataset, 3, (), repeats=False)
        counts = cells.totals("items")
        choices = [best_choices([int(counts[item]) for item, _ in sorted(h)], 1) for h in dataset]
        return counts_law(method, cells, masks(choices, [len(h) for h in dataset]), 9)

    crowd = tuple(((0, 0), (1, 0)) for _ in range(8))
    assert max_log_ratio(law(crowd), law((*crowd, ((1, 0),)))) > 2 * float(method.epsilon)


# Fourier coefficients


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_one_user_changes_integer_coefficients_by_no_more_than_stated(delta) -> None:
    method = DFT(epsilon=1, cap=2, coefficients=2, delta=delta)

    @cache
    def coefficients(dataset: Dataset, level: Level) -> BoundedSums:
        cells = cells_of(dataset, 3, DAY, repeats=True)
        return method._transform(cells, level).of(method._sums(cells, level))

    used = []
    for one, other in neighbors(histories(3, 2, most=2, repeats=True), 1):
        for level in ("items", "edges"):
            before, after = coefficients(one, level), coefficients(other, level)
            change = [int(x) for x in after.values - before.values]
            assert before.l1 == after.l1
            assert sum(map(abs, change)) <= before.l1
            assert sum(x * x for x in change) <= before.l2_squared
            used.append(float(sum(x * x for x in change) / before.l2_squared))
    assert max(used) > 0.8
