"""Every broken mechanism is refuted by the game that is made for its mistake; the correct one is not."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import audit
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing
from discreet.testing.broken_counts import BROKEN_COUNTS, CorrectCounts, FloatNoise, NoisyCounts, SeededNoise

# The game that must refute each, and how many runs that takes.
CAUGHT_BY = {
    "half-noise": ("one-item", 40),
    "uncharged-head": ("active-user", 100),
    "cap-from-records": ("active-user", 100),
    "float-noise": ("traces", 150),
    "sparse-noise": ("canary", 20),
    "reused-noise": ("traces", 40),
    "seeded-noise": ("canary", 20),
    "records-seeded-noise": ("canary", 20),
}


def test_all_are_tried() -> None:
    assert set(CAUGHT_BY) == set(BROKEN_COUNTS)


@pytest.mark.parametrize("name", CAUGHT_BY)
def test_a_broken_mechanism_is_refuted(films, fixed_bits, name: str) -> None:
    game, runs = CAUGHT_BY[name]
    report = audit(BROKEN_COUNTS[name], films, attacks=game, runs=runs, processes=1, seconds=None)
    assert report.refuted
    claim = report[game].claim
    assert claim is not None
    assert claim.epsilon == 1


@pytest.mark.parametrize("game", sorted({game for game, _ in CAUGHT_BY.values()}))
def test_the_correct_one_is_not_refuted(films, fixed_bits, game: str) -> None:
    report = audit(CorrectCounts(), films, attacks=game, runs=25, processes=1, seconds=None)
    assert report[game].verdict == "consistent"


@pytest.mark.parametrize("broken", BROKEN_COUNTS.values(), ids=list(BROKEN_COUNTS))
def test_a_broken_mechanism_does_not_run_by_accident(films, broken: NoisyCounts) -> None:
    assert broken.plan(films).guarantee.standing is Standing.REFUTED
    assert broken.flaw in broken.plan(films).guarantee.basis
    with pytest.raises(PrivacyError, match="broken on purpose"):
        broken.release(films)


def test_the_correct_one_is_proved(films) -> None:
    assert CorrectCounts().release(films).guarantee.standing is Standing.PROVED


def test_two_runs_with_a_seed_have_the_same_noise(films) -> None:
    # A cap that cuts nobody: what is left of chance would be the noise.
    for seed in (7, "records"):
        broken = SeededNoise(cap=10**6, seed=seed)
        first, second = (broken.release(films, allow_refuted=True).table("counts") for _ in range(2))
        assert first.equals(second)


def test_another_dataset_has_another_seed(films) -> None:
    broken = SeededNoise(cap=10**6, seed="records")
    fewer = films.filter(films.user != 0, independent=True)
    noise = [
        broken.release(data, allow_refuted=True).table("counts")["count"].to_numpy() - data.records_per_item
        for data in (films, fewer)
    ]
    assert (noise[0] != noise[1]).any()


def test_float_noise_has_the_law_that_it_claims(fixed_bits) -> None:
    """It is broken in its digits alone: its scale is right."""
    data = dc.Interactions([("a", "x")], items=[f"x{i}" for i in range(20_000)] + ["x"])
    noise = FloatNoise(cap=3).release(data, allow_refuted=True).table("counts")["count"].to_numpy()[:-1]
    assert np.abs(noise).mean() == pytest.approx(3, rel=0.03)
    assert noise.mean() == pytest.approx(0, abs=0.15)


def test_reused_noise_wants_ratings() -> None:
    data = dc.Interactions([("a", "x")], items=["x", "y"])
    with pytest.raises(UsageError, match="no ratings"):
        BROKEN_COUNTS["reused-noise"].release(data, allow_refuted=True)
