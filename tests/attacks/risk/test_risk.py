"""Risk and utility of epsilon: limits, curves, questions, and reports of real models."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.attacks.engine.bounds import band, share
from discreet.attacks.risk import (
    RiskCurve,
    RiskPoint,
    limit_of,
    risk_report,
    success_limit,
)
from discreet.attacks.risk.measuring import AVERAGING, ONE_ANSWER, kept_shares
from discreet.attacks.risk.report import risk_chart
from discreet.data import Interactions, synthetic
from discreet.errors import UsageError
from discreet.pairs import PrivateSlopeOne, PublishedCosine, PublishedSlopeOne, SlopeOne
from discreet.privacy import Guarantee, Standing, Unit
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=150, items=60, seed=7)


# Limits


def randomized_response(epsilon: float, values: int) -> np.ndarray:
    """P(output | secret): the truth with probability e^ε/(e^ε + V − 1), each other value with 1/(e^ε + V − 1)."""
    table = np.ones((values, values)) + np.eye(values) * (math.exp(epsilon) - 1)
    return table / table.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("values", [2, 3, 5])
@pytest.mark.parametrize("epsilon", ["1/4", 1, 3])
def test_the_pure_limit_is_attained(values: int, epsilon: str | int) -> None:
    """By randomized response: the best guess of all is right as often as the limit says."""
    law = randomized_response(float(Fraction(epsilon)), values)
    best = max(
        np.mean([law[secret, [o for o in range(values) if guess[o] == secret]].sum() for secret in range(values)])
        for guess in product(range(values), repeat=values)
    )
    assert best == pytest.approx(success_limit(Pure(Fraction(epsilon)), values))


def test_the_gaussian_limit_is_attained_by_two_values() -> None:
    mu = 1.0
    best = 0.5 * (1 + math.erf(mu / 2 / math.sqrt(2)))
    assert success_limit(GaussianLoss(Fraction(1)), 2) == pytest.approx(best, abs=1e-9)


def test_limits_grow_and_stay_above_chance() -> None:
    for make in (Pure, lambda e: Approximate(e, Fraction(1, 10**6)), GaussianLoss, Concentrated):
        for absent in (False, True):
            limits = [success_limit(make(Fraction(e)), 5, absent=absent) for e in ("1/1000", "1/2", 2, 40)]
            assert limits == sorted(limits)
            assert limits[0] >= 0.2
            assert limits[-1] <= 1
    assert success_limit(Approximate(Fraction(0), Fraction(1, 100)), 5) == pytest.approx(0.2 + 0.8 * 0.01)
    with pytest.raises(UsageError, match="1 possible"):
        success_limit(Pure(Fraction(1)), 1)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_limit_where_a_secret_can_be_absent_holds(epsilon: float) -> None:
    """A mechanism that is ε-private against removal: all rows within e^ε of a uniform one."""
    values = 4
    raised = math.exp(epsilon) / values
    law = np.full((values, values), (1 - raised) / (values - 1))
    np.fill_diagonal(law, raised)
    assert np.abs(np.log(law * values)).max() <= epsilon + 1e-9
    best = float(np.mean(np.diag(law)))
    assert best == pytest.approx(success_limit(Pure(Fraction(epsilon)), values, absent=True))


def guarantee(unit: str, loss: Loss, standing: Standing = Standing.PROVED) -> Guarantee:
    return Guarantee(loss, Unit.of(unit), standing, "a theorem", "something")


def test_what_a_guarantee_leaves() -> None:
    one = Pure(Fraction(1, 2))
    direct, lifted = success_limit(one, 5), success_limit(one, 5, absent=True)
    assert direct < lifted
    for unit, secret, expected in (
        ("user/replace", "rating", direct),
        ("record/value", "rating", direct),
        ("user", "rating", lifted),
        ("user", "record", lifted),
        ("record", "rating", lifted),
        ("record", "record", direct),
        ("record/value", "record", None),
        ("score/value", "rating", None),
        ("score/value", "record", None),
    ):
        assert limit_of(guarantee(unit, one), secret=secret, values=5) == expected  # type: ignore[arg-type]
    assert limit_of(guarantee("user", one, Standing.REFUTED), secret="rating", values=5) is None
    assert limit_of(None, secret="rating", values=5) is None


# Curves


def curve(rows: Sequence[tuple[float, float, float]], *, half: float = 0.0, chance: float = 0.0) -> RiskCurve:
    points = [RiskPoint(e, u, u - half, u + half, r, r - half, r + half) for e, u, r in rows]
    return RiskCurve("who knows", chance, tuple(points))


CONVEX = [(1.0, 0.1, 0.01), (2.0, 0.4, 0.03), (5.0, 0.7, 0.1), (10.0, 0.85, 0.3), (50.0, 0.97, 0.8)]


def test_the_operating_point_moves_with_the_weights() -> None:
    found = [curve(CONVEX).operating_point(value_of_utility=1, cost_of_risk=c) for c in (0, 1, 3, 12, 1000)]
    assert [point.epsilon for point in found] == [50, 5, 5, 2, 1]
    assert [point.edge for point in found] == ["highest", None, None, None, "lowest"]
    assert all(point.unique and point.convex for point in found)
    assert found[2].gain == pytest.approx(0.7 - 0.3)
    assert "no other such point" in found[2].words()
    assert "better not released" in found[4].words()
    assert "less noise always pays" in found[0].words()


def test_two_stretches_that_are_as_good_are_said() -> None:
    bumpy = curve([(1, 0.3, 0.0), (2, 0.4, 0.4), (4, 0.9, 0.6), (8, 0.95, 0.95)], half=0.001)
    point = bumpy.operating_point(value_of_utility=1, cost_of_risk=1)
    assert (point.epsilon, point.rivals, point.unique, point.convex) in (
        (1, ((4.0, 4.0),), False, False),
        (4, ((1.0, 1.0),), False, False),
    )
    assert "not the only one" in point.words()
    assert not bumpy.is_convex()
    height, where = bumpy.bulge()
    assert where == 2
    assert height == pytest.approx(0.4 - 0.1)


def test_bands_forgive_small_bulges() -> None:
    nearly = [(1, 0.1, 0.01), (2, 0.4, 0.115), (5, 0.7, 0.2)]
    assert not curve(nearly).is_convex()
    assert curve(nearly, half=0.01).is_convex()
    assert curve(CONVEX).is_convex()
    assert curve(CONVEX).bulge()[0] == 0


def test_neighbors_within_the_bands_are_as_good() -> None:
    flat = curve([(1, 0.2, 0.1), (2, 0.5, 0.2), (4, 0.52, 0.21), (8, 0.6, 0.6)], half=0.02)
    point = flat.operating_point(value_of_utility=1, cost_of_risk=1)
    assert point.as_good == (2, 4)
    assert "From 2 to 4" in point.words()


def test_which_epsilon_keeps_the_risk_below() -> None:
    found = curve(CONVEX).keeps_below(0.1)
    assert (found.epsilon, found.all_tried) == (5, False)
    between = curve(CONVEX).keeps_below(0.2).epsilon
    assert between is not None
    assert 5 < between < 10
    assert curve(CONVEX).at(between).risk <= 0.2
    assert curve(CONVEX).keeps_below(0.001).epsilon is None
    assert "No ε that was tried" in curve(CONVEX).keeps_below(0.001).words()
    assert curve(CONVEX).keeps_below(0.9).all_tried
    # With a band it takes more noise.
    careful = curve(CONVEX, half=0.05).keeps_below(0.1).epsilon
    assert careful is not None
    assert careful < 5
    for level in (0.0, 1.0):
        with pytest.raises(UsageError, match="no question"):
            curve(CONVEX).keeps_below(level)


def test_below_chance_nobody_is_kept() -> None:
    shifted = curve([(e, u, 0.2 + 0.8 * r) for e, u, r in CONVEX], chance=0.2)
    found = shifted.keeps_below(0.05)
    assert found.epsilon is None
    assert found.above_chance is not None
    assert shifted.at(found.above_chance).risk <= 0.25
    assert "a blind guess is right in 20.0%" in found.words()
    point = shifted.operating_point(value_of_utility=1, cost_of_risk=3)
    assert point.gain == pytest.approx(0.7 - 3 * 0.08)


def test_between_the_points() -> None:
    place = curve(CONVEX).at(math.sqrt(2))
    assert place.utility == pytest.approx(0.25)
    assert place.limit is None
    with pytest.raises(UsageError, match="outside of what was tried"):
        curve(CONVEX).at(0.5)


def test_limits_count_where_they_are_proved() -> None:
    points = [RiskPoint(e, u, u, u, 0.2, 0.1, 0.3, limit=r) for e, u, r in CONVEX]
    proved = RiskCurve("who knows", 0.0, tuple(points))
    assert proved.operating_point(value_of_utility=1, cost_of_risk=3).by == "limit"
    assert proved.operating_point(value_of_utility=1, cost_of_risk=3, by="risk").epsilon == 50
    assert proved.keeps_below(0.1).epsilon == 5
    assert proved.at(5).limit == pytest.approx(0.1)
    assert "no attacker" in proved.at(5).words()
    with pytest.raises(UsageError, match="no limit is proved"):
        curve(CONVEX).operating_point(value_of_utility=1, cost_of_risk=1, by="limit")


def test_wrong_curves_and_weights() -> None:
    for rows in (CONVEX[:1], CONVEX[::-1]):
        with pytest.raises(UsageError, match="rising epsilon"):
            curve(rows)
    for value, cost, words in ((-1, 1, "value_of_utility"), (1, math.inf, "cost_of_risk"), (0, 0, "both weights")):
        with pytest.raises(UsageError, match=words):
            curve(CONVEX).operating_point(value_of_utility=value, cost_of_risk=cost)


def test_bands() -> None:
    assert band(np.array([0.3]), 0.95) == (0.3, 0.3, 0.3)
    wide, narrow = band(np.array([0.0, 1.0] * 10), 0.99), band(np.array([0.0, 1.0] * 10), 0.5)
    assert wide.high - wide.low > narrow.high - narrow.low
    assert share(0, 10, 0.95).low == 0
    assert share(0, 10, 0.95).high == pytest.approx(1 - 0.025**0.1)


# Utility


def test_what_a_list_keeps() -> None:
    """Two items, one of them listed: it stays unless the difference of two Laplace draws exceeds the gap."""
    gap, noise = 1.0, 0.7
    kept = kept_shares(np.array([[1.0, 0.0, -np.inf]]), [noise], length=1, seed=3, rounds=20_000).item()
    x = gap / noise
    assert kept == pytest.approx(1 - (2 + x) * math.exp(-x) / 4, abs=0.02)


def test_short_lists_are_kept_whole() -> None:
    kept = kept_shares(np.array([[1.0, 0.0, -np.inf], [-np.inf] * 3]), [5.0], length=3, seed=0)
    assert kept[0, 0] == 1


# Reports


def test_noise_on_answers(films: Interactions) -> None:
    model = PublishedSlopeOne(1, least_ratings=8, minimum_overlap=3)
    report = risk_report(model, films, epsilons=[0.01, 1, 10, 100, 10_000], length=10)
    averaging, published = report.curves
    assert (averaging.attacker, published.attacker) == (AVERAGING, ONE_ANSWER)
    assert (averaging.chance, published.chance) == (0.2, 0.0)
    for each in report.curves:
        assert (np.diff(each.column("utility")) >= 0).all()
        assert (np.diff(each.column("risk")) >= 0).all()
        assert each.points[-1].risk > 0.99
        assert not each.proved
    assert averaging.points[0].risk == pytest.approx(0.2, abs=0.01)
    assert published.points[0].risk < 0.01
    assert all(a.risk > p.risk for a, p in zip(averaging.points, published.points, strict=True) if a.epsilon < 1000)
    json.dumps(report.to_json())
    assert report.standing == "refuted"
    chart = risk_chart(report, (published.operating_point(value_of_utility=1, cost_of_risk=3),)).to_dict()
    assert len(chart["hconcat"]) == 2


def test_the_utility_is_that_of_the_model_itself(films: Interactions, fixed_bits: Callable[[int], None]) -> None:
    """Lists of PublishedSlopeOne, whose noise is drawn exactly, keep what the report says."""
    settings = {"least_ratings": 8, "minimum_overlap": 3}
    report = risk_report(PublishedSlopeOne(1, **settings), films, epsilons=[5, 1000], length=10)
    plain = SlopeOne(minimum_overlap=3).fit(films)
    people = films.users.take(np.flatnonzero(films.records_per_user >= 8).astype(np.int32)).to_list()
    noisy = PublishedSlopeOne(epsilon=5, **settings).fit(films, allow_refuted=True)
    kept = []
    for person in people:
        lists = [set(model.recommend([person], n=10)["item_id"]) for model in (plain, noisy)]
        kept.append(len(lists[0] & lists[1]) / len(lists[0]))
    point = report.curve.points[0]
    spread = 2.5 * (point.utility_high - point.utility_low) / 2
    assert np.mean(kept) == pytest.approx(point.utility, abs=2 * spread)


def test_noise_on_purchases(films: Interactions) -> None:
    report = risk_report(PublishedCosine(1, least_ratings=8), films, epsilons=[0.01, 10, 10_000], users=60)
    assert report.secret == "record"
    for each in report.curves:
        assert each.chance == 0.5
        assert each.points[0].risk == pytest.approx(0.5, abs=0.05)
        assert each.points[-1].risk > 0.99


def test_any_model_with_an_epsilon(films: Interactions, fixed_bits: Callable[[int], None]) -> None:
    told: list[float] = []
    report = risk_report(
        PrivateSlopeOne(1, delta="1e-6"),
        films,
        epsilons=[1, 10**6],
        users=40,
        targets=5,
        fits=2,
        length=10,
        progress=lambda done, what: told.append(done),
    )
    assert (report.secret, report.standing) == ("rating", "proved")
    low, high = report.curve.points
    assert low.limit == pytest.approx(0.2726, abs=1e-3)
    assert low.risk_low <= 0.2727
    assert high.risk == 1
    assert high.utility > 0.9 > low.utility
    assert told == sorted(told)
    assert told[-1] == 1


def test_models_without_an_epsilon_have_none_to_choose(films: Interactions) -> None:
    with pytest.raises(UsageError, match="no epsilon to choose"):
        risk_report(SlopeOne(), films)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilons": [1]}, "two epsilons"),
        ({"epsilons": [0, 1]}, "above 0"),
        ({"length": 0}, "length must be"),
        ({"users": 0}, "users must be"),
        ({"targets": True}, "targets must be"),
        ({"seed": -1}, "seed must be"),
        ({"confidence": 1}, "confidence must be"),
    ],
)
def test_wrong_use(films: Interactions, settings: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        risk_report(PublishedSlopeOne(1, least_ratings=5), films, **settings)


def test_nobody_has_enough_ratings(films: Interactions) -> None:
    with pytest.raises(UsageError, match="Lower least_ratings"):
        risk_report(PublishedSlopeOne(1, least_ratings=1000), films)
