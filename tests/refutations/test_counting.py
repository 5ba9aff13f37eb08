"""Counts as Fan and Jin publish them are not differentially private where a number is read from the records.

Nor are the transform and the groups that they compare with, as usually run. Every error with its counterexample, from
exact laws.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.counting import DFT, GS, HPA, LPA, SRA
from discreet.counting.cells import Cells
from discreet.counting.published.dft import IntegerDFT
from discreet.counting.published.gs import group_sums, groups, ragged_group
from discreet.data import Interactions
from discreet.errors import PrivacyError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.charging import require_allowed
from discreet.privacy.guarantees import Standing
from discreet.privacy.mechanisms import AdditiveMechanism, LaplaceMechanism
from discreet.privacy.units import Unit
from discreet.testing import additive_log_ratio, max_log_ratio


def cells_of(*people: dict[int, int], n_items: int, may_repeat: bool = True) -> Cells:
    """Each person given by numbers of records of items."""
    rows = [(u, i) for u, person in enumerate(people) for i, n in sorted(person.items()) for _ in range(n)]
    user, item = np.array(rows, dtype=np.int32).reshape(-1, 2).T
    return Cells(user, item, np.zeros(user.size, np.int32), len(people), n_items, (), may_repeat)


def log_chance(mechanism: AdditiveMechanism, sums: BoundedSums, place: int, output: int) -> float:
    """Logarithm of the chance that a noisy sum is exactly this."""
    return float(mechanism.log_pmf(sums)(np.array([output - sums.values[place]]))[0])


def chance_above(mechanism: AdditiveMechanism, sums: BoundedSums, place: int, bound: int) -> float:
    """Chance that a noisy sum is above the bound."""
    reach = int(bound + 60 * float(mechanism.parameter(sums)))
    return float(np.exp(mechanism.log_pmf(sums)(np.arange(bound + 1, reach) - sums.values[place])).sum())


# The shared sample


def test_two_releases_that_tell_nothing_can_tell_everything_together() -> None:
    """Why the published proof of SRA, which composes two releases about one sample, is no proof.

    R is a fair bit, the shared randomness; the releases are bit ⊕ R and R.
    """
    laws = {bit: {(bit ^ r, r): 0.5 for r in (0, 1)} for bit in (0, 1)}
    for part in (0, 1):
        alone = {
            bit: {value: sum(p for o, p in law.items() if o[part] == value) for value in (0, 1)}
            for bit, law in laws.items()
        }
        assert max_log_ratio(alone[0], alone[1]) == 0
    assert max_log_ratio(laws[0], laws[1]) == math.inf


def test_replacing_a_user_costs_twice_what_adding_one_does() -> None:
    method = SRA(epsilon=1, cap=2)
    nobody, park, zoo = ({}, {0: 2}, {1: 2})
    sums = [method._sums(cells_of(person, n_items=2), "items") for person in (nobody, park, zoo)]
    mechanism = method._mechanisms(cells_of({}, n_items=2))["items"]
    assert additive_log_ratio(mechanism, sums[0], sums[1]) == pytest.approx(1)
    assert additive_log_ratio(mechanism, sums[1], sums[2]) == pytest.approx(2)


# HPA takes its first number from the least active user.


@pytest.fixture
def popularity() -> tuple[HPA, list[BoundedSums]]:
    """MovieLens in small: everybody has 20 records or more; then one user with a single record comes."""
    method = HPA(epsilon=1, cap=30, first="data")
    everybody = [dict.fromkeys(range(20), 1)] * 3
    newcomer = {0: 1}
    datasets = [cells_of(*everybody, n_items=3706), cells_of(*everybody, newcomer, n_items=3706)]
    return method, [method._first_sums(dataset, method._first(dataset)) for dataset in datasets]


def test_the_least_active_user_sets_the_noise_of_hpa(popularity) -> None:
    method, (before, after) = popularity
    assert method._popularity == LaplaceMechanism(Fraction(1, 10))
    assert [method._popularity.parameter(sums) for sums in (before, after)] == [200, 10]
    # An item that nobody touched in either dataset, seen at −100.
    ratio = log_chance(method._popularity, before, 3000, -100) - log_chance(method._popularity, after, 3000, -100)
    assert ratio == pytest.approx(6.5, abs=0.05)
    assert ratio > 60 * float(Fraction(1, 10))
    assert additive_log_ratio(method._popularity, before, after) == math.inf


def test_whoever_sees_the_popularity_knows_whether_the_newcomer_is_there(popularity) -> None:
    """Some of 3706 counts off by more than 200: certain without the newcomer, next to impossible with."""
    method, datasets = popularity
    off = [2 * chance_above(method._popularity, sums, 3000, 200) for sums in datasets]
    some = [-math.expm1(3706 * math.log1p(-chance)) for chance in off]
    assert some[0] == pytest.approx(1.0, abs=1e-12)
    assert some[1] == pytest.approx(7.6e-6, rel=0.06)


# LPA takes its cap from the most active user.


def test_the_most_active_user_sets_the_noise_of_lpa() -> None:
    method = LPA(epsilon=1, cap="data")
    datasets = [cells_of({0: 1}, n_items=1), cells_of({0: 1}, {0: 100}, n_items=1)]
    mechanism = method._mechanisms(datasets[0])["items"]
    chances = [chance_above(mechanism, method._sums(dataset, "items"), 0, 60) for dataset in datasets]
    # 1.2e-26 and 0.668 in the limit of continuous noise.
    assert chances[0] == pytest.approx(math.exp(-60) / (1 + math.exp(-1)), rel=1e-9)
    assert chances[0] < 1.2e-26
    assert chances[1] == pytest.approx(0.668, abs=0.003)
    assert math.log(chances[1] / chances[0]) > 59


# The Fourier transform


def largest_l1(rows: NDArray[np.float64]) -> float:
    """sup ‖Ax‖₁ over ‖x‖₂ ≤ 1, which is the largest ‖Aᵀs‖₂ over signs s: all are tried."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(rows) - 1)))
    return float(np.linalg.norm(np.hstack([np.ones((len(signs), 1)), signs]) @ rows, axis=1).max())


