"""Weighted, clipped and hybrid counts, and chosen caps: exact laws over all tiny neighboring datasets."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.counting.caps import RankChoice, binned, sizes_of, users_above
from discreet.counting.cells import Cells, Level
from discreet.counting.item_counts import leaning_weights, smoothed
from discreet.data.contexts import Context
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import LaplaceMechanism, NormalMechanism
from discreet.privacy.selection import ExponentialMechanism
from discreet.privacy.weighing import sums_within_l2, weights_within_l2
from discreet.testing import additive_log_ratio, additive_renyi, max_log_ratio, neighboring_datasets

EPSILON, RHO = Fraction(1, 2), Fraction(1, 8)
MU_SQUARED = 2 * RHO  # μ-GDP has Rényi divergences of at most αμ²/2
BITS = 2
DAYS = Context("day", ("dry", "wet"))
History = tuple[tuple[int, int], ...]


def dataset(*people: History, n_items: int = 2) -> Cells:
    """Cells of people who have records of items in places."""
    rows = sorted((user, item, place) for user, person in enumerate(people) for item, place in person)
    user, item, place = (np.array(rows, dtype=np.int32).reshape(-1, 3)).T.copy()
    return Cells(user, item, place, len(people), n_items, (DAYS,), may_repeat=True)


def histories(n_items: int = 2, most: int = 3) -> list[History]:
    """Every history of up to ``most`` records over items and two places."""
    kinds = list(itertools.product(range(n_items), range(2)))
    return [h for size in range(1, most + 1) for h in itertools.combinations_with_replacement(kinds, size)]


def pairs(n_items: int = 2, most: int = 3, others: int = 5):
    """Datasets of nobody, or of one of a few others, without and with every person."""
    everyone = histories(n_items, most)
    few = [(h,) for h in everyone[:: len(everyone) // others]] if others else []
    for there in [(), *few]:
        for person in everyone:
            yield dataset(*there, n_items=n_items), dataset(*there, person, n_items=n_items)


def leaning(cells: Cells, level: Level, popularity, *, norm: int, gamma: float = 1, bits: int = BITS) -> BoundedSums:
    weight = leaning_weights(cells, smoothed(popularity), 2, gamma=gamma, norm=norm, bits=bits)
    return cells.bounded(cells.totals(level, weight), 2, norm, bits=bits)


@dataclass(frozen=True)
class TooLittleNoise(LaplaceMechanism):
    """A broken mechanism: nine tenths of the scale."""

    def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
        return super().parameter(sums, off_diagonal=off_diagonal) * Fraction(9, 10)


@dataclass(frozen=True)
class TooLittleVariance(NormalMechanism):
    """A broken mechanism: nine tenths of the standard deviation."""

    def parameter(self, sums: Any, *, off_diagonal: bool = False) -> Fraction:
        return super().parameter(sums, off_diagonal=off_diagonal) * Fraction(9, 10)


LOOKS = [np.array(p, dtype=float) for p in itertools.product((-9.0, 0.5, 3.0, 40.0), repeat=2)]


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_clipped_items_and_edges_keep_mu_and_use_it(order: float) -> None:
    mechanism = NormalMechanism(MU_SQUARED)
    worst = 0.0
    for without, with_user in pairs():
        for level in ("items", "edges"):
            sums = [cells.within(level, 2, norm=2, bits=BITS) for cells in (without, with_user)]
            worst = max(worst, additive_renyi(mechanism, sums[0], sums[1], order))
    assert worst <= float(RHO) * order + 1e-9
    assert worst >= 0.9 * float(RHO) * order


def test_clipping_each_level_by_the_number_of_records_is_caught() -> None:
    """A broken mechanism: √(C²/|T|) bounds the length only where no item is touched twice."""
    mechanism = NormalMechanism(MU_SQUARED)
    worst = 0.0
    for without, with_user in pairs():
        sums = []
        for cells in (without, with_user):
            weight = weights_within_l2(cells.records_per_user, Fraction(2), bits=BITS)
            totals = cells.totals("items", user_weight=weight)
            sums.append(sums_within_l2(totals, Fraction(2), may_repeat=True, bits=BITS))
        worst = max(worst, additive_renyi(mechanism, sums[0], sums[1], 2.0))
    assert worst > 1.2 * float(RHO) * 2


def hybrid_log_ratio(without: Cells, with_user: Cells, factor: Fraction = Fraction(1)) -> float:
    """The largest log-ratio of first look, items and edges together.

    For a given first look y the rest has log-ratios up to r(y) in both directions; the first look itself has the one of
    y. All y with a larger one lie beyond the window, where neither the look's ratio nor the order of items changes.
    """
    first, second = (LaplaceMechanism(EPSILON / factor) for _ in range(2))
    looks = [cells.within("items", 1, norm=1, bits=BITS) for cells in (without, with_user)]
    log_pmf = first.log_pmf(looks[0])
    worst = 0.0
    for look in LOOKS:
        steps = np.round(look * 2**BITS).astype(np.int64)
        ratio = float((log_pmf(steps - looks[0].values) - log_pmf(steps - looks[1].values)).sum())
        rest = sum(
            additive_log_ratio(second, leaning(without, level, look, norm=1), leaning(with_user, level, look, norm=1))
            for level in ("items", "edges")
        )
        worst = max(worst, abs(ratio) + rest)
    return worst


def test_hybrid_counts_keep_the_sum_of_their_budgets_and_use_it() -> None:
    losses = [hybrid_log_ratio(*pair) for pair in pairs(others=2)]
    assert max(losses) <= 3 * float(EPSILON) + 1e-9
    assert max(losses) >= 0.98 * 3 * float(EPSILON)


def test_hybrid_counts_with_a_tenth_less_noise_are_caught() -> None:
    losses = [hybrid_log_ratio(*pair, factor=Fraction(9, 10)) for pair in pairs(others=0)]
    assert max(losses) > 1.05 * 3 * float(EPSILON)


def test_weights_from_a_popularity_that_nobody_paid_for_are_caught() -> None:
    """The broken mechanism: one more user moves the weights of everybody else."""
    others = [((0, 0), (0, 0), (1, 0), (1, 0))] * 5
    without, with_user = dataset(*others), dataset(*others, ((0, 0), (0, 0)))
    mechanism = LaplaceMechanism(EPSILON)
    own = [leaning(c, "items", c.totals("items").astype(float), norm=1, gamma=9) for c in (without, with_user)]
    paid = [leaning(c, "items", np.array([10.0, 10.0]), norm=1, gamma=9) for c in (without, with_user)]
    assert additive_log_ratio(mechanism, *paid) <= float(EPSILON) + 1e-9
    assert additive_log_ratio(mechanism, *own) > 1.2 * float(EPSILON)


@pytest.mark.parametrize("order", [1.5, 4.0])
def test_hybrid_lengths_keep_mu_for_every_first_look(order: float) -> None:
    mechanism = NormalMechanism(MU_SQUARED)
    worst = 0.0
    for without, with_user in pairs(others=2):
        for look in LOOKS[::3]:
            for level in ("items", "edges"):
                sums = [leaning(c, level, look, norm=2) for c in (without, with_user)]
                worst = max(worst, additive_renyi(mechanism, sums[0], sums[1], order))
    assert worst <= float(RHO) * order + 1e-9
    assert worst >= 0.9 * float(RHO) * order


def test_hybrid_lengths_with_a_tenth_less_noise_are_caught() -> None:
    mechanism = TooLittleVariance(MU_SQUARED)
    worst = 0.0
    for without, with_user in pairs(others=0):
        sums = [leaning(c, "items", LOOKS[0], norm=2) for c in (without, with_user)]
        worst = max(worst, additive_renyi(mechanism, sums[0], sums[1], 4.0))
    assert worst > 1.05 * float(RHO) * 4


@dataclass(frozen=True)
class OneSided(ExponentialMechanism):
    """A broken mechanism: scores that move both ways, taken for scores that only rise."""

    def rate(self, scores: BoundedSums) -> Fraction:
        return 2 * super().rate(scores)


def cap_pairs():
    """Up to two users, each with one to five records of one item."""
    return neighboring_datasets("a", most_users=2, most_records=5, repeats=True)


@pytest.mark.parametrize(("mechanism", "holds"), [(ExponentialMechanism, True), (OneSided, False)])
def test_a_cap_chosen_by_rank_keeps_epsilon(mechanism, holds: bool) -> None:
    worst = 0.0
    for counts in (0, 1, 2):
        for without, with_user in cap_pairs():
            wanted = RankChoice(Fraction(1), counts)
            laws = [
                mechanism(Fraction(1)).law(wanted.scores(users_above(sizes_of(d, squared=False), 4)))
                for d in (without, with_user)
            ]
            worst = max(worst, max_log_ratio(*laws))
    assert (worst <= 1) == holds
    assert worst > 0.4


def test_a_histogram_of_users_keeps_epsilon_and_uses_it() -> None:
    for squared in (False, True):
        losses = [
            additive_log_ratio(
                LaplaceMechanism(EPSILON), *(binned(sizes_of(d, squared=squared), 4) for d in (without, with_user))
            )
            for without, with_user in cap_pairs()
        ]
        assert max(losses) == pytest.approx(float(EPSILON), abs=1e-9)


def test_a_user_in_two_bins_is_caught() -> None:
    """A broken mechanism: cumulative bins, each with the noise of one."""
    losses = []
    for without, with_user in cap_pairs():
        sums = [binned(d.records_per_user, 4) for d in (without, with_user)]
        cumulative = [replace(s, values=np.cumsum(s.values)) for s in sums]
        losses.append(additive_log_ratio(LaplaceMechanism(EPSILON), cumulative[0], cumulative[1]))
    assert max(losses) > 2 * float(EPSILON)
