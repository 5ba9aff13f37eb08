"""A guarantee in the unit of the game, and verdicts against it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.engine.claims import Claim, claim_about
from discreet.attacks.engine.page import allowed
from discreet.attacks.engine.verdicts import Proved, Score, runs_needed
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure, rho_for
from discreet.privacy.units import Unit


def guarantee(unit: str, loss: Loss | None = None) -> Guarantee:
    return Guarantee(loss or Pure(Fraction(1)), Unit.of(unit), Standing.PROVED, "a theorem", "something")


@pytest.mark.parametrize(
    ("guaranteed", "played", "epsilon"),
    [
        ("user", "user", 1),
        ("user", "user/replace", 2),
        ("user", "record", 2),
        ("record", "record", 1),
        ("record", "record/value", 2),
        ("record", "user", 7),
        ("record/replace", "record/value", 1),
        ("user/replace", "record/value", 1),
        ("record/replace", "user", None),
        ("user/replace", "user", None),
        ("group:3", "user", None),
        ("score/value", "score/value", 1),
        ("score/value", "record/value", None),
        ("user", "score/value", None),
    ],
)
def test_steps_from_dataset_to_dataset(guaranteed: str, played: str, epsilon: int | None) -> None:
    claim = claim_about(guarantee(guaranteed), Unit.of(played), records=7)
    assert (None if claim is None else claim.epsilon) == epsilon


def test_nothing_guaranteed_nothing_claimed() -> None:
    assert claim_about(None, Unit(), records=1) is None


def test_the_delta_of_the_model_counts() -> None:
    rho = rho_for(1, "1e-5")
    claim = claim_about(guarantee("user", Concentrated(rho)), Unit(), records=1, delta="1e-5")
    assert claim is not None
    assert claim.epsilon == pytest.approx(1, abs=1e-6)
    assert (claim.measure, claim.value) == ("ρ", pytest.approx(float(rho)))
    assert claim.as_epsilon().measure == "ε"


def score(claim: Claim | None, proved: Proved, ceiling: Proved) -> Score:
    return Score("game", "white box", Unit(), claim, 0.95, 1, 100, 1, 100, proved, ceiling)


@pytest.mark.parametrize(
    ("epsilon", "ceiling", "verdict"), [(1.1, 3.0, "refuted"), (0.9, 3.0, "consistent"), (0.5, 0.9, "inconclusive")]
)
def test_verdicts(epsilon: float, ceiling: float, verdict: str) -> None:
    claim = Claim(Pure(Fraction(1)), Fraction(0))
    assert score(claim, Proved(epsilon, 9, 9), Proved(ceiling, 9, 9)).verdict == verdict
    assert score(None, Proved(epsilon, 9, 9), Proved(ceiling, 9, 9)).verdict == "no claim"


def test_concentrated_claims_are_refuted_by_rho_or_by_epsilon() -> None:
    claim = Claim(Concentrated(rho_for(1, "1e-6")), Fraction(1, 10**6))
    high = Proved(9, 9, 9)
    assert score(claim, Proved(0.1, 0, 0.03), high).verdict == "refuted"
    assert score(claim, Proved(1.1, 0, 0.01), high).verdict == "refuted"
    assert score(claim, Proved(0.9, 0, 0.02), high).verdict == "consistent"


def test_runs_needed_is_where_the_ceiling_passes_the_claim() -> None:
    assert runs_needed(Claim(Pure(Fraction(328, 100)), Fraction(0)), 0.95) == pytest.approx(204, abs=4)
    # A δ that covers everything leaves nothing to refute.
    assert runs_needed(Claim(Approximate(Fraction(20), Fraction(0)), Fraction(0)), 0.95) is None


def test_areas_of_claims() -> None:
    false = np.array([0.1, 0.5])
    mu = GaussianLoss(Fraction(1))
    assert allowed(Claim(mu, Fraction(1, 10**6)), false) == pytest.approx([0.3891, 0.8413], abs=1e-4)
    # zCDP of the same Gaussian noise allows more than the noise itself, and less than its ε at one δ alone.
    loose = allowed(Claim(Concentrated(Fraction(1, 2)), Fraction(1, 10**6)), false)
    one = allowed(Claim(Concentrated(Fraction(1, 2)), Fraction(1, 10**6)).as_epsilon(), false)
    assert (loose >= [0.389, 0.841]).all()
    assert (loose <= one).all()
    assert loose[0] < one[0]
