"""Neighbor models: stated sensitivities at extreme points, and exact laws over all tiny neighboring worlds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Interactions
from discreet.neighbors.shrunk_lists import ListRule, item_sums, whole_ratings
from discreet.neighbors.shrunk_pncf import ShrunkPNCF
from discreet.privacy.losses import Concentrated
from discreet.privacy.mechanisms import GaussianMechanism, LaplaceMechanism
from discreet.testing import max_log_ratio, renyi_divergence

ITEMS = list("abc")
HIGHEST = 5.0
LAMBDAS = (Fraction(1, 4), Fraction(1), Fraction(3), Fraction(20))

Person = tuple[tuple[str, int], ...]
Pairs = tuple[tuple[float, float], ...]


def histories(*, least: int = 1, items: list[str] = ITEMS) -> list[Person]:
    """Every history of at least so many of the items with ratings at the ends of the scale."""
    return [
        tuple(zip(chosen, ratings, strict=True))
        for size in range(least, len(items) + 1)
        for chosen in itertools.combinations(items, size)
        for ratings in itertools.product((1, 5), repeat=size)
    ]


def world(people: dict[str, Person]) -> Interactions:
    rows = [(name, item, rating) for name, person in people.items() for item, rating in person]
    # Without records there is still a catalog and a scale.
    whole = Interactions(rows or [("nobody", "a", 3)], items=ITEMS, scale="1:5")
    return whole if rows else whole.emptied()


# The shrunk cosine: one co-rater moves it by at most 1/(1 + λ)


def shrunk_cosine(pairs: Pairs, shrinkage: float) -> float:
    a, b = np.array(pairs, dtype=float).reshape(-1, 2).T
    prior = shrinkage * HIGHEST**2
    return float(a @ b / math.sqrt((a @ a + prior) * (b @ b + prior)))


def steps_from(pairs: Pairs, newcomers: list[tuple[float, float]]):
    """Every way to add a co-rater, to remove, to replace or to change one in one value."""
    yield from ((*pairs, new) for new in newcomers)
    for place, old in enumerate(pairs):
        rest = pairs[:place] + pairs[place + 1 :]
        yield rest
        yield from ((*rest, new) for new in newcomers)
        yield from ((*rest, (new[0], old[1])) for new in newcomers)


@pytest.mark.parametrize("shrinkage", LAMBDAS)
def test_shrunk_cosine_on_a_grid_of_ratings(shrinkage: Fraction) -> None:
    ratings = [(a, b) for a in (0.0, 0.01, 1.0, 3.0, 5.0) for b in (0.0, 0.01, 1.0, 3.0, 5.0)]
    corners = [(0.01, 0.01), (0.01, 5.0), (5.0, 0.01), (5.0, 5.0)]
    bound = float(1 / (1 + shrinkage))
    worst = 0.0
    bases = [*itertools.combinations_with_replacement(ratings, 1), *itertools.combinations_with_replacement(corners, 3)]
    bases += [(corner,) * 40 for corner in corners]
    for pairs in [(), *bases]:
        before = shrunk_cosine(pairs, float(shrinkage))
        for after in steps_from(pairs, ratings):
            worst = max(worst, abs(before - shrunk_cosine(after, float(shrinkage))))
    assert worst <= bound + 1e-12
    assert worst == pytest.approx(bound)  # attained: nobody, then two highest ratings


rating = st.floats(0.001, HIGHEST)
co_ratings = st.lists(st.tuples(rating, rating), max_size=8).map(tuple)


@given(co_ratings, st.tuples(rating, rating), st.floats(0.05, 50))
def test_shrunk_cosine_anywhere(pairs: Pairs, new: tuple[float, float], shrinkage: float) -> None:
    before = shrunk_cosine(pairs, shrinkage)
    for after in steps_from(pairs, [new]):
        assert abs(before - shrunk_cosine(after, shrinkage)) <= 1 / (1 + shrinkage) + 1e-12


# ShrunkPNCF: the law of all lists

MODEL = ShrunkPNCF(epsilon=2, k=2, cap=3, shrinkage=3, truncation="1/8", selection_share="1/20")


def mechanisms_of(model: ShrunkPNCF, n_items: int) -> Any:
    """What the model runs on so many items, and the loss that it states."""
    means, _, selection, similarities = model._shares
    return SimpleNamespace(
        loss=model._budget.loss,
        means=means.for_sums(),
        select=selection.for_top(model._rule(n_items).k),
        perturb=similarities.for_sums(),
    )


@cache
def similarities_of(people: tuple[Person, ...], shrinkage: Fraction) -> np.ndarray:
    """Similarities on the finest grid, as the model computes them."""
    data = whole_ratings(world({f"u{n}": person for n, person in enumerate(people)}))
    return ListRule(k=1, cap=3, shrinkage=shrinkage, truncation=0, bits=50).similarities(data, np.arange(3))


def grid_of(people: tuple[Person, ...], shrinkage: Fraction, bits: int) -> np.ndarray:
    """Rounding down to a fine grid and then to a coarse one is rounding down to the coarse one."""
    return similarities_of(people, shrinkage) >> (50 - bits)


def neighbors_of_worlds():
    """All worlds of up to one person with two items or more (others change no list), and the same with one more;
    and of two persons out of a few.
    """
    everybody = histories(least=2)
    few = [person for person in everybody if dict(person).keys() == {"a", "b"}] + [everybody[-1], everybody[-4]]
    for people in [(), *itertools.combinations_with_replacement(everybody, 1)]:
        for person in everybody:
            yield people, tuple(sorted((*people, person)))
    for people in itertools.combinations_with_replacement(few, 2):
        for person in few:
            yield people, tuple(sorted((*people, person)))


def loss_of_lists(
    rule: ListRule, plan, before: np.ndarray, after: np.ndarray, *, broken: Fraction = Fraction(1)
) -> float:
    """The largest log-ratio of all lists together: ordered choices, and weights far out in the tail of the noise.

    Lists are independent, and so are the weights given the choice. Two discrete Laplace laws that lie d apart have
    the log-ratio |d|/scale beyond both centers.
    """
    total = 0.0
    for target in range(3):
        others = np.delete(np.arange(3), target)
        grids = before[target, others], after[target, others]
        laws = [plan.select.law(rule.scores(grid)) for grid in grids]
        scale = plan.perturb.parameter(rule.weights(grids[0][: rule.k])) * broken
        moved = np.abs(grids[0] - grids[1])
        total += max(
            abs(math.log(laws[0][chosen] / laws[1][chosen])) + float(moved[list(chosen)].sum() / scale)
            for chosen in laws[0]
        )
    return total


def test_all_lists_together_keep_their_budget() -> None:
    rule, plan = MODEL._rule(3), mechanisms_of(MODEL, 3)
    budget = 2 * 0.8
    assert isinstance(plan.perturb, LaplaceMechanism)
    assert float(3 * (plan.select.loss.epsilon + plan.perturb.epsilon)) == pytest.approx(budget)
    losses, broken = [], []
    for people, more in neighbors_of_worlds():
        grids = [grid_of(w, rule.shrinkage, rule.bits) for w in (people, more)]
        losses.append(loss_of_lists(rule, plan, *grids))
        broken.append(loss_of_lists(rule, plan, *grids, broken=Fraction(9, 10)))
    assert 0.94 * budget < max(losses) <= budget + 1e-9
    assert max(broken) > budget * 1.01  # noise smaller by a tenth


@pytest.mark.parametrize("k", [1, 2])
def test_rounding_to_a_coarse_grid_is_accounted_for(k: int) -> None:
    """On a grid so coarse that rounding matters the law still keeps its budget; without the extra step it does not."""
    for bits in (1, 3):
        rule = replace(MODEL._rule(3), k=k, bits=bits, truncation=0)
        plan = mechanisms_of(replace(MODEL, k=k), 3)
        unrounded = Fraction(2**bits) / (1 + rule.shrinkage)
        losses, broken = [], []
        for people, more in neighbors_of_worlds():
            grids = [grid_of(w, rule.shrinkage, bits) for w in (people, more)]
            assert np.abs(grids[0] - grids[1]).max() <= rule.sensitivity
            losses.append(loss_of_lists(rule, plan, *grids))
            broken.append(loss_of_lists(rule, plan, *grids, broken=unrounded / rule.sensitivity))
        assert max(losses) <= 2 * 0.8 + 1e-9
        if bits == 1:
            assert max(broken) > 2 * 0.8 * 1.1


def test_similarities_move_by_at_most_the_stated_steps() -> None:
    """All tiny worlds, several λ and grids; the bound is attained, and the bound without rounding is passed."""
    attained, passed = False, False
    for shrinkage, bits in itertools.product((Fraction(3), Fraction(13, 2)), (1, 2, 5, 20)):
        rule = ListRule(k=1, cap=3, shrinkage=shrinkage, truncation=0, bits=bits)
        most = max(
            int(np.abs(grid_of(a, shrinkage, bits) - grid_of(b, shrinkage, bits)).max())
            for a, b in neighbors_of_worlds()
        )
        assert most <= rule.sensitivity
        attained |= most == rule.sensitivity
        passed |= most > Fraction(2**bits) / (1 + shrinkage)
    assert attained
    assert passed


def test_a_list_changes_only_where_the_user_has_its_item() -> None:
    for people, more in neighbors_of_worlds():
        new = list(more)
        for person in people:
            new.remove(person)
        untouched = [n for n, item in enumerate(ITEMS) if item not in dict(new[0])]
        before, after = (grid_of(w, Fraction(3), 20) for w in (people, more))
        assert (before[untouched] == after[untouched]).all()


def test_the_rate_of_the_choice_is_tight() -> None:
    """One candidate up by Δ, a thousand down by Δ: the whole budget of the choice, so a larger rate would pass it."""
    rule = replace(MODEL._rule(2000), k=1, truncation=2**20)
    low, high = np.full(2000, 2**19), np.full(2000, 2**19 - rule.sensitivity)
    high[0] = 2**19 + rule.sensitivity
    select = mechanisms_of(replace(MODEL, k=1), 2000).select
    epsilon = float(select.loss.epsilon)
    tight = max_log_ratio(select.law(rule.scores(low)), select.law(rule.scores(high)))
    assert 0.98 * epsilon < tight <= epsilon + 1e-12
    louder = replace(select, epsilon=select.epsilon * Fraction(11, 10))
    assert max_log_ratio(louder.law(rule.scores(low)), louder.law(rule.scores(high))) > epsilon


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 3)), min_size=3, max_size=7), st.integers(0, 20))
def test_truncation_moves_scores_no_further_than_similarities(candidates, truncation: int) -> None:
    rule = ListRule(k=2, cap=3, shrinkage=Fraction(3), truncation=truncation)
    before = np.array([value for value, _ in candidates])
    after = np.maximum(before + [change for _, change in candidates], 0)
    moved = np.abs(rule.scores(before).values - rule.scores(after).values)
    assert moved.max() <= np.abs(before - after).max()


@pytest.mark.parametrize("order", [1.5, 8.0])
def test_concentrated_lists_keep_their_budget(order: float) -> None:
    model = replace(MODEL, delta="1e-6")
    rule, plan = model._rule(3), mechanisms_of(model, 3)
    assert isinstance(plan.perturb, GaussianMechanism)
    assert isinstance(plan.means, GaussianMechanism)
    spent = 3 * (plan.select.concentrated_loss.rho + plan.perturb.rho)
    assert isinstance(plan.loss, Concentrated)
    assert spent + plan.means.rho <= plan.loss.rho
    worst = 0.0
    for people, more in neighbors_of_worlds():
        before, after = (grid_of(w, rule.shrinkage, rule.bits) for w in (people, more))
        total = 0.0
        for target in range(3):
            others = np.delete(np.arange(3), target)
            grids = before[target, others], after[target, others]
            variance = float(plan.perturb.parameter(rule.weights(grids[0])))
            laws = [plan.select.law(rule.scores(grid)) for grid in grids]
            total += renyi_divergence(laws[0], laws[1], order)
            total += order * float(((grids[0] - grids[1]) ** 2).sum()) / (2 * variance)
        worst = max(worst, total)
    assert 0.9 * float(spent) * order < worst <= float(spent) * order + 1e-9


# Item means


def test_one_history_keeps_within_the_bounds_of_the_item_sums() -> None:
    longest = 0.0
    for person in histories():
        sums = item_sums(world({"u": person}))
        steps = [abs(int(x)) for x in sums.values]
        assert sum(steps) <= sums.l1
        assert sum(x**2 for x in steps) <= sums.l2_squared
        assert max(steps) <= sums.linf
        longest = max(longest, sum(steps) / float(sums.l1))
    assert longest > 0.999
