"""The page for a board."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from discreet.board.charts import history_of, over_time, periods_chart
from discreet.board.forecast import METHOD
from discreet.board.report import BoardReport, PopulationReport
from discreet.board.words import belief, counted, day, factor, listed, minute, moment, one_in, percent, shown
from discreet.errors import PrivacyError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import Account, Entry
from discreet.privacy.ledger.balances import Balance
from discreet.privacy.losses import Pure
from discreet.reports import Page, Tile

__all__ = ["add_balance", "add_releases", "page_of"]

CLOSING = (
    "This page names datasets, the people who ran releases, and audits that were played on real records. It is for the "
    "organization, not for publication."
)
STANDINGS = {Standing.PROVED: "proved", Standing.AS_PUBLISHED: "NOT PROVED", Standing.REFUTED: "REFUTED"}
ADDS = (
    "“Adds” is what adds up in a ledger: ε for pure losses, μ² for Gaussian noise, ρ for concentrated privacy. The ε "
    "of Gaussian noise does not add up: three releases of ε = 1 come to about 1.7."
)
BEFORE = (0.01, 0.1, 0.5)
"""Beliefs in the example."""


def page_of(report: BoardReport) -> Page:
    """The page of a report."""
    place = report.place if "://" in report.place else Path(report.place).name
    page = Page("Privacy report", f"Ledger {place}, as of {minute(report.at)} UTC.")
    page.verdict(report.verdict, tone=report.tone, more=report.remarks)
    for one in report.populations:
        page.heading(one.name)
        if len(report.populations) > 1:
            page.verdict(one.verdict, tone=one.tone)
        add_balance(page, one)
        _add_promise(page, one)
        add_releases(page, one)
        _add_series(page, one)
        _add_audits(page, one)
    page.heading("About this page")
    page.text(f"{METHOD} Totals are those of the ledger; whatever was charged counts, whether it was used or not.")
    page.text(CLOSING)
    return page


# What is left


def add_balance(page: Page, one: PopulationReport) -> None:
    """What was spent and what is left, as figures and over time."""
    balance, account, lifetime = one.balance, one.account, one.statement.lifetime
    page.tiles(_tiles(one))
    counted_charges = [entry for entry in one.charges if entry.counted]
    start = moment(account.opened)
    if balance.period is not None:
        first = balance.period.first
        start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    where = "" if balance.period is None else f" for {balance.period}"
    points = history_of(balance, counted_charges)
    both = [
        over_time(points, balance, start=start, now=one.now, forecast=one.forecast, narrow=narrow)
        for narrow in (False, True)
    ]
    told = f"Charged{where} and left below the limit, over time. {one.forecast or ''}"
    page.chart(both[0], told.strip(), narrow=both[1], label=f"{told} {_in_words(balance)}")
    if lifetime is None:
        return
    if len(one.statement.periods) > 1:
        drawn = [periods_chart(one.statement.periods, narrow=narrow) for narrow in (False, True)]
        page.chart(drawn[0], f"Charged to each {account.unit.period}.", narrow=drawn[1])
    points = history_of(lifetime, counted_charges)
    both = [
        over_time(
            points, lifetime, start=moment(account.opened), now=one.now, forecast=one.lifetime_forecast, narrow=narrow
        )
        for narrow in (False, True)
    ]
    limited = str(one.lifetime_forecast) if one.lifetime_forecast else "It is not limited."
    told = f"Charged over the lifetime: everything that any period ever lost about one person. {limited}"
    page.chart(both[0], told, narrow=both[1], label=f"{told} {_in_words(lifetime)}")
    if len(one.statement.periods) > 1:
        rows = [
            (
                str(part.period),
                shown("ε", part.total.epsilon),
                shown("ε", part.left.epsilon, down=True),
                percent(float(part.share)),
            )
            for part in one.statement.periods
        ]
        page.table(
            [account.unit.period or "period", "charged", "left", "used"], rows, numbers=["charged", "left", "used"]
        )


def _in_words(balance: Balance) -> str:
    limit = "without a limit" if balance.limit is None else f"of at most {shown('ε', balance.limit.epsilon)}"
    return f"Now {shown('ε', balance.total.epsilon)} {limit}."


def _tiles(one: PopulationReport) -> list[Tile]:
    balance, account = one.balance, one.account
    used = float(balance.share)
    period = f"{balance.period}, " if balance.period is not None else ""
    tiles = [
        Tile(
            "Used",
            percent(used),
            f"{period}{shown('ε', balance.total.epsilon)} of {float(account.limit.epsilon):g}",
            "bad" if used >= 0.9 else "warn" if used >= 0.75 else "",
        ),
        Tile("Left", shown("ε", balance.left.epsilon, down=True), _delta_left(balance)),
    ]
    if one.statement.lifetime is not None:
        whole = one.statement.lifetime
        limit = "not limited" if whole.limit is None else f"of {float(whole.limit.epsilon):g}"
        tiles.append(Tile("Lifetime", shown("ε", whole.total.epsilon), limit))
    told = one.forecast
    if told is not None and told.releases:
        if told.lasts:
            tiles.append(Tile("Runs out", "not in sight", "" if told.ends is None else f"period ends {day(told.ends)}"))
        elif told.runs_out is not None:
            tiles.append(Tile("Runs out", day(told.runs_out), "at the present rate", "warn"))
    wrong = len(one.refuted) + len(one.unproved)
    remark = f"{len(one.refuted)} refuted, {len(one.unproved)} not proved" if wrong else "all proved"
    tiles.append(Tile("Releases", f"{len(one.charges):,}", remark if one.charges else "", "bad" if wrong else ""))
    return tiles


def _delta_left(balance: Balance) -> str:
    limit = balance.limit
    if limit is None or not limit.delta:
        return ""
    return f"{shown('δ', balance.left.delta, down=True)} of {shown('δ', limit.delta).removeprefix('δ = ')}"


# What was promised


def _add_promise(page: Page, one: PopulationReport) -> None:
    account = one.account
    whom = f"each of the {one.name}" if account.unit.what == "user" else one.name
    page.subheading(f"What is promised to {whom}")
    for text in _promise(one):
        page.text(text)
    now, most = one.balance.total.epsilon, account.limit.epsilon
    columns = ["belief before", "at most, after all releases so far", "at most, if the whole budget is spent"]
    rows = [tuple(percent(belief(before, epsilon)) for epsilon in (Fraction(0), now, most)) for before in BEFORE]
    lifetime = one.statement.lifetime
    if lifetime is not None:
        columns[1:] = [
            f"at most, after all releases about {one.balance.period}",
            f"at most, if {one.balance.period} is spent",
        ]
        columns.append("at most, over the lifetime so far")
        rows = [
            (*row, percent(belief(before, lifetime.total.epsilon))) for row, before in zip(rows, BEFORE, strict=True)
        ]
    page.table(columns, rows, numbers=columns)


def _promise(one: PopulationReport) -> list[str]:
    account = one.account
    about = _about(account, one.balance)
    amounts = one.balance.total.epsilon, account.limit.epsilon
    now, most = (percent(belief(0.1, epsilon)) for epsilon in amounts)
    so_far, at_most = (factor(epsilon) for epsilon in amounts)
    fails = f" This may fail with probability {one_in(account.limit.delta)}." if account.limit.delta else ""
    told = [
        f"Protected is {account.unit}. Whoever sees everything that was released, and knows everything else, improves "
        f"the odds of a guess about it by a factor of at most {so_far} so far, and of at most {at_most} if the whole "
        f"budget is spent, compared with releases that never used it.{fails}",
        f"An example: somebody believes with 10 % that Ann bought a certain book. Compared with releases made without "
        f"{about}, all that was released so far can raise this belief to at most {now}; if the whole budget is spent, "
        f"to at most {most}.",
    ]
    if one.unproved:
        told.append(
            f"{counted(len(one.unproved), 'release')} {'is' if len(one.unproved) == 1 else 'are'} counted as the paper "
            "claims; if the claim is wrong, so are these figures."
        )
    if one.refuted:
        told.append(
            f"The promise does not cover {counted(len(one.refuted), 'release')} whose claim is refuted: no figure here "
            "bounds what they revealed."
        )
    return told


def _about(account: Account, balance: Balance) -> str:
    if account.unit.period is not None:
        return f"Ann's records of {balance.period}"
    return {"user": "Ann's records", "record": "one of Ann's records", "group": "the records of Ann's group"}.get(
        account.unit.what, "these records"
    )


# Releases


def add_releases(page: Page, one: PopulationReport) -> None:
    """Every release with its guarantee and who made it; refuted and unproved ones in red."""
    page.subheading("Every release")
    if not one.charges:
        page.text("Nothing was released yet.")
        return
    entries = sorted(one.charges, key=lambda entry: -entry.id)
    page.table(
        ["when", "released", "guarantee", "standing", "made by", "state"],
        [_row(entry, one.account) for entry in entries],
        numbers=["guarantee"],
        bad=[entry.guarantee.standing is not Standing.PROVED for entry in entries],
        mark="standing",
        details=[_detail(entry, one.account) for entry in entries],
    )
    if any("=" in entry.adds and "ε" not in entry.adds for entry in entries):
        page.text(ADDS)
    if one.unsaved:
        numbers = listed([f"#{entry.id}" for entry in one.unsaved])
        page.text(
            f"Charged, with no saved release: {numbers}. They count all the same: noise may have been drawn and seen."
        )
    _add_guarantees(page, entries)


def _row(entry: Entry, account: Account) -> tuple[str, ...]:
    told, when = entry.guarantee, day(moment(entry.reserved_at))
    return when, told.subject, _loss(entry, account)[0], STANDINGS[told.standing], entry.who, entry.outcome


def _loss(entry: Entry, account: Account) -> tuple[str, str]:
    """What a release guarantees, as an ε, and at which delta."""
    if not entry.counted:
        return "none", f"{entry.guarantee.loss} was claimed, which does not hold"
    stated = getattr(entry.loss, "delta", Fraction(0))
    at = Fraction(0) if isinstance(entry.loss, Pure) else stated or account.limit.delta
    try:
        return shown("ε", entry.loss.epsilon_at(at)), f"at {shown('δ', at)}" if at else ""
    except PrivacyError:
        return "no ε", str(entry.loss)


def _detail(entry: Entry, account: Account) -> str:
    at = _loss(entry, account)[1]
    if entry.guarantee.standing is Standing.AS_PUBLISHED:
        at = f"{at} as claimed by the paper, proved by nobody here".strip()
    utc = moment(entry.reserved_at)
    parts = [f"#{entry.id}", f"{utc:%H:%M} UTC", entry.mechanism, at, f"adds {entry.adds}" if entry.counted else ""]
    if entry.periods:
        parts.append(f"charged to {listed([str(period) for period in entry.periods])}")
    if entry.release:
        parts.append(f"release {entry.release[:12]}")
    return ", ".join(filter(None, parts))


def _add_guarantees(page: Page, entries: Sequence[Entry]) -> None:
    """What each kind of guarantee says, once for all releases that have it."""
    kinds: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        told = entry.guarantee
        kinds.setdefault((told.standing, told.unit, told.caps, told.not_covered, told.basis, told.joint), []).append(
            entry
        )
    page.subheading("What the guarantees cover")
    for same in kinds.values():
        numbers = listed([f"#{entry.id}" for entry in sorted(same, key=lambda entry: entry.id)])
        page.facts([("releases", numbers), *_covered(same[0].guarantee)])


def _covered(told: Guarantee) -> list[tuple[str, str]]:
    lines = [line.partition(":") for line in told.describe().splitlines()]
    return [(label, text.strip()) for label, _, text in lines if label not in ("released", "strength", "per period")]


# Series and audits


def _add_series(page: Page, one: PopulationReport) -> None:
    if not one.series:
        return
    page.subheading("Nightly series")
    missed = sum(len(series.missed) for series in one.series)
    overdue = sum(series.overdue for series in one.series)
    page.text(
        "A series is charged once, when it opens. The ledger records every step. "
        + (
            "No step was missed."
            if not missed and not overdue
            else "A missed step is made up for, with nobody entering."
        )
    )
    rows = [
        (
            f"{series.charge.mechanism} (#{series.charge.id})",
            day(moment(series.charge.reserved_at)),
            f"{len(series.taken):,} of {series.steps:,}",
            "–" if series.latest is None else day(series.latest),
            len(series.missed),
            series.standing,
        )
        for series in one.series
    ]
    columns = ["series", "opened", "steps taken", "latest", "missed", "remarks"]
    bad = [bool(series.missed or series.overdue) for series in one.series]
    page.table(columns, rows, numbers=["steps taken", "missed"], bad=bad)


def _add_audits(page: Page, one: PopulationReport) -> None:
    page.subheading("Audits")
    if not one.audits:
        page.text("No audit was kept. To keep one: discreet audit DATA --model NAME --ledger LEDGER.")
        return
    latest = sorted(one.audits, key=lambda audit: -audit.id)
    page.table(
        ["when (UTC)", "model", "outcome", "claimed", "made by", "page"],
        [
            (
                minute(moment(audit.at)),
                audit.model,
                "REFUTED" if audit.outcome == "refuted" else audit.outcome,
                audit.claim or "nothing",
                audit.who,
                Path(audit.saved_in).name if audit.saved_in else "not saved",
            )
            for audit in latest
        ],
        bad=[audit.outcome == "refuted" for audit in latest],
        mark="outcome",
        details=[f"{audit.verdict}. SHA-256 of its page: {audit.digest}" for audit in latest],
    )
    models = {audit.model for audit in one.audits}
    if never := sorted({entry.mechanism.removeprefix("series of ") for entry in one.charges} - models):
        page.text(f"Released and not audited under these names: {listed(never)}.")
