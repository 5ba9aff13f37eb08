"""Park and Acharya's two theorems about noise on outputs: five counterexamples, and what does hold.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report, University of Texas at Austin, 2011, section 3.2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.data import Interactions
from discreet.errors import PrivacyError, UsageError
from discreet.pairs import CoPurchaseCosine, PublishedCosine, PublishedSlopeOne, SlopeOne
from discreet.pairs.published_claims import (
    cosine_claim,
    exact_cosine_sensitivity,
    exact_slope_sensitivity,
    published_cosine_sensitivity,
    published_slope_sensitivity,
    slope_claim,
)
from discreet.privacy.guarantees import Standing
from discreet.privacy.units import Unit

# The paper's own setting: at least 20 ratings each, more than 10 common raters, ratings from 0 to 5.
LEAST, OVERLAP, SPAN = 20, 10, Fraction(5)
CLAIMED = 0.5
PRESENT, VALUE = Unit("record"), Unit("record", "value")
RATED = [f"k{n}" for n in range(LEAST)]

People = dict[str, dict[str, float]]


def padded(people: People, least: int = LEAST) -> People:
    """Everybody has ratings enough: of items that nobody else has heard of."""
    return {
        name: {**own, **{f"{name}-{n}": 0.0 for n in range(max(0, least - len(own)))}} for name, own in people.items()
    }


def fitted(people: People, overlap: int = OVERLAP) -> SlopeOne:
    rows = [(name, item, value) for name, own in people.items() for item, value in own.items()]
    return SlopeOne(minimum_overlap=overlap).fit(Interactions(rows, scale="0:5:none"))


def outputs(people: People, user: str, items: list[str], overlap: int = OVERLAP) -> np.ndarray:
    """f_ij as the mechanism computes them, before noise and clipping."""
    model = fitted(people, overlap)
    rows, _ = model._histories([user], None)
    return model.predicted(rows, np.zeros(len(items), dtype=np.int64), model.items_.encode(items))


def group(size: int, own: dict[str, float], name: str) -> People:
    return {f"{name}{n}": dict(own) for n in range(size)}


def change(before: People, after: People, items: list[str] | None = None) -> np.ndarray:
    """What one record more does to outputs of user i; both datasets have 20 ratings of everybody."""
    assert sum(map(len, after.values())) == sum(map(len, before.values())) + 1
    assert min(len(own) for dataset in (before, after) for own in dataset.values()) >= LEAST
    wanted = items or ["j"]
    return outputs(after, "i", wanted) - outputs(before, "i", wanted)


def with_one_more(people: People, user: str, item: str, value: float) -> People:
    return {**people, user: {**people[user], item: value}}


def test_the_claim_at_the_papers_setting() -> None:
    assert float(published_slope_sensitivity(LEAST, OVERLAP, SPAN)) == CLAIMED
    assert float(published_cosine_sensitivity(20)) == 0.1


# Theorem 3.1


def test_case_1_a_new_rating_of_ones_own() -> None:
    """Line (12) takes a mean difference for Δr/φ_m at most; it can be Δr."""
    before = padded(
        {
            "i": dict.fromkeys(RATED, 0.0),
            **group(11, {"j": 0.0, **dict.fromkeys(RATED, 5.0)}, "a"),
            **group(11, {"j": 5.0, "l": 0.0}, "b"),
        }
    )
    moved = abs(change(before, with_one_more(before, "i", "l", 5.0))[0])
    assert moved == pytest.approx(15 / 21)
    assert round(moved, 3) == 0.714
    assert moved > CLAIMED


def test_case_2a_somebody_elses_rating() -> None:
    """Differences of two ratings have a range of 2Δr, and all pairs of the item move at once."""
    before = padded(
        {
            "i": dict.fromkeys(RATED, 0.0),
            **group(11, {"j": 0.0, **dict.fromkeys(RATED, 5.0)}, "a"),
            "u": dict.fromkeys(RATED, 0.0),
        }
    )
    moved = abs(change(before, with_one_more(before, "u", "j", 5.0))[0])
    assert moved == pytest.approx(10 / 12)
    assert round(moved, 3) == 0.833


def crossing() -> tuple[People, People]:
    before = padded(
        {
            "i": dict.fromkeys(RATED, 0.0),
            **group(10, {"j": 5.0, **dict.fromkeys(RATED, 0.0)}, "a"),
            "u": dict.fromkeys(RATED, 0.0),
        }
    )
    return before, with_one_more(before, "u", "j", 5.0)


def test_case_2b_the_threshold_is_crossed_by_all_pairs_at_once() -> None:
    moved = change(*crossing())[0]
    assert moved == pytest.approx(5.0)
    assert moved / CLAIMED == pytest.approx(10.0)  # the loss, in ε


def test_what_an_auditor_sees_of_case_2b() -> None:
    """The rule "out > 2.5" at ε = 1, scale 0.5: right in 99.66 % of either dataset, where e^1 to 1 was guaranteed."""
    scale = float(published_slope_sensitivity(LEAST, OVERLAP, SPAN))
    hit, miss = 1 - math.exp(-2.5 / scale) / 2, math.exp(-2.5 / scale) / 2
    assert hit == pytest.approx(0.9966, abs=5e-5)
    assert miss == pytest.approx(0.0034, abs=5e-5)
    assert math.log(hit / miss) > 5.6


@pytest.mark.usefixtures("fixed_bits")
def test_the_models_draw_what_the_theorem_says() -> None:
    """Drawn outputs of case 2b, for many who rated what i did: both datasets are told apart nearly always."""
    seen = []
    for dataset in crossing():
        copies = {f"i{n}": dict(dataset["i"]) for n in range(300)}
        people = {**dataset, **copies}
        rows = [(name, item, value) for name, own in people.items() for item, value in own.items()]
        model = PublishedSlopeOne(epsilon=1, rating_range=5).fit(
            Interactions(rows, scale="0:5:none"), allow_refuted=True
        )
        histories, _ = model._histories(list(copies), None)
        drawn = model._score(histories)[:, model.items_.code("j")]
        seen.append(drawn)
        assert np.abs(drawn - np.median(drawn)).mean() == pytest.approx(0.5, rel=0.25)
    assert (seen[0] > 2.5).mean() < 0.03
    assert (seen[1] > 2.5).mean() > 0.97


def test_the_exact_sensitivity_is_the_whole_range() -> None:
    assert exact_slope_sensitivity(LEAST, OVERLAP, SPAN, PRESENT) == 5
    assert exact_slope_sensitivity(1, 1, SPAN, PRESENT) == Fraction(15, 2)  # 3Δr/(T + 1)
    with pytest.raises(UsageError, match="not known"):
        exact_slope_sensitivity(LEAST, OVERLAP, SPAN, Unit("user"))


# Where only values are secret, one output does hold


def random_dataset(rng: np.random.Generator, least: int) -> People:
    """Few items and extreme ratings: sums hit their bounds often."""
    items = ["j", "k0", "k1", "k2"]
    people: People = {"i": {item: float(rng.choice([0, 5])) for item in items[1 : 1 + least]}}
    for n in range(rng.integers(1, 5)):
        some = rng.choice(items, size=rng.integers(least, 5), replace=False)
        people[f"u{n}"] = {str(item): float(rng.choice([0, 5])) for item in some}
    people["last"] = dict.fromkeys(items, 0.0)  # so that j is known
    return people


@pytest.mark.parametrize(("least", "overlap"), [(1, 1), (2, 1), (3, 2), (2, 3)])
def test_another_value_moves_an_output_by_no_more_than_the_exact_bound(least: int, overlap: int) -> None:
    rng = np.random.default_rng(11)
    bound = float(exact_slope_sensitivity(least, overlap, SPAN, VALUE))
    assert bound <= published_slope_sensitivity(least, overlap, SPAN)
    for _ in range(60):
        people = random_dataset(rng, least)
        user = str(rng.choice(list(people)))
        item = str(rng.choice(list(people[user])))
        other = {**people, user: {**people[user], item: 5.0 - people[user][item]}}
        moved = outputs(other, "i", ["j"], overlap) - outputs(people, "i", ["j"], overlap)
        assert abs(moved[0]) <= bound + 1e-12


@pytest.mark.parametrize(("least", "overlap"), [(20, 10), (3, 10), (20, 2)])
def test_the_exact_bound_for_values_is_attained(least: int, overlap: int) -> None:
    rated = RATED[:least]
    people = padded(
        {"i": dict.fromkeys(rated, 0.0), **group(overlap + 1, {"j": 0.0, **dict.fromkeys(rated, 0.0)}, "a")}, least
    )
    changes = [
        {**people, "i": {**people["i"], "k0": 5.0}},  # one's own: Δr/T
        {**people, "a0": {**people["a0"], "j": 5.0}},  # of the item itself: Δr/(φ_m + 1)
    ]
    start = outputs(people, "i", ["j"], overlap)
    moved = max(abs(outputs(after, "i", ["j"], overlap) - start)[0] for after in changes)
    assert moved == pytest.approx(float(exact_slope_sensitivity(least, overlap, SPAN, VALUE)))


# Lists


def test_one_rating_moves_a_hundred_outputs() -> None:
    """Somebody who rated a hundred items rates one that i rated: every one of the hundred outputs moves."""
    wanted = [f"j{n}" for n in range(100)]
    before = padded(
        {
            "i": dict.fromkeys(RATED, 0.0),
            **group(10, {"k0": 0.0, **dict.fromkeys(wanted, 5.0)}, "a"),
            "u": dict.fromkeys(wanted, 5.0),
        }
    )
    moved = change(before, with_one_more(before, "u", "k0", 0.0), wanted)
    np.testing.assert_allclose(moved, 0.25)  # Δr/T each
    assert moved.sum() == pytest.approx(25.0)
    assert moved.sum() / CLAIMED == pytest.approx(50.0)  # ε, for a list that was guaranteed one


def test_the_cost_of_many_outputs_is_told() -> None:
    claim = slope_claim(Fraction(1), LEAST, OVERLAP, SPAN)
    told = claim.cost(100)
    assert told.claimed == 100
    assert told.present == 1000
    assert told.value == 100 * Fraction(10, 11)
    assert PublishedSlopeOne(epsilon=1, rating_range=5).cost(100) == told
    bought = PublishedCosine(epsilon="1/2").cost(10)
    assert bought == cosine_claim(Fraction(1, 2), 20).cost(10)
    assert bought.value is None
    assert float(bought.present) == pytest.approx(10 * 0.5 * 7.0711, rel=1e-4)
    with pytest.raises(UsageError, match="outputs"):
        claim.cost(0)


# Theorem 3.2


def estimate(people: dict[str, list[str]]) -> float:
    rows = [(name, item) for name, own in people.items() for item in own]
    items = sorted({"j", *(item for own in people.values() for item in own)})
    return float(CoPurchaseCosine().fit(Interactions(rows, items=items)).predict([("first", "j")])["score"][0])


@pytest.mark.parametrize("least", [1, 2, 5, 20, 100])
def test_another_purchase_of_the_estimated_item_was_forgotten(least: int) -> None:
    items = [f"k{n}" for n in range(least)]
    before = estimate({"first": items, "second": items})
    after = estimate({"first": items, "second": [*items, "j"]})
    assert (before, round(after, 4)) == (0.0, 0.7071)
    assert after == pytest.approx(exact_cosine_sensitivity())
    loss = after / float(published_cosine_sensitivity(least))
    if least in (20, 100):
        assert loss == pytest.approx({20: 7.07, 100: 35.4}[least], abs=0.05)
    assert (loss > 1) == (least > 2)


def test_the_exact_sensitivity_of_an_estimate() -> None:
    """The largest change by another's purchase of j, over common buyers a, buyers A ≥ a + 2 of k and b ≥ a of j."""
    a, more, b = np.meshgrid(np.arange(30), np.arange(30), np.arange(60), indexing="ij")
    buyers = a + 2 + more
    before = np.where(b > 0, a / np.sqrt(buyers * np.maximum(b, 1)), 0.0)
    moved = np.where(b >= a, (a + 1) / np.sqrt(buyers * (b + 1)) - before, 0.0)
    assert moved.max() == pytest.approx(exact_cosine_sensitivity())
    assert np.unravel_index(moved.argmax(), moved.shape) == (0, 0, 0)


