"""Weights that lean towards popular items: vectors known by hand, limits in gamma, bounds in whole steps."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.counting import HybridCounts
from discreet.counting.cells import Cells
from discreet.counting.item_counts import leaning_weights
from discreet.errors import UsageError
from discreet.privacy.losses import mu_for

STEPS = 2**20
COUNTS = (3, 1, 2, 4, 5)
POPULARITY = np.array([0.4, 0.3, 0.2, 0.05, 0.05])


def cells_of(*people: tuple[int, ...]) -> Cells:
    """People by how many records they have of each item."""
    item = np.concatenate([np.repeat(np.arange(len(p), dtype=np.int32), p) for p in people])
    user = np.repeat(np.arange(len(people), dtype=np.int32), [sum(p) for p in people])
    return Cells(user, item, np.zeros(item.size, np.int32), len(people), len(people[0]), (), may_repeat=True)


def by_item(cells: Cells, weight: np.ndarray) -> np.ndarray:
    """Weight of one record of each item of the first user, as a number."""
    firsts = np.searchsorted(cells.item[: cells.starts[1]], np.arange(cells.n_items))
    return weight[firsts] / STEPS


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (0, [0.4, 0.4, 0.4, 0.4, 0.4]),
        (0.5, [0.709, 0.614, 0.501, 0.251, 0.251]),
        (1, [1, 0.783, 0.522, 0.130, 0.130]),
        (50, [1, 1, 1, 0, 0]),
    ],
)
def test_known_vectors(gamma: float, expected: list[float]) -> None:
    cells = cells_of(COUNTS)
    weight = leaning_weights(cells, POPULARITY, 6, gamma=gamma)
    np.testing.assert_allclose(by_item(cells, weight), expected, atol=6e-4)
    assert 6 * STEPS - 15 <= weight.sum() <= 6 * STEPS


@pytest.mark.parametrize("gamma", [0, 0.5, 1, 50])
def test_lengths_are_used_up_too(gamma: float) -> None:
    cells = cells_of(COUNTS)
    weight = leaning_weights(cells, POPULARITY, 20, gamma=gamma, norm=2)
    sums = np.bincount(cells.item, weights=weight)
    assert (sums**2).sum() == pytest.approx(20 * STEPS**2, rel=1e-4)
    if gamma == 0.5:
        ratio = by_item(cells, weight)[4] / by_item(cells, weight)[2]
        assert ratio == pytest.approx((0.05 / 0.2) ** gamma, rel=1e-4)


def test_gamma_zero_is_the_plain_weight_to_the_step() -> None:
    rng = np.random.default_rng(2)
    people = [tuple(rng.integers(0, 40, 7)) for _ in range(300)]
    cells = cells_of(*people)
    popularity = rng.dirichlet(np.ones(7))
    for cap in (1, 10, 77):
        plain = np.minimum(STEPS, cap * STEPS // np.maximum(cells.records_per_user, 1))[cells.user]
        np.testing.assert_array_equal(leaning_weights(cells, popularity, cap, gamma=0), plain)


def test_a_large_gamma_takes_the_most_popular_records() -> None:
    """Without ties: HPA's greedy choice."""
    rng = np.random.default_rng(4)
    people = [tuple(rng.integers(0, 2, 12)) for _ in range(200)]
    cells = cells_of(*people)
    popularity = np.exp2(-rng.permutation(12).astype(np.float64))
    weight = leaning_weights(cells, popularity, 3, gamma=100) / STEPS
    for user in range(cells.n_users):
        part = slice(cells.starts[user], cells.starts[user + 1])
        best = np.argsort(-popularity[cells.item[part]])[:3]
        expected = np.zeros(weight[part].size)
        expected[best] = 1
        np.testing.assert_allclose(weight[part], expected, atol=1e-5)


people = st.lists(
    st.lists(st.integers(0, 3) | st.sampled_from([0, 1, 5000]), min_size=4, max_size=4).map(tuple),
    min_size=1,
    max_size=5,
).filter(lambda crowd: sum(map(sum, crowd)) > 0)


@given(
    people,
    st.lists(st.floats(1e-9, 1), min_size=4, max_size=4),
    st.sampled_from([0.0, 0.5, 1.0, 3.0, 300.0]),
    st.integers(1, 50),
    st.booleans(),
)
def test_nobody_is_over_the_allowance_in_whole_steps(crowd, popularity, gamma: float, cap: int, squared: bool) -> None:
    cells = cells_of(*crowd)
    weight = leaning_weights(cells, np.array(popularity), cap, gamma=gamma, norm=2 if squared else 1)
    for user, person in enumerate(crowd):
        part = slice(cells.starts[user], cells.starts[user + 1])
        given_away = np.zeros(4, dtype=object)
        for item, steps in zip(cells.item[part], weight[part], strict=True):
            given_away[item] += int(steps)
        used = sum(x * x for x in given_away) if squared else sum(given_away)
        limit = cap * STEPS**2 if squared else cap * STEPS
        assert used <= limit
        assert weight[part].min(initial=0) >= 0
        assert weight[part].max(initial=0) <= STEPS
        whole = sum(m * m for m in person) if squared else sum(person)
        if whole <= cap:
            assert (weight[part] == STEPS).all()
        elif not squared:
            # Rounding down takes at most a step of each record, the guard at most one more.
            assert used >= limit - 2 * sum(person)


