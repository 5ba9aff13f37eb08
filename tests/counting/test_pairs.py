"""Pairs of items: who touched this also touched that, in a dataset where it is known."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ItemCounts, ItemPairs, bought_together
from discreet.counting.cells import Cells
from discreet.counting.pairs import pair_sums
from discreet.errors import DataError, PrivacyError, ReleaseError, UsageError
from discreet.privacy.losses import mu_for


@pytest.fixture
def shop() -> dc.Interactions:
    """Whoever buys a racket buys balls; hats go with nothing; one user buys everything, balls twice."""
    rows = [(f"r{n}", item) for n in range(8) for item in ("balls", "racket")]
    rows += [(f"h{n}", "hat") for n in range(6)]
    rows += [("all", item) for item in ("balls", "balls", "hat", "racket", "shoes")]
    return dc.Interactions(rows, items=["balls", "hat", "racket", "shoes", "tent"], duplicates="keep", name="shop")


@pytest.mark.parametrize(("delta", "weight"), [(0, 0.25), ("1e-6", 0.5)])
def test_users_with_many_items_weigh_less_in_each_pair(shop, drawn_scales, delta, weight) -> None:
    """The user of four items, cap 2: (2/4)² in numbers, 2/4 in lengths. A second purchase does not count."""
    release = ItemPairs(epsilon=1, cap=2, head=4, first=10, delta=delta).release(shop)
    assert release.table("items")["item_id"].to_list() == ["balls", "hat", "racket", "shoes"]
    w = weight
    expected = [[8 + w, w, 8 + w, w], [w, 6 + w, w, w], [8 + w, w, 8 + w, w], [w, w, w, w]]
    np.testing.assert_allclose(release.array("pairs"), expected, atol=1e-5)


def test_bought_together(shop, drawn_scales) -> None:
    release = ItemPairs(epsilon=1000, cap=4, head=4, first=10).release(shop)
    table = bought_together(release, "racket", 2)
    assert table["item_id"].to_list() == ["balls", "hat"]
    assert table["count"].to_list() == [9, 1]
    np.testing.assert_allclose(table["share"].to_numpy(), [1, 1 / 9])
    assert table["rank"].to_list() == [1, 2]
    assert bought_together(release, "racket", 99).height == 3


def test_an_item_within_the_noise_has_no_share(shop, drawn_scales) -> None:
    release = ItemPairs(epsilon=1, cap=4, head=4, first=10).release(shop)
    assert bought_together(release, "shoes", 1)["share"].to_list() == [None]


def test_a_public_head_needs_no_first_look(shop, drawn_scales) -> None:
    release = ItemPairs(epsilon=1, cap=4, head=["racket", "balls"]).release(shop)
    assert len(drawn_scales) == 2  # off and on the diagonal, and nothing before
    assert set(release.parts) == {"items", "pairs"}
    np.testing.assert_allclose(release.array("pairs"), [[9, 9], [9, 9]])


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_budgets_add_up(shop, drawn_scales, delta) -> None:
    """Of a head of two at most 2·2 entries of weight 1 are one user's: half of them is what noise is paid for."""
    ItemPairs(epsilon=1, cap=4, head=2, first_share="1/4", delta=delta).release(shop)
    first, off, on = drawn_scales
    if not delta:
        assert on == 2 * off
        assert 2**20 / first == Fraction(1, 4)
        assert 4 * 2**20 / (2 * off) == Fraction(3, 4)
    else:
        # Deviations: rounded up, so that the budget is never passed.
        squared = mu_for(1, "1e-6") ** 2
        for paid, share in ((4**20 / first**2, squared / 4), (4 * 4**20 / on**2, 3 * squared / 4)):
            assert paid <= share
            assert paid == pytest.approx(share, rel=1e-9)
        assert on**2 == pytest.approx(2 * off**2, rel=1e-9)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 500])