def real_rows(m: int, k: int, *, unitary: bool = True) -> NDArray[np.float64]:
    """Real and imaginary parts of the first k coefficients, without those that are always 0."""
    transform = np.fft.fft(np.eye(m), norm="ortho" if unitary else None, axis=0)[:k]
    rows = np.vstack([transform.real, transform.imag])
    return rows[np.abs(rows).max(axis=1) > 1e-12]


@pytest.mark.parametrize("m", [8, 9, 16])
def test_the_scale_of_the_unitary_transform_is_right_in_its_first_half(m: int) -> None:
    for k in range(1, m // 2 + 2 if m < 16 else 7):
        assert largest_l1(real_rows(m, k)) == pytest.approx(math.sqrt(k))


def test_the_redundant_half_costs_more() -> None:
    loss = largest_l1(real_rows(8, 8)) / math.sqrt(8)
    assert largest_l1(real_rows(8, 8)) == pytest.approx(3.7417, abs=5e-5)
    assert loss == pytest.approx(1.32, abs=5e-3)


def test_the_usual_transform_without_normalization_costs_the_root_of_its_length() -> None:
    assert largest_l1(real_rows(8, 3, unitary=False)) == pytest.approx(math.sqrt(8 * 3))
    # The level of 1000 counts, where one user has one record of each: F₀ moves by √1000 times what √k·‖x‖₂ allows.
    one_each = np.ones(1000)
    assert np.fft.fft(one_each)[0].real / np.linalg.norm(one_each) == pytest.approx(31.6, abs=0.03)


def test_the_first_half_is_all_that_is_released() -> None:
    """What protects against the redundant half: more coefficients than there are are not taken."""
    method = DFT(epsilon=1, cap=4, coefficients=8)
    transform = method._transform(cells_of({}, n_items=8), "items")
    assert transform == IntegerDFT(8, 5)
    assert transform.coordinates == 8


def test_the_most_active_user_sets_the_noise_of_the_coefficients() -> None:
    method = DFT(epsilon=1, cap="data", coefficients=3)
    datasets = [cells_of({0: 1}, n_items=8), cells_of({0: 1}, {0: 100}, n_items=8)]
    transforms = [method._transform(dataset, "items").of(method._sums(dataset, "items")) for dataset in datasets]
    mechanism = method._mechanisms(datasets[0])["items"]
    scales = [float(mechanism.parameter(sums)) for sums in transforms]
    assert scales[1] / scales[0] == pytest.approx(100)
    # Ten standard deviations of the smaller noise away, the larger one is e^13 times as likely.
    far = int(transforms[0].values[0] - 20 * scales[0])
    ratio = log_chance(mechanism, transforms[1], 0, far) - log_chance(mechanism, transforms[0], 0, far)
    assert ratio > 13


# Groups of counts


def test_a_ragged_group_gets_too_little_noise() -> None:
    """Five items in groups of two, one record of each: averages move by 1 + 1 + 1, noise is for 5/2."""
    method = GS(epsilon=2, cap="data", width=2)  # half of it for the counts
    person = dict.fromkeys(range(5), 1)
    datasets = [cells_of(person, n_items=5), cells_of(person, person, n_items=5)]
    mechanism = method._mechanisms(datasets[0])["items"]
    assert mechanism == LaplaceMechanism(Fraction(1))
    partition = groups(np.array([5, 4, 3, 2, 1]), 2)
    sums = [group_sums(method._sums(dataset, "items"), partition) for dataset in datasets]
    full = [replace(one, values=one.values[:-1]) for one in sums]
    ragged = [ragged_group(one, 1, 2) for one in sums]
    loss = additive_log_ratio(mechanism, full[0], full[1]) + additive_log_ratio(mechanism, ragged[0], ragged[1])
    assert loss == pytest.approx(1.2)
    # Sums with noise for the cap keep to it, ragged or not.
    assert additive_log_ratio(mechanism, sums[0], sums[1]) == pytest.approx(1.0)


def test_groups_by_exact_counts_tell_the_counts() -> None:
    """c = (10, 10, 10, 50): one record of the first item makes other groups, and equal outputs show the groups."""
    before = _grouping_shown(np.array([10, 10, 10, 50]))
    after = _grouping_shown(np.array([11, 10, 10, 50]))
    assert before == frozenset({frozenset({0, 1}), frozenset({2, 3})})
    assert after == frozenset({frozenset({1, 2}), frozenset({0, 3})})
    # Whatever the noise on the averages, the pattern of equal outputs is certain in each dataset.
    assert max_log_ratio({before: 1.0}, {after: 1.0}) == math.inf


def _grouping_shown(counts: NDArray[np.int64]) -> frozenset[frozenset[int]]:
    """Which outputs are equal when two neighbors in the order of the exact counts share a noisy average."""
    group = groups(-counts, 2)
    return frozenset(frozenset(map(int, np.flatnonzero(group == g))) for g in np.unique(group))


# What the classes say about themselves


@pytest.mark.parametrize(
    ("published", "proved"),
    [
        (HPA(epsilon=1, cap=3, first="data"), HPA(epsilon=1, cap=3, first=2)),
        (LPA(epsilon=1, cap="data"), LPA(epsilon=1, cap=3)),
        (DFT(epsilon=1, cap="data"), DFT(epsilon=1, cap=3)),
        (GS(epsilon=1, cap="data"), GS(epsilon=1, cap=3)),
    ],
    ids=["HPA", "LPA", "DFT", "GS"],
)
def test_the_classes_know_it(published, proved) -> None:
    data = Interactions([("u", "a")], items=["a", "b"])
    refuted = published.plan(data).guarantee
    assert refuted.standing is Standing.REFUTED
    assert "tests/refutations/test_counting.py" in refuted.basis
    with pytest.raises(PrivacyError, match="refuted"):
        require_allowed(refuted, allow_refuted=False)
    assert proved.plan(data).guarantee.standing is Standing.PROVED
    assert proved.plan(data).guarantee.unit == Unit("user")
