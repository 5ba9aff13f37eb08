"""Where a series stands: the steps that were released, and what the ledger knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from discreet.data.interactions import Interactions
from discreet.errors import LedgerError, PrivacyError
from discreet.privacy.charging import charged, require_covered_as_read
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.units import Unit
from discreet.series.entering import People

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
        self, data: Interactions, account: str | None, guarantee: Guarantee, mechanism: str, settings: Mapping[str, Any]
    ) -> int | None:
        """Charge the whole series once; a charge that a crash has kept from being noted is found again."""
        known = self.ledger.series_charge(self.series) if hasattr(self.ledger, "series_charge") else None
        if known is not None:
            return known
        where: Any = data if self.ledger is None or account is None else account
        parameters = {**settings, "series": self.series}
        if self.ledger is not None and hasattr(self.ledger, "require_account_for_series"):
            self.ledger.require_account_for_series(where)
        with charged(self.ledger, where, guarantee, mechanism=mechanism, parameters=parameters) as charge:
            charge.settle(self.series)
        if hasattr(charge, "note_saved"):
            charge.note_saved()  # type: ignore[attr-defined]
        return getattr(charge, "id", None)

    def record(self, charge: int | None, number: int, release: str) -> None:
        """Record a step that is on the disk, before anybody sees it."""
        if hasattr(self.ledger, "record_step"):
            self.ledger.record_step(charge, self.series, number, release)

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


def require_covered(tonight: Interactions, *, charged: bool) -> None:
    """Refuse records that were cut by a rule which one person more may change for everybody."""
    unit = Unit("user")
    require_covered_as_read(tonight, unit)
    if charged and not unit.covers(tonight.lineage):
        raise PrivacyError(
            "these records were cut by a rule that may look at everybody: one user more could change all of them.",
            remedy='Cut record by record and say so: data.filter(…, independent="record").',
        )