def test_one_user_changes_no_more_than_is_stated(size: int, norm: int) -> None:
    rng = np.random.default_rng(6)
    sets = [np.sort(rng.choice(500, n, replace=False)) for n in (*rng.integers(1, 30, 20), size)]
    user = np.repeat(np.arange(21, dtype=np.int32), [s.size for s in sets])
    item = np.concatenate(sets).astype(np.int32)
    grams = []
    for known in (20, 21):
        keep = user < known
        cells = Cells(user[keep], item[keep], np.zeros(keep.sum(), np.int32), known, 500, (), may_repeat=False)
        grams.append(pair_sums(cells, 3, norm=norm))
    without, with_user = grams
    upper = with_user.matrices[0] - without.matrices[0]
    whole = upper + np.triu(upper, 1).T
    assert (whole >= 0).all()
    assert with_user.l1 is not None
    assert int(whole.sum()) <= with_user.l1 == without.l1
    assert sum(int(x) ** 2 for x in whole.ravel() if x) <= with_user.frobenius_squared == without.frobenius_squared
    bound = with_user.frobenius_squared if norm == 2 else with_user.l1
    assert bound == 9 * 2 ** (20 * norm)


def test_what_goes_together_is_found(fixed_bits) -> None:
    """Two thousand users who like even or odd items: bought_together() names items of the same kind."""
    rng = np.random.default_rng(9)
    rows = [(u, int(i)) for u in range(2000) for i in rng.choice(np.arange(u % 2, 40, 2), 5, replace=False)]
    data = dc.Interactions(rows, items=range(40))
    release = ItemPairs(epsilon=2, delta="1e-6", cap=5, head=30).release(data)
    for item in itertools.islice(release.table("items")["item_id"], 5):
        assert all(other % 2 == item % 2 for other in bought_together(release, item, 5)["item_id"])


def test_estimate_reads_no_record(shop) -> None:
    method = ItemPairs(epsilon=1, cap=4, head=3)
    assert method.estimate(shop) == method.estimate(shop.emptied())
    assert method.estimate(shop)["noise_sd"] == method.release(shop).parameters["noise_sd"]
    assert str(method.plan(shop).guarantee) == str(method.release(shop).guarantee)


@pytest.mark.parametrize(
    "wrong", [{"cap": 0}, {"head": 1}, {"head": 6}, {"head": True}, {"head": ["hat", "hat"]}, {"first_share": 1}]
)
def test_mistakes_cost_nothing(shop, tmp_path: Path, wrong) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(shop, epsilon=1, unit="user")
    with pytest.raises(UsageError):
        ItemPairs(**{"epsilon": 1, "cap": 2, "head": 3, **wrong}).release(shop, ledger=ledger)
    with pytest.raises(DataError):
        ItemPairs(epsilon=1, cap=2, head=["hat", "umbrella"]).release(shop, ledger=ledger)
    assert ledger.statement(shop).entries == ()


def test_wrong_questions(shop, fixed_bits) -> None:
    release = ItemPairs(epsilon=1, cap=2, head=["hat", "balls"]).release(shop)
    with pytest.raises(UsageError, match="head"):
        bought_together(release, "racket")
    with pytest.raises(UsageError):
        bought_together(release, "hat", 0)
    with pytest.raises(ReleaseError):
        bought_together(ItemCounts(epsilon=1, cap=1).release(shop), "hat")
    with pytest.raises(PrivacyError):
        ItemPairs(epsilon=1, cap=2, head=2).release(dc.Interactions([("u", "a"), ("u", "b")]))


def test_it_is_saved_and_read_again(shop, tmp_path: Path, fixed_bits) -> None:
    release = ItemPairs(epsilon=1, cap=2, head=3).release(shop)
    again = dc.Release.load(release.save(tmp_path / "pairs"))
    item = release.table("items")["item_id"][0]
    assert bought_together(again, item).equals(bought_together(release, item))
