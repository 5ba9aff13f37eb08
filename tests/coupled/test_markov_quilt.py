"""Markov quilts: max-influence against enumeration, the best quilt, a count with a promise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from discreet.coupled import MarkovChain, MarkovQuiltCount, marginals, queries_from_json, random_queries
from discreet.data import Table
from discreet.errors import UsageError

SLOW = MarkovChain.of(["1/4", "3/4"], [[0.8, 0.2], [0.4, 0.6]])
THREE = MarkovChain.of([0.2, 0.3, 0.5], [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
HOLES = MarkovChain.of([1, 0, 0], [[0.7, 0.3, 0], [0, 0.7, 0.3], [0.5, 0, 0.5]])


def paths(chain: MarkovChain, length: int) -> dict[tuple[int, ...], float]:
    law = {}
    for path in product(range(chain.states), repeat=length):
        p = chain.initial[path[0]]
        for a, b in pairwise(path):
            p *= chain.transition[a][b]
        law[path] = float(p)
    return law


def enumerated(chain: MarkovChain, length: int, place: int, others: list[int]) -> float:
    """Max-influence of the row at a place on some others, from all paths."""
    laws: dict[int, dict[tuple[int, ...], float]] = {}
    for path, p in paths(chain, length).items():
        if p:
            law = laws.setdefault(path[place], {})
            seen = tuple(path[other] for other in others)
            law[seen] = law.get(seen, 0.0) + p
    worst = 0.0
    for one, other in product(laws.values(), repeat=2):
        for seen, p in one.items():
            here, there = p / sum(one.values()), other.get(seen, 0.0) / sum(other.values())
            worst = max(worst, math.inf if there == 0 else math.log(here / there))
    return worst


@pytest.mark.parametrize("chain", [SLOW, THREE, HOLES])
def test_max_influence_is_that_of_all_paths(chain: MarkovChain) -> None:
    for place in range(5):
        for before in range(place + 1):
            for after in range(5 - place):
                others = [place - before] * bool(before) + [place + after] * bool(after)
                found = chain.influence(before, after, place=place)
                wanted = enumerated(chain, 5, place, others)
                assert found == pytest.approx(wanted, abs=1e-9)
                assert found >= wanted


def test_influence_fades_with_distance() -> None:
    faded = [SLOW.influence(steps, steps, place=40) for steps in range(1, 30)]
    assert faded == sorted(faded, reverse=True)
    assert faded[-1] < 1e-4


def test_the_quilt_is_the_best_of_all() -> None:
    method = MarkovQuiltCount.of([SLOW], epsilon=1)
    length = 12
    for place, quilt in enumerate(method.quilts(length)):
        scales = []
        for before in range(place + 1):
            for after in range(length - place):
                near = (place + after - 1 if after else length - 1) - (place - before + 1 if before else 0) + 1
                left = 1 - SLOW.influence(before, after, place=place)
                scales.append(near / left if left > 0 else math.inf)
        assert quilt.near / (1 - quilt.influence) == pytest.approx(min(scales))


def test_chains_that_never_forget_get_the_noise_of_a_group() -> None:
    frozen = MarkovChain.of([0.5, 0.5], [[1, 0], [0, 1]])
    method = MarkovQuiltCount.of([frozen], epsilon=1)
    assert float(method.distance({20: 1})) == pytest.approx(20, rel=1e-6)


def test_chains_without_memory_get_the_noise_of_a_row() -> None:
    method = MarkovQuiltCount.of([MarkovChain.of([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]])], epsilon=1)
    assert float(method.distance({20: 1})) == pytest.approx(1, rel=1e-6)


def test_noise_does_not_grow_with_long_chains() -> None:
    method = MarkovQuiltCount.of([MarkovChain.of([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]])], epsilon=1)
    short, long = float(method.distance({40: 1})), float(method.distance({400: 1}))
    assert long == pytest.approx(short, rel=1e-6)
    assert long < 8


def test_a_class_needs_the_noise_of_its_worst_chain() -> None:
    quick = MarkovChain.of([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]])
    alone = [MarkovQuiltCount.of([chain], epsilon=1).distance({30: 1}) for chain in (quick, SLOW)]
    assert MarkovQuiltCount.of([quick, SLOW], epsilon=1).distance({30: 1}) >= max(alone)


def test_probabilities_too_small_for_floats_rule_a_quilt_out() -> None:
    steep = MarkovChain.of([0.5, 0.5], [[1 - Fraction(1, 10**200), Fraction(1, 10**200)], [Fraction(1, 2)] * 2])
    assert steep.influence(0, 1, place=3) == pytest.approx(math.log(0.5e200))
    tiny = Fraction(1, 10**260)
    steeper = MarkovChain.of([0.5, 0.5], [[1 - tiny, tiny], [tiny, 1 - tiny]])
    assert steeper.influence(0, 1, place=3) == math.inf


def test_a_count_on_chains(fixed_bits: object) -> None:
    generator = np.random.default_rng(0)
    days = {"asleep": generator.integers(0, 2, 600), "person": np.repeat([0, 1, 2], 200)}
    table = Table(days, domains={"asleep": range(2)}, group="person")
    workload = queries_from_json(table, [{"asleep": 1}])
    method = MarkovQuiltCount.of([SLOW], epsilon=1)
    facts = method.estimate(table, workload)
    assert facts["noise_sd"] == pytest.approx(2**0.5 * facts["distance"], rel=1e-3)
    release = method.release(table, workload)
    truth = workload.true_answers(table)[0] / 4096
    assert abs(release.table("answers")["answer"][0] - truth) < 30 * facts["noise_sd"]
    assert "Markov quilt" in release.guarantee.basis
    assert "several releases" in str(release.guarantee)
    assert float(method.group_guarantee(table, workload).loss.epsilon_at(Fraction(0))) == pytest.approx(
        200 / facts["distance"]
    )


def test_wrong_use_is_refused() -> None:
    table = Table({"a": [0, 1], "b": [0, 1], "g": [0, 0]}, domains={"a": range(2), "b": range(3)}, group="g")
    method = MarkovQuiltCount.of([SLOW], epsilon=1)
    with pytest.raises(UsageError, match="states"):
        method.release(table, queries_from_json(table, [{"b": 1}]))
    with pytest.raises(UsageError, match="one attribute"):
        method.release(table, queries_from_json(table, [{"a": 1, "b": 1}]))
    with pytest.raises(UsageError, match="one attribute"):
        method.release(table, random_queries(table, 1, seed=1))
    with pytest.raises(UsageError, match="do not add up"):
        method.release(table, marginals(table, "a"))
    for initial, transition in (([0.5, 0.4], [[1, 0], [0, 1]]), ([1], [[1], [1]]), ([0.5, 0.5], [[0.3, 0.3], [0, 1]])):
        with pytest.raises(UsageError):
            MarkovChain.of(initial, transition)
    with pytest.raises(UsageError):
        MarkovQuiltCount.of([SLOW, THREE], epsilon=1)
    with pytest.raises(UsageError):
        MarkovQuiltCount.of([SLOW], epsilon=1, reach=0)


def test_joint_probabilities_that_lost_their_digits_rule_a_quilt_out() -> None:
    """Products of two tiny numbers are no longer what they should be, however large their ratio to each other looks."""
    rare, start = Fraction(494, 10**126), Fraction(1, 10**200)
    chain = MarkovChain.of([1 - start, start, 0], [[1 - rare, 0, rare], [0, 1 - rare / 2, rare / 2], [0, 0, 1]])
    assert chain._backward(1, 1)[1][0, 2] == math.inf
