"""The checks of ``check_method``, one function each: it returns what was seen, or asserts what is wrong."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np

from discreet.data.interactions import Interactions
from discreet.errors import DiscreetError, OverLimitError
from discreet.models.recommender import Recommender
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import Draw, watched
from discreet.privacy.gram import BoundedGram
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.method import Method
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.testing.actual_losses import Spent
from discreet.testing.coupled import coupled_run
from discreet.testing.models import RecommenderConformance, refuses, two_tastes
from discreet.testing.neighboring import NeighboringPair, interaction_pairs, table_pairs, tag_pairs
from discreet.testing.parts import require_sums_add_up

__all__ = ["DataKind", "MethodChecks"]

DataKind = Literal["interactions", "tags", "table"]

LEAST_RUNS = 5
"""Pairs of neighboring datasets that a method must run on rather than refuse."""

OWN_NOISE = (
    "Nothing but the mechanisms of a Budget may draw randomness, and nothing of the records may reach the release "
    "except through them."
)


@dataclass(eq=False)
class MethodChecks:
    """A method with its settings, and what it is run on."""

    made: Any
    kind: DataKind
    given: Iterable[NeighboringPair] | None
    asked: tuple[Any, ...]
    answers_everything: bool

    def __post_init__(self) -> None:
        self.name = str(getattr(self.made, "name", type(self.made).__name__))
        self.is_model, self.is_method = isinstance(self.made, Recommender), isinstance(self.made, Method)
        self._guarantee: Guarantee | None = None
        self._pairs: list[NeighboringPair] | None = None

    def all(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """The checks that apply, by name."""
        yield "settings", self.settings
        if self.is_method:
            yield "plan", self.plan
            if self.made.reads == "sums":
                yield "sums of parts", self.sums_of_parts
                yield "bounds", self.bounds
        if self.guarantee is not None and self.guarantee.standing is not Standing.REFUTED:
            yield "coupled run", self.coupled
            yield "refused charge", self.refused
        if not self.is_model:
            yield "saving", self.saving
        else:
            yield "recommender", self.conformance

    # What is run

    def run(self, data: Any, ledger: Any, others: Sequence[Any] = ()) -> Any:
        """Release or fit; what becomes public."""
        if not self.is_model:
            return self.made.release(data, *self.asked, ledger=ledger)
        fitted = self.fresh().fit(data, ledger=ledger)
        history = {"i1": 5.0, "i4": 2.0} if data.rating is not None else ["i1", "i4"]
        known = [one for one in ("i1", "i4") if one in fitted.items_]
        shown = {"stranger": fitted.recommend(history=history, n=8)} if len(known) == 2 else {}
        # Without a release there is nothing else to compare than what people are shown.
        seen = fitted if isinstance(getattr(fitted, "release_", None), Release) else fitted.guarantee
        return {"model": seen, **shown, "others": fitted.recommend(others, n=8) if others else None}

    def fresh(self) -> Any:
        return type(self.made)(**self.made.parameters)

    @property
    def guarantee(self) -> Guarantee | None:
        """What is promised, found on a small dataset."""
        if self._guarantee is None:
            some = next(iter(self._some(Unit("user")))).first
            if self.is_method:
                self._guarantee = self.made.plan(some, *self.asked).guarantee
            else:
                self._guarantee = self.fresh().fit(some, allow_refuted=True).guarantee
        return self._guarantee

    @property
    def unit(self) -> Unit:
        assert self.guarantee is not None
        return self.guarantee.unit

    def pairs(self) -> list[NeighboringPair]:
        """Neighboring datasets in the unit of the guarantee."""
        if self._pairs is None:
            self._pairs = list(self._some(self.unit))
        return self._pairs

    def _some(self, unit: Unit) -> Iterable[NeighboringPair]:
        if self.given is not None:
            self.given = list(self.given)
            return self.given
        if self.kind == "tags":
            return tag_pairs(unit)
        if self.kind == "table":
            return table_pairs(rows=unit.size if unit.what == "group" else 1)
        with_ratings = interaction_pairs(unit)
        if unit == Unit("record", "value"):
            return with_ratings
        return (pair for pairs in (with_ratings, interaction_pairs(unit, rated=False, repeats=True)) for pair in pairs)

    # The checks

    def settings(self) -> str:
        made = self.made
        written = made.parameters
        try:
            again = type(made)(**json.loads(json.dumps(written)))
        except (TypeError, ValueError) as error:
            raise AssertionError(
                f"the settings cannot be written as JSON and read again: {error}. Make it a dataclass with settings of "
                "numbers and text, and take text for numbers in __post_init__."
            ) from error
        assert again.parameters == written, f"{written} became {again.parameters} by way of JSON."
        return str(written)

    def plan(self) -> str:
        told = [self._planned(pair) for pair in self.pairs()]
        ran = [one for one in told if one]
        assert len(ran) >= min(LEAST_RUNS, len(told)), f"it has a plan for {len(ran)} of {len(told)} small datasets."
        assert self.guarantee is not None
        return f"{self.guarantee.loss} for {self.guarantee.unit}"

    def _planned(self, pair: NeighboringPair) -> str:
        """The plan as text; the same for both datasets, and the same again."""
        plans = [_plan_text(self.made, data, self.asked) for data in (pair.first, pair.second, pair.first)]
        assert plans[0] == plans[2], f"two plans for the same data differ on {pair}:\n  {plans[0]}\n  {plans[2]}"
        assert plans[0] == plans[1], (
            f"the plan depends on the records on {pair}:\n  {plans[0]}\n  {plans[1]}\n"
            "A plan may use public values alone: the catalog, the scale, the domains."
        )
        return plans[0]

    def sums_of_parts(self) -> str:
        rounds = 0
        for pair in self.pairs():
            data = pair.first
            if not isinstance(data, Interactions) or not self._runs_on(data):
                continue
            odd = data.user % 2 == 1
            parts = [data.filter(mask, independent=True) for mask in (odd, ~odd)]
            try:
                rounds = max(rounds, require_sums_add_up(self.made, data, parts))
            except AssertionError as error:
                raise AssertionError(
                    f"{error} (on {pair}). Sums must be sums over people: compute each person's part from that "
                    "person's records alone."
                ) from error
        return f"{rounds} round{'' if rounds == 1 else 's'}" if rounds else "not for these data"

    def bounds(self) -> str:
        checked = 0
        for pair in self.pairs():
            if self._runs_on(pair.first):
                self._bounded(pair)
                checked += 1
        return f"{checked} pairs of datasets"

    def _bounded(self, pair: NeighboringPair) -> None:
        made: Method = self.made
        plan = made.plan(pair.first, *self.asked)
        with mock.patch.object(entropy, "bounding_key", return_value=(1, 2)):  # everybody's records are chosen alike
            first, second = (made._prepare(data, plan) for data in (pair.first, pair.second))
            rounds, answer, number = made._rounds(plan), None, 0
            while True:
                try:
                    one = rounds.send(answer)
                except StopIteration:
                    return
                number += 1
                for before, after in zip(one.sums([first]), one.sums([second]), strict=True):
                    _require_within(before, after, f"round {number} on {pair}")
                answer = one.released([first], plan.unit)

    def _runs_on(self, data: Any) -> bool:
        return bool(_plan_text(self.made, data, self.asked, errors=False))

    def coupled(self) -> str:
        worst, ran, refusals = Spent(), 0, set()
        for pair in self.pairs():
            others = [] if not self.is_model else [one for one in pair.first.users.ids() if one in pair.second.users]
            ask = others if self.is_model and self.unit == Unit("user") else ()
            try:
                result = coupled_run(partial(self.run, others=ask), pair.first, pair.second)
            except AssertionError as error:
                raise AssertionError(f"on {pair}: {error}\n{OWN_NOISE}") from error
            if result.guarantee is None:
                refusals.add(result.refusal)
                continue
            ran += 1
            worst = max(worst, result.spent, key=_size)
        assert ran >= min(LEAST_RUNS, len(self.pairs())), f"it ran on {ran} pairs alone: {'; '.join(sorted(refusals))}"
        assert self.guarantee is not None
        return f"{ran} pairs of datasets, at most {worst} of {self.guarantee.loss}"

    def refused(self) -> str:
        data, observer = next(pair.first for pair in self.pairs() if len(pair.first)), _Observer()
        with watched(observer):
            try:
                self.run(data, _Refusing())
            except OverLimitError:
                assert not observer.draws, f"noise was drawn before the ledger was asked: {observer.draws[0]}."
                return "nothing was drawn"
        raise AssertionError("the ledger refused the charge, and it went on: nothing may be released without a charge.")

    def saving(self) -> str:
        pair = next(pair for pair in self.pairs() if len(pair.first) and self._runs_on(pair.first))
        release = self.made.release(pair.first, *self.asked, **self._refuted)
        assert isinstance(release, Release), f"release() returned {type(release).__name__}."
        with tempfile.TemporaryDirectory() as folder:
            again = Release.load(release.save(Path(folder) / "release"))
        assert again.id == release.id
        assert again.guarantee == release.guarantee
        return f"a release of {len(again.parts)} part{'' if len(again.parts) == 1 else 's'}"

    def conformance(self) -> str:
        tests = _conformance(self)
        names = [name for name in dir(tests) if name.startswith("test_")]
        for name in names:
            try:
                getattr(tests, name)()
            except AssertionError as error:
                raise AssertionError(f"{name.removeprefix('test_').replace('_', ' ')}: {error}") from error
        refuses(DiscreetError, lambda nothing: self.fresh().fit(nothing), [("ann", "tea")])
        return f"{len(names)} tests of recommenders"

    @property
    def _refuted(self) -> dict[str, bool]:
        refuted = self.guarantee is not None and self.guarantee.standing is Standing.REFUTED
        return {"allow_refuted": True} if refuted else {}


def _conformance(checks: MethodChecks) -> RecommenderConformance:
    released = isinstance(checks.made, Method)

    class Conformance(RecommenderConformance):
        deterministic = checks.guarantee is None
        # A model that keeps its records and promises something draws anew when it is loaded.
        reproducible = released or checks.guarantee is None
        keeps_records = not released
        answers_everything = checks.answers_everything
        fit_options = checks._refuted

        def make_model(self) -> Recommender:
            return checks.fresh()

        def data(self) -> Interactions:
            return two_tastes()

    return Conformance()


def _plan_text(method: Method, data: Any, asked: tuple[Any, ...], *, errors: bool = True) -> str:
    """A plan as text that can be compared; a refusal as its message, or as nothing."""
    try:
        plan = method.plan(data, *asked)
    except DiscreetError as error:
        return f"{type(error).__name__}: {error}" if errors else ""
    return json.dumps([plan.guarantee.to_json(), dict(plan.expected), dict(plan.details)], default=str, sort_keys=True)


def _require_within(before: BoundedSums | BoundedGram, after: BoundedSums | BoundedGram, where: str) -> None:
    """Two neighboring sums differ by no more than their bounds."""
    if isinstance(before, BoundedGram) and isinstance(after, BoundedGram):
        whole = [np.triu(a) + np.triu(a, 1).T for one in (before, after) for a in one.matrices]
        half = len(whole) // 2
        change = np.concatenate([(a - b).ravel() for a, b in zip(whole[:half], whole[half:], strict=True)])
        limits = {"L2²": before.l2_sensitivity_squared, "L1": None if before.l1 is None else before.l1_sensitivity}
    else:
        assert isinstance(before, BoundedSums), f"{where}: the statistics are a {type(before).__name__}."
        assert isinstance(after, BoundedSums), f"{where}: the statistics are a {type(after).__name__}."
        change = (before.values - after.values).ravel()
        limits = {"L1": before.l1_sensitivity, "L2²": before.l2_sensitivity_squared, "L∞": before.linf_sensitivity}
    moved = [abs(int(one)) for one in change if one]
    sizes = {"L1": sum(moved), "L2²": sum(one * one for one in moved), "L∞": max(moved, default=0)}
    for norm, limit in limits.items():
        assert limit is None or Fraction(sizes[norm]) <= limit, (
            f"{where}: one neighboring step changes the sums by {norm} = {sizes[norm]}, and their bounds say "
            f"{limit}. Bound what each person contributes before it is summed (cap_items, cap_records), or state the "
            "true bound."
        )


def _size(spent: Spent) -> tuple[float, float]:
    """How large a loss is, for comparing what pairs of datasets come to."""
    sizes = (spent.rho, spent.pure)
    return sizes[0] if sizes[0] is not None else math.inf, sizes[1] if sizes[1] is not None else math.inf  # type: ignore[return-value]


class _Observer:
    """Notes every use of randomness, and lets it happen."""

    def __init__(self) -> None:
        self.draws: list[str] = []

    def drawn(self, draw: Draw, sample: Callable[[], Any]) -> Any:
        self.draws.append(draw.law)
        return sample()


class _Refusing:
    """A ledger that has nothing left."""

    def charge(self, *given: Any, **more: Any) -> Any:
        raise OverLimitError("nothing is left in this ledger.")

    def series_charge(self, series: str) -> None:
        return None
