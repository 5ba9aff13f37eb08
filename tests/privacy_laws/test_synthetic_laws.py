"""What one user can change about the sums of ``SyntheticInteractions``: every history of a tiny domain, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.data.interactions import Interactions
from discreet.factors import SyntheticInteractions
from discreet.factors.synthetic_sums import Histories
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import NormalMechanism
from discreet.privacy.numbers import as_fraction

ITEMS = ["i1", "i2", "i3"]
RECORDS = [None, *product((1.0, 4.0, 5.0), ("phone", "laptop", "other"))]
"""What a user may have of one item: nothing, or a rating in a context, also in one that was not declared."""

OTHERS = [("bob", "i1", 5.0, "phone"), ("bob", "i2", 2.0, "other"), ("eve", "i2", 4.0, "laptop")]


def dataset(rows: list[Any]) -> Interactions:
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("user_id", "item_id", "rating", "on"))}
    return Interactions(columns, items=ITEMS, scale="1:5", context=["on"])


def sums(method: SyntheticInteractions, rows: list[Any]) -> dict[str, BoundedSums]:
    data = dataset(rows)
    plan = method.plan(data)
    histories = method._prepare(data, plan)
    assert isinstance(histories, Histories)
    return dict(zip(plan.public.shares(), plan.public.sums(histories), strict=True))


METHOD = SyntheticInteractions(epsilon=1, contexts=["on=phone,laptop"])


def test_no_history_moves_a_sum_by_more_than_its_bound() -> None:
    before = sums(METHOD, OTHERS)
    longest: dict[str, float] = {}
    for history in product(RECORDS, repeat=len(ITEMS)):
        own = [("ann", item, *record) for item, record in zip(ITEMS, history, strict=True) if record is not None]
        after = sums(METHOD, [*OTHERS, *own])
        for name, total in after.items():
            moved = [int(x) for x in total.values - before[name].values]
            assert sum(x * x for x in moved) <= total.l2_squared == before[name].l2_squared, (name, history)
            assert sum(map(abs, moved)) <= total.l1, (name, history)
            assert max(map(abs, moved)) <= total.linf, (name, history)
            assert min(moved) >= 0, (name, history)
            longest[name] = max(longest.get(name, 0.0), float(sum(x * x for x in moved) / total.l2_squared))
    # A bound twice as large would pass the test above, and cost accuracy.
    assert min(longest.values()) > 0.99, longest


@pytest.mark.parametrize("contexts", [[], ["on=phone,laptop"]])
@pytest.mark.parametrize("first_share", ["1/10", "1/2", "1/1000"])
def test_the_shares_add_up_to_the_budget(contexts: list[str], first_share: str) -> None:
    method = SyntheticInteractions(epsilon=2, delta="1e-5", contexts=contexts, first_share=first_share)
    plan = method.plan(dataset(OTHERS))
    rounds = method._rounds(plan)
    asked = next(rounds)
    spent = sum(one.loss.mu_squared for one in asked.mechanism)  # type: ignore[union-attr,attr-defined]
    answers = tuple(
        one.release(each)
        for one, each in zip(asked.mechanism, asked.statistics(method._prepare(dataset([]), plan)), strict=True)  # type: ignore[arg-type]
    )
    second = rounds.send(answers).mechanism
    assert isinstance(second, NormalMechanism)
    assert spent + second.loss.mu_squared == plan.loss.mu_squared  # type: ignore[attr-defined]


def test_a_taste_is_bounded_whatever_was_released() -> None:
    """The matrix of the second round, with the head, weights and direction of any first release."""
    from discreet.factors.statistics import projected_gram
    from discreet.factors.tastes import TastePlan

    plan = METHOD.plan(dataset(OTHERS))
    public = {**plan.details, **plan.expected}
    for first in (np.zeros(4), np.array([5.0, -3.0, 900.0, 60.0]), np.array([-9.0, -9.0, -9.0, -1.0])):
        tastes = TastePlan.of(first, public, users=None, most=None)
        settled = {}
        for name, rows in (("without", OTHERS), ("with", [*OTHERS, ("ann", "i1", 5.0, "phone")])):
            likes = METHOD._prepare(dataset(rows), plan).likes
            settled[name] = projected_gram(likes, tastes.head, tastes.weights, tastes.direction).settled()
        moved = settled["with"].matrices[0] - settled["without"].matrices[0]
        assert sum(int(x) ** 2 for x in moved.ravel()) <= settled["with"].frobenius_squared


def test_records_are_judged_one_by_one() -> None:
    """A rating decides about its own record alone, and so does a context."""
    plan = METHOD.plan(dataset(OTHERS))
    alone = METHOD._prepare(dataset(OTHERS[:1]), plan)
    together = METHOD._prepare(dataset(OTHERS), plan)
    assert alone.likes.item.tolist() == together.likes.item[:1].tolist() == [0]
    assert together.others.item.tolist() == [1]
    assert together.contexts[0].tolist() == [0, 2, 1]
    assert as_fraction(plan.details["threshold"]) == Fraction(4)
