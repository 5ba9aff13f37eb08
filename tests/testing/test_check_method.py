"""``check_method`` passes what is right, and says what is wrong with each of the usual mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.counting import ItemCounts, TopItems
from discreet.coupled import PMW, random_queries
from discreet.models import Recommender, ReferenceModel, ReleasedModel
from discreet.models.registry import REGISTRY, Entry, create
from discreet.privacy.bounding import BoundedSums, cap_items, distinct_items
from discreet.privacy.budget import Budget
from discreet.privacy.charging import charged
from discreet.privacy.method import Plan, Round
from discreet.testing import check_method, table_pairs
from discreet.testing.methods import MethodCheckError


@dataclass
class MostUsers(ReleasedModel):
    """The example of docs/own-method.md; the classes below break it."""

    name: ClassVar[str] = "most-users"
    listed: ClassVar[str] = "numbers of users"

    epsilon: Any
    cap: int = 2

    def _plan(self, public: Any) -> Plan:
        return Plan(Budget(self.epsilon).loss, "a theorem", "users", caps=self._sums(public).caps, public=public.items)

    def _sums(self, people: Any) -> BoundedSums:
        return cap_items(people, self.cap).item_counts()

    def _rounds(self, plan: Plan) -> Any:
        counts = yield Round(self._sums, Budget(self.epsilon).for_sums())
        return {"counts": counts, "items": pl.DataFrame({"item_id": plan.public.series})}

    def _build(self, release: Any) -> None:
        self.counts_ = release.array("counts").astype(float)

    def _score(self, rows: Any) -> Any:
        return np.tile(self.counts_, (rows.shape[0], 1))


class WrongBound(MostUsers):
    """Counts all items of a person, and says that they are ``cap``."""

    def _sums(self, people: Any) -> BoundedSums:
        return replace(cap_items(people, 99).item_counts(), l1=Fraction(self.cap), caps=())


class SharesOfPeople(MostUsers):
    """Scales its sums by what is most popular among the people at hand."""

    def _sums(self, people: Any) -> BoundedSums:
        sums = cap_items(people, self.cap).item_counts()
        return replace(sums, values=sums.values * 10 // max(1, int(sums.values.max(initial=0))))


class PlansByRecords(MostUsers):
    """Takes its cap from the records."""

    def _public(self, data: Any) -> Any:
        return data

    def _plan(self, public: Any) -> Plan:
        busiest = int(public.records_per_user.max(initial=1))
        return replace(super()._plan(public), details={"busiest": busiest})


class SpendsTwice(MostUsers):
    """Releases the same sums twice and charges once."""

    def _rounds(self, plan: Plan) -> Any:
        yield Round(self._sums, Budget(self.epsilon).for_sums())
        return (yield from super()._rounds(plan))


class OwnNoise(MostUsers):
    """Draws its noise by itself."""

    def _draw(self, data: Any, plan: Plan) -> Any:
        counts = self._sums(data).values + np.random.default_rng().laplace(scale=2, size=data.n_items)
        return {"counts": counts, "items": pl.DataFrame({"item_id": plan.public.series})}


class NoisyBeforeTheCharge(MostUsers):
    """Looks at noisy sums while it plans."""

    def plan(self, data: Any) -> Plan:
        Budget(self.epsilon).for_sums().release(self._sums(data))
        return super().plan(data)


class NamesPeople(MostUsers):
    """Puts the number of people into the release."""

    def _draw(self, data: Any, plan: Plan) -> Any:
        made: Any = super()._draw(data, plan)
        return {**made, "people": np.array([data.n_users])}


@dataclass
class SettingsOfPython(MostUsers):
    """Has a setting that no file can hold."""

    wanted: set[str] = field(default_factory=lambda: {"tea"})


@pytest.mark.parametrize(
    ("kind", "check", "told"),
    [
        (WrongBound, "bounds", "changes the sums by L1"),
        (SharesOfPeople, "sums of parts", "not the total of the parts"),
        (PlansByRecords, "plan", "the plan depends on the records"),
        (SpendsTwice, "coupled run", "the guarantee says"),
        (OwnNoise, "coupled run", "differs"),
        (NoisyBeforeTheCharge, "refused charge", "noise was drawn before"),
        (NamesPeople, "coupled run", "people"),
        (SettingsOfPython, "settings", "cannot be written as JSON"),
    ],
)
def test_each_mistake_is_named(kind: type, check: str, told: str) -> None:
    with pytest.raises(MethodCheckError) as raised:
        check_method(kind)
    paragraphs = {part.partition(":")[0]: part for part in str(raised.value).split("\n\n")}
    assert told in paragraphs[check], raised.value


def test_what_is_right_passes() -> None:
    checked = check_method(MostUsers, cap=3)
    assert [*checked.checks] == [
        *("settings", "plan", "sums of parts", "bounds", "coupled run", "refused charge", "recommender"),
    ]
    assert "1 round" in str(checked)


def test_a_name_that_another_class_has_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(MostUsers):
        """Is registered under the same name."""

    monkeypatch.setitem(REGISTRY, "most-users", Entry("most-users", "elsewhere:Other", "recommender", Other))
    with pytest.raises(MethodCheckError, match=r"fails 1 of 7(?s:.*)Other, which is registered as 'most-users'"):
        check_method(MostUsers, cap=3)


@pytest.mark.parametrize("made", [TopItems(k=2, epsilon=1), ItemCounts(epsilon=1, delta="1e-6", cap=2)], ids=repr)
def test_methods_of_discreet_pass(made: Any) -> None:
    assert "saving" in check_method(made).checks


def test_tags_and_tables_are_checked_too() -> None:
    assert check_method(create("ptr-j", epsilon=1), data="tags").checks
    queries = random_queries(next(table_pairs()).first, 6, seed=3)
    assert check_method(PMW(epsilon=1), data="table", asked=[queries]).checks


# Recommenders that make their guarantee themselves, and those without one


@dataclass
class HandMade(Recommender):
    """``_fit`` and ``_score`` alone, with a charge of its own."""

    name: ClassVar[str] = "hand-made"

    epsilon: Any
    asks: ClassVar[bool] = True

    def _fit(self, data: Any, *, ledger: Any, allow_refuted: bool) -> None:
        budget, sums = Budget(self.epsilon), cap_items(data, 2).item_counts()
        plan = Plan(budget.loss, "a theorem", "users", caps=sums.caps)
        paid = ledger if self.asks else None
        with charged(paid, data, plan.guarantee, mechanism=self.name, parameters=self.parameters):
            self.counts_ = budget.for_sums().release(sums)
        self.items_, self.guarantee_ = data.items, plan.guarantee

    def _start(self, data: Any, guarantee: Any) -> None:
        self.fit(data)

    def _score(self, rows: Any) -> Any:
        return np.tile(self.counts_.astype(float), (rows.shape[0], 1))


class Uncharged(HandMade):
    """Forgets the ledger."""

    asks: ClassVar[bool] = False


def test_a_recommender_with_a_charge_of_its_own_is_run_too() -> None:
    with pytest.raises(MethodCheckError, match=r"(?s)fails 2.*charged.*refused charge"):
        check_method(Uncharged)
    assert {"coupled run", "refused charge"} <= set(check_method(HandMade).checks)


@dataclass
class Plain(ReferenceModel):
    """Without privacy."""

    name: ClassVar[str] = "plain"

    def _learn(self, data: Any) -> None:
        self.counts_ = distinct_items(data).records_per_item.astype(float)

    def _score(self, rows: Any) -> Any:
        return np.tile(self.counts_, (rows.shape[0], 1))


def test_a_recommender_without_a_guarantee_is_checked_as_a_recommender() -> None:
    assert [*check_method(Plain()).checks] == ["settings", "recommender"]


def test_what_is_neither_is_told_what_to_derive_from() -> None:
    with pytest.raises(MethodCheckError, match="ReleasedModel"):
        check_method(dict)


def test_a_release_of_any_form_is_audited() -> None:
    """``release_`` of a recommender may be arrays by name: what somebody holds who gets the model."""

    class Shown(Plain):
        def _learn(self, data: Any) -> None:
            super()._learn(data)
            self.release_ = {"counts": self.counts_}

    films = dc.synthetic.films(users=40, items=12, seed=7)
    report = dc.audit(Shown(), films, claim=1, runs=20, attacks="canary", processes=1)
    assert "white box" in report.attacked
