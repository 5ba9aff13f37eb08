"""PPNS by both equations, and the accuracy-assured variant."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.neighbors.selection import PPNS, AssuredPPNS, Candidates
from discreet.neighbors.selection import beta as quality_beta

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


# Accuracy-assured


@pytest.mark.parametrize(("p", "beta"), [(0.1, 22), (0.3, 9), (0.5, 6), (0.7, 4), (0.9, 2), (1, 1)])
def test_beta_follows_from_p(p: float, beta: int) -> None:
    films = Candidates(np.linspace(0.9, 0.1, 2_000))
    strategy = AssuredPPNS(50, p=p)
    assert quality_beta(strategy, films) == beta
    counts = strategy.counts(films)
    assert counts.size == beta
    assert counts.sum() == 50
    left = 50
    for given in counts.tolist():
        assert given == math.ceil(Fraction(str(p)) * left)
        left -= given


@pytest.mark.parametrize("p", ["1/10", "1/3", "1/2", "9/10", 1])
@pytest.mark.parametrize("size", [2, 4, 7, 12])
def test_every_draw_keeps_the_least_alpha(p, size: int) -> None:
    films = Candidates(RANKED.similarity[:size])
    strategy = AssuredPPNS(3, p=p)
    sums = [films.similarity[list(chosen)].sum() for chosen in strategy.law(films)]
    assert min(sums) >= strategy.least_alpha(films) - 1e-12
    assert strategy.least_alpha(films) == pytest.approx(
        sum(f * films.similarity[min(3 * i + 3, size) - 1] for i, f in enumerate(strategy.counts(films).tolist()))
    )


def test_short_lists_fill_up_from_the_nearest_that_are_left() -> None:
    films = Candidates(RANKED.similarity[:5])
    assert AssuredPPNS(4, p="1/4").counts(films).tolist() == [3, 1]
    assert AssuredPPNS(4, p="1/4").counts(Candidates(RANKED.similarity[:3])).tolist() == [3]
    assert AssuredPPNS(4).counts(Candidates(np.zeros(0))).tolist() == []


def test_within_a_partition_of_the_assured_variant_the_weights_decide() -> None:
    films = Candidates(np.array([1.0, 0.6, 0.4, 0.1]), np.array([0.5, 0.5, 0.1, 0.5]))
    law = AssuredPPNS(2, p="1/2", epsilon=4).law(films)
    near = math.exp(4 * 1.0 / (8 * 0.5)) / (math.exp(1.0) + math.exp(0.6))
    far = math.exp(4 * 0.4 / (8 * 0.1)) / (math.exp(2.0) + math.exp(0.1))
    assert law[(0, 2)] == pytest.approx(near * far)
    assert law[(1, 3)] == pytest.approx((1 - near) * (1 - far))


def test_without_an_epsilon_the_choice_within_a_partition_is_uniform() -> None:
    chances = AssuredPPNS(3, p="1/2").inclusion(RANKED, exact=True).reshape(4, 3)
    assert chances == pytest.approx(np.array([[2 / 3] * 3, [1 / 3] * 3, [0] * 3, [0] * 3]))


@pytest.mark.parametrize("accuracy", [0.6, 0.75, 0.9, 0.99])
def test_the_least_share_that_keeps_a_required_accuracy(accuracy: float) -> None:
    films = Candidates(np.linspace(0.9, 0.1, 40))
    strategy, k = AssuredPPNS(6, accuracy=accuracy), 6
    required = accuracy * films.similarity[:k].sum()

    def worst(counts: list[int]) -> float:
        """The last members of each partition."""
        return sum(films.similarity[k * i + k - f : k * i + k].sum() for i, f in enumerate(counts))

    found = strategy.counts(films).tolist()
    assert worst(found) >= required
    able = [p for p in range(1, 1001) if worst(AssuredPPNS(k, p=Fraction(p, 1000)).counts(films).tolist()) >= required]
    assert found == AssuredPPNS(k, p=Fraction(able[0], 1000)).counts(films).tolist()
    assert able == list(range(able[0], 1001))


def test_both_ends() -> None:
    assert AssuredPPNS(3, accuracy=1).law(RANKED) == {(0, 1, 2): 1.0}
    assert AssuredPPNS(3, accuracy=1).reach(RANKED) == 3
    assert AssuredPPNS(3, accuracy=0.1).counts(RANKED).tolist() == [1, 1, 1]
    assert AssuredPPNS(3).p == Fraction(1, 2)


def test_nothing_to_keep_leaves_the_nearest() -> None:
    """Where even the nearest are dissimilar, no share of their similarity is worth having."""
    films = Candidates(np.array([-0.1, -0.2, -0.3]))
    assert AssuredPPNS(1, accuracy=0.5).law(films) == {(0,): 1.0}


@pytest.mark.parametrize("options", [{"p": 0}, {"p": 1.1}, {"accuracy": 0}, {"accuracy": 1.1}])
def test_shares_are_shares(options) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        AssuredPPNS(3, **options)
    with pytest.raises(UsageError, match="both"):
        AssuredPPNS(3, p=0.5, accuracy=0.5)