def test_weights_of_one_user_do_not_depend_on_another() -> None:
    alone, together = cells_of(COUNTS), cells_of(COUNTS, (9, 0, 9, 9, 0))
    one = leaning_weights(alone, POPULARITY, 6, gamma=0.5)
    both = leaning_weights(together, POPULARITY, 6, gamma=0.5)
    np.testing.assert_array_equal(one, both[: one.size])


def test_a_rounding_that_gives_too_much_is_taken_back() -> None:
    """Three thirds of an allowance: whatever rounding makes of them, the sum is at most the allowance."""
    for n in range(2, 400):
        cells = cells_of((1,) * n)
        assert leaning_weights(cells, np.full(n, 1 / n), 1, gamma=1).sum() <= STEPS


def test_budgets_add_up(visits, drawn_scales) -> None:
    method = HybridCounts(epsilon=1, cap=3, first=2, first_share="1/5", item_share="1/4")
    release = method.release(visits, contexts=["day=dry,wet"])
    first, items, edges = (Fraction(scale, STEPS) for scale in drawn_scales)
    assert 2 / first + 3 / items + 3 / edges == 1
    assert 2 / first == Fraction(1, 5)
    assert release.guarantee.loss.epsilon_at(Fraction(0)) == 1
    assert len(release.guarantee.caps) == 2


def test_budgets_of_lengths_add_up(visits, drawn_scales) -> None:
    HybridCounts(epsilon=1, delta="1e-6", cap=3, first=2).release(visits, contexts=["day=dry,wet"])
    first, items, edges = (Fraction(deviation, STEPS) ** 2 for deviation in drawn_scales)
    spent = 2 / first + 3 / items + 3 / edges
    assert spent <= mu_for(1, "1e-6") ** 2
    assert spent == pytest.approx(mu_for(1, "1e-6") ** 2, rel=1e-9)


def test_edges_add_up_to_items(visits, drawn_scales) -> None:
    release = HybridCounts(epsilon=1, cap=3, gamma=1).release(visits, contexts=["day=dry,wet"])
    edges = release.table("edges")["count"].to_numpy().reshape(5, 2)
    counts = release.table("counts")["count"].to_numpy()
    np.testing.assert_allclose(edges.sum(axis=1), counts, atol=1e-9)
    assert counts.sum() == pytest.approx(4, abs=1e-4)
    assert release.array("popularity").shape == (5,)


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_one_user_changes_no_more_than_is_stated_given_the_popularity(delta) -> None:
    """A user of ten thousand visits comes and goes; what reaches the mechanism moves within its bounds."""
    seen = []
    rng = np.random.default_rng(1)
    rows = [(u, "abcde"[i], "dry" if d else "wet") for u, i, d in rng.integers(0, (20, 5, 2), (200, 3))]
    extra = [("eve", "abcde"[int(i)], "dry") for i in rng.zipf(1.6, 10_000) % 5]
    for part in (rows, rows + extra):
        frame = {name: [row[k] for row in part] for k, name in enumerate(("user_id", "item_id", "day"))}
        data = dc.Interactions(frame, context=["day"], items=list("abcde"), duplicates="keep")
        method = HybridCounts(epsilon=1, cap=7, delta=delta)
        rounds = method._rounds(method.plan(data, contexts=["day=dry,wet"]))
        next(rounds)
        counts = rounds.send(np.array([1, 30, 9, -4, 2]) * STEPS)
        seen.append(counts.statistics(Cells.of(data, ["day=dry,wet"])))
    for without, with_user in zip(*seen, strict=True):
        change = with_user.values - without.values
        assert (change >= 0).all()
        assert change.any()
        assert int(change.sum()) <= with_user.l1 == without.l1
        assert sum(int(x) ** 2 for x in change) <= with_user.l2_squared == without.l2_squared


def test_estimate_reads_no_record(visits) -> None:
    method = HybridCounts(epsilon=1, cap=3)
    assert method.estimate(visits) == method.estimate(visits.emptied())
    assert method.estimate(visits)["popularity_noise_sd"] == pytest.approx(10 * math.sqrt(2), rel=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [{"cap": 0}, {"gamma": -1}, {"first": 0}, {"first_share": 0}, {"delta": "1e-6", "cap": 2**22}, {"epsilon": 0}],
)
def test_mistakes_cost_nothing(visits, tmp_path: Path, wrong) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(visits, epsilon=1, delta="1e-6", unit="user")
    with pytest.raises(UsageError, match=r"cap|gamma|first|epsilon"):
        HybridCounts(**{"epsilon": 1, "cap": 3, **wrong}).release(visits, ledger=ledger)
    assert ledger.statement(visits).entries == ()


def test_a_million_records_are_weighed_at_once() -> None:
    rng = np.random.default_rng(0)
    user = np.sort(rng.integers(0, 8000, 10**6)).astype(np.int32)
    item = rng.integers(0, 5000, 10**6).astype(np.int32)
    order = np.lexsort((item, user))
    cells = Cells(user, item[order], np.zeros(user.size, np.int32), 8000, 5000, (), may_repeat=True)
    popularity = rng.dirichlet(np.ones(5000))
    leaning_weights(cells, popularity, 30, gamma=1)
    begin = time.process_time()
    leaning_weights(cells, popularity, 30, gamma=1)
    assert time.process_time() - begin < 5
