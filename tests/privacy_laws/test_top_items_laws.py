"""Lists by context: exact joint laws over all tiny neighbors, for users of one context and of many."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

import discreet as dc
from discreet.counting import TopItems
from discreet.counting.cells import Cells
from discreet.counting.top_items import place_scores, scores_of, winner_sums
from discreet.privacy.mechanisms import GaussianMechanism, LaplaceMechanism
from discreet.privacy.selection import TopK
from discreet.testing import additive_log_ratio, max_log_ratio, renyi_divergence

EPSILON = Fraction(7, 10)
ITEMS, DAYS = "abc", ("sat", "sun")
Visit = tuple[str, str]
VISITS: list[Visit] = list(itertools.product(ITEMS, DAYS))
HISTORIES = [h for size in (1, 2, 3, 4) for h in itertools.combinations(VISITS, size)]


def visits(histories: tuple[tuple[Visit, ...], ...]) -> dc.Interactions:
    """Users who may be in both contexts."""
    rows = [(f"u{user}", item, day) for user, history in enumerate(histories) for item, day in history]
    frame = pl.DataFrame(rows, schema={"user_id": pl.String, "item_id": pl.String, "day": pl.String}, orient="row")
    return dc.Interactions(frame, context=["day"], items=list(ITEMS), duplicates="keep")


def facts(histories: tuple[tuple[str, str], ...]) -> dc.Interactions:
    """Users who have one value each: (value, items)."""
    rows = [(f"u{user}", item) for user, (_, items) in enumerate(histories) for item in items]
    frame = pl.DataFrame(rows, schema={"user_id": pl.String, "item_id": pl.String}, orient="row")
    table = pl.DataFrame(
        {"user_id": [f"u{user}" for user in range(len(histories))], "day": [value for value, _ in histories]},
        schema={"user_id": pl.String, "day": pl.String},
    )
    return dc.Interactions(frame, items=list(ITEMS), users=table)


def cells_of(data: dc.Interactions) -> Cells:
    return Cells.of(data, ["day=sat,sun"])


@cache
def visit_pairs() -> list[tuple[Cells, Cells]]:
    """Every history that a user may add to nobody, and to each of a few others."""
    return [
        (cells_of(visits(others)), cells_of(visits((*others, history))))
        for others in [(), *((history,) for history in HISTORIES[::17])]
        for history in HISTORIES
    ]


@cache
def fact_pairs() -> list[tuple[Cells, Cells]]:
    histories = [(day, "".join(items)) for day in DAYS for n in (1, 2, 3) for items in itertools.combinations(ITEMS, n)]
    return [
        (cells_of(facts(others)), cells_of(facts((*others, history))))
        for others in [(), *((history,) for history in histories[::2])]
        for history in histories
    ]


def joint_law(mechanism: TopK, cells: Cells) -> dict[tuple, float]:
    """Probability of all lists together; their noise is independent."""
    scores = place_scores(cells.once())
    laws = [mechanism.law(scores_of(scores, place)) for place in range(cells.n_places)]
    return {
        tuple(picks for picks, _ in outcome): math.prod(p for _, p in outcome)
        for outcome in itertools.product(*(law.items() for law in laws))
    }


def worst(pairs, mechanism_of) -> float:
    return max(max_log_ratio(joint_law(mechanism_of(a), a), joint_law(mechanism_of(b), b)) for a, b in pairs)


@pytest.mark.parametrize("k", [1, 2])
def test_contexts_that_vary_within_a_user_charge_every_pick(k: int) -> None:
    top = TopItems(k=k, epsilon=EPSILON)
    assert top.picks(cells_of(visits(()))) == 2 * k
    loss = worst(visit_pairs(), top.mechanism)
    assert 0.4 * float(EPSILON) <= loss <= float(EPSILON) + 1e-9


@pytest.mark.parametrize("k", [1, 2])
def test_charging_such_contexts_in_parallel_is_caught(k: int) -> None:
    """The broken mechanism spends as if each user were in one list only."""
    broken = TopK.for_total(k, EPSILON)
    assert worst(visit_pairs(), lambda cells: broken) > 1.05 * float(EPSILON)


@pytest.mark.parametrize("k", [1, 2])
def test_facts_about_users_cost_one_list(k: int) -> None:
    top = TopItems(k=k, epsilon=EPSILON)
    assert top.mechanism(cells_of(facts(()))) == TopK.for_total(k, EPSILON)
    loss = worst(fact_pairs(), top.mechanism)
    assert 0.4 * float(EPSILON) <= loss <= float(EPSILON) + 1e-9


@pytest.mark.parametrize(("pairs", "data"), [(visit_pairs, visits), (fact_pairs, facts)])
def test_concentrated_lists(pairs, data) -> None:
    top = TopItems(k=1, epsilon=1, delta="1e-6")
    rho = float(top.loss(cells_of(data(()))).concentrated().rho)  # type: ignore[union-attr]
    for order in (1.5, 4.0):
        for a, b in pairs()[::5]:
            mechanism = top.mechanism(a)
            assert renyi_divergence(joint_law(mechanism, a), joint_law(mechanism, b), order) <= rho * order + 1e-9


def drawn_law(top: TopItems, histories: tuple[tuple[Visit, ...], ...]) -> dict[tuple, float]:
    """The law when a random record of each user decides where that user counts: a mixture over all choices."""
    cells = cells_of(visits(histories))
    mechanism = top.mechanism(cells)
    law: defaultdict[tuple, float] = defaultdict(float)
    for drawn in itertools.product(*histories):
        place = np.array([DAYS.index(day) for _, day in drawn], dtype=np.int32)
        held = cells.keep(cells.place == place[cells.user])
        for outcome, probability in joint_law(mechanism, held).items():
            law[outcome] += probability / math.prod(len(history) for history in histories)
    return dict(law)


def test_users_drawn_to_one_context_cost_one_list() -> None:
    top = TopItems(k=1, epsilon=EPSILON, one_context_each=True)
    assert top.mechanism(cells_of(visits(()))) == TopK.for_total(1, EPSILON)
    losses = [
        max_log_ratio(drawn_law(top, others), drawn_law(top, (*others, history)))
        for others in [(), *((history,) for history in HISTORIES[::19])]
        for history in HISTORIES[::3]
    ]
    assert 0.2 * float(EPSILON) <= max(losses) <= float(EPSILON) + 1e-9


def test_one_record_decides_where_a_user_counts(fixed_bits) -> None:
    """Three records on one day and one on the other: the first day is drawn three times in four."""
    data = visits(((("a", "sat"), ("b", "sat"), ("c", "sat"), ("a", "sun")),))
    cells = cells_of(data)
    held = [cells.in_one_place(data) for _ in range(1000)]
    assert all(np.unique(one.place).size == 1 for one in held)
    saturdays = sum(int(one.place[0] == 0) for one in held)
    assert chisquare([saturdays, 1000 - saturdays], [750, 250]).pvalue > 1e-6


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("cap", [None, 1, 2])
def test_what_one_user_changes_in_the_numbers_of_winners(norm, cap) -> None:
    winners = np.array([[0, 1], [2, 0]])
    largest = Fraction(0)
    for without, with_user in visit_pairs():
        a, b = (winner_sums(cells.once(), winners, most=4, cap=cap, norm=norm) for cells in (without, with_user))
        change = [int(step) for step in b.values - a.values]
        assert min(change) >= 0
        assert max(change) <= b.linf
        assert sum(change) <= b.l1
        assert sum(step**2 for step in change) <= b.l2_squared
        size = Fraction(sum(change), int(b.l1)) if norm == 1 else Fraction(sum(s**2 for s in change)) / b.l2_squared
        largest = max(largest, size)
    assert largest > Fraction(99, 100)  # and no smaller bound would do


def test_lists_and_numbers_together_keep_the_whole_budget() -> None:
    """For every pair and every outcome: what the lists tell, and the most that the numbers can add."""
    top = TopItems(k=1, epsilon=EPSILON, count_share="1/2", count_cap=1)
    assert top._count_budget is not None
    noise = top._count_budget.for_sums()
    assert isinstance(noise, LaplaceMechanism)
    losses = []
    for a, b in visit_pairs()[::4]:
        p, q = joint_law(top.mechanism(a), a), joint_law(top.mechanism(b), b)
        for outcome in p:
            winners = np.array(outcome)
            sums = (winner_sums(c.once(), winners, most=2, cap=1, norm=1) for c in (a, b))
            # On the grid of 2^-20 the enumeration window is long; the bound is attained by the shift itself.
            first, second = sums
            shift = float(abs(second.values - first.values).sum()) / float(noise.parameter(first))
            losses.append(abs(math.log(p[outcome] / q[outcome])) + shift)
    assert 0.6 * float(EPSILON) <= max(losses) <= float(EPSILON) + 1e-9


def test_numbers_without_a_cap_are_whole_and_keep_their_share() -> None:
    top = TopItems(k=1, epsilon=EPSILON, count_share="1/2")
    assert top._count_budget is not None
    noise = top._count_budget.for_sums()
    winners = np.array([[0], [1]])
    losses = []
    for a, b in visit_pairs()[::3]:
        first, second = (winner_sums(c.once(), winners, most=2, cap=None, norm=1) for c in (a, b))
        losses.append(additive_log_ratio(noise, first, second))
    assert 0.99 * float(EPSILON / 2) <= max(losses) <= float(EPSILON / 2) + 1e-9


def test_concentrated_budgets_add_up() -> None:
    top = TopItems(k=3, epsilon=1, delta="1e-6", count_share="1/4")
    cells = cells_of(visits(()))
    assert top._count_budget is not None
    noise = top._count_budget.for_sums()
    assert isinstance(noise, GaussianMechanism)
    whole = top.loss(cells).concentrated()
    assert whole is not None
    assert whole.rho == noise.rho + 6 * top.mechanism(cells).epsilon ** 2 / 8
    assert whole.epsilon_at(Fraction(1, 10**6)) <= 1
    assert float(whole.epsilon_at(Fraction(1, 10**6))) == pytest.approx(1, abs=1e-6)


def test_released_lists_follow_the_law(fixed_bits) -> None:
    data = visits(((("a", "sat"), ("b", "sun")), (("a", "sat"), ("a", "sun")), (("c", "sat"),)))
    top = TopItems(k=1, epsilon=4)
    law = joint_law(top.mechanism(cells_of(data)), cells_of(data))
    seen: Counter[tuple] = Counter()
    for _ in range(600):
        table = top.release(data, contexts=["day=sat,sun"]).table("top")
        seen[tuple((ITEMS.index(item),) for item in table["item_id"])] += 1
    outcomes = sorted(law)
    observed = np.array([seen[outcome] for outcome in outcomes])
    expected = np.array([law[outcome] for outcome in outcomes])
    assert chisquare(observed, 600 * expected / expected.sum()).pvalue > 1e-6
