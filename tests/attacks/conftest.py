"""Mechanisms whose privacy is known exactly, for the audit to find out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import discreet as dc
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.release import Release
from discreet.privacy.units import Unit


@dataclass(frozen=True)
class NoisyUsers:
    """The number of users with Laplace noise for ``spent``, and a claim of ``epsilon``: honest if they are equal."""

    name: ClassVar[str] = "noisy-users"

    epsilon: Fraction = Fraction(1)
    spent: Fraction = Fraction(1)

    def release(self, data: dc.Interactions) -> Release:
        unit = Fraction(1)
        # On a grid so fine that the discrete noise is nearly continuous.
        sums = BoundedSums(
            np.array([64 * data.n_users]), unit / 64, 64 * unit, 4096 * unit, 64 * unit, True, Unit(), ()
        )
        promise = Guarantee(Pure(self.epsilon), Unit(), Standing.PROVED, "a claim", "the number of users")
        with charged(None, data, promise, mechanism=self.name, parameters={}) as charge:
            noisy = LaplaceMechanism(self.spent).release(sums) / 64
            release = Release("users", promise, self.name, {}, {"users": noisy})
            charge.settle(release.id)
        return release


@pytest.fixture
def noisy_users() -> Callable[..., NoisyUsers]:
    return NoisyUsers


@pytest.fixture(scope="session")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=60, items=45, seed=7)
