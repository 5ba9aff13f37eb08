"""Where a series stands: the steps that were released, and what the ledger knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.data.periods import Window
from discreet.errors import LedgerError, PrivacyError, UsageError
from discreet.privacy.charging import charged, require_covered_as_read, within_window
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.units import Unit
from discreet.series.entering import People
from discreet.series.records import held_to

__all__ = ["Recorder", "State", "Step", "require_covered"]


@dataclass(eq=False)
class Step:
    """A step that was released.

    Parameters
    ----------
    number
        From 0.
    release, nonce, created, version
        The id of its release, and what else the release is made again from.
    missed
        Whether it was left out and made up for later.
    arrays
        The packed sums of each round, or where they are in the folder.
    """

    number: int
    missed: bool
    arrays: list[list[Any]]
    release: str = ""
    nonce: str = ""
    created: str = ""
    version: str = ""

    def to_json(self) -> dict[str, Any]:
        # Arrays that are not in the folder yet are described when they are.
        described = bool(self.arrays) and isinstance(self.arrays[0][0], dict)
        facts = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**facts, "arrays": self.arrays if described else []}


@dataclass(frozen=True, eq=False)
class State:
    """The latest step that was taken, those that were released, and the people."""

    last: int = -1
    steps: tuple[Step, ...] = ()
    people: People | None = field(default=None)

    @classmethod
    def of(cls, facts: Mapping[str, Any], tables: Mapping[str, Any]) -> State:
        return cls(facts["last"], tuple(Step(**one) for one in facts["steps"]), People(**tables))

    def to_json(self) -> dict[str, Any]:
        return {"last": self.last, "steps": [step.to_json() for step in self.steps]}


@dataclass(frozen=True)
class Recorder:
    """The side of a series that talks to its ledger; a ledger that only charges records no steps.

    Parameters
    ----------
    ledger
        The ledger, or None.
    series
        The id of the series.
    """

    ledger: Any
    series: str

    def charged(
        self,
        data: Interactions | Parted,
        population: str | None,
        window: Window | None,
        guarantee: Guarantee,
        mechanism: str,
        settings: Mapping[str, Any],
    ) -> tuple[int | None, Guarantee]:
        """Charge the whole series once; a charge that a crash has kept from being noted is found again.

        Parameters
        ----------
        data
            The records of the first step, by which the account is found.
        population
            The population of the account, to which the data are attached.
        window
            The days of all steps: every period that they meet is charged, whatever the days of the first records are.

        Returns
        -------
        tuple
            The number of the entry, None without a ledger; and the guarantee with what one period loses.
        """
        known = self.ledger.series_charge(self.series) if hasattr(self.ledger, "series_charge") else None
        if known is not None:
            return known, self.ledger.series_guarantee(known)
        ledger, held = self.ledger, held_to(data, window)
        if population is not None and hasattr(ledger, "about"):
            ledger = ledger.about(population)
        if hasattr(ledger, "require_account_for_series"):
            ledger.require_account_for_series(held, window)
        parameters = {**settings, "series": self.series}
        with charged(ledger, held, guarantee, mechanism=mechanism, parameters=parameters) as charge:
            charge.settle(self.series)
        if hasattr(charge, "note_saved"):
            charge.note_saved()  # type: ignore[attr-defined]
        return getattr(charge, "id", None), getattr(charge, "guarantee", within_window(held, guarantee))

    def record(self, charge: int | None, step: Step) -> None:
        """Record a step that is on the disk, before anybody sees it."""
        if hasattr(self.ledger, "record_step"):
            self.ledger.record_step(charge, self.series, step.number, step.release, missed=step.missed)

    def require_people(self, tonight: Interactions | Parted, charge: int | None) -> None:
        """Refuse records of people whom the ledger knows under another account."""
        if charge is not None and hasattr(self.ledger, "require_people_of_series"):
            self.ledger.require_people_of_series(tonight, charge)

    def require_known(self, steps: tuple[Step, ...]) -> None:
        """Refuse steps that are not those of the ledger: the state is a copy, or an old one."""
        if not hasattr(self.ledger, "series_steps"):
            return
        recorded, mine = self.ledger.series_steps(self.series), {step.number: step.release for step in steps}
        if recorded != mine:
            raise LedgerError(
                f"the ledger knows of {len(recorded)} released steps of this series, up to step "
                f"{max(recorded, default=-1)}; this state has {len(mine)}, up to step {max(mine, default=-1)}.",
                remedy="Continue with the folder that released the latest step. A copy or an old state cannot go on: "
                "people would enter twice.",
            )


def require_covered(tonight: Interactions | Parted, window: Window | None, *, charged: bool) -> None:
    """Refuse records that were cut by a rule which one person more may change for everybody, or of other days."""
    declared = tonight.window
    if window is not None and declared is not None and (declared.end <= window.start or window.end <= declared.start):
        raise UsageError(
            f"these records are about {declared}; the series is about {window}.",
            remedy="Open a new series for other days: this one was charged for its own.",
        )
    unit = Unit("user")
    require_covered_as_read(tonight, unit)
    if charged and not unit.covers(tonight.lineage):
        raise PrivacyError(
            "these records were cut by a rule that may look at everybody: one user more could change all of them.",
            remedy='Cut record by record and say so: data.filter(…, independent="record").',
        )
