"""Gram releases for one rating, and pure ε for both units: every tiny dataset against every neighbor, long histories at
their extreme points, and broken mechanisms that must not pass.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.data import Interactions
from discreet.errors import UsageError
from discreet.models import item_gram as gram_file
from discreet.models import item_statistics as statistics_file
from discreet.models.item_gram import item_gram
from discreet.models.item_statistics import ItemStatistics, Norm, item_statistics_sums
from discreet.privacy import draws
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram
from discreet.privacy.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from discreet.privacy.units import Unit
from discreet.testing.laws import additive_log_ratio, additive_renyi

ITEMS = list("abc")
USER, RATING = Unit("user"), Unit("record")
UNITS = [USER, RATING]

# A rating for each item, or None.
History = tuple[int | None, ...]
Dataset = tuple[History, ...]


def dataset(people: Dataset) -> Interactions:
    rows = [
        (f"u{n}", ITEMS[place], rating)
        for n, person in enumerate(people)
        for place, rating in enumerate(person)
        if rating is not None
    ]
    # Without records there is still a catalog and a scale.
    whole = Interactions(rows or [("nobody", "a", 3)], items=ITEMS, scale="1:5")
    return whole if rows else whole.emptied()


def pairs(unit: Unit) -> Iterator[tuple[Dataset, Dataset]]:
    """Datasets with ratings at the ends of the scale, and every one step more.

    For ratings: of up to two users, all of them. What a user adds does not depend on others, so few of these will do.
    """
    histories = list(itertools.product((None, 1, 5), repeat=len(ITEMS)))
    if unit == USER:
        yield from (((some,), (some, more)) for some in histories[-4:] for more in histories)
        return
    for people in itertools.combinations_with_replacement(histories, 2):
        person = people[-1]
        for place, rating in itertools.product(range(len(ITEMS)), (1, 5)):
            if person[place] is None:
                yield people, (*people[:-1], (*person[:place], rating, *person[place + 1 :]))


def middle(n_items: int) -> ItemStatistics:
    """A first release that leaves ratings at the ends of the scale at −1 and 1."""
    return ItemStatistics(np.ones(n_items), np.zeros(n_items), 10.0, 3.0, 1.0, 5.0)


def difference(one: BoundedGram, two: BoundedGram) -> list[np.ndarray]:
    """What a step changed, as whole symmetric matrices of Python integers."""
    upper = [np.triu(b - a).astype(object) for a, b in zip(one.matrices, two.matrices, strict=True)]
    return [matrix + np.triu(matrix, 1).T for matrix in upper]


# Long histories: what one step more can change


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("unit", UNITS)
def test_stated_bounds_hold_and_are_attained_for_histories_of_up_to_thirty(unit: Unit, norm: Norm) -> None:
    """One rating more after n others, n from 0 to 30, or a user of n items; ratings at extreme points."""
    n_items = 31
    rng = np.random.default_rng(3)
    worst = 0.0
    for n in range(n_items):
        for signs in (np.full(n_items, 5), np.where(np.arange(n_items) % 2, 1, 5), rng.choice([1, 5], n_items)):
            rows = [("u", item, int(signs[item])) for item in range(n + 1)]
            grams = [
                item_gram(
                    Interactions([("other", 0, 5), *part], items=range(n_items), scale="1:5"),
                    middle(n_items),
                    np.arange(n_items, dtype=np.int32),
                    unit=unit,
                    norm=norm,
                )
                for part in (rows[:n] if unit == RATING else [], rows)
            ]
            changed = difference(*grams)
            bound = grams[0]
            assert bound.l1 is not None
            squared, l1 = sum(int((d**2).sum()) for d in changed), sum(int(np.abs(d).sum()) for d in changed)
            assert squared <= bound.frobenius_squared
            assert l1 <= bound.l1
            worst = max(worst, float(Fraction(l1) / bound.l1 if norm == 1 else squared / bound.frobenius_squared))
    # Users' ratings are relative to their own mean: products stay below, co-occurrence has its half of the bound.
    assert worst > (0.9999 if unit == RATING else 0.5)


@pytest.mark.parametrize(("norm", "limit"), [(1, Fraction(6)), (2, Fraction(4))])
def test_for_ratings_the_bounds_stay_where_the_proof_says(norm: Norm, limit: Fraction) -> None:
    for head in (1, 2, 30, 1000, 5000):
        gram = gram_file.empty_gram(head, rated=True, unit=RATING, norm=norm)
        assert gram.l1 is not None
        bound = gram.l1 * gram.step if norm == 1 else gram.frobenius_squared * gram.step**2
        assert bound < limit * Fraction(103, 100)


def test_a_list_of_weights_is_bounded_by_trying_every_length() -> None:
    weights = [7, 5, 5, 1]
    # For each length before: how many entries change, and by how much; the first item only adds its own.
    lengths = [[(1, 7)], [(1, 2), (3, 5)], [(4, 0), (5, 5)], [(9, 4), (7, 1)]]
    gram = BoundedGram.weighted((np.zeros((4, 4), dtype=np.int64),), weights, largest=3, step=Fraction(1), unit=RATING)
    assert gram.l1 == 3 * max(sum(many * size for many, size in parts) for parts in lengths)
    assert gram.frobenius_squared == 9 * max(sum(many * size**2 for many, size in parts) for parts in lengths)
    users = BoundedGram.weighted((np.zeros((4, 4), dtype=np.int64),), weights, largest=3, step=Fraction(1), unit=USER)
    assert (users.l1, users.frobenius_squared) == (3 * 45, 9 * 225)
    for wrong in (Unit("user", "replace"), Unit("record", "value")):
        with pytest.raises(UsageError, match="not bounded"):
            BoundedGram.weighted(gram.matrices, weights, largest=3, step=Fraction(1), unit=wrong)
    with pytest.raises(UsageError, match="from 0"):
        BoundedGram.weighted(gram.matrices, [1, -1], largest=3, step=Fraction(1), unit=USER)


# The first release: exact laws on a coarse grid


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code on grids on which whole laws can be written down."""
    monkeypatch.setattr(statistics_file, "STEPS", 40)
    monkeypatch.setattr(gram_file, "VALUE_BITS", 1)
    monkeypatch.setattr(gram_file, "WEIGHT_BITS", 3)
    monkeypatch.setattr(gram_file, "FINE_WEIGHT_BITS", 4)


