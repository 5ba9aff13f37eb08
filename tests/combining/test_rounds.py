"""Methods of several rounds: each curator releases round after round, and what is combined decides what comes next."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import discreet as dc
from discreet.combining import release_round
from discreet.combining.rounds import OneRound
from discreet.counting import ContextPopularity, HybridCounts, ItemCounts, ItemPairs, TopItems
from discreet.coupled import PMW
from discreet.errors import BudgetError, ReleaseError, UsageError
from discreet.factors import DPALS, private_ratings, private_recommender, tastes
from discreet.factors.statistics import Likes, gram_bounds, popularity_sums
from discreet.pairs import PrivateCosine, PrivateSlopeOne
from discreet.privacy.budget import Budget
from discreet.privacy.draws import Draw, watched
from discreet.privacy.losses import add
from discreet.privacy.method import Method

Shops = list[dc.Interactions]


@dataclass
class Replayed:
    """Draws noise once, and hands it out again from the beginning: the same noise on whatever is released."""

    noise: list[np.ndarray] = field(default_factory=list)
    place: int = 0

    def drawn(self, draw: Draw, sample: Callable[[], Any]) -> Any:
        if self.place == len(self.noise):
            self.noise.append(sample() - draw.secret)
        self.place += 1
        return draw.secret + self.noise[self.place - 1]

    def again(self) -> Replayed:
        self.place = 0
        return self


METHODS: dict[str, Callable[..., Method]] = {
    "recommender": lambda epsilon=8: dc.PrivateRecommender(epsilon=epsilon),
    "recommender of three rounds": lambda epsilon=8: dc.PrivateRecommender(epsilon=epsilon),
    "recommender of popularity": lambda epsilon=8: dc.PrivateRecommender(epsilon=epsilon),
    "recommender with features": lambda epsilon=8: dc.PrivateRecommender(epsilon=epsilon, features=["genres"], head=20),
    "ratings": lambda epsilon=8: dc.PrivateRatings(epsilon=epsilon),
    "ratings by record": lambda epsilon=8: dc.PrivateRatings(epsilon=epsilon, unit="record"),
    "neighbors": lambda epsilon=8: dc.PrivateItemKNN(epsilon=epsilon),
    "slope one": lambda epsilon=8: PrivateSlopeOne(epsilon=epsilon, delta="1e-6"),
    "slope one, pure": lambda epsilon=8: PrivateSlopeOne(epsilon=epsilon, delta=0, unit="record"),
    "slope one, values": lambda epsilon=8: PrivateSlopeOne(epsilon=epsilon, unit="record/value"),
    "cosine": lambda epsilon=8: PrivateCosine(epsilon=epsilon, delta=0),
    "cosine of a public head": lambda epsilon=8: PrivateCosine(epsilon=epsilon, head=["film-1", "film-2", "film-3"]),
    "DP-ALS": lambda epsilon=8: DPALS(epsilon=epsilon, factors=3, rounds=3),
    "counts": lambda epsilon=8: ItemCounts(epsilon=epsilon),
    "hybrid": lambda epsilon=8: HybridCounts(epsilon=epsilon, delta="1e-6"),
    "pairs": lambda epsilon=8: ItemPairs(epsilon=epsilon, cap=5, head=10),
    "contexts": lambda epsilon=8: ContextPopularity(epsilon=epsilon, contexts=["weekday"], delta="1e-6"),
}


ROUTES: dict[str, dict[str, Fraction]] = {
    "recommender": {"noise_first": Fraction(1, 10), "noise_tastes": Fraction(9, 10)},
    "recommender of three rounds": {
        "noise_first": Fraction(1, 10),
        "noise_more": Fraction(1, 10),
        "noise_tastes": Fraction(4, 5),
    },
    "recommender of popularity": {"noise_first": Fraction(1, 10), "noise_second": Fraction(9, 10)},
}
"""The shares of the rounds of the recommender, on each way that the first round may lead to."""


@pytest.fixture(autouse=True)
def every_round(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is learned from many people only is learned from few here, so that every round is seen.

    Noise would decide what the recommender goes on with. Here the name of the case does: tastes unless it says more.
    """
    case = getattr(request.node, "callspec", None)
    route = ROUTES.get(case.params.get("name", "") if case else "", ROUTES["recommender"])

    def needed(spread: Any, whole: float, shares: np.ndarray) -> float | None:
        return None if "noise_second" in route else shares[2] if "noise_more" in route else shares[0]

    with (
        mock.patch.multiple(tastes, CROSSOVER=0, share_needed=needed),
        mock.patch.multiple(private_ratings, LEAST_RATINGS=0, CROSSOVER=0),
    ):
        yield


