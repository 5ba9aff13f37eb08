"""The one door through which secret values meet randomness.

Every mechanism hands its secret values, its public parameter and what it spends to ``observed``, with a function that
draws. Usually nobody watches, and the function is called. A check (``discreet.testing.coupled``) records what went in
and what came out, and in a second run on a neighboring dataset hands out the same results again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.losses import Concentrated, Loss
from discreet.privacy.noise import check_scale, check_variance, discrete_gaussian, discrete_laplace
from discreet.privacy.rounded_gaussian import check_deviation, rounded_gaussian

__all__ = ["CHECKS", "SAMPLERS", "Draw", "NoiseLaw", "Observer", "Spend", "noisy", "observed", "paid_from", "watched"]

T = TypeVar("T")

NoiseLaw = Literal["laplace", "gaussian", "normal"]

SAMPLERS = {"laplace": discrete_laplace, "gaussian": discrete_gaussian, "normal": rounded_gaussian}
CHECKS = {"laplace": check_scale, "gaussian": check_variance, "normal": check_deviation}
"""Whether noise of this parameter can be drawn; a UsageError if not."""


@dataclass(frozen=True, eq=False)
class Spend:
    """What one run of a mechanism is said to cost; its draws share one object.

    Parameters
    ----------
    name
        The mechanism.
    loss
        What it spends, in its own terms.
    concentrated
        A zCDP bound that is better than the one that follows from ``loss``.
    """

    name: str
    loss: Loss
    concentrated: Concentrated | None = None


@dataclass(frozen=True, eq=False)
class Draw:
    """One use of randomness on secret values.

    Parameters
    ----------
    law
        How the result is distributed: one of ``NoiseLaw``, the noise of a selection, or the name of a mechanism.
    secret
        What went in.
    parameter
        Scale, variance, deviation or rate; public.
    public
        Whatever else sets the law.
    spend
        What the draw is paid from; None where whoever calls accounts for it.
    """

    law: str
    secret: Any
    parameter: Fraction
    public: tuple[Any, ...] = ()
    spend: Spend | None = None


class Observer(Protocol):
    """Somebody who watches all draws, and may put a result of an earlier run in place of a new one."""

    def drawn(self, draw: Draw, sample: Callable[[], T]) -> T: ...


_OBSERVER: ContextVar[Observer | None] = ContextVar("discreet_observer", default=None)
_PAYER: ContextVar[Spend | None] = ContextVar("discreet_payer", default=None)


def observed(draw: Draw, sample: Callable[[], T]) -> T:
    """The result of a draw: a fresh one, unless somebody watches and has another."""
    observer = _OBSERVER.get()
    if observer is None:
        return sample()
    return observer.drawn(replace(draw, spend=_PAYER.get() or draw.spend), sample)


@contextmanager
def watched(observer: Observer) -> Iterator[None]:
    """Let somebody watch all draws of a block."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


@contextmanager
def paid_from(spend: Spend) -> Iterator[None]:
    """Let all draws of a block be paid from one amount, where that is less than what they say one by one.

    For example lists of many items of which one person can change a few: the price of all of them follows from the most
    that one person can change, and not from their number.
    """
    token = _PAYER.set(spend)
    try:
        yield
    finally:
        _PAYER.reset(token)


def noisy(values: NDArray[np.int64], law: NoiseLaw, parameter: Fraction, spend: Spend | None) -> NDArray[np.int64]:
    """The values with fresh, independent, exact noise.

    Parameters
    ----------
    law, parameter
        "laplace" with its scale, "gaussian" (discrete) with its variance, "normal" (rounded) with its deviation.
    """
    draw = Draw(law, values, parameter, (), spend)
    return observed(draw, lambda: values + SAMPLERS[law](values.shape, parameter))
