"""Every tiny table against every neighbor: histograms, models and strategies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from discreet.coupled import (
    Coupling,
    marginals,
    prefix_sums,
    queries_from_json,
    random_queries,
)
from discreet.coupled.bounds import answer_sums, count_sums, distance_scores, largest_count, weighted_count_sums
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.strategies import AxisStrategy, tree_bounds
from discreet.data import Table, synthetic
from discreet.models.registry import create
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import Concentrated, GaussianLoss, Pure
from discreet.privacy.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism, NormalMechanism
from discreet.privacy.selection import ExponentialMechanism, PermuteAndFlip
from discreet.testing import additive_log_ratio, additive_renyi, max_log_ratio

EPSILON, RHO, MU = Fraction(1, 2), Fraction(1, 8), Fraction(1, 2)
SIZE = 4
"""Values of the one attribute of a tiny table."""


@dataclass(frozen=True)
class TooLittleNoise(LaplaceMechanism):
    """A broken mechanism: nine tenths of the scale."""

    def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
        return super().parameter(sums, off_diagonal=off_diagonal) * Fraction(9, 10)


@dataclass(frozen=True)
class TooLittleGaussian(GaussianMechanism):
    """A broken mechanism: nine tenths of the deviation."""

    def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
        return super().parameter(sums, off_diagonal=off_diagonal) * Fraction(81, 100)


@cache
def tiny_table(values: tuple[int, ...]) -> Table:
    return Table({"a": values, "g": [0, 0, 1]}, domains={"a": range(SIZE)}, group="g")


def neighbors(k: int) -> Iterator[tuple[Table, Table]]:
    """Tables of three rows that agree outside of the first k."""
    for rest in product((0, SIZE - 1), repeat=3 - k):
        for one, other in combinations(product(range(SIZE), repeat=k), 2):
            yield tiny_table((*one, *rest)), tiny_table((*other, *rest))


@cache
def setting(table: Table, k: int, kind: str) -> QuerySetting:
    coupling = Coupling.by_group(table) if k == 2 else None
    workload = {
        "cells": prefix_sums,
        "largest": prefix_sums,
        "tree": prefix_sums,
        "marginals": prefix_sums,
        "prefix": prefix_sums,
        "one": lambda table, name: queries_from_json(table, [{name: [0, 1]}]),
        "values": marginals,
        "random": lambda table, name: random_queries(table, 5, seed=3, kind="weighted"),
    }[kind](table, "a")
    return QuerySetting.of(table, workload, coupling)


@cache
def measured(table: Table, k: int, kind: str) -> BoundedSums:
    at = setting(table, k, kind)
    if kind == "cells":
        return count_sums(table.histogram(), at)
    if kind == "largest":
        return largest_count(table.histogram(), at)
    if kind == "marginals":
        # The values as pairs of bits: both bits together, each bit by itself, with different weights.
        both = table.histogram().reshape(2, 2)
        counts = [3 * both.ravel(), 2 * both.sum(axis=1), both.sum(axis=0)]
        return weighted_count_sums(np.concatenate(counts), at, [3, 2, 1])
    if kind == "tree":
        axis = AxisStrategy(SIZE, 2)
        return replace(tree_bounds((axis,), at), values=axis.counts(table.histogram(), 0))
    return answer_sums(at.workload.true_answers(table), at)


ACCOUNTED = {
    **dict.fromkeys(("histogram", "strategy", "marginals"), GaussianLoss),
    **dict.fromkeys(("pmw", "mwem", "tree", "shrunk-histogram"), Concentrated),
}
"""How a release with a delta is accounted; the last two on μ where they select nothing."""

KINDS = ["cells", "largest", "tree", "marginals", "prefix", "one", "values", "random"]


@lru_cache
def sum_pairs(k: int, kind: str) -> tuple[tuple[BoundedSums, BoundedSums], ...]:
    """What is measured on each pair of neighbors; of pairs with the same change one stands for all.

    The law of the noise does not depend on the sums, so that the ratio of two laws depends on the change alone.
    """
    found = {}
    for first, second in neighbors(k):
        a, b = measured(first, k, kind), measured(second, k, kind)
        found.setdefault(tuple(sorted(np.abs(a.values - b.values).tolist())), (a, b))
    return tuple(found.values())


def worst(mechanism: AdditiveMechanism, k: int, kind: str) -> float:
    return max(additive_log_ratio(mechanism, *pair) for pair in sum_pairs(k, kind))


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", ["cells", "largest", "tree", "marginals"])
def test_counts_keep_epsilon_use_it_and_a_tenth_less_is_caught(k: int, kind: str) -> None:
    loss = worst(LaplaceMechanism(EPSILON), k, kind)
    assert loss <= float(EPSILON) + 1e-9
    assert loss >= 0.98 * float(EPSILON)
    assert worst(TooLittleNoise(EPSILON), k, kind) > 1.05 * float(EPSILON)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", ["prefix", "one", "values", "random"])
def test_the_bounds_on_answers_hold_on_every_neighbor(k: int, kind: str) -> None:
    """In whole grid steps: the noise law is checked elsewhere."""
    farthest = 0
    for first, second in neighbors(k):
        a, b = measured(first, k, kind), measured(second, k, kind)
        change = np.abs(a.values - b.values)
        assert change.sum() <= a.l1_sensitivity == b.l1_sensitivity
        assert int((change.astype(object) ** 2).sum()) <= a.l2_sensitivity_squared
        assert change.max() <= a.linf_sensitivity
        farthest = max(farthest, int(change.sum()))
    if kind in ("one", "values"):
        assert farthest == measured(tiny_table((0, 0, 0)), k, kind).l1_sensitivity


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", ["cells", "largest", "tree", "marginals"])
@pytest.mark.parametrize("order", [2.0, 8.0])
def test_counts_keep_rho(k: int, kind: str, order: float) -> None:
    def divergence(mechanism: AdditiveMechanism) -> float:
        return max(additive_renyi(mechanism, *pair, order) for pair in sum_pairs(k, kind))

    assert divergence(GaussianMechanism(RHO)) <= float(RHO) * order + 1e-9
    assert divergence(GaussianMechanism(RHO)) >= 0.98 * float(RHO) * order
    assert divergence(TooLittleGaussian(RHO)) > 1.1 * float(RHO) * order


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", ["cells", "largest", "tree", "marginals"])
def test_counts_keep_mu_use_it_and_a_tenth_less_is_caught(k: int, kind: str) -> None:
    """Two normal laws at distance μ deviations from each other are the worst case of μ-GDP; rounding hides a part."""

    def distance(mechanism: NormalMechanism) -> float:
        return max(
            float(np.linalg.norm(a.values - b.values)) / float(mechanism.parameter(a)) for a, b in sum_pairs(k, kind)
        )

    assert 0.98 * float(MU) <= distance(NormalMechanism(MU**2)) <= float(MU) + 1e-9
    assert distance(NormalMechanism((MU * Fraction(10, 9)) ** 2)) > 1.05 * float(MU)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", ["prefix", "one", "values", "random"])
def test_answers_keep_mu(k: int, kind: str) -> None:
    mechanism = NormalMechanism(MU**2)
    for first, second in neighbors(k):
        a, b = measured(first, k, kind), measured(second, k, kind)
        assert float(np.linalg.norm(a.values - b.values)) <= float(MU * mechanism.parameter(a)) * (1 + 1e-12)


@pytest.mark.parametrize(("name", "kind"), sorted(ACCOUNTED.items()))
def test_noise_is_accounted_on_mu_and_selection_on_rho(name: str, kind: type) -> None:
    table = synthetic.survey(households=100, seed=1)
    workload = random_queries(table, 5, seed=1)
    method = create(name, "answers", epsilon=1, delta="1e-6")
    assert isinstance(method.plan(table, workload).loss, kind)
    assert isinstance(create(name, "answers", epsilon=1).plan(table, workload).loss, Pure)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("mechanism", [PermuteAndFlip, ExponentialMechanism])
def test_choices_keep_epsilon(k: int, mechanism: type[PermuteAndFlip]) -> None:
    """Distances from public tables, as they choose attributes and pairs."""
    targets = [np.array(target) for target in ((3, 0, 0, 0), (0, 0, 0, 3), (1, 1, 1, 0))]

    def scores(table: Table) -> tuple[int, ...]:
        return tuple(int(np.abs(table.histogram() - target).sum()) for target in targets)

    at = setting(tiny_table((0, 0, 0)), k, "cells")
    pairs = {(scores(a), scores(b)) for a, b in neighbors(k)}

    def loss(epsilon: Fraction) -> float:
        return max(
            max_log_ratio(*(mechanism(epsilon).law(distance_scores(list(side), at)) for side in pair)) for pair in pairs
        )

    assert loss(Fraction(2)) <= 2 + 1e-9
    # Two distances can move in opposite directions by 2k each: a rate that forgets one of the two is caught.
    assert loss(Fraction(4)) > 2