def worst_of_first(unit: Unit, norm: Norm, mechanism: AdditiveMechanism, order: float = 0) -> float:
    """The largest log-ratio (or Rényi divergence) over all pairs of neighbors."""
    sums = cache(lambda people: item_statistics_sums(dataset(people), unit=unit, norm=norm))
    known: dict[tuple[int, ...], float] = {}
    for one, two in pairs(unit):
        a, b = sums(one), sums(two)
        shift = tuple(sorted(np.abs(b.values - a.values).tolist()))
        if shift not in known:  # neither law cares where it stands, nor in which order its coordinates come
            known[shift] = additive_log_ratio(mechanism, a, b) if norm == 1 else additive_renyi(mechanism, a, b, order)
    return max(known.values())


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize(
    ("unit", "less", "holds"),
    [
        (RATING, Fraction(1), True),
        (RATING, Fraction(9, 10), False),
        (USER, Fraction(1), True),
        # Of a user's four parts no history has all at their largest; three items come to nine tenths.
        (USER, Fraction(88, 100), False),
    ],
)
def test_first_release_is_pure_in_all_tiny_datasets(unit: Unit, less: Fraction, holds: bool) -> None:
    worst = worst_of_first(unit, 1, LaplaceMechanism(1 / less))
    assert (worst <= 1 + 1e-9) == holds


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("order", [1.5, 8.0])
@pytest.mark.parametrize(("less", "holds"), [(Fraction(1), True), (Fraction(81, 100), False)])
def test_first_release_for_ratings_is_concentrated_in_all_tiny_datasets(
    order: float, less: Fraction, holds: bool
) -> None:
    rho = Fraction(1, 8)
    worst = worst_of_first(RATING, 2, GaussianMechanism(rho / less), order)
    assert (worst <= order * float(rho) + 1e-9) == holds


