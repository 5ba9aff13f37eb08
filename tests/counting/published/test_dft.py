"""DFT: an integer transform that is the unitary one, bounds that hold for it, noise as estimated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.counting import DFT
from discreet.counting.cells import Cells
from discreet.counting.published.dft import TABLE_BITS, IntegerDFT
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import mu_for
from discreet.privacy.noise import MOST_SCALE
from discreet.privacy.units import Unit

LENGTHS = [1, 2, 3, 8, 9, 16, 101]


def sums_of(values: np.ndarray) -> BoundedSums:
    """Sums of one user alone: the bounds are those of the vector itself."""
    squared = Fraction(int(np.dot(values.astype(object), values.astype(object))))
    return BoundedSums(values, Fraction(1), Fraction(int(np.abs(values).sum())), squared, squared, False, Unit(), ())


def kept_coefficients(length: int) -> list[int]:
    return sorted({1, min(2, length // 2 + 1), length // 2 + 1})


def unitary_parts(values: np.ndarray, transform: IntegerDFT) -> np.ndarray:
    """The same coordinates by numpy, in floating point."""
    parts = []
    for j, z in enumerate(np.fft.rfft(values.astype(float), norm="ortho")[: transform.coefficients]):
        alone = j == 0 or 2 * j == transform.length
        factor = 1.0 if alone or not transform.even else math.sqrt(2)
        parts += [factor * z.real] if alone else [factor * z.real, -factor * z.imag]
    return np.array(parts)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("even", [False, True])
def test_integers_follow_the_unitary_transform(length: int, even: bool) -> None:
    values = np.random.default_rng(length).integers(0, 1000, length)
    for k in kept_coefficients(length):
        transform = IntegerDFT(length, k, even)
        whole = transform.of(sums_of(values))
        assert whole.values.shape == (transform.coordinates,)
        scaled = whole.values / (2**TABLE_BITS * math.sqrt(length))
        assert scaled == pytest.approx(unitary_parts(values, transform), abs=2**-TABLE_BITS * np.abs(values).sum())


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("even", [False, True])
def test_all_coefficients_give_everything_back(length: int, even: bool) -> None:
    values = np.random.default_rng(length).integers(0, 1000, length)
    transform = IntegerDFT(length, length // 2 + 1, even)
    whole = transform.of(sums_of(values))
    assert transform.back(whole.values * float(whole.step)) == pytest.approx(values, abs=0.1)


def extreme_vectors(length: int, transform: IntegerDFT):
    """Vectors whose coefficients are all of one size and have equal parts, with random signs; a spike; a level."""
    rng = np.random.default_rng(1)
    size = np.full(transform.coordinates, 1.0 if transform.even else 0.5)
    size[0] = size[-1 if transform.has_middle else 0] = 1.0
    for _ in range(20):
        signs = rng.choice([-1.0, 1.0], transform.coordinates)
        yield np.rint(1e6 * transform.back(signs * size * math.sqrt(length))).astype(np.int64)
    yield np.eye(1, length, dtype=np.int64)[0] * 1000
    yield np.full(length, 777, dtype=np.int64)
    yield rng.integers(-1000, 1000, length)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("even", [False, True])
def test_bounds_hold_for_the_integers_and_are_nearly_attained(length: int, even: bool) -> None:
    for k in kept_coefficients(length):
        transform = IntegerDFT(length, k, even)
        nearest = 0.0
        for values in extreme_vectors(length, transform):
            if not values.any():
                continue
            whole = transform.of(sums_of(values))
            parts = [int(x) for x in whole.values]
            assert sum(map(abs, parts)) <= whole.l1
            assert sum(x * x for x in parts) <= whole.l2_squared
            assert max(map(abs, parts)) <= whole.linf
            used = sum(x * x for x in parts) / whole.l2_squared if even else sum(map(abs, parts)) / whole.l1
            nearest = max(nearest, float(used))
        assert nearest > 0.99


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_scales_are_those_of_the_theorem(drawn_scales, delta) -> None:
    data = dc.Interactions([("u", 0)], items=range(100))
    method = DFT(epsilon="1/2", cap=30, coefficients=20, delta=delta)
    method.release(data)
    step = 2.0 ** -(TABLE_BITS + 10) / math.sqrt(100)
    if not delta:
        assert float(drawn_scales[0]) * step == pytest.approx(math.sqrt(20 * 30) / 0.5, rel=1e-3)
    else:
        sigma = math.sqrt(30) / float(mu_for("1/2", delta))
        assert float(drawn_scales[0]) * step == pytest.approx(sigma, rel=1e-3)


@pytest.mark.parametrize(("delta", "epsilon"), [(0, "1e-6"), (0, "5e-8"), ("1e-9", "1e-8")])
def test_a_large_scale_is_drawn_on_a_coarser_grid(drawn_scales, delta, epsilon) -> None:
    """The scale in records stays that of the theorem, up to what rounded cosines cost."""
    data = dc.Interactions([("u", 0)], items=range(100))
    method = DFT(epsilon=epsilon, cap=30, coefficients=20, delta=delta)
    method.release(data)
    assert 2**46 < drawn_scales[0] <= MOST_SCALE
    length = math.sqrt(30)
    scale = length / float(mu_for(epsilon, delta)) if delta else math.sqrt(20) * length / float(epsilon)
    assert 1 < method.estimate(data)["scale"] / scale < 1.01


def test_the_grid_follows_from_public_values() -> None:
    items = range(100)
    one, many = dc.Interactions([("u", 0)], items=items), dc.Interactions([("u", i) for i in items], items=items)
    for epsilon in ("1", "1e-6", "5e-8"):
        method = DFT(epsilon=epsilon, cap=30)
        assert method._on_grid(Cells.of(one), "items") == method._on_grid(Cells.of(many), "items")
        sums = [method._transform(Cells.of(d), "items").of(method._sums(Cells.of(d), "items")) for d in (one, many)]
        assert (sums[0].l1, sums[0].step) == (sums[1].l1, sums[1].step)
    assert [DFT(epsilon=e, cap=30)._on_grid(Cells.of(one), "items")[0].bits for e in ("1", "5e-8")] == [16, 10]


def test_as_published_a_city_of_check_ins_can_be_drawn(drawn_scales) -> None:
    """One person with 1,794 visits among 150,563 counts needed 4.2e14 grid steps once."""
    rows = [("u", 0)] * 1794 + [("v", 1)]
    data = dc.Interactions(rows, items=range(21_509), duplicates="keep")
    release = DFT(epsilon="1/2", cap="data").release(data, contexts=[], allow_refuted=True)
    assert release.table("counts").height == 21_509
    in_records = float(drawn_scales[0]) / 2**TABLE_BITS / math.sqrt(21_509)
    assert in_records == pytest.approx(math.sqrt(20) * 1794 / 0.5, rel=1e-3)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("coefficients", [1, 4, 8])
def test_estimated_noise_is_the_noise(delta, coefficients: int, fixed_bits) -> None:
    nobody = dc.Interactions([("u", 0)], items=range(14)).emptied()
    method = DFT(epsilon=1, cap=5, coefficients=coefficients, delta=delta)
    counts = np.array([method.release(nobody).table("counts")["count"].to_numpy() for _ in range(300)])
    assert math.sqrt((counts**2).mean()) == pytest.approx(method.estimate(nobody)["noise_sd"], rel=0.15)


def test_a_smooth_list_comes_back(drawn_scales) -> None:
    """Popularity that is one wave along the catalog needs two coefficients."""
    heights = (10 + 5 * np.cos(np.arange(40) * math.tau / 40)).round().astype(int)
    rows = [(f"{item}-{n}", item) for item, height in enumerate(heights) for n in range(height)]
    data = dc.Interactions(rows, items=range(40))
    counts = DFT(epsilon=1, cap=1, coefficients=2).release(data).table("counts")["count"].to_numpy()
    assert counts == pytest.approx(heights, abs=1)


def test_long_vectors_are_scaled_down(drawn_scales) -> None:
    data = dc.Interactions([("u", item) for item in range(16)], items=range(16))
    counts = DFT(epsilon=1, cap=4, coefficients=9).release(data).table("counts")["count"].to_numpy()
    assert counts == pytest.approx([0.5] * 16, abs=1e-3)


def test_edges_are_one_long_list(visits, drawn_scales) -> None:
    release = DFT(epsilon=1, cap=100, coefficients=6).release(visits, contexts=["day=dry,wet"])
    assert len(drawn_scales) == 2
    assert release.table("edges")["count"].to_list() == pytest.approx([0, 0, 0, 1, 6, 0, 1, 0, 1, 1], abs=0.01)


def test_as_published_the_scale_tells_who_is_there(visits, drawn_scales) -> None:
    method = DFT(epsilon=1, cap="data", coefficients=3)
    with pytest.raises(PrivacyError, match="refuted"):
        method.release(visits)
    release = method.release(visits, allow_refuted=True)
    method.release(visits.filter(visits.user == 1), allow_refuted=True)
    assert release.guarantee.standing is Standing.REFUTED
    assert str(release.guarantee) == str(method.plan(visits).guarantee)
    assert drawn_scales[0] == pytest.approx(9 * drawn_scales[1])  # nine records of one place are a vector of length 9
    assert "noise_sd" not in method.estimate(visits)


@pytest.mark.parametrize(
    "settings",
    [
        {"cap": 0},
        {"coefficients": 0},
        {"coefficients": 2.0},
        {"delta": 1},
        {"delta": -1},
        {"epsilon": "1/1000000000000000"},
    ],
    ids=str,
)
def test_nonsense_is_refused(visits, settings) -> None:
    with pytest.raises(UsageError):
        DFT(**{"epsilon": 1, "cap": 3, **settings}).release(visits)


def test_an_empty_catalog_has_nothing_to_transform(visits) -> None:
    with pytest.raises(UsageError, match="without items"):
        DFT(epsilon=1, cap=3).release(dc.Interactions([("u", "a")]).emptied().with_catalog([]))
