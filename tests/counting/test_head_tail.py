"""A head and a tail: the shares that make noise least, caps of their own, and what reaches the counts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.counting import HeadTailCounts, head_tail, least_variance_share
from discreet.counting.cells import Cells
from discreet.counting.head_tail import of_items
from discreet.errors import UsageError
from discreet.privacy.losses import rho_for


def test_scales_of_the_worked_example() -> None:
    share = least_variance_share((5, 25), (200, 15000))
    budget = Fraction("0.45")
    assert float(5 / (budget * share)) == pytest.approx(148.12, abs=0.005)
    assert float(25 / (budget * (1 - share))) == pytest.approx(60.06, abs=0.005)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(("caps", "sizes"), [((5, 25), (200, 15000)), ((10, 10), (10, 90)), ((1, 100), (500, 500))])
def test_no_other_share_has_less_variance(caps, sizes, squared: bool) -> None:
    def variance(share: float) -> float:
        parts = zip(caps, sizes, (share, 1 - share), strict=True)
        return sum(m * (c / (2 * s) if squared else 2 * (c / s) ** 2) for c, m, s in parts)

    best = float(least_variance_share(caps, sizes, squared=squared))
    assert all(variance(best) <= variance(s) * (1 + 1e-9) for s in np.linspace(0.001, 0.999, 999))


def test_each_part_has_its_own_cap(visits, drawn_scales) -> None:
    """ann has six visits to the park, the head, and one each to three others; bob one to the zoo."""
    release = HeadTailCounts.of(epsilon=1, head=1, head_cap=2, tail_cap=1, first=9).release(visits)
    assert release.array("head").tolist() == [2]
    counts = release.table("counts")["count"].to_numpy()
    np.testing.assert_allclose(counts, [0, 1 / 3, 2, 1 / 3, 4 / 3], atol=1e-4)


def test_budgets_add_up(visits, drawn_scales) -> None:
    method = HeadTailCounts.of(epsilon=1, head=1, head_cap=2, tail_cap=5, first_share="1/5", item_share="1/4")
    release = method.release(visits, contexts=["day=dry,wet"])
    look, *counts = (Fraction(scale, 2**20) for scale in drawn_scales)
    assert 1 / look == Fraction(1, 5)
    assert 1 / look + sum(cap / scale for cap, scale in zip((2, 2, 5, 5), counts, strict=True)) == 1
    assert release.table("edges").height == 10


def test_budgets_of_lengths_add_up(visits, drawn_scales) -> None:
    HeadTailCounts.of(epsilon=1, delta="1e-6", head=1, head_cap=2, tail_cap=5).release(visits)
    look, head, tail = (Fraction(variance, 4**20) for variance in drawn_scales)
    assert (1 / look + 2 / head + 5 / tail) / 2 == rho_for(1, "1e-6")


def test_a_share_by_hand(visits, drawn_scales) -> None:
    HeadTailCounts.of(epsilon=1, head=1, head_cap=2, tail_cap=5, head_share="2/3").release(visits)
    assert [Fraction(scale, 2**20) for scale in drawn_scales[1:]] == [2 / Fraction(6, 10), 5 / Fraction(3, 10)]


def test_edges_add_up_to_items(visits, drawn_scales) -> None:
    release = HeadTailCounts.of(epsilon=1, head=2, head_cap=2, tail_cap=1).release(visits, contexts=["day=dry,wet"])
    edges = release.table("edges")["count"].to_numpy().reshape(5, 2)
    np.testing.assert_allclose(edges.sum(axis=1), release.table("counts")["count"].to_numpy(), atol=1e-9)


def test_items_of_a_part_keep_their_records(visits) -> None:
    part = of_items(Cells.of(visits), np.array([2, 4]))
    assert (part.n_items, part.n_users) == (2, 2)
    assert part.totals("items").tolist() == [6, 2]


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_one_user_changes_no_more_than_is_stated_given_the_first_look(delta, monkeypatch) -> None:
    seen: list[list] = [[], []]
    monkeypatch.setattr(head_tail, "released_popularity", lambda *_: np.array([1.0, 30.0, 9.0, -4.0, 2.0]))
    rng = np.random.default_rng(1)
    rows = [(u, "abcde"[i]) for u, i in rng.integers(0, (20, 5), (200, 2))]
    extra = [("eve", "abcde"[int(i)]) for i in rng.zipf(1.6, 5000) % 5]
    for world, part in enumerate((rows, rows + extra)):

        def note(cells, mechanisms, sums, world=world):
            seen[world].append(sums("items"))
            return head_tail.Counted(np.zeros(cells.n_items))

        monkeypatch.setattr(head_tail, "fused", note)
        data = dc.Interactions(part, items=list("abcde"), duplicates="keep")
        HeadTailCounts.of(epsilon=1, head=2, head_cap=3, tail_cap=7, delta=delta)._count(Cells.of(data))
    for without, with_user in zip(*seen, strict=True):
        change = with_user.values - without.values
        assert change.any()
        assert int(change.sum()) <= with_user.l1 == without.l1
        assert sum(int(x) ** 2 for x in change) <= with_user.l2_squared == without.l2_squared


def test_estimate_reads_no_record(visits) -> None:
    method = HeadTailCounts.of(epsilon=1, head=1, head_cap=2, tail_cap=5)
    assert method.estimate(visits) == method.estimate(visits.emptied())
    assert {"noise_sd", "head_noise_sd", "popularity_noise_sd"} <= method.estimate(visits).keys()


@pytest.mark.parametrize("wrong", [{"head": 0}, {"head": 5}, {"head": True}, {"tail_cap": 0}, {"head_share": 1}])
def test_mistakes_cost_nothing(visits, tmp_path: Path, wrong) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(visits, epsilon=1, unit="user")
    settings = {"epsilon": 1, "head": 2, "head_cap": 2, "tail_cap": 5, **wrong}
    with pytest.raises(UsageError, match=r"head|cap"):
        HeadTailCounts.of(**settings).release(visits, ledger=ledger)
    assert ledger.statement(visits).entries == ()
