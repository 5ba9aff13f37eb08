"""Sums over pairs: stated bounds against all histories at extreme points, laws over all tiny neighboring datasets, and
broken mechanisms that must not pass.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.data import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.models import heads
from discreet.models import item_gram as gram_file
from discreet.models.item_gram import item_gram
from discreet.models.item_statistics import Norm
from discreet.pairs.difference_sums import (
    PairBounds,
    WeighedPairs,
    difference_sums,
    empty_sums,
    pair_bounds,
    pair_weights,
    rating_steps,
)
from discreet.pairs.private_cosine import _purchases, _unrated
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.gram import BoundedGram
from discreet.privacy.mechanisms import LaplaceMechanism, NormalMechanism
from discreet.privacy.units import Unit
from discreet.testing.laws import additive_log_ratio

USER, RECORD, VALUE = Unit("user"), Unit("record"), Unit("record", "value")
UNITS = [USER, RECORD, VALUE]

# A rating for each item, or None.
History = tuple[int | None, ...]
Dataset = tuple[History, ...]


# The bounds of a list of weights, by trying everything


def contribution(history: History, weights: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """What one user adds, pair by pair."""
    n = sum(rating is not None for rating in history)
    differences, counts = [], []
    for one, two in itertools.combinations(history, 2):
        both = one is not None and two is not None
        differences.append(weights[n - 1] * (one - two) if both else 0)  # type: ignore[operator]
        counts.append(weights[n - 1] if both else 0)
    return np.array(differences, dtype=object), np.array(counts, dtype=object)


def steps_of(unit: Unit, items: int, span: int) -> Iterator[tuple[History, History]]:
    """All histories of one user at the ends of the scale, and everything that is one step from them."""
    for history in itertools.product((None, 0, span), repeat=items):
        if unit == USER:
            yield (None,) * items, history
            continue
        for place, rating in itertools.product(range(items), (0, span)):
            changed = (*history[:place], rating, *history[place + 1 :])
            if (history[place] is None) == (unit == RECORD):
                yield history, changed


def worst(weights: list[int], unit: Unit, span: int) -> PairBounds:
    most = [0, 0, 0, 0]
    for before, after in steps_of(unit, len(weights), span):
        moved = [b - a for a, b in zip(contribution(before, weights), contribution(after, weights), strict=True)]
        norms = [norm for part in moved for norm in (int(np.abs(part).sum()), int((part**2).sum()))]
        most = [max(pair) for pair in zip(most, norms, strict=True)]
    return PairBounds(*most)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "weights", [[7, 5, 5, 1], [12, 6, 4, 3], [9, 9, 9, 9], [5, 20, 6, 3], [1, 1, 30, 2], [64, 45, 36, 32]], ids=str
)
def test_bounds_are_the_exact_maxima(weights: list[int], unit: Unit) -> None:
    assert pair_bounds(weights, unit=unit, span=4) == worst(weights, unit, 4)


def test_ratings_inside_the_scale_move_less() -> None:
    """The sums are convex in each rating: what is true of the ends is true between them."""
    weights = [12, 6, 4, 3]
    bounds = pair_bounds(weights, unit=USER, span=4)
    for history in itertools.product((0, 1, 2, 3, 4), repeat=4):
        differences, _ = contribution(history, weights)
        assert np.abs(differences).sum() <= bounds.differences_l1
        assert (differences**2).sum() <= bounds.differences_l2


def test_other_units_are_refused() -> None:
    with pytest.raises(UsageError, match="not bounded"):
        pair_bounds([1], unit=Unit("user", "replace"), span=4)


# What they come to: the table of the proofs


def limit(unit: Unit, norm: Norm, most: int = 2000) -> tuple[float, float]:
    """Sensitivities of differences, in widths of the scale, and of counts, in weights of 1."""
    weights, one = pair_weights(most, unit=unit, norm=norm)
    found = pair_bounds(weights, unit=unit, span=1)
    if norm == 1:
        return found.differences_l1 / one, found.counts_l1 / one
    return math.sqrt(found.differences_l2) / one, math.sqrt(found.counts_l2) / one


@pytest.mark.parametrize(
    ("unit", "norm", "differences", "counts"),
    [
        (USER, 2, 1 / 2, math.sqrt(1 / 2)),
        (USER, 1, 1.0, 1.0),
        (RECORD, 2, 1.0, 1.0),
        (RECORD, 1, 1.0, 3 / 2),
        (VALUE, 2, 1.0, 0.0),
        (VALUE, 1, 1.0, 0.0),
    ],
)
def test_bounds_do_not_grow_with_histories(unit: Unit, norm: Norm, differences: float, counts: float) -> None:
    found = limit(unit, norm)
    assert found[0] == pytest.approx(differences, rel=6e-3)
    assert found[1] == pytest.approx(counts, rel=6e-3)


@pytest.mark.parametrize("cap", [2, 5, 10])
def test_equal_weights_under_a_cap(cap: int) -> None:
    half, pairs = cap * cap // 4, cap * (cap - 1) // 2
    assert pair_bounds([1] * cap, unit=USER, span=4) == PairBounds(4 * half, 16 * half, pairs, pairs)
    most = cap - 1
    assert pair_bounds([1] * cap, unit=RECORD, span=4) == PairBounds(4 * most, 16 * most, most, most)
    assert pair_bounds([1] * cap, unit=VALUE, span=4) == PairBounds(4 * most, 16 * most, 0, 0)


def test_weights_of_one_over_n_for_one_record() -> None:
    """Δr/2 and 1/2, as for users: attained by somebody's second record."""
    one = 2**20
    found = pair_bounds([one // n for n in range(1, 500)], unit=RECORD, span=1)
    assert math.sqrt(found.differences_l2) / one == pytest.approx(1 / 2)
    assert math.sqrt(found.counts_l2) / one == pytest.approx(1 / 2)


# The sums as they are computed


ITEMS = list("abc")


def dataset(people: Dataset) -> Interactions:
    rows = [
        (f"u{n}", ITEMS[place], rating)
        for n, person in enumerate(people)
        for place, rating in enumerate(person)
        if rating is not None
    ]
    whole = Interactions(rows or [("nobody", "a", 3)], items=ITEMS, scale="1:5")
    return whole if rows else whole.emptied()


def pairs_of_datasets(unit: Unit) -> Iterator[tuple[Dataset, Dataset]]:
    """Datasets of two users with ratings at the ends of the scale, and every dataset one step away."""
    histories = list(itertools.product((None, 1, 5), repeat=len(ITEMS)))
    some = [histories[0], histories[-1], histories[13]]
    for other in some:
        for before, after in steps_of(unit, len(ITEMS), 4):
            one, two = (tuple(None if r is None else r + 1 for r in history) for history in (before, after))
            yield (other, one), (other, two)


@cache
def sums_of(people: Dataset, unit: Unit, norm: Norm) -> WeighedPairs:
    return difference_sums(dataset(people), np.arange(3, dtype=np.int32), unit=unit, norm=norm)


def moved(people: tuple[Dataset, Dataset], unit: Unit, norm: Norm) -> tuple[np.ndarray, np.ndarray]:
    one, two = (sums_of(dataset, unit, norm) for dataset in people)
    parts = ((one.differences, two.differences), (one.counts, two.counts))
    return tuple((b.values - a.values).astype(object) for a, b in parts)  # type: ignore[return-value]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("unit", UNITS)
def test_sums_move_as_the_bounds_say(unit: Unit, norm: Norm) -> None:
    weights, _ = pair_weights(3, unit=unit, norm=norm)
    bounds = pair_bounds(weights, unit=unit, span=4)
    most = [0, 0, 0, 0]
    for people in pairs_of_datasets(unit):
        parts = moved(people, unit, norm)
        norms = [norm for part in parts for norm in (int(np.abs(part).sum()), int((part**2).sum()))]
        most = [max(pair) for pair in zip(most, norms, strict=True)]
    assert PairBounds(*most) == bounds


@pytest.mark.parametrize("unit", UNITS)
def test_stated_sensitivities_are_the_bounds(unit: Unit) -> None:
    """Where a value is exchanged, sums count one contribution out and one in; what is stated is the change."""
    for norm in (1, 2):
        weights, _ = pair_weights(40, unit=unit, norm=norm)
        bounds = pair_bounds(weights, unit=unit, span=4)
        stated = empty_sums(RatingScale.of("1:5"), 40, unit=unit, norm=norm)
        assert stated.differences.l1_sensitivity == bounds.differences_l1
        assert stated.differences.l2_sensitivity_squared == bounds.differences_l2
        assert stated.counts.l1_sensitivity == bounds.counts_l1
        assert stated.counts.unit == unit


@pytest.mark.parametrize("scale", ["0.5:5:0.5", "1:5:none", "0:1"])
def test_steps_are_public_and_cover_the_scale(scale: str) -> None:
    public = RatingScale.of(scale)
    span, step = rating_steps(public)
    assert span * step == public.width
    ends = [float(public.low), float(public.high)]
    data = Interactions([("u", 0, ends[0]), ("u", 1, ends[1])], items=range(2), scale=public)
    found = difference_sums(data, np.arange(2, dtype=np.int32), unit=USER, norm=2)
    weights, _ = pair_weights(2, unit=USER, norm=2)
    assert found.differences.values.tolist() == [-weights[1] * span]


def test_nobodys_numbers_depend_on_others() -> None:
    rng = np.random.default_rng(2)
    head = np.array([0, 2, 3, 5], dtype=np.int32)

    def rows(name: str, items: list[int]) -> list[tuple[str, int, int]]:
        return [(name, item, int(1 + (item * 7 + len(name)) % 5)) for item in items]

    crowd = [row for n in range(30) for row in rows(f"u{n}", sorted(rng.choice(6, 4, replace=False).tolist()))]
    own = rows("person", [0, 1, 3, 5])

    def sums(part: list) -> WeighedPairs:
        return difference_sums(Interactions(part, items=range(6), scale="1:5"), head, unit=USER, norm=2)

    alone, without, together = sums(own), sums(crowd), sums([*crowd, *own])
    for name in ("differences", "counts"):
        values = [getattr(found, name).values for found in (alone, without, together)]
        np.testing.assert_array_equal(values[2] - values[1], values[0])


# Laws of the releases, over all tiny datasets


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same code on grids on which whole laws can be written down."""
    monkeypatch.setattr(gram_file, "WEIGHT_BITS", 3)
    monkeypatch.setattr(gram_file, "FINE_WEIGHT_BITS", 4)
    sums_of.cache_clear()
    yield
    sums_of.cache_clear()


def worst_log_ratio(unit: Unit, epsilon: Fraction, *, stated: Unit | None = None) -> float:
    """Both releases with half of ε each; ``stated`` is the unit that a wrong mechanism believes in."""
    mechanism = LaplaceMechanism(epsilon / 2)
    found = 0.0
    for people in pairs_of_datasets(unit):
        one, two = (sums_of(dataset, stated or unit, 1) for dataset in people)
        total = additive_log_ratio(mechanism, one.differences, two.differences)
        if (one.counts.values != two.counts.values).any():
            total += additive_log_ratio(mechanism, one.counts, two.counts)
        found = max(found, total)
    return found


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize(
    ("unit", "less", "holds"),
    [
        (USER, Fraction(1), True),
        (USER, Fraction(9, 10), False),
        (RECORD, Fraction(1), True),
        (RECORD, Fraction(9, 10), False),
    ],
)
def test_pure_releases_keep_their_budget_in_all_tiny_datasets(unit: Unit, less: Fraction, holds: bool) -> None:
    found = worst_log_ratio(unit, 1 / less)
    assert (found <= 1 + 1e-9) == holds


@pytest.mark.usefixtures("coarse")
def test_for_values_differences_have_the_whole_budget() -> None:
    """Counts do not move at all, so that they are released as they are."""
    whole = [worst_log_ratio(VALUE, 2 / less) for less in (Fraction(1), Fraction(9, 10))]
    assert whole[0] <= 1 + 1e-9 < whole[1]


@pytest.mark.usefixtures("coarse")
def test_sums_for_users_are_not_good_enough_for_ratings() -> None:
    """The wrong mechanism: weights and bounds of users, with one rating as the unit."""
    assert worst_log_ratio(RECORD, Fraction(1), stated=USER) > 1.05


def worst_mu_squared(unit: Unit, mu_squared: Fraction) -> float:
    """Squared shifts in units of the noise: μ² of two normal laws, which add up over coordinates."""
    mechanism = NormalMechanism(mu_squared / 2)
    found = Fraction(0)
    for people in pairs_of_datasets(unit):
        total = Fraction(0)
        one = sums_of(people[0], unit, 2)
        for part, sums in zip(moved(people, unit, 2), (one.differences, one.counts), strict=True):
            total += int((part**2).sum()) / mechanism.parameter(sums) ** 2
        found = max(found, total)
    return float(found)


@pytest.mark.parametrize("unit", [USER, RECORD])
def test_normal_releases_keep_their_budget_in_all_tiny_datasets(unit: Unit) -> None:
    mu_squared = Fraction(1, 4)
    assert 0.9 * mu_squared < worst_mu_squared(unit, mu_squared) <= mu_squared
    assert worst_mu_squared(unit, mu_squared * Fraction(100, 81)) > mu_squared


# The first release where only values are secret


@pytest.mark.parametrize("norm", [1, 2])
def test_item_statistics_for_values(norm: Norm) -> None:
    budget = Budget(1, 0 if norm == 1 else "1e-6", VALUE)

    def prepared(people: Dataset) -> BoundedSums:
        data = dataset(people)
        return heads.HeadChoice.of(None, data, budget, Fraction(1, 2)).statistics(data)

    stated, most = prepared(((1, 5, None),)), 0
    for one, two in pairs_of_datasets(VALUE):
        shift = np.abs(prepared(two).values - prepared(one).values).astype(object)
        assert shift.sum() <= stated.l1_sensitivity
        assert (shift**2).sum() <= stated.l2_sensitivity_squared
        most = max(most, int(shift.sum()))
    assert most == stated.l1_sensitivity


# Common buyers


@cache
def buyers_of(people: Dataset, unit: Unit) -> BoundedGram:
    return item_gram(_purchases(dataset(people)), _unrated(3), np.arange(3, dtype=np.int32), unit=unit, norm=2)


def worst_of_buyers(unit: Unit, mu_squared: Fraction, used: Fraction) -> float:
    """μ² of one step, diagonal and the rest with their own noise."""
    mechanism = NormalMechanism(used)
    found = Fraction(0)
    gram = buyers_of(((5, 5, 5),), unit)
    on, off = mechanism.parameter(gram), mechanism.parameter(gram, off_diagonal=True)
    for one, two in pairs_of_datasets(unit):
        shift = np.triu(buyers_of(two, unit).matrices[0] - buyers_of(one, unit).matrices[0]).astype(object)
        diagonal = int((np.diag(shift) ** 2).sum())
        found = max(found, diagonal / on**2 + (int((shift**2).sum()) - diagonal) / off**2)
    return float(found / mu_squared)


@pytest.mark.parametrize("unit", [USER, RECORD])
def test_common_buyers_keep_their_budget_in_all_tiny_datasets(unit: Unit) -> None:
    mu_squared = Fraction(1, 4)
    assert 0.9 < worst_of_buyers(unit, mu_squared, mu_squared) <= 1
    assert worst_of_buyers(unit, mu_squared, mu_squared * Fraction(100, 81)) > 1


def test_what_was_rated_does_not_matter_for_buyers() -> None:
    one, two = (dataset(((1, None, 5), (5, 1, 1))), dataset(((5, None, 1), (1, 1, 5))))
    grams = [
        item_gram(_purchases(data), _unrated(3), np.arange(3, dtype=np.int32), unit=USER, norm=2).matrices
        for data in (one, two)
    ]
    assert len(grams[0]) == 1
    np.testing.assert_array_equal(grams[0][0], grams[1][0])


def test_a_bound_that_is_too_small_is_caught() -> None:
    """With half of the bound on counts, somebody with two items costs twice the budget."""
    sums = sums_of(((1, 5, 1),), USER, 1)
    twin = replace(sums.counts, l1=sums.counts.l1 / 2)
    before, after = sums_of(((None, None, None),), USER, 1), sums_of(((5, 1, None),), USER, 1)
    mechanism = LaplaceMechanism(Fraction(1))
    shift = int(np.abs(after.counts.values - before.counts.values).sum())
    assert shift / mechanism.parameter(sums.counts) <= 1
    assert shift / mechanism.parameter(twin) > 1
