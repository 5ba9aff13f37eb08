"""Every tiny table against every neighbor, and every secret against every other: histograms, strategies, Pufferfish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from discreet.coupled import (
    BinaryLaw,
    Coupling,
    MarkovChain,
    MarkovQuiltCount,
    WassersteinCount,
    marginals,
    prefix_sums,
    queries_from_json,
    random_queries,
)
from discreet.coupled.axis_strategies import AxisStrategy
from discreet.coupled.forests import count_sums, distance_scores
from discreet.coupled.histograms import largest_count
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.strategies import answer_sums, tree_sums
from discreet.data import Table
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from discreet.privacy.selection import ExponentialMechanism, PermuteAndFlip
from discreet.testing import additive_log_ratio, additive_renyi, max_log_ratio

EPSILON, RHO = Fraction(1, 2), Fraction(1, 8)
SIZE = 4
"""Values of the one attribute of a tiny table."""


@dataclass(frozen=True)
class TooLittleNoise(LaplaceMechanism):
    """A broken twin: nine tenths of the scale."""

    def parameter(self, sums: BoundedSums) -> Fraction:
        return super().parameter(sums) * Fraction(9, 10)


@dataclass(frozen=True)
class TooLittleGaussian(GaussianMechanism):
    """A broken twin: nine tenths of the deviation."""

    def parameter(self, sums: BoundedSums) -> Fraction:
        return super().parameter(sums) * Fraction(81, 100)


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
    if kind == "tree":
        axis = AxisStrategy(SIZE, 2)
        return tree_sums(axis.counts(table.histogram(), 0), (axis,), at)
    return answer_sums(at.workload.true_answers(table), at)


KINDS = ["cells", "largest", "tree", "prefix", "one", "values", "random"]


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
@pytest.mark.parametrize("kind", ["cells", "largest", "tree"])
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
@pytest.mark.parametrize("kind", ["cells", "largest", "tree"])
@pytest.mark.parametrize("order", [2.0, 8.0])
def test_counts_keep_rho(k: int, kind: str, order: float) -> None:
    def divergence(mechanism: AdditiveMechanism) -> float:
        return max(additive_renyi(mechanism, *pair, order) for pair in sum_pairs(k, kind))

    assert divergence(GaussianMechanism(RHO)) <= float(RHO) * order + 1e-9
    assert divergence(GaussianMechanism(RHO)) >= 0.98 * float(RHO) * order
    assert divergence(TooLittleGaussian(RHO)) > 1.1 * float(RHO) * order


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


# Pufferfish: conditional laws of the noisy answer, enumerated


def noisy_log_law(law: dict[int, float], scale: float, outputs: np.ndarray) -> np.ndarray:
    """Log-law of count + discrete Laplace noise on a window of outputs."""
    values, p = np.array(list(law)), np.array(list(law.values()))
    return np.log((p / p.sum() * np.exp(-np.abs(outputs[:, None] - values) / scale)).sum(axis=1))


def loss_between(laws: list[dict[int, float]], scale: float) -> float:
    outputs = np.arange(-200, 200)
    logs = [noisy_log_law(law, scale, outputs) for law in laws if law]
    return max((float(np.max(np.abs(a - b))) for a, b in combinations(logs, 2)), default=0.0)


def mixture_loss(k: int, together: str, probability: str, scale: float) -> float:
    law = BinaryLaw.mixture(k, together=together, probability=probability)
    return max(
        loss_between([{value: float(p) for value, p in side.items()} for side in pair], scale) for pair in law.given[:1]
    )


@pytest.mark.parametrize(("together", "wanted"), [("0.6", 0.727), ("0.3", None), ("1", 1.0), ("0", 1.0)])
def test_the_wasserstein_mechanism_keeps_its_promise(together: str, wanted: float | None) -> None:
    k = 10
    law = BinaryLaw.mixture(k, together=together, probability="0.01")
    method = WassersteinCount.of([law], epsilon=1)
    loss = mixture_loss(k, together, "0.01", float(method.distance({k: 3})))
    assert loss <= 1 + 1e-9
    if wanted is not None:
        assert loss == pytest.approx(wanted, abs=2e-3)
    if together in ("0", "1"):
        assert mixture_loss(k, together, "0.01", 0.9 * float(method.distance({k: 3}))) > 1.05


def chain_loss(chain: MarkovChain, length: int, counted: set[int], scale: float) -> float:
    """The largest loss over rows and pairs of states, from all paths of a chain."""
    laws: dict[tuple[int, int], dict[int, float]] = {}
    for path in product(range(chain.states), repeat=length):
        p = chain.initial[path[0]]
        for a, b in pairwise(path):
            p *= chain.transition[a][b]
        if p:
            count = sum(state in counted for state in path)
            for place, state in enumerate(path):
                law = laws.setdefault((place, state), {})
                law[count] = law.get(count, 0.0) + float(p)
    return max(
        loss_between([laws.get((place, state), {}) for state in range(chain.states)], scale) for place in range(length)
    )


CHAINS = [
    (MarkovChain.of([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]]), 9, {1}),
    (MarkovChain.of([0.9, 0.1], [[0.55, 0.45], [0.3, 0.7]]), 9, {1}),
    (MarkovChain.of([1, 0, 0], [[0.7, 0.3, 0], [0, 0.7, 0.3], [0.5, 0, 0.5]]), 6, {0, 2}),
    (MarkovChain.of([0.2, 0.3, 0.5], [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]), 6, {1}),
]


@pytest.mark.parametrize(("chain", "length", "counted"), CHAINS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_markov_quilts_keep_their_promise(
    chain: MarkovChain, length: int, counted: set[int], epsilon: Fraction
) -> None:
    method = MarkovQuiltCount.of([chain], epsilon=epsilon)
    scale = float(method.distance({length: 1}) / epsilon)
    assert chain_loss(chain, length, counted, scale) <= float(epsilon) + 1e-9


@pytest.mark.parametrize("memory", [0, 1])
def test_a_tenth_less_noise_is_caught_where_quilts_are_tight(memory: int) -> None:
    """Chains that never forget need the noise of the whole chain, chains without memory that of one row."""
    rows = [[1, 0], [0, 1]] if memory else [["1/2", "1/2"]] * 2
    chain = MarkovChain.of(["1/2", "1/2"], rows)
    scale = float(MarkovQuiltCount.of([chain], epsilon=1).distance({5: 1}))
    assert chain_loss(chain, 5, {1}, scale) == pytest.approx(1, abs=1e-6)
    assert chain_loss(chain, 5, {1}, 0.9 * scale) > 1.1


def test_the_noise_of_one_row_is_too_little_for_a_chain() -> None:
    chain, length, counted = CHAINS[1]
    assert chain_loss(chain, length, counted, 1.0) > 1.2
