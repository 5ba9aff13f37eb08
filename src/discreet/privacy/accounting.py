"""What many releases lose together: four views of the same list of losses.

Every view is a true upper bound, an (ε, δ) that is rounded up; they differ in how close they come. All of them hold
when each mechanism is chosen after seeing what the earlier ones gave (adaptive composition), in whatever order the
kinds of losses mix, for a list of losses that was fixed beforehand. Where the losses may be chosen on the way too is
told in ``docs/ledger.md``.

References
----------
P. Kairouz, S. Oh, P. Viswanath: The composition theorem for differential privacy. ICML 2015.
D. Sommer, S. Meiser, E. Mohammadi: Privacy loss classes. PoPETs 2019.
Y. Zhu, J. Dong, Y.-X. Wang: Optimal accounting of differential privacy via characteristic function. AISTATS 2022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.loss_distributions import epsilon_of_product
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure
from discreet.privacy.numbers import Rational, as_probability, plain

__all__ = [
    "VIEWS",
    "LossCount",
    "View",
    "basic",
    "concentrated",
    "gaussian",
    "pld",
    "stated_delta",
    "totals",
]

View = Literal["basic", "concentrated", "gaussian", "pld"]
LossCount = Loss | tuple[Loss, int]
"""A loss, or a loss with how many times it was suffered."""

# How much of delta the zCDP losses get when privacy loss distributions take the rest. Any split is valid.
_SHARES = tuple(Fraction(share) for share in ("1/100", "1/10", "1/2", "9/10", "99/100"))


def basic(losses: Iterable[LossCount], delta: Rational = 0) -> Approximate:
    """Epsilons add and deltas add.

    Losses in the sense of zCDP and GDP are first added among themselves and then converted once, at the delta that
    the stated deltas leave: as Gaussians where all of them are, otherwise as zCDP.

    Parameters
    ----------
    losses
        Losses, or pairs of a loss and its count.
    delta
        The delta that all of them together may use.

    Examples
    --------
    >>> print(basic([(Pure(Fraction(1, 20)), 100), Approximate(Fraction(1), Fraction(1, 10**7))], "1e-6"))
    ε = 6, δ = 1e-7
    """
    heap = _Heap.of(losses)
    rest = heap.rest_of(as_probability(delta))
    soft = heap.soft()
    if soft is None:
        return Approximate(heap.epsilon(), heap.delta)
    return Approximate(heap.epsilon() + soft.epsilon_at(_room(rest, soft)), heap.delta + rest)


def concentrated(losses: Iterable[LossCount], delta: Rational) -> Approximate:
    """Everything that has a bound in zCDP is added as ρ and converted once; (ε, δ) losses are added as they are.

    Examples
    --------
    >>> total = concentrated([(Pure(Fraction(1, 20)), 100)], "1e-6")
    >>> float(total.epsilon) < 5
    True
    """
    heap = _Heap.of(losses)
    rest = heap.rest_of(as_probability(delta))
    soft = Concentrated(heap.rho + heap.mu_squared / 2 + _sum_of(heap.pure, lambda epsilon: epsilon**2 / 2))
    stated = _sum_of(heap.approximate)
    if soft.rho == 0:
        return Approximate(stated, heap.delta)
    return Approximate(stated + soft.epsilon_at(_room(rest, soft)), heap.delta + rest)


def gaussian(losses: Iterable[LossCount], delta: Rational) -> Approximate:
    """The exact bound where every loss is Gaussian: μ² adds up.

    Examples
    --------
    >>> ten = gaussian([(GaussianLoss(Fraction(1, 100)), 10)], "1e-6")
    >>> ten.epsilon == GaussianLoss(Fraction(1, 10)).epsilon_at(Fraction(1, 10**6))
    True
    """
    heap = _Heap.of(losses)
    if not heap.is_gaussian:
        raise PrivacyError(
            "only Gaussian losses have a Gaussian sum.", remedy="Use basic, concentrated or pld for other kinds."
        )
    rest = heap.rest_of(as_probability(delta))
    soft = heap.soft()
    if soft is None:
        return Approximate(Fraction(0), Fraction(0))
    return Approximate(soft.epsilon_at(_room(rest, soft)), rest)


def pld(losses: Iterable[LossCount], delta: Rational) -> Approximate:
    """Privacy loss distributions: the tightest of the views, never above the others.

    An ε-private step is at worst randomized response, a Gaussian step at worst a pair of normal distributions;
    their loss distributions are convolved. An (ε, δ) step is an ε-private one but for probability δ, so its δ is
    taken from the delta that is left. zCDP losses have no such pair: they are added as ρ, converted at a part of
    delta, and their epsilon is added (the best of a few splits of delta).

    Examples
    --------
    >>> total = pld([(Pure(Fraction(1, 20)), 100)], "1e-6")
    >>> round(float(total.epsilon), 2)
    2.21
    """
    pairs = tuple(_counted(losses))
    heap = _Heap.of(pairs)
    at = as_probability(delta)
    rest = heap.rest_of(at)
    known = [basic(pairs, at).epsilon]
    if rest > 0:
        known += [concentrated(pairs, at).epsilon, *_by_distributions(heap, rest)]
    return Approximate(min(known), at)


def totals(losses: Iterable[LossCount], delta: Rational) -> dict[View, Approximate]:
    """Every view that applies, by name.

    Parameters
    ----------
    losses
        Losses, or pairs of a loss and its count.
    delta
        The delta that all of them together may use. At 0 only the basic sum and its equal, pld, exist.

    Examples
    --------
    >>> views = totals([(Pure(Fraction(1, 20)), 100)], "1e-6")
    >>> {name: round(float(total.epsilon), 2) for name, total in views.items()}
    {'basic': 5.0, 'concentrated': 2.42, 'pld': 2.21}
    """
    pairs = tuple(_counted(losses))
    heap = _Heap.of(pairs)
    at = as_probability(delta)
    views: dict[View, Approximate] = {"basic": basic(pairs, at)}
    if heap.rest_of(at) > 0:
        views["concentrated"] = concentrated(pairs, at)
        if heap.is_gaussian and heap.mu_squared:
            views["gaussian"] = gaussian(pairs, at)
    views["pld"] = pld(pairs, at)
    return views


def stated_delta(losses: Iterable[LossCount]) -> Fraction:
    """The deltas that the losses themselves state, added up. zCDP and GDP state none until they are converted."""
    return _Heap.of(losses).delta


VIEWS: dict[str, Callable[[Iterable[LossCount], Rational], Approximate]] = {
    "basic": basic,
    "concentrated": concentrated,
    "pld": pld,
}
"""The views that a limit can be set on. (Gaussian is left out: the first loss of another kind would end it.)"""


@dataclass
class _Heap:
    """Losses sorted by kind; what can be added exactly is added."""

    pure: Counter[Fraction] = field(default_factory=Counter)
    approximate: Counter[Fraction] = field(default_factory=Counter)
    rho: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, losses: Iterable[LossCount]) -> _Heap:
        heap = cls()
        for loss, count in _counted(losses):
            heap.put(loss, count)
        return heap

    def put(self, loss: Loss, count: int) -> None:
        match loss:
            case Pure() | Approximate(delta=Fraction(numerator=0)):
                self.pure[loss.epsilon] += count
            case Approximate():
                self.approximate[loss.epsilon] += count
                self.delta += count * loss.delta
            case Concentrated():
                self.rho += count * loss.rho
                self.delta += count * loss.delta
            case GaussianLoss():
                self.mu_squared += count * loss.mu_squared
            case _:
                raise UsageError(f"{loss!r} is not a privacy loss that can be added.")

    @property
    def is_gaussian(self) -> bool:
        return not (self.pure or self.approximate or self.rho or self.delta)

    def epsilon(self) -> Fraction:
        return _sum_of(self.pure) + _sum_of(self.approximate)

    def soft(self) -> GaussianLoss | Concentrated | None:
        """What needs a delta to become an epsilon."""
        if self.rho:
            return Concentrated(self.rho + self.mu_squared / 2)
        return GaussianLoss(self.mu_squared) if self.mu_squared else None

    def rest_of(self, delta: Fraction) -> Fraction:
        """What the stated deltas leave of the allowed one."""
        if self.delta > delta:
            raise PrivacyError(
                f"the deltas of these losses add up to {plain(self.delta)}, above {plain(delta)}.",
                remedy="Allow a larger delta.",
            )
        return delta - self.delta


def _by_distributions(heap: _Heap, rest: Fraction) -> list[Fraction]:
    steps = heap.pure + heap.approximate
    if not heap.rho:
        found = epsilon_of_product(steps, heap.mu_squared, rest)
        return [] if found is None else [found]
    bounds = []
    for share in _SHARES:
        found = epsilon_of_product(steps, heap.mu_squared, rest * (1 - share))
        if found is not None:
            # Additive also when the two kinds of steps are interleaved: with a and b the losses beyond each
            # epsilon, (1 − e^−(a+b))₊ ≤ (1 − e^−a)₊ + (1 − e^−b)₊, and each side is bounded whatever the other does.
            bounds.append(found + Concentrated(heap.rho).epsilon_at(rest * share))
    return bounds


def _room(rest: Fraction, soft: Loss) -> Fraction:
    if rest > 0:
        return rest
    raise PrivacyError(
        f"{soft} has no finite epsilon when no delta is left for it.",
        remedy="Allow a delta above 0 such as 1e-6, or use mechanisms with a pure epsilon.",
    )


def _sum_of(counts: Counter[Fraction], value: Callable[[Fraction], Fraction] = lambda epsilon: epsilon) -> Fraction:
    return sum((count * value(epsilon) for epsilon, count in counts.items()), Fraction(0))


def _counted(losses: Iterable[LossCount]) -> Iterable[tuple[Loss, int]]:
    for entry in losses:
        loss, count = (entry, 1) if isinstance(entry, Loss) else entry
        if count < 0 or count != int(count):
            raise UsageError(f"a loss cannot be suffered {count} times.")
        if count:
            yield loss, int(count)
