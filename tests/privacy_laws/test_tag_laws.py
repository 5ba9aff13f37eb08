"""Tagging releases: every length by brute force, exact laws over tiny datasets, and too little noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from discreet.data.tags import TagAssignments
from discreet.privacy import draws
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.gram import BoundedGram
from discreet.privacy.losses import GaussianLoss
from discreet.privacy.mechanisms import LaplaceMechanism, NormalMechanism
from discreet.privacy.units import Unit
from discreet.tagging import PTRJ, PTRS
from discreet.tagging.sums import (
    LinkTable,
    Order,
    popularity,
    resource_topics,
    size_counts,
    tag_gram,
    topic_steps,
    type_counts,
    unit_counts,
)
from discreet.testing import additive_log_ratio

RESOURCES, TAGS = ["r", "s"], ["a", "b", "c"]
Triples = tuple[tuple[str, str], ...]
BASE: list[Triples] = [(("r", "a"), ("s", "b")), (("r", "c"),), (("s", "a"), ("s", "b"), ("s", "c"))]
HEAD = np.array([0, 2])


def histories() -> Iterator[Triples]:
    """Every nonempty set of posts over two resources and three tags."""
    cells = list(itertools.product(RESOURCES, TAGS))
    for size in range(1, len(cells) + 1):
        yield from itertools.combinations(cells, size)


@lru_cache(maxsize=256)
def with_history(history: Triples, *, alone: bool = False) -> TagAssignments:
    return dataset([history] if alone else [*BASE, history])


def dataset(people: list[Triples], *, resources: list[str] = RESOURCES, tags: list[str] = TAGS) -> TagAssignments:
    rows = {"user_id": [], "resource_id": [], "tag": []}
    for number, person in enumerate(people):
        for resource, tag in person:
            rows["user_id"].append(f"u{number}")
            rows["resource_id"].append(resource)
            rows["tag"].append(tag)
    return TagAssignments(rows).with_vocabulary(tags).with_resources(resources)


def topics() -> np.ndarray:
    """Two topics of the head, and the third one of whatever is left."""
    return topic_steps(np.array([[0.9, 0.1], [0.3, 0.7]]), HEAD, len(TAGS))


def links(data: TagAssignments, resources: list[int], order: Order | None) -> BoundedSums:
    """The whole table of these resources."""
    table = LinkTable(np.array(resources), data.n_tags, order)
    (block,) = table.blocks()
    return table.sums(data, *block)


SUMS: dict[str, Callable[[TagAssignments, Order], BoundedSums]] = {
    "tags": lambda data, order: popularity(data, order, resources=False),
    "tags and resources": lambda data, order: popularity(data, order, resources=True),
    "links": lambda data, order: links(data, [0, 1], order),
    "links of one resource": lambda data, order: links(data, [1], order),
    "resources by topic": lambda data, order: resource_topics(data, topics(), order),
    "sizes": lambda data, order: size_counts(data),
    "types": lambda data, order: type_counts(data, topics()),
}


def norm(values: np.ndarray, order: Order) -> int:
    return sum(abs(int(x)) ** order for x in values.ravel())


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", SUMS)
def test_one_user_more_adds_no_more_than_the_stated_length(name: str, order: Order) -> None:
    before = SUMS[name](dataset(BASE), order)
    longest = 0.0
    for history in histories():
        after, alone = SUMS[name](with_history(history), order), SUMS[name](with_history(history, alone=True), order)
        moved = after.values - before.values
        np.testing.assert_array_equal(moved, alone.values)
        assert after.values.dtype == before.values.dtype
        assert (after.l1, after.l2_squared, after.step) == (before.l1, before.l2_squared, before.step)
        assert norm(moved, 1) <= after.l1
        assert norm(moved, 2) <= after.l2_squared
        bound = after.l2_squared if order == 2 else after.l1
        longest = max(longest, norm(moved, order) / float(bound))
    assert longest > 0.99


@pytest.mark.parametrize("order", [1, 2])
def test_the_gram_matrix_of_one_user_has_the_stated_length(order: Order) -> None:
    head = np.arange(3)
    before = tag_gram(dataset(BASE), head, order)
    longest = 0.0
    for history in histories():
        after = tag_gram(with_history(history), head, order)
        moved = after.matrices[0] - before.matrices[0]
        np.testing.assert_array_equal(moved, tag_gram(with_history(history, alone=True), head, order).matrices[0])
        np.testing.assert_array_equal(moved, moved.T)
        assert norm(moved, 2) <= after.frobenius_squared
        assert after.l1 is not None
        assert norm(moved, 1) <= after.l1
        longest = max(longest, norm(moved, order) / float(after.frobenius_squared if order == 2 else after.l1))
    assert longest > 0.99


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("many", [1, 40, 6_000])
def test_users_with_thousands_of_triples_are_no_longer_than_others(order: Order, many: int) -> None:
    resources, tags = [f"r{n:03}" for n in range(100)], [f"t{n:03}" for n in range(60)]
    cells = list(itertools.product(resources, tags))[:many]
    data = dataset([tuple(cells)], resources=resources, tags=tags)
    found = topic_steps(np.full((30, 7), 1 / 7), np.arange(30), len(tags))
    for sums in (
        popularity(data, order, resources=True),
        links(data, list(range(100)), order),
        resource_topics(data, found, order),
    ):
        assert 0.9 < norm(sums.values, order) / float(sums.l2_squared if order == 2 else sums.l1) <= 1
    gram = tag_gram(data, np.arange(50), order)
    assert 0.9 < norm(gram.matrices[0], order) / float(gram.frobenius_squared if order == 2 else gram.l1 or 0) <= 1


def test_nobody_is_there_and_nothing_moves() -> None:
    data = dataset(BASE).filter(np.zeros(6, dtype=bool))
    for make in SUMS.values():
        for order in (1, 2):
            assert not make(data, order).values.any()


# What a whole release costs: the parts of one user's trace, each in units of its noise


def spent_by_users(budget: Budget, history: Triples, *, less: Fraction) -> Fraction | float:
    """μ² or ε of popularity, Gram matrix and links together for one more user, with so much of the noise."""
    shares = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    data = with_history(history, alone=True)
    order: Order = 1 if budget.is_pure else 2
    sums = (popularity(data, order, resources=True), links(data, [0, 1], order))
    gram, noise = tag_gram(data, np.arange(3), order), budget.part(shares[1]).for_sums()
    total = 0.0
    for share, some in zip((shares[0], shares[2]), sums, strict=True):
        mechanism = budget.part(share).for_sums()
        parameter = mechanism.parameter(some) * less
        total += norm(some.values, order) / float(parameter) ** order
    matrix = gram.matrices[0]
    on, above = matrix.diagonal(), matrix[np.triu_indices(3, 1)]
    diagonal, off = noise.parameter(gram), noise.parameter(gram, off_diagonal=True)
    total += norm(on, order) / float(diagonal * less) ** order + norm(above, order) / float(off * less) ** order
    return total


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(0)])
@pytest.mark.parametrize(("less", "holds"), [(Fraction(1), True), (Fraction(9, 10), False)])
def test_three_releases_keep_the_budget_and_a_tenth_less_noise_does_not(
    delta: Fraction, less: Fraction, holds: bool
) -> None:
    budget = Budget(1, delta)
    allowed = float(budget.amount)
    worst = max(spent_by_users(budget, history, less=less) for history in histories())
    assert (worst <= allowed * (1 + 1e-12)) == holds
    assert worst > 0.99 * allowed


@pytest.mark.parametrize(("less", "holds"), [(Fraction(1), True), (Fraction(9, 10), False)])
def test_one_assignment_costs_epsilon_exactly(less: Fraction, holds: bool) -> None:
    """The exact laws of all counts and all cells, with and without each triple."""
    epsilon, share = Fraction(1), Fraction(1, 20)
    worst = 0.0
    full = [((("r", "a"), ("s", "b"), ("r", "c")))]
    for gone in range(3):
        kept = tuple(t for n, t in enumerate(full[0]) if n != gone)
        pair = dataset(full), dataset([kept])
        counts = [unit_counts(np.bincount(data.tag, minlength=3), Unit("record")) for data in pair]
        cells = [links(data, [0, 1], None) for data in pair]
        first, second = LaplaceMechanism(epsilon * share / less), LaplaceMechanism(epsilon * (1 - share) / less)
        worst = max(worst, additive_log_ratio(first, *counts) + additive_log_ratio(second, *cells))
    assert (worst <= float(epsilon) + 1e-9) == holds
    assert worst > 0.999 * float(epsilon)


def test_every_cell_gets_the_noise_that_was_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, Fraction]] = []

    def draw(shape: int | tuple[int, ...], deviation: Fraction) -> np.ndarray:
        asked.append((math.prod(shape) if isinstance(shape, tuple) else shape, deviation))
        return np.zeros(shape, dtype=np.int64)

    monkeypatch.setitem(draws.SAMPLERS, "normal", draw)
    data = dataset(BASE)
    method = PTRJ(epsilon=1, delta="1e-6", popularity_share="1/4", gram_share="1/4", head=3, resources=1)
    method.release(data)
    loss = method.plan(data).guarantee.loss
    assert isinstance(loss, GaussianLoss)
    # Tags and resources; the triangle and the diagonal of the Gram matrix; all tags of the one resource.
    assert [size for size, _ in asked] == [5, 3, 3, 3]
    unit = 2.0**20 / loss.mu
    for (_, deviation), times in zip(asked, (2, math.sqrt(2), 2, math.sqrt(2)), strict=True):
        assert float(deviation) == pytest.approx(times * unit, rel=1e-6)
        assert float(deviation) >= times * unit * (1 - 1e-9)

    asked.clear()
    PTRS(epsilon=1, delta="1e-6", users=3).release(data)
    # Popularity, matrix, resources by topic (one topic and the rest), sizes, types.
    assert [size for size, _ in asked] == [3, 3, 3, 4, 13, 2]
    shares = (1 / 10, 4 / 5, 2 / 5, 2 / 5, 1 / 20, 1 / 20)
    units = (unit, unit, unit, unit, 1 / loss.mu, 1 / loss.mu)
    for (_, deviation), share, one in zip(asked, shares, units, strict=True):
        assert float(deviation) == pytest.approx(one / math.sqrt(share), rel=1e-6)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("unit", ["user", "assignment"])
def test_shapes_types_and_figures_do_not_depend_on_one_user(delta: object, unit: str) -> None:
    method = PTRJ(epsilon=1, delta=delta, unit=unit)  # type: ignore[arg-type]
    here, there = (method.release(dataset(people)) for people in (BASE, [*BASE, tuple(histories())[-1]]))
    assert here.parameters == there.parameters
    assert here.guarantee == there.guarantee
    for name in ("tags", "resources") if unit == "user" else ("tags",):
        assert here.table(name).schema == there.table(name).schema
        assert here.table(name)[:, 0].to_list() == there.table(name)[:, 0].to_list()
    assert here.table("links").schema == there.table("links").schema


def test_bounds_of_a_part_of_a_table_are_those_of_the_whole() -> None:
    data = dataset([tuple(histories())[-1]])
    table, whole = LinkTable(np.arange(2), data.n_tags, 2), links(data, [0, 1], 2)
    assert table.bounds.l2_squared == whole.l2_squared
    assert norm(whole.values, 1) <= table.bounds.l1
    rows = [table.sums(data, row, row + 1) for row in range(2)]
    np.testing.assert_array_equal(np.concatenate([row.values for row in rows]), whole.values)


def test_laplace_and_normal_gram_take_their_own_norms() -> None:
    gram = tag_gram(dataset(BASE), np.arange(3), 1)
    assert isinstance(Budget(1).for_sums(), LaplaceMechanism)
    assert LaplaceMechanism(Fraction(1)).parameter(gram, off_diagonal=True) == Fraction(2**20, 2)
    assert isinstance(gram, BoundedGram)
    assert NormalMechanism(Fraction(1)).parameter(popularity(dataset(BASE), 2, resources=False)) >= 2**20
