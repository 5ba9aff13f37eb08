"""The budget of a population as people see it: a chart of what was left, a forecast, what to look at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

from discreet.board.charts import history_of
from discreet.board.forecast import Forecast
from discreet.board.report import PopulationReport
from discreet.board.words import moment
from discreet.privacy.ledger import Amount, Statement
from discreet.privacy.ledger.balances import Balance
from discreet.service.pages import charts

__all__ = ["Budget", "budget_of"]


@dataclass(frozen=True)
class Part:
    """A limit: of this period, or of everything."""

    name: str
    limit: Amount
    left: Amount
    chart: Markup
    forecast: str


@dataclass(frozen=True)
class Budget:
    """The budget of one population.

    Attributes
    ----------
    parts
        Of this period and in total where the account has periods, otherwise the whole.
    warnings
        What is wrong, and what should be looked at.
    missed
        Series with steps that were missed or are overdue, and charges without a release.
    """

    parts: tuple[Part, ...]
    warnings: tuple[str, ...]
    missed: tuple[str, ...]


def budget_of(statement: Statement) -> Budget:
    """The budget of a population, as its ledger has it now."""
    now = datetime.now(UTC)
    report = PopulationReport.of(statement, (), now)
    unit, period = statement.account.unit, statement.period
    name = "in total" if period is None else f"in this {unit.period} ({period})"
    parts = [_part(name, report.balance, report, report.forecast)]
    if statement.lifetime is not None and statement.account.lifetime is not None:
        parts.append(_part("in total", statement.lifetime, report, report.lifetime_forecast))
    missed = [
        f"{one.charge.mechanism.capitalize()} (entry {one.charge.id}): {one.standing}."
        for one in report.series
        if one.missed or one.overdue
    ]
    missed += [
        f"Entry {entry.id} ({entry.mechanism}, {entry.loss}): {entry.outcome}. It stays charged."
        for entry in report.unsaved
    ]
    # The report counts missed steps, too; here each series is named.
    cautions = [one for one in report.cautions if " of a series " not in one]
    return Budget(tuple(parts), (*report.alarms, *cautions), tuple(missed))


def _part(name: str, balance: Balance, report: PopulationReport, forecast: Forecast | None) -> Part:
    limit, account = balance.limit, report.account
    assert limit is not None
    whole = float(limit.epsilon)
    counted = [entry for entry in report.charges if entry.counted]
    spent = history_of(balance, counted)
    begins = moment(account.opened)
    if balance.period is not None:
        begins = max(begins, datetime.combine(balance.period.first, datetime.min.time(), UTC))
    start = min([begins, *(at for at, _ in spent[:1])])
    points = [(start, whole), *((at, whole - total) for at, total in spent)]
    points.append((max(report.now, points[-1][0]), points[-1][1]))
    words = "" if forecast is None else str(forecast)
    if report.series and forecast is not None and not forecast.releases:
        words = "No forecast: nothing but a series was charged lately, which is paid for."
    label = f"{account.name}, {name}: {balance.left} left of {limit}. {words}"
    return Part(name, limit, balance.left, charts.burn_down(points, whole, label, ends=_end(forecast, whole)), words)


def _end(forecast: Forecast | None, limit: float) -> charts.Point | None:
    """Where the dashed line of a forecast ends."""
    if forecast is None or not forecast.releases:
        return None
    if forecast.lasts:
        if forecast.ends is None or forecast.share_at_end is None:
            return None
        return forecast.ends, limit * max(0.0, 1 - forecast.share_at_end)
    return None if forecast.runs_out is None else (forecast.runs_out, 0.0)