@pytest.mark.parametrize("least", [1, 4])
def test_ones_own_purchase_is_within_the_claim(least: int) -> None:
    items = [f"k{n}" for n in range(least)]
    others = {f"u{n}": ["l", "j"] for n in range(400)}
    moved = estimate({"first": [*items, "l"], **others}) - estimate({"first": items, **others})
    assert 0.99 / (least + 1) < moved <= 1 / (least + 1)


# The guarantees say so


@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        (PublishedSlopeOne(epsilon=1, rating_range=5), ["5.0, not 0.5", "10·ε", "ε = 10"]),
        (PublishedCosine(epsilon=1), ["0.7071", "7.07·ε", "test_slope_one"]),
    ],
)
def test_the_guarantee_is_refuted_and_names_the_counterexample(model, numbers: list[str]) -> None:
    guarantee = model._claimed()
    assert guarantee.standing is Standing.REFUTED
    assert guarantee.unit == PRESENT
    for number in numbers:
        assert number in guarantee.basis
    data = Interactions([("a", "x", 1), ("b", "x", 2)], scale="0:5")
    with pytest.raises(PrivacyError, match="refuted"):
        model.fit(data)


def test_where_one_output_holds_the_model_is_still_refuted() -> None:
    """With φ_m = 1 (or T = 2) the noise is enough for one output; on one charge there is no end of them."""
    for guarantee in (
        PublishedSlopeOne(epsilon=1, minimum_overlap=1, rating_range=5)._claimed(),
        PublishedCosine(epsilon=1, least_ratings=2)._claimed(),
    ):
        assert guarantee.standing is Standing.REFUTED
        assert guarantee.basis.startswith("every output")
