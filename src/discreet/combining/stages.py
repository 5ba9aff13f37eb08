"""Where a method stands after some of its rounds: what it asks for next, or what it has made. No record is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ReleaseError, UsageError
from discreet.privacy.gram import BoundedGram
from discreet.privacy.losses import Concentrated, GaussianLoss, Loss, Pure
from discreet.privacy.mechanisms import AdditiveMechanism, Exact, LaplaceMechanism
from discreet.privacy.method import Made, Method, Plan, Round, Sums

__all__ = ["Array", "Stage", "Step", "amount_of", "by_round", "epsilon_like", "flat", "part_name", "played"]

Array = NDArray[Any]
CHOICE = "it chooses by scores, and a choice of one curator says nothing about the sums of all"
CHOOSE_LATER = "Combine counts, and choose from these."

LARGEST = 2**62
"""No released number is as large, in grid steps."""


@dataclass(frozen=True, eq=False)
class Step:
    """One round: what is asked for, and sums over nobody, which have the bounds."""

    asked: Round
    bounds: tuple[Sums, ...]
    shares: tuple[Fraction, ...]
    """What each mechanism takes of the whole budget."""

    @property
    def mechanisms(self) -> tuple[Any, ...]:
        return self.asked.mechanism if isinstance(self.asked.mechanism, tuple) else (self.asked.mechanism,)

    def paid_by(self, loss: Loss) -> tuple[Any, ...]:
        """The same mechanisms, paid for by a budget of this size."""
        return tuple(
            one if isinstance(one, Exact) else type(one)(share * amount_of(loss))
            for one, share in zip(self.mechanisms, self.shares, strict=True)
        )

    def deviations(self, mechanisms: Iterable[Any]) -> list[float]:
        """The noise of such mechanisms on these sums."""
        return [one.standard_deviation(sums) for one, sums in zip(mechanisms, self.bounds, strict=True)]

    def answer(self, arrays: Sequence[Array]) -> Any:
        """What the mechanisms have released, from the arrays of a release; refuses what none of them could release."""
        left, answers = list(arrays), []
        for sums in self.bounds:
            if isinstance(sums, BoundedGram):
                matrices = [_checked(left.pop(0), one.shape, sums.step) for one in sums.matrices if left]
                answers.append(matrices if len(matrices) == len(sums.matrices) else None)
            else:
                answers.append(_checked(left.pop(0), sums.values.shape) if left else None)
        if left or any(one is None for one in answers):
            raise ReleaseError("this round has not the arrays that its method releases.")
        return tuple(answers) if isinstance(self.asked.mechanism, tuple) else answers[0]


@dataclass(frozen=True, eq=False)
class Stage:
    """The rounds so far, the next one, or what was made after the last one."""

    steps: tuple[Step, ...]
    made: Made | None = None

    @property
    def next(self) -> Step:
        """The round that is asked for."""
        if self.made is not None:
            raise UsageError(f"there is no round {len(self.steps) + 1}: round {len(self.steps)} is the last one.")
        return self.steps[-1]


def played(method: Method, plan: Plan, public: Any, earlier: Sequence[Sequence[Array]]) -> Stage:
    """Send a method what its rounds have released so far.

    Parameters
    ----------
    public
        The data without records.
    earlier
        The arrays of each round. They are public, whoever made them: they decide what is asked for next, and bounds
        hold whatever they are.
    """
    nobody = method._prepare(public, plan)
    rounds, answer, steps = method._rounds(plan), None, []
    for arrays in (*earlier, None):
        try:
            asked = rounds.send(answer)
        except StopIteration as finished:
            if arrays is not None:
                raise ReleaseError(f"{method.name} has {len(steps)} rounds; this release has more.") from None
            return Stage(tuple(steps), finished.value)
        steps.append(_step(method, plan, asked, nobody))
        answer = None if arrays is None else steps[-1].answer(arrays)
    return Stage(tuple(steps))


def _step(method: Method, plan: Plan, asked: Round, nobody: Any) -> Step:
    mechanisms = asked.mechanism if isinstance(asked.mechanism, tuple) else (asked.mechanism,)
    if not all(isinstance(one, AdditiveMechanism | Exact) for one in mechanisms):
        raise UsageError(f"{method.name} cannot be combined: {CHOICE}.", remedy=CHOOSE_LATER)
    shares = tuple(Fraction(0) if isinstance(one, Exact) else _share(method, one.loss, plan.loss) for one in mechanisms)
    return Step(asked, asked.sums([nobody]), shares)


def _share(method: Method, part: Loss, whole: Loss) -> Fraction:
    if type(part) is not type(whole):
        raise UsageError(f"{method.name} cannot be combined: its rounds are accounted in different ways.")
    return amount_of(part) / amount_of(whole)


def amount_of(loss: Loss) -> Fraction:
    """A loss in the terms in which rounds add up: ε, μ² or ρ."""
    match loss:
        case Pure():
            return loss.epsilon
        case GaussianLoss():
            return loss.mu_squared
        case Concentrated(delta=Fraction(numerator=0)):
            return loss.rho
    raise UsageError(f"a loss of {loss} cannot be divided among rounds.")


def epsilon_like(step: Step, whole: Loss, deviation: float, delta: Fraction) -> Fraction | None:
    """The epsilon at which a single release has as much noise in this round; None where it is that of ``whole``.

    Parameters
    ----------
    step
        The first round of a method that spends ``whole``.
    deviation
        The noise of the first mechanism of the round, as it is.
    """
    mechanism, sums = step.mechanisms[0], step.bounds[0]
    known = mechanism.standard_deviation(sums)
    if deviation == known:
        return None
    if isinstance(mechanism, LaplaceMechanism):
        # The standard deviation of discrete Laplace noise of scale t is 1/(√2·sinh(1/2t)), in grid steps.
        steps = [math.sqrt(2) * one / float(sums.step) for one in (known, deviation)]
        ratio = math.asinh(1 / steps[1]) / math.asinh(1 / steps[0])
    else:
        ratio = (known / deviation) ** 2
    amount = amount_of(whole) * Fraction(ratio)
    match whole:
        case Pure():
            return amount
        case GaussianLoss():
            epsilon = GaussianLoss(amount).epsilon_at(delta)
        case _:
            epsilon = Concentrated(amount).epsilon_at(delta)
    if not epsilon:
        raise UsageError("there is too much noise in these parts for anything to be learned from them.")
    return epsilon


def flat(answer: Any, step: Step) -> list[Array]:
    """What the mechanisms of a round released as one list of arrays."""
    answers = answer if isinstance(step.asked.mechanism, tuple) else (answer,)
    return [array for one in answers for array in (one if isinstance(one, list) else [one])]


def _checked(array: Array, shape: tuple[int, ...], step: Fraction | None = None) -> Array:
    """An array that a mechanism could have released: whole numbers, or with a step a symmetric matrix."""
    kind = np.int64 if step is None else np.float64
    if array.shape != shape or array.dtype != kind:
        raise ReleaseError(
            f"an array of this round is {array.dtype} of shape {array.shape}; its method releases {np.dtype(kind)} of "
            f"shape {shape}.",
            remedy="Give all curators the same catalog and settings.",
        )
    size = np.abs(array.astype(np.float64)) / float(step or 1)
    if not (size < LARGEST).all():
        raise ReleaseError("a number of this round is not finite, or larger than any that a mechanism releases.")
    if step is not None and not np.array_equal(array, array.T):
        raise ReleaseError("a matrix of this round is not symmetric.")
    return array


def by_round(parts: Mapping[str, Any], rounds: int) -> list[list[Array]]:
    """The arrays of each round of a release."""
    found: list[list[Array]] = []
    for number in range(1, rounds + 1):
        arrays: list[Array] = []
        while (name := part_name(number, len(arrays) + 1)) in parts:
            arrays.append(np.asarray(parts[name]))
        found.append(arrays)
    return found


def part_name(number: int, place: int) -> str:
    """What the part of a release is called that has an array of a round."""
    return f"round{number}_{place}"
