"""Lists of candidates: joined and cut up again without loss, checked at the door."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.neighbors.selection import CandidateLists, Candidates
from discreet.neighbors.selection import lists as lists_module
from discreet.neighbors.selection.lists import Block


def films(*similarity: float) -> Candidates:
    return Candidates(np.array(similarity))


def column(values: np.ndarray | None) -> list[float]:
    assert values is not None
    return values.tolist()


def test_blocks_hold_every_list_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists_module, "CELLS", 12)
    sizes = [3, 0, 7, 1, 3, 20]
    rng = np.random.default_rng(1)
    given = [Candidates(rng.normal(size=n), rng.uniform(size=n)) for n in sizes]
    joined = CandidateLists.of(given)
    seen = []
    for rows, block in joined.blocks():
        assert block.present.size <= 20
        for row, number in enumerate(rows.tolist()):
            here = block.present[row]
            assert block.similarity[row, here].tolist() == given[number].similarity.tolist()
            assert block.sensitivity is not None
            assert block.sensitivity[row, here].tolist() == column(given[number].sensitivity)
            assert np.all(block.similarity[row, ~here] == -np.inf)
            seen.append(number)
    assert sorted(seen) == list(range(6))
    assert column(joined[2].sensitivity) == column(given[2].sensitivity)
    with pytest.raises(IndexError):
        joined[6]


def test_similarity_at_a_rank() -> None:
    lists = CandidateLists.of([films(0.2, 0.9, 0.5), films(0.4), films(0.7, 0.7, 0.1)])
    block = lists._block(np.arange(3))
    assert block.ranked_similarity(1).tolist() == [0.9, 0.4, 0.7]
    assert block.ranked_similarity(2).tolist() == [0.5, 0.4, 0.7]
    assert block.ranked_similarity(5).tolist() == [0.2, 0.4, 0.1]


def test_a_list_of_nobody() -> None:
    assert Block.of(Candidates(np.array([]))).similarity.shape == (1, 0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0.1, np.nan],), "finite"),
        (([0.1], [0.1, 0.2]), "does not fit"),
        (([0.1], [-1.0]), "from 0"),
        (([[0.1]],), "does not fit"),
    ],
)
def test_bad_candidates_are_refused(columns, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Candidates(*columns)


@pytest.mark.parametrize("starts", [[0, 1], [1, 3], [0, 2, 1, 3], []])
def test_bad_starts_are_refused(starts) -> None:
    with pytest.raises(UsageError, match="starts"):
        CandidateLists(np.zeros(3), np.array(starts))


def test_lists_must_agree_in_their_columns() -> None:
    with pytest.raises(UsageError, match="some have none"):
        CandidateLists.of([Candidates(np.array([0.1]), np.ones(1)), films(0.2)])
    with pytest.raises(UsageError, match="no list"):
        CandidateLists.of([])
