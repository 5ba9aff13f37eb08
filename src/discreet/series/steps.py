"""One step of a series: the rounds of a method, with sums that come step by step and totals that everybody computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.common.arrays import AnyIntegers, Floats
from discreet.errors import UsageError
from discreet.privacy.gram import BoundedGram
from discreet.privacy.losses import GaussianLoss
from discreet.privacy.method import Method, Plan, Round
from discreet.privacy.series import Factorization, SeriesNoise, Sums
from discreet.privacy.units import Unit

__all__ = ["Packed", "Rounds", "Stored", "packed", "stored_unit"]

Packed = AnyIntegers
Stored = Callable[[int, int], Sequence[Packed]]
"""The packed arrays that a round (second number) released at an index of the series (first number)."""

NOW = "_now"

FINENESS = 16
"""Released numbers are kept to a sixteenth of their noise, which takes about six bits."""


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rounds of a method in a series.

    Parameters
    ----------
    id
        Of the series.
    method
        With the price of the whole series.
    public
        The data without records.
    plan
        The plan of a method with other settings, from the public side of the data.
    steps
        How many steps release something.
    people
        The most people that may come; public.
    """

    id: str
    method: Method
    public: Any
    plan: Callable[[Method], Plan]
    steps: int
    people: int

    @cached_property
    def price(self) -> GaussianLoss:
        """What the whole series spends."""
        loss = self.plan(self.method).loss
        if not isinstance(loss, GaussianLoss):
            raise UsageError("a series adds normal noise alone: delta must be above 0.", remedy="Give delta=1e-6.")
        return loss

    def noise_factor(self, index: int) -> float:
        """Noise in units of a single release at the price of the whole series."""
        return Factorization(self.steps).noise_factor(index)

    def epsilon(self, index: int) -> Fraction:
        """The epsilon at which a single release has as much noise as the totals at this index."""
        factor = Fraction(self.noise_factor(index))
        delta = Fraction(getattr(self.method, "delta", 0))
        return GaussianLoss(self.price.mu_squared / factor**2).epsilon_at(delta)

    def planned(self, index: int) -> tuple[Method, Plan]:
        """The method and plan of a single release with as much noise: it decides what such noise is good for."""
        alike = replace(self.method, epsilon=self.epsilon(index))  # type: ignore[type-var]
        return alike, self.plan(alike)

    @cached_property
    def first(self) -> tuple[Method, Plan]:
        """What the first release is made with; what it settles stays."""
        return self.planned(0)

    # The way through the rounds

    def drawn(self, index: int, groups: Sequence[Any], stored: Stored) -> list[list[Packed]]:
        """Draw the noise of all rounds at an index; what each of them releases, packed.

        Parameters
        ----------
        groups
            The prepared records that entered at index 0, 1, …, up to this one.
        stored
            What was released before.
        """
        new: list[list[Packed]] = []

        def known(at: int, number: int) -> Sequence[Packed]:
            return new[number] if at == index else stored(at, number)

        def draw(asked: Round, noises: Sequence[SeriesNoise], bounds: tuple[Sums, ...]) -> None:
            packs: list[Packed] = []
            for noise, aged, sums in zip(noises, _aged(asked, groups, bounds), bounds, strict=True):
                unit = stored_unit(noise, sums)
                packs += [packed(array, unit) for array in noise.release(aged)]
            new.append(packs)

        self._play(index, known, draw)
        return new

    def made(self, index: int, stored: Stored) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parts of the release of an index and its parameters: a function of what was released."""
        made, now, first = self._play(index, stored, None)
        parts, found = made if isinstance(made, tuple) else (made, {})
        _, plan = self.planned(index)
        growth = self.noise_factor(index) / self.noise_factor(0)
        figures = {name: value * growth if name.startswith("noise") else value for name, value in found.items()}
        settled = {"settled": {**first.details, **first.expected, **found}} if now else {}
        return {**parts, **now}, {**plan.details, **plan.expected, **figures, **settled}

    def check(self) -> None:
        """Refuse what noise cannot be drawn for, as far as it is known before anything is released."""
        method, plan = self.first
        public = method._prepare(self.public, plan)
        asked = next(method._rounds(plan))
        for noise, sums in zip(*self._noises(0, asked, public, plan, self.price), strict=True):
            noise.check(sums)

    def _play(
        self,
        index: int,
        stored: Stored,
        draw: Callable[[Round, Sequence[SeriesNoise], tuple[Sums, ...]], None] | None,
    ) -> tuple[Any, dict[str, Floats], Plan]:
        """Run the generator of the method: it is sent totals in the place of single releases.

        Rounds that settle what later ones are about are sent the totals of index 0, at every index: so the sums of a
        round are about the same things at all steps.
        """
        method, plan = self.first
        public = method._prepare(self.public, plan)
        rounds, answer, number, now = method._rounds(plan), None, 0, {}
        price, spent, last = self.price, Fraction(0), False
        while True:
            try:
                asked = rounds.send(answer)
            except StopIteration as finished:
                return finished.value, now, plan
            if last:
                raise UsageError(f"{method.name} has a round after one that settles nothing: it can have no series.")
            last = not asked.settles
            noises, bounds = self._noises(number, asked, public, plan, price)
            spent += sum(noise.mu_squared for noise in noises)
            if spent > price.mu_squared:
                raise UsageError(f"the rounds of {method.name} ask for more than its budget.")
            if draw is not None:
                draw(asked, noises, bounds)
            totals = _totals(stored, number, index, noises, bounds)
            if asked.settles:
                now[asked.settles + NOW] = totals[0][0]
                totals = _totals(stored, number, 0, noises, bounds)
            # Mechanisms give sums in grid steps, and matrices in units.
            answers = tuple(
                arrays if isinstance(sums, BoundedGram) else arrays[0] / float(sums.step)
                for arrays, sums in zip(totals, bounds, strict=True)
            )
            answer = answers if isinstance(asked.mechanism, tuple) else answers[0]
            number += 1

    def _noises(
        self, number: int, asked: Round, public: Any, plan: Plan, price: GaussianLoss
    ) -> tuple[list[SeriesNoise], tuple[Sums, ...]]:
        """The noise of each mechanism of a round, with its share of the price; and sums over nobody."""
        mechanisms = asked.mechanism if isinstance(asked.mechanism, tuple) else (asked.mechanism,)
        bounds = asked.sums([public])
        assert isinstance(plan.loss, GaussianLoss)
        noises = []
        for place, (mechanism, sums) in enumerate(zip(mechanisms, bounds, strict=True)):
            if sums.unit != Unit("user"):
                raise UsageError(f"a series protects whole users; these sums are bounded for {sums.unit}.")
            if not isinstance(mechanism.loss, GaussianLoss):
                raise UsageError("a series adds normal noise alone.", remedy="Give delta=1e-6.")
            # The method divides its budget among the rounds; the series divides its price alike.
            share = mechanism.loss.mu_squared / plan.loss.mu_squared
            factorization = Factorization.for_people(self.steps, sums, self.people)
            noises.append(_noise(self.id, number, place, factorization, price.mu_squared * share))
        return noises, bounds


@lru_cache(maxsize=64)
def _noise(series: str, number: int, place: int, factorization: Factorization, mu_squared: Fraction) -> SeriesNoise:
    """One object for all steps of a series, so that all of them are paid from one amount."""
    return SeriesNoise(factorization, mu_squared)


def _aged(asked: Round, groups: Sequence[Any | None], bounds: tuple[Sums, ...]) -> Sequence[Iterable[tuple[int, Sums]]]:
    """For each mechanism of a round: the sums of each group with its age in steps."""
    aged = [(len(groups) - 1 - index, group) for index, group in enumerate(groups) if group is not None]
    if isinstance(asked.mechanism, tuple):
        computed = [(age, asked.sums([group])) for age, group in aged]
        return [
            [(0, sums), *((age, all_sums[place]) for age, all_sums in computed)] for place, sums in enumerate(bounds)
        ]

    def one_by_one() -> Iterator[tuple[int, Sums]]:
        # One matrix at a time: those of all groups together would not fit into memory.
        yield 0, bounds[0]
        for age, group in aged:
            yield age, asked.sums([group])[0]

    return [one_by_one()]


def _totals(
    stored: Stored, number: int, index: int, noises: Sequence[SeriesNoise], bounds: tuple[Sums, ...]
) -> list[list[Floats]]:
    """The totals up to an index, for each mechanism of a round, in units."""
    totals: list[list[Floats]] = []
    for noise, sums in zip(noises, bounds, strict=True):
        count = len(sums.matrices) if isinstance(sums, BoundedGram) else 1
        begin = sum(len(before) for before in totals)
        places = range(begin, begin + count)
        # From the latest step back, one step in memory at a time.
        released = ([stored(at, number)[place] for place in places] for at in range(index, -1, -1))
        unit = float(stored_unit(noise, sums))
        decoded = [one * unit for one in noise.factorization.decoded(released)]
        totals.append([_unpacked(one) if isinstance(sums, BoundedGram) else one for one in decoded])
    return totals


def stored_unit(noise: SeriesNoise, sums: Sums) -> Fraction:
    """What released numbers are rounded to when they are kept: a sixteenth of their noise, or a grid step.

    It is public, and rounding is post-processing. It adds less than 0.02 % to the noise.
    """
    step, deviation = noise.grid(sums)
    return step * max(1, math.floor(deviation / FINENESS))


def packed(array: Floats, unit: Fraction) -> Packed:
    """A released array as it is kept: of a symmetric matrix the upper triangle, in whole numbers of ``unit``.

    The type is the smallest that holds what was released, which is public.
    """
    flat = array if array.ndim < 2 else array[np.triu_indices(array.shape[0])]
    whole = np.rint(flat / float(unit)).astype(np.int64)
    largest = int(np.abs(whole).max(initial=0))
    return whole.astype(next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max))


def _unpacked(triangle: Floats) -> Floats:
    size = int((np.sqrt(8 * triangle.size + 1) - 1) / 2 + 0.5)
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = triangle
    return matrix + np.triu(matrix, 1).T
