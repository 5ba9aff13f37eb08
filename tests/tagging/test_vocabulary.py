"""Lists found privately: thresholds by the formula, exact laws over tiny datasets, what is and is not found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from discreet.data import Interactions
from discreet.data.tags import TagAssignments
from discreet.errors import BudgetError, UsageError
from discreet.privacy.bounding import cap_items
from discreet.privacy.discovery import BITS, GaussianSelection, PolicySelection, gaussian_cutoff
from discreet.privacy.ledger import Ledger
from discreet.privacy.losses import delta_of_mu
from discreet.privacy.numbers import sqrt_up
from discreet.tagging import discover_resources, discover_tags
from discreet.testing import smallest_delta, tiny_histories

NORMAL = NormalDist()


# The Gaussian threshold


@pytest.mark.parametrize(
    ("cap", "rho", "deviation", "cutoff"), [(5, "0.02", 11.18, 59.13), (10, "0.01", 22.36, 120.11)]
)
def test_cutoffs(cap: int, rho: str, deviation: float, cutoff: float) -> None:
    sigma = sqrt_up(cap / (2 * Fraction(rho)), bits=24)
    assert float(sigma) == pytest.approx(deviation, abs=0.005)
    assert gaussian_cutoff(cap, sigma, Fraction("5e-7")) == pytest.approx(cutoff, abs=0.005)


@pytest.mark.parametrize("cap", [1, 2, 5, 50])
def test_the_threshold_is_the_least_that_is_safe(cap: int) -> None:
    selection = GaussianSelection.of(epsilon="1/2", delta="1e-5")
    deviation = float(selection.parameter(cap))
    one_item = 1 - (1 - 5e-6) ** (1 / cap)

    def passes(threshold: int) -> float:
        return NORMAL.cdf(-(threshold - 1.5) / deviation)

    threshold = selection.threshold(cap)
    assert passes(threshold) <= one_item * (1 + 1e-9) < passes(threshold - 1)


@pytest.mark.parametrize("cap", [1, 5])
def test_noise_and_names_share_delta(cap: int) -> None:
    """The threshold takes half of δ for names of one user alone; the noise keeps ε with the other half."""
    selection = GaussianSelection.of(epsilon="1/2", delta="1e-5")
    assert delta_of_mu(math.sqrt(cap) / selection.parameter(cap), 0.5) <= 5e-6


def count_law(users: int, selection: GaussianSelection, cap: int, *, lower: int) -> dict[int | None, float]:
    """What is said of one item: None, or a noisy number of users."""
    if users == 0:
        return {None: 1.0}
    deviation, threshold = float(selection.parameter(cap)), selection.threshold(cap) - lower
    law: dict[int | None, float] = {
        y: NORMAL.cdf((y - users + 0.5) / deviation) - NORMAL.cdf((y - users - 0.5) / deviation)
        for y in range(threshold, threshold + math.ceil(9 * deviation))
    }
    law[None] = 1 - sum(law.values())
    return law


def dataset_law(histories, selection: GaussianSelection, cap: int, *, lower: int = 0) -> dict[tuple, float]:
    """Exact law of the release over items a and b, averaged over the random choice of each user's items."""
    choices = [[frozenset(c) for c in itertools.combinations(sorted(set(h)), min(cap, len(set(h))))] for h in histories]
    law: dict[tuple, float] = {}
    weight = 1 / math.prod(map(len, choices))
    for chosen in itertools.product(*choices):
        a, b = (count_law(sum(item in c for c in chosen), selection, cap, lower=lower) for item in "ab")
        for (x, p), (y, q) in itertools.product(a.items(), b.items()):
            law[x, y] = law.get((x, y), 0.0) + weight * p * q
    return law