def all_rounds(methods: list[Method], shops: Shops, people: Any = "disjoint") -> tuple[list[list[dc.Release]], Any]:
    """The releases of each round, and what comes out at the end."""
    rounds: list[list[dc.Release]] = []
    after: dc.Release | None = None
    while after is None or after.kind == "round":
        rounds.append([release_round(one, shop, after=after) for one, shop in zip(methods, shops, strict=True)])
        after = dc.combine(*rounds[-1], people=people)
    return rounds, after


@pytest.mark.parametrize("name", METHODS)
def test_all_rounds_together_spend_exactly_what_one_fit_does(name: str, shops: Shops) -> None:
    methods = [METHODS[name](epsilon) for epsilon in (2, 8, 4)]
    rounds, together = all_rounds(methods, shops)
    for curator, method in enumerate(methods):
        spent = reduce(add, [parts[curator].guarantee.loss for parts in rounds])
        assert spent == method.plan(shops[curator]).loss
    assert together.guarantee.loss == methods[1].plan(shops[1]).loss
    assert together.guarantee.unit == methods[1].plan(shops[1]).unit
    assert together.guarantee.joint == methods[1].plan(shops[1]).joint
    assert (together.kind, together.mechanism) == (methods[0].kind, methods[0].name)


@pytest.mark.parametrize("name", METHODS)
def test_the_rounds_of_one_curator_are_one_fit(name: str, films: dc.Interactions) -> None:
    """With the same noise, and a second curator who has nobody and draws none: the same release, to the last bit."""
    method, noise = METHODS[name](), Replayed()
    with watched(noise):
        whole = method.release(films)
    with watched(noise.again()):
        after: dc.Release | None = None
        while after is None or after.kind == "round":
            after = release_round(method, films, after=after)
            # The last round alone is what a combination is made from.
            after = _alone(after)
    for part, found in whole.parts.items():
        same = after.parts[part]
        if isinstance(found, np.ndarray):
            assert np.array_equal(found, np.asarray(same)), part
        else:
            assert found.equals(same), part  # type: ignore[arg-type]
    for figure, value in whole.parameters.items():
        assert after.parameters[figure] == pytest.approx(value, rel=1e-9) if isinstance(value, float) else True
    assert after.guarantee.loss == whole.guarantee.loss


def _alone(part: dc.Release) -> dc.Release:
    """A combination of one part, which ``combine`` refuses: it would only be renamed."""
    from discreet.combining import combine as module

    with mock.patch("discreet.combining.combine._require_several"):
        return module(part, people="disjoint")


@pytest.mark.parametrize("name", [*ROUTES, "ratings", "neighbors", "slope one", "cosine", "hybrid", "DP-ALS"])
def test_sums_and_variances_add_up(name: str, shops: Shops) -> None:
    rounds, _ = all_rounds([METHODS[name](epsilon) for epsilon in (2, 8, 4)], shops)
    for number, parts in enumerate(rounds, start=1):
        combined = dc.combine(*parts, people="may-overlap")
        if combined.kind != "round":
            continue
        noise = [part.parameters["round"]["noise"][-1] for part in parts]
        expected = [math.sqrt(sum(one**2 for one in column)) for column in zip(*noise, strict=True)]
        assert combined.parameters["round"]["noise"][-1] == expected
        for part, array in combined.parts.items():
            if part.startswith(f"round{number}_"):
                assert np.array_equal(np.asarray(array), sum(np.asarray(one.parts[part]) for one in parts))


def noise_of_sum(route: Mapping[str, Fraction], shop: dc.Interactions, epsilons: Iterable[int]) -> dict[str, float]:
    """The deviation of each round: variances of all curators, each with the share that the round had."""
    sums = popularity_sums(Likes.of(shop.emptied(), None))
    bounds = {figure: gram_bounds() if figure == "noise_tastes" else sums for figure in route}
    budgets = [Budget(epsilon, "1e-6") for epsilon in epsilons]
    return {
        figure: math.sqrt(sum(budget.part(share).deviation(bounds[figure]) ** 2 for budget in budgets))
        for figure, share in route.items()
    }


