"""Every broken twin is caught, by the game that is made for its mistake; the honest one stands."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.attacks.audit import audit
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing
from discreet.testing.twins import TWINS, FloatNoise, HonestCounts, SeededNoise, TwinCounts

# The game that must catch each twin, and how many runs it takes to be sure.
CAUGHT_BY = {
    "half-noise": ("one-item", 80),
    "uncharged-head": ("active-user", 100),
    "cap-from-records": ("active-user", 100),
    "float-noise": ("traces", 150),
    "sparse-noise": ("canary", 20),
    "reused-noise": ("traces", 40),
    "seeded-noise": ("canary", 20),
    "records-seeded-noise": ("canary", 20),
}


def test_all_are_tried() -> None:
    assert set(CAUGHT_BY) == set(TWINS)


@pytest.mark.parametrize("name", CAUGHT_BY)
def test_a_twin_is_refuted(films, fixed_bits, name: str) -> None:
    game, runs = CAUGHT_BY[name]
    report = audit(TWINS[name], films, attacks=game, runs=runs, processes=1, seconds=None)
    assert report.refuted
    claim = report[game].claim
    assert claim is not None
    assert claim.epsilon == 1


@pytest.mark.parametrize("game", sorted({game for game, _ in CAUGHT_BY.values()}))
def test_the_honest_one_stands(films, fixed_bits, game: str) -> None:
    report = audit(HonestCounts(), films, attacks=game, runs=25, processes=1, seconds=None)
    assert report[game].verdict == "consistent"


@pytest.mark.parametrize("twin", TWINS.values(), ids=list(TWINS))
def test_a_twin_does_not_run_by_accident(films, twin: TwinCounts) -> None:
    assert twin.guarantee(films).standing is Standing.REFUTED
    assert twin.flaw in twin.guarantee(films).basis
    with pytest.raises(PrivacyError, match="broken on purpose"):
        twin.release(films)


def test_the_honest_one_is_proved(films) -> None:
    assert HonestCounts().release(films).guarantee.standing is Standing.PROVED


def test_two_runs_with_a_seed_have_the_same_noise(films) -> None:
    # A cap that cuts nobody: what is left of chance would be the noise.
    for seed in (7, "records"):
        twin = SeededNoise(cap=10**6, seed=seed)
        first, second = (twin.release(films, allow_refuted=True).table("counts") for _ in range(2))
        assert first.equals(second)


def test_another_dataset_has_another_seed(films) -> None:
    twin = SeededNoise(cap=10**6, seed="records")
    fewer = films.filter(films.user != 0, independent=True)
    noise = [
        twin.release(data, allow_refuted=True).table("counts")["count"].to_numpy() - data.records_per_item
        for data in (films, fewer)
    ]
    assert (noise[0] != noise[1]).any()


def test_float_noise_has_the_law_that_it_claims(fixed_bits) -> None:
    """The twin is broken in its digits alone: its scale is right."""
    data = dc.Interactions([("a", "x")], items=[f"x{i}" for i in range(20_000)] + ["x"])
    noise = FloatNoise(cap=3).release(data, allow_refuted=True).table("counts")["count"].to_numpy()[:-1]
    assert np.abs(noise).mean() == pytest.approx(3, rel=0.03)
    assert noise.mean() == pytest.approx(0, abs=0.15)


def test_reused_noise_wants_ratings() -> None:
    data = dc.Interactions([("a", "x")], items=["x", "y"])
    with pytest.raises(UsageError, match="no ratings"):
        TWINS["reused-noise"].release(data, allow_refuted=True)