@pytest.mark.parametrize("cap", [1, 2])
def test_every_tiny_dataset_keeps_epsilon_and_delta(cap: int) -> None:
    selection = GaussianSelection.of(epsilon=1, delta="0.05")
    histories = tiny_histories("ab", most=2)
    worst = 0.0
    for n in range(2):
        for others in itertools.combinations_with_replacement(histories, n):
            for history in histories:
                pair = dataset_law(others, selection, cap), dataset_law((*others, history), selection, cap)
                worst = max(worst, smallest_delta(*pair, 1.0))
    assert worst <= 0.05
    assert worst > 0.01


def test_a_lower_threshold_is_caught() -> None:
    selection = GaussianSelection.of(epsilon=1, delta="0.05")
    pair = dataset_law((), selection, 1, lower=2), dataset_law((("a",),), selection, 1, lower=2)
    assert smallest_delta(*pair, 1.0) > 0.05


# The policy


def held(histories: Mapping[Any, str], keys: str = "abcdef") -> Interactions:
    rows = [(user, key) for user, history in histories.items() for key in sorted(set(history))]
    return Interactions(rows, items=list(keys))


def weights(histories: Mapping[Any, str], selection: PolicySelection, cap: int) -> np.ndarray:
    return selection.weights(cap_items(held(histories), cap)) / 2.0**BITS


def test_one_user_moves_all_weights_by_one_at_most() -> None:
    selection = PolicySelection.of(epsilon=8, delta="0.1", reach=1)
    generator = np.random.default_rng(5)
    farthest = 0.0
    for _ in range(12):
        keys = ["".join(generator.choice(list("abcdef"), generator.integers(1, 6), replace=False)) for _ in range(9)]
        everybody: dict[Any, str] = {f"u{n}": history for n, history in enumerate(keys)}
        whole = weights(everybody, selection, 6)
        for gone in everybody:
            rest = weights({u: h for u, h in everybody.items() if u != gone}, selection, 6)
            farthest = max(farthest, float(np.linalg.norm(whole - rest)))
    assert 0.999 < farthest <= 1 + 1e-9
    assert selection.sensitivity(6) >= 2**BITS


def test_weight_is_not_wasted_on_what_is_known() -> None:
    selection = PolicySelection.of(epsilon=8, delta="0.1", reach=1)
    goal = selection.threshold(2) + float(selection.reach) * math.sqrt(selection.parameter(2)) / 2**BITS
    crowd: dict[Any, str] = {f"u{n:02}": "a" for n in range(40)}
    found = weights({**crowd, "v": "ab"}, selection, 2)
    assert found[0] == pytest.approx(goal, rel=1e-6)
    # "a" needs nothing more when v comes, so all of v's weight goes to "b".
    assert found[1] == pytest.approx(1, rel=1e-6)
    # Before the crowd came, v had to share.
    assert weights({**crowd, "t": "ab"}, selection, 2)[1] == pytest.approx(math.sqrt(1 / 2), rel=1e-6)


def test_own_keys_weigh_alike_and_one_over_the_root_at_most() -> None:
    selection = PolicySelection.of(epsilon=8, delta="0.1")
    found = weights({1: "a", 2: "abcd"}, selection, 4)
    assert found[1] == found[2] == found[3]
    assert found[1] <= 1 / math.sqrt(3)


def test_the_order_of_users_does_not_follow_the_type_of_one_id() -> None:
    """Whole numbers sort by size, numbers beside text by type and text: that must not reach the weights."""
    selection = PolicySelection.of(epsilon=8, delta="0.1", reach=0)
    people: dict[Any, str] = {2: "ab", 10: "bc", 9: "abc", 30: "b"}
    without = weights(people, selection, 3)
    beside = weights({**people, "zoe": "d"}, selection, 3)
    np.testing.assert_array_equal(without[:3], beside[:3])


def name_law(histories: Mapping[Any, str], selection: PolicySelection, cap: int, *, lower: float) -> np.ndarray:
    """Probability of each set of names out of a and b; noise this wide is normal for all purposes."""
    data = cap_items(held(histories, "ab"), cap) if histories else None
    found = selection.weights(data) / 2.0**BITS if data is not None else np.zeros(2)
    deviation = math.sqrt(selection.parameter(cap)) / 2**BITS
    passes = np.array([NORMAL.cdf((w - selection.threshold(cap) + lower) / deviation) if w else 0.0 for w in found])
    return np.outer([1 - passes[0], passes[0]], [1 - passes[1], passes[1]]).ravel()