@pytest.mark.parametrize("name", ROUTES)
def test_denoising_uses_the_noise_of_all(name: str, shops: Shops) -> None:
    rounds, together = all_rounds([METHODS[name](epsilon) for epsilon in (2, 8, 4)], shops)
    assert len(rounds) == len(ROUTES[name])
    noise = noise_of_sum(ROUTES[name], shops[0], (2, 8, 4))
    assert {figure: together.parameters[figure] for figure in noise} == pytest.approx(noise, rel=1e-9)
    # A curator who comes to all rounds but the last: that one has less noise.
    fewer, last = dc.combine(*rounds[-1][:2], people="disjoint"), list(noise)[-1]
    noise[last] = noise_of_sum(ROUTES[name], shops[0], (2, 8))[last]
    assert {figure: fewer.parameters[figure] for figure in noise} == pytest.approx(noise, rel=1e-9)


@pytest.mark.parametrize("name", ["recommender of three rounds"])
def test_tastes_are_read_as_they_were_measured_where_a_curator_leaves(name: str, shops: Shops) -> None:
    """The noise of the second round is another one than the first let expect, on which the third was computed."""
    methods, measured, read = [METHODS[name](epsilon) for epsilon in (2, 8, 4)], [], []
    gram, votes = private_recommender.projected_gram, dc.PrivateRecommender._votes_of_items

    def watched_gram(rated: Any, head: Any, weights: Any, direction: Any, values: Any) -> Any:
        measured.append((weights, direction))
        return gram(rated, head, weights, direction, values)

    def watched_votes(self: Any, plan: tastes.TastePlan) -> Any:
        read.append((plan.weights, plan.direction))
        return votes(self, plan)

    after = dc.combine(*map(release_round, methods, shops), people="disjoint")
    for _ in range(2):
        with mock.patch.object(private_recommender, "projected_gram", watched_gram):
            parts = [release_round(*one, after=after) for one in list(zip(methods, shops, strict=True))[1:]]
        after = dc.combine(*parts, people="disjoint")
    noise, fewer = (noise_of_sum(ROUTES[name], shops[0], epsilons) for epsilons in ((2, 8, 4), (8, 4)))
    noise = {**fewer, "noise_first": noise["noise_first"]}
    assert {figure: after.parameters[figure] for figure in noise} == pytest.approx(noise, rel=1e-9)
    with mock.patch.object(dc.PrivateRecommender, "_votes_of_items", watched_votes):
        model = dc.PrivateRecommender.of_release(after)
    for one, other in zip(measured[-1], read[-1], strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    # What is popular is the mean of both releases by their true noise.
    plan = tastes.TastePlan.of(after.array("first"), after.parameters, users=None, most=None, more=after.array("more"))
    assert model.popularity_ == pytest.approx(plan.first.items, rel=1e-12)


def test_a_method_that_does_not_name_its_noise_needs_the_same_curators(shops: Shops) -> None:
    rounds, _ = all_rounds([METHODS["DP-ALS"](epsilon) for epsilon in (8, 8, 8)], shops)
    with pytest.raises(ReleaseError, match="same curators"):
        dc.combine(*rounds[-1][:2], people="disjoint")


def test_laplace_noise_of_few_steps_is_that_of_all() -> None:
    """Where noise is about one step, variances of discrete noise are not those of the continuous one."""
    visits = dc.Interactions([("a", "x"), ("b", "y")], items=["x", "y"])
    parts = [release_round(HybridCounts(epsilon=20, cap=1), visits) for _ in range(3)]
    after = dc.combine(*parts, people="disjoint")
    driver = HybridCounts(epsilon=after.parameters["round"]["like"]["epsilon"], cap=1)
    (noise,) = after.parameters["round"]["noise"][0]
    assert driver.plan(visits).expected["popularity_noise_sd"] == pytest.approx(noise, rel=1e-9)


def test_models_of_a_combination_recommend(shops: Shops, films: dc.Interactions, tmp_path: Path) -> None:
    _, together = all_rounds([METHODS["recommender"]() for _ in shops], shops)
    together.save(tmp_path / "model")
    model = dc.PrivateRecommender.load(tmp_path / "model")
    assert model.ranking_ == "tastes"
    assert model.recommend(history={"film-3": 5, "film-8": 4}, n=5).height == 5
    model.attach(shops[0])
    assert model.recommend([shops[0].users.ids()[0]], n=3).height == 3
    assert "combined from 3 curators" in model.release_.describe()


def test_with_little_noise_it_is_the_model_of_all_records(shops: Shops, films: dc.Interactions) -> None:
    """At this ε noise is a thousandth of what is learned: far below what the test asks for."""
    _, together = all_rounds([METHODS["recommender"](10**5) for _ in shops], shops)
    model, whole = dc.PrivateRecommender.of_release(together), dc.PrivateRecommender(epsilon=10**5).fit(films)
    assert np.corrcoef(model.popularity_, whole.popularity_)[0, 1] > 0.999
    assert np.corrcoef(together.array("tastes").ravel(), whole.release_.array("tastes").ravel())[0, 1] > 0.99


def test_neighbors_know_how_much_noise_there_is(shops: Shops) -> None:
    _, together = all_rounds([METHODS["neighbors"](1) for _ in shops], shops)
    like = dc.PrivateItemKNN(epsilon=together.parameters["combined"]["single_release"]["epsilon"])
    loss = together.parameters["combined"]["noise_like"]
    assert loss == like.plan(shops[0]).loss.to_json()
    single = dc.PrivateItemKNN(epsilon=1).plan(shops[0]).loss
    assert float(Fraction(loss["mu_squared"])) == pytest.approx(float(single.mu_squared) / 3, rel=1e-9)  # type: ignore[attr-defined]


# Ledgers


@pytest.mark.parametrize("name", ROUTES)
def test_each_curator_charges_each_round_to_their_own_ledger(name: str, shops: Shops, tmp_path: Path) -> None:
    method, numbers = METHODS[name](4), range(1, len(ROUTES[name]) + 1)
    ledgers = [dc.Ledger(tmp_path / f"{shop.name}.db") for shop in shops]
    for ledger, shop in zip(ledgers, shops, strict=True):
        ledger.open(shop, epsilon=4, delta="1e-6", view="pld")
    after: dc.Release | None = None
    for number in numbers:
        parts = [
            release_round(method, shop, after=after, ledger=ledger) for shop, ledger in zip(shops, ledgers, strict=True)
        ]
        for ledger, part in zip(ledgers, parts, strict=True):
            assert ledger.account_of_release(part.id) is not None
        assert [part.parameters["round"]["took_part"] for part in parts] == ([None] * 3 if number == 1 else [True] * 3)
        after = dc.combine(*parts, people="disjoint")
    assert after is not None
    assert after.kind == method.kind
    entries = ledgers[0].statement(shops[0]).entries
    assert [entry.mechanism for entry in entries] == [f"round {number} of private-recommender" for number in numbers]
    assert reduce(add, [entry.guarantee.loss for entry in entries]) == method.plan(shops[0]).loss


@pytest.mark.parametrize("name", ROUTES)
def test_a_first_round_without_this_curator_is_named(name: str, shops: Shops, tmp_path: Path) -> None:
    method = METHODS[name](4)
    ledger = dc.Ledger(tmp_path / "cole.db")
    ledger.open(shops[2], epsilon=8, delta="1e-6")
    release_round(method, shops[2], ledger=ledger)
    after = dc.combine(*(release_round(method, shop) for shop in shops[:2]), people="disjoint")
    for number in range(2, len(ROUTES[name]) + 1):
        part = release_round(method, shops[2], after=after, ledger=ledger)
        assert "in which this curator took no part" in part.describe()
        others = [release_round(method, shop, after=after) for shop in shops[:2]]
        together = dc.combine(part, *others, people="disjoint")
        assert together.parameters["combined"]["parts"][0]["took_part_before"] is False
        last = number == len(ROUTES[name])
        assert together.parameters["combined" if last else "round"]["after"] == after.id
        after = together
    assert after.kind == method.kind
    assert after.guarantee.loss == method.plan(shops[0]).loss  # nobody loses more


@pytest.mark.parametrize("name", ["recommender of three rounds"])
def test_shares_of_two_ways_are_charged_and_do_not_fit_one_budget(name: str, shops: Shops, tmp_path: Path) -> None:
    """Somebody shows other numbers of the first round in the third, so that a larger share follows than was left."""
    method, ledger = METHODS[name](4), dc.Ledger(tmp_path / "aker.db")
    ledger.open(shops[0], epsilon=4, delta="1e-6", view="pld")
    after: dc.Release | None = None
    for place in (5, 5):  # half of the budget for popularity
        with mock.patch.object(tastes, "share_needed", lambda spread, whole, shares, at=place: shares[at]):
            part = release_round(method, shops[0], after=after, ledger=ledger)
            after = dc.combine(part, release_round(method, shops[1], after=after), people="disjoint")
    whole = method.plan(shops[0]).loss
    spent = [entry.guarantee.loss for entry in ledger.statement(shops[0]).entries]
    assert [loss.mu_squared / whole.mu_squared for loss in spent] == [Fraction(1, 10), Fraction(2, 5)]  # type: ignore[attr-defined]
    with (
        mock.patch.object(tastes, "share_needed", lambda spread, whole, shares: shares[1]),
        pytest.raises(BudgetError),
    ):
        release_round(method, shops[0], after=after, ledger=ledger)
    assert len(ledger.statement(shops[0]).entries) == 2


# What is refused


@pytest.fixture
def first(shops: Shops) -> dc.Release:
    return dc.combine(*(release_round(dc.PrivateRecommender(epsilon=4), shop) for shop in shops), people="disjoint")


def test_rounds_of_other_settings(shops: Shops, first: dc.Release) -> None:
    part = release_round(dc.PrivateRecommender(epsilon=4), shops[0])
    with pytest.raises(ReleaseError, match="head = 20, not None"):
        dc.combine(part, release_round(dc.PrivateRecommender(epsilon=4, head=20), shops[1]), people="disjoint")
    with pytest.raises(ReleaseError, match="round of private-ratings, not of private-recommender"):
        dc.combine(part, release_round(dc.PrivateRatings(epsilon=4), shops[1]), people="disjoint")
    with pytest.raises(ReleaseError, match="delta = 0"):
        dc.combine(
            release_round(PrivateCosine(epsilon=4, delta=0), shops[0]),
            release_round(PrivateCosine(epsilon=4, delta="1e-6"), shops[1]),
            people="disjoint",
        )
    with pytest.raises(ReleaseError, match="some are not"):
        dc.combine(part, ItemCounts(epsilon=1).release(shops[1]), people="disjoint")
    with pytest.raises(ReleaseError, match="head"):
        release_round(dc.PrivateRecommender(epsilon=4, head=20), shops[0], after=first)
    with pytest.raises(ReleaseError, match="round of private-recommender"):
        release_round(dc.PrivateRatings(epsilon=4), shops[0], after=first)
    with pytest.raises(ReleaseError, match="must be the release of a round"):
        release_round(dc.PrivateRecommender(epsilon=4), shops[0], after=ItemCounts(epsilon=1).release(shops[0]))


def test_rounds_of_other_records(shops: Shops, first: dc.Release, films: dc.Interactions) -> None:
    rows, items = shops[1].to_frame(), films.items.series.to_list()
    fewer = dc.Interactions(rows.filter(rows["item_id"] != items[0]), items=items[1:], scale="1:5")
    with pytest.raises(ReleaseError, match="another catalog"):
        release_round(dc.PrivateRecommender(epsilon=4), fewer, after=first)
    unrated = dc.Interactions(rows.select("user_id", "item_id"), items=items)
    with pytest.raises(ReleaseError, match="same options"):
        release_round(dc.PrivateRecommender(epsilon=4), unrated, after=first)


def test_different_rounds_do_not_add_up(shops: Shops, first: dc.Release) -> None:
    method = dc.PrivateRecommender(epsilon=4)
    second = [release_round(method, shop, after=first) for shop in shops]
    with pytest.raises(ReleaseError, match="is round 1"):
        dc.combine(second[0], release_round(method, shops[1]), people="disjoint")
    again = dc.combine(*(release_round(method, shop) for shop in shops), people="disjoint")
    with pytest.raises(ReleaseError, match="comes after another round"):
        dc.combine(second[0], release_round(method, shops[1], after=again), people="disjoint")
    forged = replace(second[1], parts={**second[1].parts, "round1_1": np.zeros(61, dtype=np.int64)}, id="")
    with pytest.raises(ReleaseError, match="other numbers of the rounds before"):
        dc.combine(second[0], forged, people="disjoint")
    model = dc.combine(*second[:2], people="disjoint")
    with pytest.raises(ReleaseError, match="some are not"):  # all parts of the last round are combined at once
        dc.combine(model, second[2], people="disjoint")


def test_there_is_no_round_after_the_last(shops: Shops) -> None:
    parts = [release_round(ItemCounts(epsilon=1), shop) for shop in shops]
    assert dc.combine(*parts, people="disjoint").kind == "item-counts"
    with pytest.raises(UsageError, match="round 1 is the last one"):
        release_round(ItemCounts(epsilon=1), shops[0], after=parts[0])


def test_methods_that_cannot_be_combined_say_so(shops: Shops) -> None:
    with pytest.raises(UsageError, match="it chooses by scores"):
        release_round(TopItems(epsilon=1, k=3), shops[0])
    with pytest.raises(UsageError, match="does not release sums"):
        release_round(PMW(epsilon=1), shops[0])

    class Own(ItemCounts):
        name = "own"

    with pytest.raises(UsageError, match="not registered"):
        release_round(Own(epsilon=1), shops[0])
    table = dc.Table({"a": [0, 1]}, domains={"a": range(2)})
    with pytest.raises((UsageError, dc.DiscreetError)):
        release_round(dc.PrivateRecommender(epsilon=1), table)


def _with(first: dc.Release, array: np.ndarray) -> dc.Release:
    return replace(first, parts={**first.parts, "round1_1": array}, id="")


def test_a_round_that_no_mechanism_could_release(shops: Shops, first: dc.Release) -> None:
    method, array = dc.PrivateRecommender(epsilon=4), np.asarray(first.parts["round1_1"])
    for odd in (array[:-1], array.astype(np.float64), np.full_like(array, 2**62), array[None]):
        with pytest.raises(ReleaseError, match="round"):
            release_round(method, shops[0], after=_with(first, odd))
    without = replace(first, parts={"catalog": first.parts["catalog"]}, id="")
    with pytest.raises(ReleaseError, match="round"):
        release_round(method, shops[0], after=without)
    for damaged in ({}, {**first.parameters["round"], "like": None}, {**first.parameters["round"], "number": "x"}):
        with pytest.raises(dc.DiscreetError):
            release_round(
                method, shops[0], after=replace(first, parameters={**first.parameters, "round": damaged}, id="")
            )


def test_nothing_is_charged_for_a_round_that_cannot_be(shops: Shops, first: dc.Release, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "aker.db")
    ledger.open(shops[0], epsilon=8, delta="1e-6")
    with pytest.raises(ReleaseError):
        release_round(dc.PrivateRecommender(epsilon=4), shops[0], after=_with(first, np.zeros(3)), ledger=ledger)
    assert not ledger.statement(shops[0]).entries


def test_an_estimate_of_a_round_reads_no_record(shops: Shops) -> None:
    estimate = OneRound(dc.PrivateRecommender(epsilon=4)).estimate(shops[0].emptied())
    assert estimate["round"]["number"] == 1
    assert len(estimate["round"]["noise"]) == 1


@pytest.mark.parametrize("name", ["recommender", "ratings", "cosine", "hybrid"])
def test_data_in_parts_release_the_same_rounds(name: str, films: dc.Interactions, tmp_path: Path) -> None:
    """And what is computed of a part can be sent to other processes, as Spark does."""
    cloudpickle = pytest.importorskip("cloudpickle")
    films.to_frame().write_parquet(tmp_path / "films.parquet")
    columns = {"rating": "rating", "timestamp": "timestamp", "scale": films.scale, "folder": tmp_path, "parts": 3}
    parted = dc.scan(tmp_path / "films.parquet", items=films.items.series, **columns)  # type: ignore[arg-type]
    method, noise, found = METHODS[name](), Replayed(), []
    added = type(parted).added

    def sent(self: Any, computed: Any) -> Any:
        return added(self, cloudpickle.loads(cloudpickle.dumps(computed)))

    with mock.patch.object(type(parted), "added", sent):
        for data in (dc.Interactions(films.to_frame(), items=films.items.series, scale=films.scale), parted):
            after: dc.Release | None = None
            with watched(noise.again()):
                while after is None or after.kind == "round":
                    after = _alone(release_round(method, data, after=after))
            found.append(after)
    for part, array in found[0].parts.items():
        other = found[1].parts[part]
        assert np.array_equal(array, other) if isinstance(array, np.ndarray) else array.equals(other), part
