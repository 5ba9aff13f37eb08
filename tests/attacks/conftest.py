"""Mechanisms whose privacy is known exactly, for the audit to find out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import audit
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
        guarantee = Guarantee(Pure(self.epsilon), Unit(), Standing.PROVED, "a claim", "the number of users")
        with charged(None, data, guarantee, mechanism=self.name, parameters={}) as charge:
            noisy = LaplaceMechanism(self.spent).release(sums) / 64
            release = Release("users", guarantee, self.name, {}, {"users": noisy})
            charge.settle(release.id)
        return release


@pytest.fixture
def noisy_users() -> Callable[..., NoisyUsers]:
    return NoisyUsers


@pytest.fixture(autouse=True)
def unlimited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits here have no limit of time unless a test gives one: a busy machine would leave runs out."""
    defaults = audit.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "seconds", None)


@pytest.fixture
def fixed_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for models of other people: generators without a seed of their own start at fixed states.

    The states are numbers that an audit takes for entropy and not for a seed that somebody chose.
    """
    states, seeded = itertools.count(2**100), np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed=None: seeded(next(states) if seed is None else seed))


class SlowTime:
    """A clock that stands still until it is moved: what an audit does with its time does not depend on the machine."""

    def __init__(self) -> None:
        self.now = 1000.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def slow_time(monkeypatch: pytest.MonkeyPatch) -> SlowTime:
    clock = SlowTime()
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture(scope="session")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=60, items=45, seed=7)