def test_first_release_for_ratings_says_what_everybody_said() -> None:
    data = dataset(((5, None, 1), (5, 1, None), (None, None, 4)))
    sums: BoundedSums = item_statistics_sums(data, unit=RATING, norm=1)
    noiseless = sums.values.astype(np.float64) * float(sums.step)
    np.testing.assert_allclose(noiseless, [0.6, 0.3, 0.6, 1, -0.5, -0.25, 0.3], atol=1e-5)
    first = ItemStatistics.read(noiseless, unit=RATING, ends=(1.0, 5.0), noise=0.0)
    np.testing.assert_allclose(first.weights, [2, 1, 2], rtol=1e-5)
    assert first.users == pytest.approx(3, rel=1e-5)
    assert first.level == pytest.approx(16 / 5, rel=1e-5)
    np.testing.assert_allclose(first.level + first.offsets, [5, 1.2, 2.5], rtol=1e-4)  # offsets stay within 2 stars


# The Gram release: exact laws of every coordinate


@cache
def laplace_ratio(shift: int, scale: Fraction) -> float:
    """Largest log-ratio of discrete Laplace noise and the same shifted, output by output."""
    outputs = np.arange(-abs(shift) - 40, abs(shift) + 41)
    return float(np.max(np.abs(np.abs(outputs - shift) - np.abs(outputs)) / float(scale)))


@cache
def gaussian_divergence(shift: int, variance: Fraction, order: float) -> float:
    v = float(variance)
    reach = int(np.ceil(14 * v**0.5)) + int(order + 2) * abs(shift)
    outputs = np.arange(-reach, reach + 1, dtype=float)
    p, q = -(outputs**2) / (2 * v), -((outputs - shift) ** 2) / (2 * v)
    total = np.log(np.exp(p).sum())
    terms = order * p + (1 - order) * q - total
    return float(terms.max() + np.log(np.exp(terms - terms.max()).sum())) / (order - 1)


Change = tuple[tuple[int, int], ...]
"""Every entry of the upper triangles that a step moves: by how much, and 2 on the diagonal, 1 elsewhere."""


@cache
def changes_of_gram(unit: Unit, norm: Norm, stated: Unit) -> list[tuple[BoundedGram, Change]]:
    """All different changes over all pairs of neighbors, on the grids of ``coarse``, each with a matrix it starts at.

    Neither law depends on where it stands, on the sign of a shift, or on the order of the coordinates.
    """
    head = np.arange(3, dtype=np.int32)

    @cache
    def gram(people: Dataset) -> BoundedGram:
        return item_gram(dataset(people), middle(3), head, unit=stated, norm=norm)

    known: dict[object, tuple[BoundedGram, Change]] = {}
    for one, two in pairs(unit):
        a, b = gram(one), gram(two)
        moved = tuple(
            sorted(
                (abs(int(shift)), 2 if i == j else 1)
                for matrix in difference(a, b)
                for (i, j), shift in np.ndenumerate(matrix)
                if i <= j and shift
            )
        )
        known.setdefault((a.step, a.l1, a.frobenius_squared, a.unit, moved), (a, moved))
    return list(known.values())


