"""Choosing records of each user: how many, which ones, and with what chances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.counting import cells as cells_file
from discreet.counting.cells import Cells, best_records
from discreet.data.interactions import Interactions


def cells_of(sizes: list[int], item: np.ndarray | None = None, n_items: int = 10_000) -> Cells:
    """Users with so many records each; items are numbered through for each user unless given."""
    user = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    numbered = np.concatenate([np.arange(size) for size in [*sizes, 0]]) if item is None else item
    return Cells(user, numbered.astype(np.int32), np.zeros(user.size, np.int32), len(sizes), n_items, (), True)


def per_user(cells: Cells, mask: np.ndarray) -> list[int]:
    return np.bincount(cells.user[mask], minlength=cells.n_users).tolist()


@pytest.mark.parametrize("cap", [1, 2, 3, 7, 10_000])
def test_everybody_keeps_the_cap_or_all(cap: int, fixed_bits) -> None:
    sizes = [0, 1, 2, 3, 4, 0, 7, 5000, 0]
    cells = cells_of(sizes)
    wanted = [min(size, cap) for size in sizes]
    assert per_user(cells, best_records(cells, cap)) == wanted
    assert per_user(cells, best_records(cells, cap, np.arange(10_000) % 5)) == wanted


def test_nobody_at_all() -> None:
    cells = cells_of([])
    assert best_records(cells, 3).tolist() == []
    assert best_records(cells, 3, np.zeros(10_000, np.int64)).tolist() == []


@pytest.mark.parametrize("cap", [1, 2, 3, 4])
def test_every_subset_is_equally_likely(cap: int, fixed_bits) -> None:
    """20,000 users with five records each; both ways, since equal scores leave everything to chance."""
    from scipy.stats import chisquare

    people = 20_000
    cells = cells_of([5] * people)
    for mask in (best_records(cells, cap), best_records(cells, cap, np.zeros(10_000, np.int64))):
        chosen = mask.reshape(people, 5) @ (1 << np.arange(5))
        subsets = [sum(1 << place for place in subset) for subset in itertools.combinations(range(5), cap)]
        counts = np.bincount(chosen, minlength=32)[subsets]
        assert counts.sum() == people
        assert chisquare(counts).pvalue > 1e-6


def test_the_best_are_chosen_and_ties_share_what_is_left(fixed_bits) -> None:
    """Scores 3 2 2 2 1 and three places: the first always, the last never, the others two times of three."""
    people = 20_000
    cells = cells_of([5] * people)
    score = np.zeros(10_000, np.int64)
    score[:5] = [3, 2, 2, 2, 1]
    often = best_records(cells, 3, score).reshape(people, 5).mean(axis=0)
    assert often[0] == 1
    assert often[4] == 0
    assert often[1:4] == pytest.approx([2 / 3] * 3, abs=0.02)


def test_the_best_are_the_best_of_a_sort(fixed_bits) -> None:
    rng = np.random.default_rng(7)
    sizes = rng.integers(0, 60, 300).tolist()
    cells = cells_of(sizes, rng.integers(0, 40, sum(sizes)), 40)
    score = rng.permutation(40).astype(np.int64) // 2
    mask = best_records(cells, 9, score)
    for user in range(cells.n_users):
        mine = slice(cells.starts[user], cells.starts[user + 1])
        scores = score[cells.item[mine]]
        assert np.sort(scores[mask[mine]]).tolist() == np.sort(scores)[::-1][:9][::-1].tolist()


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch, fixed_bits) -> None:
    """Records are hashed in blocks; with the same key blocks of any size give the same choice."""
    cells = cells_of([50, 3, 700, 20, 0, 41])
    masks = []
    for most in (1, 25, 2**22):
        fixed_bits(11)
        monkeypatch.setattr(cells_file, "MOST_RECORDS", most)
        masks.append(best_records(cells, 10))
    assert (masks[0] == masks[1]).all()
    assert (masks[1] == masks[2]).all()


def test_other_users_do_not_matter(fixed_bits) -> None:
    """A user's choice is the same whoever comes before or after, and however the records came."""
    rows = [("m", f"i{n % 9}") for n in range(30)]
    others = [("a", f"i{n}") for n in range(9)] + [("z", f"i{n % 3}") for n in range(40)]
    catalog = [f"i{n}" for n in range(9)]
    chosen = []
    for given in (rows, others[:3] + rows, rows[::-1] + others, others + rows):
        fixed_bits(5)
        cells = Cells.of(Interactions(given, items=catalog, duplicates="keep"))
        mine = best_records(cells, 4) & (cells.user == [len({g[0] for g in given if g[0] < "m"})])
        chosen.append(sorted(cells.item[mine].tolist()))
    assert all(one == chosen[0] for one in chosen)
    assert len(chosen[0]) == 4