@pytest.mark.parametrize(("lower", "holds"), [(0.0, True), (3.0, False)])
def test_names_of_tiny_datasets_keep_epsilon_and_delta(lower: float, holds: bool) -> None:
    selection = PolicySelection.of(epsilon=1, delta="0.05")
    histories = ["a", "b", "ab"]
    worst = 0.0
    for n in range(3):
        for others in itertools.product(histories, repeat=n):
            base: dict[Any, str] = {f"u{k}": h for k, h in enumerate(others)}
            for history, place in itertools.product(histories, ("t", "z")):
                without = name_law(base, selection, 2, lower=lower)
                beside = name_law({**base, place: history}, selection, 2, lower=lower)
                worst = max(worst, smallest_delta(without, beside, 1.0))
    assert (worst <= 0.05) == holds
    assert worst > 0.01


# What is found


def tagged(n: int = 400) -> TagAssignments:
    return TagAssignments([(u, f"page-{u % 2}", tag) for u in range(n) for tag in ("toread", f"my-{u}", f"own-{u}")])


@pytest.mark.parametrize("way", ["laplace", "gaussian", "policy"])
def test_tags_of_many_are_found_and_tags_of_one_are_not(way, fixed_bits) -> None:
    data = tagged()
    release = discover_tags(data, epsilon=1, delta="1e-6", cap=3, way=way)
    assert release.table("tags")["tag"].to_list() == ["toread"]
    assert ("users" in release.table("tags").columns) == (way != "policy")
    public = data.with_vocabulary(release.table("tags")["tag"], outside="drop")
    assert len(public) == 400
    assert public.vocabulary_is_public
    resources = discover_resources(data, epsilon=1, delta="1e-6", cap=3, way=way)
    assert resources.table("resources")["resource_id"].to_list() == ["page-0", "page-1"]


def test_the_type_of_tags_is_declared() -> None:
    numbers = TagAssignments([(u, "page", 7) for u in range(200)])
    text = discover_tags(numbers, epsilon=2, delta="1e-6", cap=1)
    assert text.table("tags")["tag"].to_list() == ["7"]
    mixed = TagAssignments([*((u, "page", 7) for u in range(200)), (0, "page", "cat")])
    assert discover_tags(mixed, epsilon=2, delta="1e-6", cap=1).table("tags").schema == text.table("tags").schema
    assert discover_tags(numbers, epsilon=2, delta="1e-6", cap=1, ids="number").table("tags")["tag"].to_list() == [7]


def test_the_ledger_is_asked_first(tmp_path) -> None:
    data = tagged(50)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(data, epsilon=1, delta="1e-5", unit="user")
    release = discover_tags(data, epsilon="1/2", delta="1e-6", ledger=ledger)
    assert release.id in str(ledger.statement(data).to_json())
    with pytest.raises(BudgetError):
        discover_tags(data, epsilon=1, delta="1e-6", ledger=ledger)
    assert len(ledger.statement(data).entries) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"delta": 0}, {"epsilon": 0}, {"cap": 0}, {"way": "guess"}, {"ids": "colour"}, {"way": "policy", "cap": 5_000}],
)
def test_wrong_settings_are_refused(wrong) -> None:
    with pytest.raises(UsageError):
        discover_tags(tagged(5), **{"epsilon": 1, "delta": "1e-6", "cap": 2, **wrong})


def test_there_may_be_nothing_to_find() -> None:
    data = tagged(5)
    nothing = data.filter(np.zeros(len(data), dtype=bool))
    for way in ("laplace", "gaussian", "policy"):
        assert discover_tags(nothing, epsilon=1, delta="1e-6", way=way).table("tags").height == 0