def worst_of_gram(
    unit: Unit,
    norm: Norm,
    mechanism: GaussianMechanism | LaplaceMechanism,
    *,
    stated: Unit | None = None,
    order: float = 2,
) -> float:
    """The same for both matrices; ``stated`` is the unit that a wrong mechanism assumes."""
    worst = 0.0
    for gram, moved in changes_of_gram(unit, norm, stated or unit):
        total = sum(
            laplace_ratio(shift, mechanism.parameter(gram, off_diagonal=twice == 1))
            if isinstance(mechanism, LaplaceMechanism)
            else gaussian_divergence(shift, mechanism.parameter(gram, off_diagonal=twice == 1), order)
            for shift, twice in moved
        )
        worst = max(worst, total)
    return worst


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize(("less", "holds"), [(Fraction(1), True), (Fraction(9, 10), False)])
def test_gram_for_ratings_is_pure_in_all_tiny_datasets(less: Fraction, holds: bool) -> None:
    worst = worst_of_gram(RATING, 1, LaplaceMechanism(1 / less))
    assert (worst <= 1 + 1e-9) == holds


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("order", [1.5, 8.0])
@pytest.mark.parametrize(("less", "holds"), [(Fraction(1), True), (Fraction(81, 100), False)])
def test_gram_for_ratings_is_concentrated_in_all_tiny_datasets(order: float, less: Fraction, holds: bool) -> None:
    rho = Fraction(1, 8)
    worst = worst_of_gram(RATING, 2, GaussianMechanism(rho / less), order=order)
    assert (worst <= order * float(rho) + 1e-9) == holds


@pytest.mark.usefixtures("coarse")
def test_gram_for_users_is_pure_in_all_tiny_datasets() -> None:
    worst = worst_of_gram(USER, 1, LaplaceMechanism(Fraction(1)))
    assert 0.7 < worst <= 1 + 1e-9


@pytest.mark.usefixtures("coarse")
def test_sums_for_users_are_not_good_enough_for_ratings() -> None:
    """The wrong mechanism: weights and centering of users, with one rating as the unit. The bound does not hold."""
    assert worst_of_gram(RATING, 1, LaplaceMechanism(Fraction(1)), stated=USER) > 1.2


@pytest.mark.usefixtures("coarse")
def test_one_rating_moves_no_value_of_its_user() -> None:
    """What is new for a rating of c: its row. What was there is weighed anew and stays what it was."""
    before, after = ((5, 1, None),), ((5, 1, 5),)
    head = np.arange(3, dtype=np.int32)
    products = [item_gram(dataset(p), middle(3), head, unit=RATING, norm=1).matrices[0] for p in (before, after)]
    weights, _ = gram_file.gram_weights(3, unit=RATING, norm=1)
    np.testing.assert_array_equal(products[0][:2, :2] * weights[2], products[1][:2, :2] * weights[1])
    assert products[1][0, 1] < 0


# What the mechanism draws


def test_laplace_noise_is_drawn_over_the_whole_triangle_and_twice_on_the_diagonal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, Fraction]] = []

    def draw(n: int, scale: Fraction) -> np.ndarray:
        asked.append((n, scale))
        return np.zeros(n, dtype=np.int64)

    monkeypatch.setitem(draws.SAMPLERS, "laplace", draw)
    matrix = np.triu(np.arange(16, dtype=np.int64).reshape(4, 4))
    gram = BoundedGram((matrix, matrix), Fraction(1, 4), Fraction(8), Unit(), (), Fraction(12))
    noisy = LaplaceMechanism(Fraction(1, 2)).release(gram)
    assert asked == [((6,), Fraction(12)), ((4,), Fraction(24))] * 2
    np.testing.assert_array_equal(noisy[1], (matrix + np.triu(matrix, 1).T) / 4)


def test_laplace_noise_follows_the_bound_it_is_given() -> None:
    matrix = np.zeros((2, 2), dtype=np.int64)
    gram = BoundedGram((matrix,), Fraction(1), Fraction(4), Unit(), (), Fraction(8))
    mechanism = LaplaceMechanism(Fraction(2))
    assert mechanism.parameter(gram) == 4
    assert mechanism.parameter(gram, off_diagonal=True) == 2
    assert mechanism.loss.epsilon == 2
    assert mechanism.parameter(replace(gram, unit=Unit("user", "replace"))) == 8
    assert mechanism.standard_deviation(gram) == pytest.approx(2 * 2**0.5, rel=0.02)
    with pytest.raises(UsageError, match="absolute entries"):
        mechanism.parameter(replace(gram, l1=None))
    with pytest.raises(UsageError, match="scales"):
        LaplaceMechanism(Fraction(1, 2**60)).check(gram)
    with pytest.raises(UsageError, match="variances"):
        GaussianMechanism(Fraction(1, 2**120)).check(gram)
