"""Rankings and ties."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from discreet.neighbors.selection import CandidateLists, Candidates
from discreet.neighbors.selection.lists import Block, count_splits, rankings, ranks_of, splits

TIED = Candidates(np.array([0.5, 0.9, 0.5, 0.5, 0.1]))


def test_most_similar_first_and_absent_last() -> None:
    block = CandidateLists.of([Candidates(np.array([0.1, 0.3, 0.2])), Candidates(np.array([-0.5]))])._block(
        np.arange(2)
    )
    order = rankings(block, ties="id")
    assert order[0].tolist() == [1, 2, 0]
    assert order[1, 0] == 0
    assert ranks_of(order)[0].tolist() == [2, 0, 1]


def test_ties_by_id() -> None:
    assert rankings(Block.of(TIED), ties="id")[0].tolist() == [1, 0, 2, 3, 4]


def test_random_ties_are_fair(fixed_bits) -> None:
    many = CandidateLists.of([TIED] * 6000)
    orders = Counter(
        tuple(row) for _, block in many.blocks() for row in rankings(block, ties="random")[:, 1:4].tolist()
    )
    assert len(orders) == 6
    assert all(abs(count - 1000) < 150 for count in orders.values())


@pytest.mark.parametrize("cuts", [[], [1], [2], [2, 3], [2, 4], [7]])
def test_splits_are_all_ways_and_equally_likely(cuts) -> None:
    ways = list(splits(TIED, cuts, ties="random"))
    assert len(ways) == count_splits(TIED, cuts, ties="random")
    assert sum(share for _, share in ways) == pytest.approx(1.0)
    cells = Counter()
    for order, share in ways:
        assert np.all(np.diff(TIED.similarity[order]) <= 0)
        cells[tuple(tuple(sorted(part.tolist())) for part in np.split(order, [c for c in cuts if c < 5]))] += 1
        assert share == pytest.approx(1 / len(ways))
    assert set(cells.values()) == {1}


def test_without_chance_there_is_one_ranking() -> None:
    assert count_splits(TIED, [2], ties="id") == 1
    assert [order.tolist() for order, _ in splits(TIED, [2], ties="id")] == [[1, 0, 2, 3, 4]]
