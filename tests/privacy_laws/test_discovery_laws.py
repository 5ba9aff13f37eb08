"""Discovery without a catalog: thresholds by the formula, exact laws over tiny datasets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import counting
from discreet.data import Interactions
from discreet.errors import UsageError
from discreet.privacy.bounding import cap_items, cap_records
from discreet.privacy.discovery import StabilitySelection
from discreet.testing import smallest_delta, tiny_histories


@pytest.mark.parametrize(
    ("cap", "epsilon", "delta", "threshold"),
    [(1, "0.5", "1e-6", 28), (5, "0.5", "1e-6", 149), (10, "0.3", "1e-6", 516), (20, "1", "1e-6", 324)],
)
def test_thresholds(cap: int, epsilon: str, delta: str, threshold: int) -> None:
    assert StabilitySelection.of(epsilon=epsilon, delta=delta).threshold(cap) == threshold


@pytest.mark.parametrize("cap", [1, 2, 5, 50])
def test_the_threshold_is_the_least_that_is_safe(cap: int) -> None:
    selection = StabilitySelection.of(epsilon="1/2", delta="1e-5")
    ratio = math.exp(-1 / selection.parameter(cap))
    one_item = 1 - (1 - 1e-5) ** (1 / cap)

    def passes(threshold: int) -> float:
        return ratio ** (threshold - 1) / (1 + ratio)

    threshold = selection.threshold(cap)
    assert passes(threshold) <= one_item * (1 + 1e-9) < passes(threshold - 1)


def item_law(users: int, selection: StabilitySelection, cap: int, reach: int) -> dict[int | None, float]:
    """Law of what is said of one item: None, or a noisy number of users."""
    if users == 0:
        return {None: 1.0}
    scale = float(selection.parameter(cap))
    threshold = selection.threshold(cap)
    law: dict[int | None, float] = {
        y: math.tanh(1 / (2 * scale)) * math.exp(-abs(y - users) / scale) for y in range(threshold, threshold + reach)
    }
    law[None] = 1 - sum(law.values())
    return law


def dataset_law(histories, selection: StabilitySelection, cap: int, reach: int = 25) -> dict[tuple, float]:
    """Exact law of the release over items a and b, averaged over the random choice of each user's items."""
    choices = [[frozenset(c) for c in itertools.combinations(sorted(set(h)), min(cap, len(set(h))))] for h in histories]
    law: dict[tuple, float] = {}
    weight = 1 / math.prod(map(len, choices))
    for chosen in itertools.product(*choices):
        a, b = (item_law(sum(item in c for c in chosen), selection, cap, reach) for item in "ab")
        for (x, p), (y, q) in itertools.product(a.items(), b.items()):
            law[x, y] = law.get((x, y), 0.0) + weight * p * q
    return law


@pytest.mark.parametrize("cap", [1, 2])
def test_every_tiny_dataset_keeps_epsilon_and_delta(cap: int) -> None:
    selection = StabilitySelection.of(epsilon=1, delta="0.05")
    histories = tiny_histories("ab", most=2)
    worst = 0.0
    for n in range(3):
        for others in itertools.combinations_with_replacement(histories, n):
            for history in histories:
                pair = dataset_law(others, selection, cap), dataset_law((*others, history), selection, cap)
                worst = max(worst, smallest_delta(*pair, 1.0))
    assert worst <= 0.05 + 1e-9
    assert worst > 0.005


def test_a_threshold_lower_by_a_step_or_two_is_caught() -> None:
    class Lower(StabilitySelection):
        def threshold(self, cap: int) -> int:
            return super().threshold(cap) - 2

    selection = Lower(Fraction(1), Fraction(1, 20))
    pair = dataset_law((), selection, 1), dataset_law((("a",),), selection, 1)
    assert smallest_delta(*pair, 1.0) > 0.05


def test_items_of_many_are_found_and_items_of_one_are_not(fixed_bits) -> None:
    rows = [(u, place) for u in range(300) for place in ("park", f"home-{u}")]
    release = counting.discover_items(Interactions(rows), epsilon=1, delta="1e-6", cap=2)
    assert release.table("items")["item_id"].to_list() == ["park"]
    public = Interactions(rows).with_catalog(release.table("items"), unknown="drop")
    assert len(public) == 300
    assert public.catalog_is_public


def test_repeats_must_be_bounded_first() -> None:
    visits = Interactions([("u", "a"), ("u", "a")], duplicates="keep")
    selection = StabilitySelection.of(epsilon=1, delta="1e-6")
    with pytest.raises(UsageError, match="once"):
        selection.release(cap_records(visits, 2))
    assert selection.release(cap_items(visits, 2))[0].dtype == np.int64


def test_delta_must_make_sense() -> None:
    for delta in ("0", "0.9"):
        with pytest.raises(UsageError):
            StabilitySelection.of(epsilon="0.1", delta=delta)
