"""PPNS by both equations, and the accuracy-assured variant."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.neighbors.selection import PPNS, AssuredPPNS, Candidates, Nearest, Uniform, alpha

RANKED = Candidates(np.linspace(0.9, 0.1, 12), np.ones(12))


@pytest.mark.parametrize(("against", "partition"), [("knn", 2), ("beta-knn", 3)])
def test_one_comes_from_further_down(against, partition: int) -> None:
    law = PPNS(3, epsilon=1, beta=3, against=against).law(RANKED)
    far = set(range(3 * partition, 3 * partition + 3))
    for chosen in law:
        assert len(set(chosen) & {0, 1, 2}) == 2
        assert len(set(chosen) & far) == 1
    assert len(law) == 9


def test_within_a_partition_the_weights_decide() -> None:
    films = Candidates(np.array([1.0, 0.6, 0.4, 0.1]), np.array([0.5, 0.5, 0.1, 0.5]))
    law = PPNS(2, epsilon=4, beta=2).law(films)
    near = math.exp(4 * 1.0 / (8 * 0.5)) / (math.exp(1.0) + math.exp(0.6))
    far = math.exp(4 * 0.4 / (8 * 0.1)) / (math.exp(2.0) + math.exp(0.1))
    assert law[(0, 2)] == pytest.approx(near * far)
    assert law[(1, 3)] == pytest.approx((1 - near) * (1 - far))


@pytest.mark.parametrize(("size", "far"), [(4, [3]), (5, [3, 4]), (7, [6])])
def test_short_lists_give_one_from_their_last_partition(size: int, far: list[int]) -> None:
    law = PPNS(3, epsilon=1, beta=9).law(Candidates(RANKED.similarity[:size], np.ones(size)))
    assert {chosen[-1] for chosen in law} == set(far)


def test_ties_across_the_cut_are_shared() -> None:
    films = Candidates(np.array([0.9, 0.5, 0.5, 0.1]), np.ones(4))
    random = PPNS(2, epsilon=1, beta=2).inclusion(films)
    assert random[1] == pytest.approx(random[2])
    fixed = PPNS(2, epsilon=1, beta=2, ties="id").law(films)
    assert set(fixed) == {(0, 2), (0, 3), (1, 2), (1, 3)}


@pytest.mark.parametrize("options", [{"beta": 0}, {"beta": 1, "against": "all"}, {"beta": 1, "epsilon": -1}])
def test_bad_options_are_refused(options) -> None:
    with pytest.raises(UsageError):
        PPNS(2, **{"epsilon": 1, **options})


@pytest.mark.parametrize("accuracy", [0.6, 0.75, 0.9, 0.99])
@pytest.mark.parametrize("size", [12, 200])
def test_the_accuracy_is_kept_and_not_more(accuracy: float, size: int) -> None:
    films = Candidates(np.linspace(0.9, 0.1, size))
    strategy = AssuredPPNS(3, accuracy=accuracy)
    kept = alpha(strategy, films, exact=False) / alpha(Nearest(3), films)
    assert kept == pytest.approx(max(accuracy, alpha(Uniform(3), films) / alpha(Nearest(3), films)), abs=1e-5)
    assert kept >= accuracy - 1e-9
    if size == 12:  # the exact law differs from Manly's approximation by little
        assert alpha(strategy, films, exact=True) / alpha(Nearest(3), films) == pytest.approx(kept, abs=0.02)


def test_the_deeper_the_less_likely() -> None:
    chances = AssuredPPNS(3, accuracy=0.9).inclusion(RANKED, exact=True)
    by_partition = chances.reshape(4, 3)
    assert np.all(np.diff(by_partition.sum(axis=1)) < 0)
    assert np.ptp(by_partition, axis=1) == pytest.approx(np.zeros(4))


def test_both_ends() -> None:
    assert AssuredPPNS(3, accuracy=1).law(RANKED) == {(0, 1, 2): 1.0}
    assert AssuredPPNS(3, accuracy=1).theta(RANKED) == 0.0
    assert AssuredPPNS(3, accuracy=1).reach(RANKED) == 3
    assert AssuredPPNS(3, accuracy=0.1).theta(RANKED) == 1.0
    assert AssuredPPNS(3, accuracy=0.1).law(RANKED) == pytest.approx(Uniform(3).law(RANKED))


def test_nothing_to_keep_leaves_the_nearest() -> None:
    """Where even the nearest are dissimilar, no share of their similarity is worth having."""
    films = Candidates(np.array([-0.1, -0.2, -0.3]))
    assert AssuredPPNS(1, accuracy=0.5).law(films) == {(0,): 1.0}


@pytest.mark.parametrize("accuracy", [0, 1.1])
def test_accuracy_is_a_share(accuracy: float) -> None:
    with pytest.raises(UsageError, match="accuracy"):
        AssuredPPNS(3, accuracy=accuracy)
