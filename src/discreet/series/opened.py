"""An open series: what follows from its settings and from what is public about the records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.data.periods import Window
from discreet.errors import ReleaseError, UsageError
from discreet.models.registry import class_of, with_settings
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.method import Method, Plan
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.series.entering import Entering, People
from discreet.series.records import RecordShape, held_to, public_of
from discreet.series.state import Step
from discreet.series.steps import Packed, Rounds, Stored

__all__ = ["OpenSeries", "Settings", "priced_method"]


@dataclass(frozen=True)
class Settings:
    """The settings of a series; see ``Series``."""

    method: Method
    steps: int
    contexts: tuple[str, ...]
    records: Literal["new", "all"]
    enter_after: int
    settle: int
    people: int
    window: Window | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method.name,
            "parameters": self.method.parameters,
            "steps": self.steps,
            "contexts": list(self.contexts),
            "records": self.records,
            "enter_after": self.enter_after,
            "settle": self.settle,
            "people": self.people,
            "window": None if self.window is None else self.window.code,
            "time_zone": None if self.window is None else self.window.time_zone,
        }

    def plan(self, method: Method, public: Interactions) -> Plan:
        """The plan of the method, or of the same method with another epsilon."""
        return method.plan(public, **({"contexts": self.contexts} if self.contexts else {}))

    def shape_of(self, given: Interactions | Parted) -> RecordShape:
        """What is public about the records; refuses what the method or a series cannot use."""
        data = public_of(given)
        contexts = self.plan(self.method, data.emptied()).details.get("contexts", {})
        shape = RecordShape.of(data, list(contexts))
        plan = self.plan(self.method, shape.public)
        if plan.unit != Unit("user"):
            raise UsageError(f"a series protects whole users, not {plan.unit}.", remedy='Take unit="user".')
        if self.window is not None and not shape.timed:
            raise UsageError("a series with a window needs records with times.")
        return shape


@dataclass(frozen=True, eq=False)
class OpenSeries:
    """A series that has an id and knows what its records look like."""

    id: str
    settings: Settings
    shape: RecordShape
    promised: Guarantee | None = None
    """The guarantee with what the charge added to it; None before the charge."""

    @cached_property
    def plan(self) -> Plan:
        """The plan of a single release at the price of the whole series."""
        return self.settings.plan(self.settings.method, self.shape.public)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised about all steps together."""
        if self.promised is not None:
            return self.promised
        known, settings = self.plan.guarantee, self.settings
        if settings.method.enters == "once":
            entered = f"each user entered on one step, with {settings.enter_after} records or at the end"
            caps = (*known.caps, entered)
        else:
            caps = (f"each user's first records were taken, up to a squared length of {self._cap} of their counts",)
        return replace(
            known,
            subject=f"{known.subject}, in {settings.steps} steps",
            basis=f"continual release, docs/proofs/series.md, Theorems 1 to 3; {known.basis}",
            caps=caps,
        )

    @cached_property
    def rounds(self) -> Rounds:
        settings = self.settings
        return Rounds(
            id=self.id,
            method=settings.method,
            public=self.shape.public,
            plan=lambda method: settings.plan(method, self.shape.public),
            steps=settings.steps - settings.settle,
            people=settings.people,
        )

    @cached_property
    def _entering(self) -> Entering:
        settings = self.settings
        return Entering(
            shape=self.shape,
            steps=settings.steps,
            settle=settings.settle,
            complete=settings.records == "all",
            cap=self._cap if settings.method.enters == "records" else None,
            enter_after=settings.enter_after,
        )

    @property
    def _cap(self) -> int:
        return math.floor(as_fraction(self.settings.method.cap, "cap"))  # type: ignore[attr-defined]

    def _prepare(self, records: Interactions) -> Any:
        method, plan = self.rounds.first
        return method._prepare(records, plan)

    # Steps

    def entered(self, people: People | None, tonight: Interactions | Parted, number: int) -> People:
        """The people after a step. Records outside of the window of the series change nothing."""
        within = held_to(tonight, self.settings.window)
        return self._entering.entered(people, within, number, self._prepare)

    def drawn(self, people: People, number: int, stored: Stored) -> list[list[Packed]]:
        """Draw the noise of a step; what each round releases, packed."""
        index = number - self.settings.settle
        return self.rounds.drawn(index, self._entering.groups(people, index, self._prepare), stored)

    def release(self, step: Step, earlier: Sequence[Step], stored: Stored) -> Release:
        """The release of a step: a function of what was released up to then."""
        settings, index = self.settings, step.number - self.settings.settle
        parts, found = self.rounds.made(index, stored)
        series = {
            "id": self.id,
            "step": step.number,
            "steps": settings.steps,
            "missed": [one.number for one in (*earlier, step) if one.missed],
            "noise_factor": self.rounds.noise_factor(index),
            "single_release_epsilon": str(self.rounds.epsilon(index)),
        }
        known: dict[str, Any] = {"created": step.created, "nonce": step.nonce, "version": step.version}
        release = Release(
            kind=settings.method.kind,
            guarantee=self.guarantee,
            mechanism=settings.method.name,
            parameters={**settings.method._described(), **self.plan.details, **found, "series": series},
            parts=parts,
            dataset=self.shape.name,
            model=settings.method.is_model,
            **{name: value for name, value in known.items() if value},
        )
        if step.release and release.id != step.release:
            raise ReleaseError(
                f"step {step.number} of this series cannot be made again as it was ({step.release[:12]}).",
                remedy="Use the release as it was saved; another version of a library may compute other digits.",
            )
        return release


def priced_method(given: Method | type[Any] | str, epsilon: Rational | None, delta: Rational | None) -> Method:
    """The method with the price of the series."""
    price: dict[str, Any] = {
        name: value for name, value in (("epsilon", epsilon), ("delta", delta)) if value is not None
    }
    if isinstance(given, str):
        return with_settings(class_of(given), price, given)
    if isinstance(given, type):
        if "epsilon" not in price:
            raise UsageError("epsilon is required: the price of the whole series.")
        return given(**price)
    if not isinstance(given, Method):
        raise UsageError(f"{given!r} is not a method.", remedy="Give for example PrivateRecommender.")
    return replace(given, **price) if price else given  # type: ignore[type-var]
