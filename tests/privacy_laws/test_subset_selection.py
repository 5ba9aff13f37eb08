"""The k-subset mechanism and the lists made with it: exact laws over all tiny neighboring worlds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.data import Interactions
from discreet.neighbors.drawn_neighbors import ListedRaters, RatingLevel
from discreet.neighbors.questions import Recipient
from discreet.neighbors.rating_means import rating_sums
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.subset_selection import SubsetMechanism
from discreet.privacy.units import Unit
from discreet.testing import max_log_ratio, renyi_divergence

EPSILON = Fraction(7, 10)

Pair = tuple[BoundedSums, BoundedSums]


def scores(values: tuple[int, ...], *, l1: int, linf: int, squared: int, nonnegative: bool = False) -> BoundedSums:
    array = np.array(values, dtype=np.int64)
    return BoundedSums(
        array, Fraction(1), Fraction(l1), Fraction(squared), Fraction(linf), nonnegative, Unit("record"), ()
    )


def pairs(kind: str, size: int) -> Iterator[Pair]:
    """Scores of 0 and 2 and every neighbor: one score that moves by up to 2, two by 1, all up by 1, all by ±1."""
    bounds = {
        "one score": {"l1": 2, "linf": 2, "squared": 4},
        "two scores": {"l1": 2, "linf": 1, "squared": 2},
        "rising": {"l1": size, "linf": 1, "squared": size, "nonnegative": True},
        "both ways": {"l1": size, "linf": 1, "squared": size},
    }[kind]
    reach = {"one score": (-2, -1, 1, 2), "rising": (0, 1)}.get(kind, (-1, 0, 1))
    for start in itertools.product((0, 2), repeat=size):
        for step in itertools.product({0, *reach}, repeat=size):
            moved = np.count_nonzero(step)
            if (kind == "one score" and moved != 1) or (kind == "two scores" and moved > 2):
                continue
            yield scores(start, **bounds), scores(tuple(np.add(start, step).tolist()), **bounds)


@dataclass(frozen=True)
class Louder(SubsetMechanism):
    """A broken twin: twice the rate."""

    def rate(self, scores: BoundedSums) -> Fraction:
        return 2 * super().rate(scores)


def worst_loss(mechanism: SubsetMechanism, kind: str, size: int) -> float:
    @cache
    def law(values: tuple[int, ...]) -> np.ndarray:
        return np.array(list(mechanism.law(replace(like, values=np.array(values, dtype=np.int64))).values()))

    like = next(pairs(kind, size))[0]
    return max(
        max_log_ratio(law(tuple(a.values.tolist())), law(tuple(b.values.tolist()))) for a, b in pairs(kind, size)
    )


@pytest.mark.parametrize("kind", ["one score", "two scores", "rising", "both ways"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_subsets_keep_epsilon(kind: str, k: int) -> None:
    worst = worst_loss(SubsetMechanism(k, EPSILON), kind, 4)
    assert 0.5 * float(EPSILON) < worst <= float(EPSILON) + 1e-9


@pytest.mark.parametrize("kind", ["one score", "two scores", "both ways"])
def test_twice_the_rate_is_caught(kind: str) -> None:
    assert worst_loss(Louder(2, EPSILON), kind, 4) > 1.05 * float(EPSILON)


def test_the_bound_for_one_score_is_tight_with_many_candidates() -> None:
    """One of 60 that rises: nearly ε, and no factor k; a rate larger by a tenth would pass it."""
    low, high = scores((0,) * 60, l1=1, linf=1, squared=1), scores((1,) + (0,) * 59, l1=1, linf=1, squared=1)
    for factor, beyond in ((Fraction(1), False), (Fraction(11, 10), True)):
        mechanism = SubsetMechanism(2, EPSILON * factor)
        worst = max_log_ratio(mechanism.law(low), mechanism.law(high))
        assert 0.93 * float(EPSILON) < worst
        assert (worst > float(EPSILON)) == beyond


@pytest.mark.parametrize("order", [1.5, 8.0])
@pytest.mark.parametrize("kind", ["one score", "two scores", "rising", "both ways"])
def test_concentrated_bounds(kind: str, order: float) -> None:
    for k in (1, 2):
        mechanism = SubsetMechanism(k, Fraction(2))
        for a, b in itertools.islice(pairs(kind, 4), 0, None, 7):
            rho = float(mechanism.concentrated_loss(a).rho)
            assert renyi_divergence(mechanism.law(a), mechanism.law(b), order) <= rho * order + 1e-9


# Lists of drawn neighbors: one rating of somebody else

USERS, ITEMS = list("abcd"), list("wxyz")
RATINGS = (1, 5)
OWN = (("w", 5), ("x", 1))
"""The recipient is a and has rated w and x; y and z are on the list."""
CENTERS = np.full(4, 3.0)
RECIPIENT = Recipient(("user", "a"), 0, np.array([0, 1], dtype=np.int32), np.array([5.0, 1.0]))
WINDOW = np.arange(-14, 15)

World = frozenset[tuple[str, str, int]]

LEVEL = RatingLevel(k=2, bound=1, epsilon=Fraction(1), shrinkage=Fraction(1, 2), minimum_overlap=1, bits=0, users=USERS)


def worlds() -> list[World]:
    """Worlds of b, c and d with up to four ratings in all, every kind of rating among them."""
    everything = [(user, item, rating) for user in "bcd" for item in ITEMS for rating in RATINGS]
    fixed: list[World] = [
        frozenset(),
        frozenset({("b", "w", 5), ("c", "x", 1)}),
        frozenset({("b", "w", 5), ("b", "x", 1), ("b", "y", 5)}),
        frozenset({("b", "w", 5), ("b", "y", 5), ("c", "w", 1), ("c", "y", 1)}),
        frozenset({("b", "w", 1), ("c", "x", 5), ("d", "z", 5), ("d", "x", 1)}),
    ]
    return [*fixed, *(frozenset({one}) for one in everything[::3])]


def neighbors_of(world: World) -> Iterator[World]:
    """Every world with one rating more."""
    taken = {(user, item) for user, item, _ in world}
    for user, item, rating in itertools.product("bcd", ITEMS, RATINGS):
        if (user, item) not in taken:
            yield world | {(user, item, rating)}


@cache
def raters_of(world: World) -> ListedRaters:
    rows = [*world, *(("a", item, rating) for item, rating in OWN)]
    return LEVEL.lay_out(Interactions(rows, items=ITEMS, scale="1:5"))


def joint_law(level: RatingLevel, world: World, *, items: tuple[int, ...] = (2, 3)) -> np.ndarray:
    """Log-probabilities of the set of neighbors together with the noisy sums of two items, over a window of these."""
    raters = raters_of(world)
    candidates, likeness = raters.scores(RECIPIENT)
    noise = level.perturb.log_pmf(level.bounded(np.zeros(4, dtype=np.int64)))
    found = []
    for subset, probability in level.select.law(likeness).items():
        sums = raters.sums(candidates[list(subset)], CENTERS, level.bound, bits=level.bits)
        first, second = (noise(WINDOW - sums[item]) for item in items)
        found.append(math.log(probability) + first[:, None] + second[None, :])
    return np.array(found)


def list_law(level: RatingLevel, world: World, *, items: tuple[int, ...] = (2, 3)) -> np.ndarray:
    """The same without the neighbors, which stay inside: a mixture over all sets of them."""
    return np.logaddexp.reduce(joint_law(level, world, items=items), axis=0)


def worst_loss_of_a_list(
    level: RatingLevel, law: Callable[..., np.ndarray], *, items: tuple[int, ...] = (2, 3)
) -> dict[bool, float]:
    """The largest log-ratio between neighboring worlds, by whether the recipient has rated the item in question."""
    known = cache(lambda world: law(level, world, items=items))
    worst = {True: 0.0, False: 0.0}
    for world in worlds():
        for more in neighbors_of(world):
            ((_, item, _),) = more - world
            rated = item in dict(OWN)
            worst[rated] = max(worst[rated], float(np.abs(known(world) - known(more)).max()))
    return worst


def test_lists_keep_epsilon_for_every_rating() -> None:
    """Even if the neighbors were told besides; without them it is less."""
    epsilon = float(LEVEL.epsilon)
    joint, shown = (worst_loss_of_a_list(LEVEL, law) for law in (joint_law, list_law))
    assert 0.5 * epsilon < joint[True] <= epsilon + 1e-9  # through the choice of neighbors
    assert 0.99 * epsilon < joint[False] <= epsilon + 1e-9  # through the sums
    assert 0.1 * epsilon < shown[True] <= joint[True]
    assert 0.5 * epsilon < shown[False] <= joint[False]


@dataclass(frozen=True)
class LouderLevel(RatingLevel):
    """A broken twin: neighbors drawn with twice the rate."""

    @property
    def select(self) -> SubsetMechanism:
        return Louder(self.k, self.epsilon)


@dataclass(frozen=True)
class QuieterLevel(RatingLevel):
    """A broken twin: noise for half of what one rating moves."""

    def bounded(self, sums: np.ndarray) -> BoundedSums:
        return replace(super().bounded(sums), l1=Fraction(1, 2))


def test_broken_lists_are_caught() -> None:
    shared = {field.name: getattr(LEVEL, field.name) for field in fields(LEVEL)}
    assert worst_loss_of_a_list(LouderLevel(**shared), joint_law)[True] > float(LEVEL.epsilon)
    assert worst_loss_of_a_list(QuieterLevel(**shared), joint_law)[False] > float(LEVEL.epsilon)


def test_items_that_the_recipient_has_rated_would_pay_twice() -> None:
    """Why they are not on the list: a rating of w counts for the choice *and* for the sum of w."""
    assert worst_loss_of_a_list(LEVEL, joint_law, items=(0, 2))[True] > 1.2 * float(LEVEL.epsilon)


def test_one_rating_moves_one_similarity_by_the_stated_bound() -> None:
    """Brute force over tiny worlds: attained up to the rounding, never passed, and nobody else moves."""
    worst = 0
    for world in worlds():
        before = raters_of(world).scores(RECIPIENT)[1]
        for more in neighbors_of(world):
            ((user, item, _),) = more - world
            moved = raters_of(more).scores(RECIPIENT)[1].values - before.values
            assert np.count_nonzero(np.delete(moved, "bcd".index(user))) == 0
            assert item in dict(OWN) or not moved.any()
            worst = max(worst, int(np.abs(moved).max()))
    like = raters_of(frozenset()).scores(RECIPIENT)[1]
    assert like.linf - 2 <= worst <= like.linf == like.l1


def test_draws_of_a_list_follow_its_law(fixed_bits) -> None:
    """The code that draws, end to end, against the law that the tests above are about."""
    world = worlds()[3]
    raters = raters_of(world)
    (request,) = LEVEL.prepare(raters, [RECIPIENT], CENTERS)
    drawn = np.array([LEVEL._list(request)[2:] for _ in range(2_500)])
    law = np.exp(list_law(LEVEL, world))
    inside = np.clip(drawn, -3, 3)
    observed = np.zeros((7, 7))
    np.add.at(observed, (inside[:, 0] + 3, inside[:, 1] + 3), 1)
    cells = np.clip(WINDOW, -3, 3) + 3
    expected = np.zeros((7, 7))
    np.add.at(expected, (cells[:, None], cells[None, :]), law)
    assert law.sum() == pytest.approx(1, abs=1e-4)
    assert chisquare(observed.ravel(), expected.ravel() / expected.sum() * observed.sum()).pvalue > 1e-4


def test_one_rating_keeps_within_the_bounds_of_the_rating_sums() -> None:
    longest, like = 0, rating_sums(raters_of(frozenset()).data)
    for world in worlds():
        before = rating_sums(raters_of(world).data)
        for more in neighbors_of(world):
            moved = [abs(int(x)) for x in rating_sums(raters_of(more).data).values - before.values]
            assert sum(moved) <= before.l1
            assert sum(x**2 for x in moved) <= before.l2_squared
            assert max(moved) <= before.linf
            longest = max(longest, sum(moved))
    assert longest == like.l1
