"""A second opinion: our samplers, maps and thresholds beside OpenDP's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from discreet.privacy.bounding import BoundedSums
from discreet.privacy.discovery import StabilitySelection
from discreet.privacy.losses import Concentrated
from discreet.privacy.mechanisms import GaussianMechanism, LaplaceMechanism
from discreet.privacy.noise import discrete_gaussian, discrete_laplace
from discreet.privacy.units import Unit

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")


def sums(l1: int, l2_squared: int) -> BoundedSums:
    return BoundedSums(
        np.zeros(3, dtype=np.int64), Fraction(1), Fraction(l1), Fraction(l2_squared), Fraction(1), True, Unit(), ()
    )


def laplace(scale: float):
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)


def gaussian(scale: float):
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float), scale=scale)


def same_law(ours: np.ndarray, theirs: np.ndarray) -> float:
    cuts = np.unique(np.quantile(np.concatenate([ours, theirs]), np.linspace(0, 1, 21))[1:-1])
    table = [np.bincount(np.searchsorted(cuts, part), minlength=cuts.size + 1) for part in (ours, theirs)]
    table = np.array(table)
    _, p_value, *_ = chi2_contingency(table[:, table.sum(axis=0) > 0])
    return float(p_value)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
def test_laplace_samples(scale: float) -> None:
    theirs = np.array(laplace(scale)([0] * 20_000))
    assert same_law(discrete_laplace(20_000, Fraction(scale)), theirs) > 1e-7
    assert same_law(discrete_laplace(20_000, Fraction(scale) * Fraction(6, 5)), theirs) < 1e-4


@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
def test_gaussian_samples(scale: float) -> None:
    theirs = np.array(gaussian(scale)([0] * 20_000))
    assert same_law(discrete_gaussian(20_000, Fraction(scale) ** 2), theirs) > 1e-7
    assert same_law(discrete_gaussian(20_000, (Fraction(scale) * Fraction(6, 5)) ** 2), theirs) < 1e-4


@pytest.mark.parametrize(("l1", "epsilon"), [(1, "1/2"), (30, "1/2"), (7, "3/10")])
def test_laplace_map(l1: int, epsilon: str) -> None:
    mechanism = LaplaceMechanism.of(epsilon)
    theirs = laplace(float(mechanism.parameter(sums(l1, l1)))).map(l1)
    assert theirs == pytest.approx(float(Fraction(epsilon)), rel=1e-9)


@pytest.mark.parametrize(("l2_squared", "rho"), [(1, "1/2"), (200, "1/100")])
def test_gaussian_map(l2_squared: int, rho: str) -> None:
    mechanism = GaussianMechanism(Fraction(rho))
    scale = float(mechanism.parameter(sums(l2_squared, l2_squared))) ** 0.5
    assert gaussian(scale).map(l2_squared**0.5) == pytest.approx(float(Fraction(rho)), rel=1e-9)


@pytest.mark.parametrize("rho", ["1/1000", "1/50", "1/2", "3"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-3"])
def test_conversion_of_zcdp(rho: str, delta: str) -> None:
    scale = (1 / (2 * float(Fraction(rho)))) ** 0.5
    theirs = dp.c.make_zCDP_to_approxDP(gaussian(scale)).map(1.0).epsilon(float(Fraction(delta)))
    ours = float(Concentrated(Fraction(rho)).epsilon_at(Fraction(delta)))
    assert ours == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("cap", [1, 5, 20])
def test_discovery_threshold(cap: int) -> None:
    """OpenDP's noisy-threshold release at our scale and threshold keeps the (ε, δ) that we state."""
    selection = StabilitySelection.of(epsilon="1/2", delta="1e-6")
    space = (
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64")),
        dp.l01inf_distance(dp.absolute_distance(T="i64")),
    )
    release = dp.m.make_laplace_threshold(
        *space, scale=float(selection.parameter(cap)), threshold=selection.threshold(cap)
    )
    epsilon, delta = release.map((cap, cap, 1))
    assert epsilon == pytest.approx(0.5, rel=1e-9)
    assert delta <= 1e-6 * 1.001
    lower = dp.m.make_laplace_threshold(
        *space, scale=float(selection.parameter(cap)), threshold=selection.threshold(cap) - max(2, cap)
    )
    assert lower.map((cap, cap, 1))[1] > 1e-6
