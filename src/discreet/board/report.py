"""What a ledger has to tell a board: promises, releases, what is left, audits, missed nights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from discreet.board.forecast import Forecast, forecast_of
from discreet.board.words import counted, day, days, listed, moment, percent
from discreet.errors import LedgerError
from discreet.privacy.guarantees import Standing
from discreet.privacy.ledger import Account, Entry, Ledger, Statement
from discreet.privacy.ledger.audits import KeptAudit
from discreet.privacy.ledger.balances import Balance
from discreet.privacy.ledger.statements import balance_of
from discreet.privacy.ledger.step_lines import is_step
from discreet.reports import save_page
from discreet.reports.page import Tone

__all__ = ["BoardReport", "PopulationReport", "SeriesRecord", "board_report"]

LEAST_PACE = timedelta(hours=1)
"""Steps that come faster are made by hand, and none is waited for."""

SOON = timedelta(days=90)
"""A budget that will be used up within this time is worth a warning."""


@dataclass(frozen=True)
class SeriesRecord:
    """What the ledger knows about the steps of a series.

    Attributes
    ----------
    charge
        The entry that paid for all of them.
    steps
        How many it has in all.
    taken
        The numbers of the steps that were released, in order.
    missed
        Those of them that were left out when their time came, and made up for later with nobody entering.
    latest
        When the latest was released.
    pace
        The time from step to step so far; None where fewer than two were taken.
    overdue
        How many steps should have been taken since the latest, at that pace.
    """

    charge: Entry
    steps: int
    taken: tuple[int, ...]
    missed: tuple[int, ...]
    latest: datetime | None
    pace: timedelta | None
    overdue: int

    @classmethod
    def of(cls, charge: Entry, steps: Sequence[Entry], now: datetime) -> SeriesRecord:
        known = sorted(steps, key=lambda entry: entry.parameters["step"])
        taken = tuple(int(entry.parameters["step"]) for entry in known)
        total = int(charge.parameters.get("steps", 0))
        times = [moment(entry.reserved_at) for entry in known]
        pace, overdue = None, 0
        if len(known) > 1 and times[-1] > times[0]:
            pace = (times[-1] - times[0]) / (taken[-1] - taken[0])
            # A night may be late by half of the time between two.
            late = int((now - times[-1]) / pace - 0.5) if pace >= LEAST_PACE else 0
            overdue = max(0, min(late, total - 1 - taken[-1]))
        missed = tuple(int(entry.parameters["step"]) for entry in known if entry.parameters.get("missed"))
        return cls(charge, total, taken, missed, times[-1] if times else None, pace, overdue)

    @property
    def standing(self) -> str:
        """How it goes, in words."""
        if self.latest is None:
            return "no step was released yet"
        parts = []
        if self.missed:
            parts.append(f"missed: {listed([f'{one}' for one in self.missed])}")
        if self.overdue and self.pace is not None:
            between = days(self.pace.total_seconds() / 86_400).removeprefix("1 ")
            since = f"since {day(self.latest)}, at one every {between}"
            parts.append(f"{counted(self.overdue, 'step')} overdue {since}")
        return "; ".join(parts) or ("complete" if self.taken[-1] + 1 >= self.steps else "none missed")

    def to_json(self) -> dict[str, Any]:
        return {
            "entry": self.charge.id,
            "steps": self.steps,
            "taken": len(self.taken),
            "missed": list(self.missed),
            "overdue": self.overdue,
            "latest": self.latest and self.latest.isoformat(),
            "words": self.standing,
        }


@dataclass(frozen=True)
class PopulationReport:
    """One population: its promise, what was charged, what is left.

    Attributes
    ----------
    statement
        Everything that was charged.
    balance
        What is held to the limit now: everything, or the charges of the present period.
    charges
        The entries that were charged, steps of series left out, refuted ones among them.
    series, audits
        The series with their steps, and the audits that were kept.
    forecast, lifetime_forecast
        When the limit, and the limit of the lifetime, will be used up.
    """

    statement: Statement
    balance: Balance
    charges: tuple[Entry, ...]
    series: tuple[SeriesRecord, ...]
    audits: tuple[KeptAudit, ...]
    forecast: Forecast | None
    lifetime_forecast: Forecast | None
    now: datetime

    @classmethod
    def of(cls, statement: Statement, audits: Sequence[KeptAudit], now: datetime) -> PopulationReport:
        account, every = statement.account, sorted(statement.every, key=lambda entry: entry.id)
        charges = tuple(entry for entry in every if not is_step(entry))
        steps: dict[Any, list[Entry]] = {}
        for entry in every:
            if is_step(entry):
                steps.setdefault(entry.parameters.get("charge"), []).append(entry)
        opened = [entry for entry in charges if "series" in entry.parameters]
        counted_ = [entry for entry in charges if entry.counted]
        balance = balance_of(account, counted_, statement.period)
        alone = [entry for entry in counted_ if "series" not in entry.parameters]
        now_charged = [one for one in alone if statement.period is None or statement.period in one.periods]
        lifetime = statement.lifetime
        return cls(
            statement,
            balance,
            charges,
            tuple(SeriesRecord.of(entry, steps.get(entry.id, []), now) for entry in opened),
            tuple(audits),
            forecast_of(balance, now_charged, now),
            None if lifetime is None else forecast_of(lifetime, alone, now),
            now,
        )

    @property
    def account(self) -> Account:
        return self.statement.account

    @property
    def name(self) -> str:
        return self.account.name

    @property
    def refuted(self) -> tuple[Entry, ...]:
        """Releases that no promise covers."""
        return self.statement.refuted

    @property
    def unproved(self) -> tuple[Entry, ...]:
        """Releases that count, and whose guarantee is claimed by a paper and not proved."""
        return tuple(entry for entry in self.charges if entry.guarantee.standing is Standing.AS_PUBLISHED)

    @property
    def unsaved(self) -> tuple[Entry, ...]:
        """Charges of which no saved release is known."""
        return tuple(entry for entry in self.charges if entry.counted and entry.outcome != "settled")

    @property
    def alarms(self) -> list[str]:
        """What is wrong: a promise that does not hold."""
        found = []
        if self.refuted:
            verb = "is" if len(self.refuted) == 1 else "are"
            found.append(f"{counted(len(self.refuted), 'release')} {verb} covered by no promise (refuted).")
        if bad := [audit for audit in self.audits if audit.outcome == "refuted"]:
            models = listed(sorted({audit.model for audit in bad}))
            found.append(f"{counted(len(bad), 'audit')} refuted a claim: {models}.")
        return found

    @property
    def cautions(self) -> list[str]:
        """What should be looked at."""
        found = []
        if self.unproved:
            verb = "rests" if len(self.unproved) == 1 else "rest"
            found.append(f"{counted(len(self.unproved), 'release')} {verb} on a claim that is not proved.")
        found += self.statement.warnings
        for name, told in (("The budget", self.forecast), ("The lifetime budget", self.lifetime_forecast)):
            if told is not None and told.runs_out is not None and not told.lasts and told.runs_out - self.now <= SOON:
                found.append(f"{name} is used up on {day(told.runs_out)} at the present rate.")
        missed = sum(len(one.missed) for one in self.series)
        if missed:
            found.append(f"{counted(missed, 'step')} of a series {'was' if missed == 1 else 'were'} missed.")
        if overdue := sum(one.overdue for one in self.series):
            found.append(f"{counted(overdue, 'step')} of a series {'is' if overdue == 1 else 'are'} overdue.")
        return found

    @property
    def tone(self) -> Tone:
        return "bad" if self.alarms else "warn" if self.cautions else "good"

    @property
    def verdict(self) -> str:
        """The state of this population in one line."""
        used = percent(float(self.balance.share))
        period = "" if self.balance.period is None else f" for {self.balance.period}"
        if self.alarms:
            return " ".join(self.alarms)
        proved = "" if self.unproved else " Every release is proved." if self.charges else " Nothing was released yet."
        return f"Within its limit: {used} of the budget{period} is used.{proved}"

    def to_json(self) -> dict[str, Any]:
        return {
            "population": self.name,
            "verdict": self.verdict,
            "alarms": self.alarms,
            "cautions": self.cautions,
            "forecast": self.forecast and self.forecast.to_json(),
            "lifetime_forecast": self.lifetime_forecast and self.lifetime_forecast.to_json(),
            "series": [one.to_json() for one in self.series],
            "audits": [audit.to_json() for audit in self.audits],
            "statement": self.statement.to_json(),
        }


@dataclass(frozen=True)
class BoardReport:
    """The report of a whole ledger, or of one of its populations.

    Attributes
    ----------
    place
        The ledger.
    at
        When the report was made.
    populations
        One report for each.

    Examples
    --------
    >>> import discreet as dc, tempfile
    >>> films = dc.synthetic.films(users=30, items=12, seed=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = dc.Ledger(f"{folder}/budget.db")
    ...     account = ledger.open(films, population="viewers", epsilon=2)
    ...     release = dc.counting.ItemCounts(epsilon=1, cap=5).release(films, ledger=ledger)
    ...     report = board_report(ledger)
    ...     page = report.save(f"{folder}/board.html")
    >>> report.verdict
    'viewers: Within its limit: 50 % of the budget is used. Every release is proved.'
    """

    place: str
    at: datetime
    populations: tuple[PopulationReport, ...]

    @property
    def tone(self) -> Tone:
        tones = [one.tone for one in self.populations]
        return "bad" if "bad" in tones else "warn" if "warn" in tones else "good"

    @property
    def verdict(self) -> str:
        """Everything in one line."""
        if len(self.populations) == 1:
            return f"{self.populations[0].name}: {self.populations[0].verdict}"
        bad = [one.name for one in self.populations if one.alarms]
        if bad:
            return f"A promise does not hold: {listed(bad)}."
        return f"All {len(self.populations)} populations are within their limits."

    @property
    def remarks(self) -> list[str]:
        """What should be looked at, population by population."""
        alone = len(self.populations) == 1
        return [
            text if alone or text.startswith(f"{one.name}:") else f"{one.name}: {text}"
            for one in self.populations
            for text in [*([] if alone else one.alarms), *one.cautions]
        ]

    def html(self) -> str:
        """A page to open in a browser or to print: one file, no scripts, nothing loaded from elsewhere."""
        from discreet.board.page import page_of

        return page_of(self).html()

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page to a file; a page of discreet that is there is replaced if ``overwrite``."""
        return save_page(self.html(), path, overwrite=overwrite)

    def to_json(self) -> dict[str, Any]:
        return {
            "ledger": self.place,
            "at": self.at.isoformat(timespec="seconds"),
            "verdict": self.verdict,
            "remarks": self.remarks,
            "populations": [one.to_json() for one in self.populations],
        }


def board_report(ledger: Ledger, population: str | None = None, *, now: datetime | None = None) -> BoardReport:
    """The report of a ledger for a board: promises, releases, what is left, audits, missed nights, a forecast.

    Nothing is written and nothing is charged. The report names people who ran releases, and audits of real records: it
    is for the organization, not for publication.

    Parameters
    ----------
    population
        Only this one.
    now
        The time of the report, for forecasts and periods; the present by default.
    """
    at = now or datetime.now(UTC)
    accounts = [ledger.account(population)] if population is not None else list(ledger.datasets())
    if not accounts:
        raise LedgerError(f"{ledger.place} has no accounts yet.", remedy="Open one first: discreet ledger open.")
    reports = [PopulationReport.of(ledger.statement(one.name, now=at), ledger.audits(one.name), at) for one in accounts]
    return BoardReport(ledger.place, at, tuple(reports))
