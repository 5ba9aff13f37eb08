"""Guarantees, releases and statements as cards and charts, for notebooks. Everything here is public already.

The one file of this package that imports ``reports``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.errors import PrivacyError, UsageError
from discreet.reports.cards import Card, Tone
from discreet.reports.charts import COLORS, styled, text_lines
from discreet.reports.tables import words
from discreet.reports.theme import LIGHT

if TYPE_CHECKING:
    from discreet.privacy.guarantees import Guarantee, Standing
    from discreet.privacy.ledger.statements import Entry, Statement
    from discreet.privacy.release import Release

__all__ = ["CARDS", "CHARTS"]

WIDTH, HEIGHT = 520, 300
SHOWN_ITEMS = 20
MOST_STEPS = 40
"""Moments at which a statement is added up for its chart."""

NOISE = {
    "noise_sd": "standard deviation of the noise",
    "noise_95": "95 % of the noise is below",
    "edge_noise_sd": "the same by context: standard deviation",
    "edge_noise_95": "and 95 % of it is below",
}

USUAL_DELTA = Fraction(1, 10**6)

TONES: dict[str, Tone] = {"PROVED": "good", "AS_PUBLISHED": "warn", "REFUTED": "bad"}


def _tone(standing: Standing) -> Tone:
    return TONES[standing.name]


# Guarantees


def guarantee_card(guarantee: Guarantee) -> Card:
    """The labelled lines of a guarantee."""
    card = Card("Guarantee")
    card.mark(guarantee.standing.value, _tone(guarantee.standing))
    card.labelled(guarantee.describe())
    return card


def guarantee_chart(guarantee: Guarantee) -> Any:
    """What somebody can believe afterwards, at most, over what they believed before."""
    import altair as alt

    epsilon, delta = _limit(guarantee)
    before = np.linspace(0, 1, 101)
    grown = math.exp(min(epsilon, 700.0))
    after = np.where(before > 0, grown * before / (1 - before + grown * before), 0.0)
    if guarantee.standing.name == "REFUTED":
        title = [f"{guarantee.loss} was claimed and does not hold:", "nothing limits what somebody can come to believe"]
        after = np.where(before > 0, 1.0, 0.0)
    else:
        claimed = "" if guarantee.standing.name == "PROVED" else " (claimed, not proved)"
        but = f", except with probability {float(delta):g}" if delta else ""
        title = text_lines(f"What somebody can believe about {guarantee.unit}, at most{but}{claimed}", 66)
    name = f"with the release, {guarantee.loss}"
    rows = [{"before": b, "after": a, "who": name} for b, a in zip(before.tolist(), after.tolist(), strict=True)]
    rows += [{"before": b, "after": b, "who": "without it"} for b in (0.0, 1.0)]
    percent = alt.Axis(format="%")
    color = alt.Color(
        "who:N",
        scale=alt.Scale(domain=[name, "without it"], range=[COLORS[0], LIGHT["axis"]]),
        legend=alt.Legend(orient="bottom", title=None, labelLimit=WIDTH, columns=1),
    )
    line = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2).encode(
        x=alt.X("before:Q", title="belief before", axis=percent),
        y=alt.Y("after:Q", title="belief afterwards, at most", axis=percent, scale=alt.Scale(domain=[0, 1])),
        color=color,
    )  # fmt: skip
    return styled(line.properties(width=WIDTH, height=HEIGHT, title=title))


def _limit(guarantee: Guarantee) -> tuple[float, Fraction]:
    """ε of a guarantee, at its delta, or at a usual one where it has none."""
    for delta in (getattr(guarantee.loss, "delta", None), Fraction(0), USUAL_DELTA):
        if delta is not None:
            try:
                return float(guarantee.loss.epsilon_at(delta)), delta
            except PrivacyError:
                continue
    raise UsageError(f"{guarantee.loss} cannot be drawn.")


# Releases


def release_card(release: Release) -> Card:
    """What was released, under which guarantee, and the first rows."""
    card = Card(release.kind, f"{release.mechanism}, of {release.dataset}" if release.dataset else release.mechanism)
    card.mark(release.guarantee.standing.value, _tone(release.guarantee.standing))
    if release.sandboxed:
        card.mark("made for an evaluation: cannot be saved", "warn")
    card.labelled(release.guarantee.describe())
    for name, part in release.parts.items():
        if isinstance(part, pl.DataFrame):
            card.text(f"{name}: {part.height:,} rows", soft=True)
            card.frame(_ordered(part), most=8)
        else:
            card.text(f"{name}: an array of {' × '.join(map(str, part.shape))} numbers", soft=True)
    noise = {key: value for key, value in release.parameters.items() if "noise" in key and isinstance(value, float)}
    facts = [(NOISE.get(key, key.replace("_", " ")), f"{value:,.4g}") for key, value in noise.items()]
    card.facts([*facts, ("id", release.id[:12]), ("made", f"{release.created}, discreet {release.version}")])
    return card


def _ordered(table: pl.DataFrame) -> pl.DataFrame:
    """The largest first, where there are numbers of something."""
    value = _value_column(table)
    return table if value is None else table.sort(value, descending=True)


def _value_column(table: pl.DataFrame) -> str | None:
    return next((name for name, kind in table.schema.items() if kind.is_float()), None)


def _labels(table: pl.DataFrame, value: str) -> list[str]:
    """What the rows are about: titles where there are any, and everything else that is not a number."""
    named = [name for name in table.columns if name != value and not table[name].dtype.is_float()]
    if "title" in named:
        named.remove("item_id")
    return [" · ".join(words(row[name]) for name in named) or str(place) for place, row in enumerate(table.to_dicts())]


def release_chart(release: Release, part: str | None = None) -> Any:
    """The largest numbers of a release with what the noise may have changed; of arrays, how they are distributed."""
    import altair as alt

    parts = release.parts if part is None else {part: release._part(part)}
    tables = [(n, p) for n, p in parts.items() if isinstance(p, pl.DataFrame) and _value_column(p) is not None]
    if not tables:
        return _array_chart(release, parts)
    name, table = tables[0]
    value = _value_column(table)
    assert value is not None
    top = _ordered(table).head(SHOWN_ITEMS)
    half = _half_width(release, name)
    rows = [
        {"label": label, "value": number, "low": number - half, "high": number + half}
        for label, number in zip(_labels(top, value), top[value].to_list(), strict=True)
    ]
    y = alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=260))
    base = alt.Chart(alt.Data(values=rows)).encode(y=y)
    x = alt.X("value:Q", title=f"{value}, released" + (" with noise; lines: 95 % of the noise" if half else ""))
    layers = [base.mark_point(filled=True, size=60, opacity=1, color=COLORS[0]).encode(x=x)]
    if half:
        layers.insert(0, base.mark_rule(color=COLORS[0], strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q"))
    title = text_lines(f"{release.kind}: the {len(rows)} largest of {table.height:,} ({release.guarantee.loss})", 70)
    return styled(alt.layer(*layers).properties(width=WIDTH, height=max(80, 20 * len(rows)), title=title))


def _half_width(release: Release, part: str) -> float:
    """What the noise on one number stays within in 95 of 100 cases; 0 where a release does not say."""
    start = "edge_" if part == "edges" else ""
    told = release.parameters.get(f"{start}noise_95")
    if isinstance(told, int | float):
        return float(told)
    deviation = release.parameters.get(f"{start}noise_sd")
    return 1.96 * float(deviation) if isinstance(deviation, int | float) else 0.0


def _array_chart(release: Release, parts: Mapping[str, Any]) -> Any:
    import altair as alt

    arrays = {n: p for n, p in parts.items() if not isinstance(p, pl.DataFrame) and p.dtype.kind in "iuf"}
    if not arrays:
        raise UsageError(
            f"a release of kind {release.kind!r} has no numbers to draw.", remedy="Its tables are in release.parts."
        )
    panels = []
    for name, part in list(arrays.items())[:3]:
        counts, edges = np.histogram(part[np.isfinite(part)].ravel().astype(float), bins=40)
        rows = [
            {"low": low, "high": high, "count": count}
            for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        ]
        bar = alt.Chart(alt.Data(values=rows)).mark_bar(color=COLORS[0]).encode(
            x=alt.X("low:Q", bin="binned", title=f"{name}: {' × '.join(map(str, part.shape))} numbers"),
            x2="high:Q",
            y=alt.Y("count:Q", title="how many"),
        )  # fmt: skip
        panels.append(bar.properties(width=WIDTH, height=HEIGHT // 2))
    return styled(alt.vconcat(*panels).properties(title=f"{release.kind}: released numbers ({release.guarantee.loss})"))


# Statements


def statement_card(statement: Statement) -> Card:
    """What was spent, what is left, and the charges."""
    account = statement.account
    card = Card(account.name, f"{account.unit}; limit {account.terms}")
    if statement.refuted:
        card.mark(f"{len(statement.refuted)} refuted, in no sum", "bad")
    for text in statement.warnings:
        card.mark(text, "warn")
    card.facts(
        [
            ("spent", str(statement.spent)),
            ("reserved", str(statement.reserved)),
            ("left", account.text_of_left(statement.left)),
        ]
    )
    columns = ("#", "when", "mechanism", "loss", "state", "who")
    rows = [(one.id, one.reserved_at, one.mechanism, str(one.loss), one.outcome, one.who) for one in statement.every]
    card.table(columns, rows[::-1], numbers=("#",), most=12)
    return card


def statement_chart(statement: Statement) -> Any:
    """What was charged so far, charge by charge, below the limit of the account."""
    import altair as alt

    if not statement.entries:
        raise UsageError("nothing was charged yet: there is nothing to draw.")
    rows = [
        {"charge": place, "total": total, "what": f"{entry.mechanism}, {entry.loss}"}
        for place, entry, total in _totals(statement)
    ]
    limit = float(statement.account.limit.epsilon)
    x = alt.X("charge:Q", title="charges", axis=alt.Axis(values=_ticks(len(statement.entries)), format=",d"))
    y = alt.Y("total:Q", title="ε charged so far", scale=alt.Scale(domainMin=0))
    base = alt.Chart(alt.Data(values=[{"charge": 0, "total": 0.0, "what": "opened"}, *rows])).encode(x=x, y=y)
    rule = alt.Chart(alt.Data(values=[{"limit": limit, "text": f"limit ε = {limit:g}"}])).encode(y="limit:Q")
    layers = [
        base.mark_area(interpolate="step-after", opacity=0.15, color=COLORS[0]),
        base.mark_line(interpolate="step-after", strokeWidth=2, color=COLORS[0]),
        base.mark_point(filled=True, size=45, opacity=1, color=COLORS[0]).encode(tooltip=["what:N", "total:Q"]),
        rule.mark_rule(strokeDash=[6, 4], strokeWidth=2, color=COLORS[1]),
        rule.mark_text(align="left", dx=4, dy=-8, color=COLORS[1], x=0).encode(text="text:N"),
    ]
    title = text_lines(f"{statement.account.name}: {statement.account.unit}", 66)
    return styled(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title))


def _ticks(most: int) -> list[int]:
    step = max(1, -(-most // 10))
    return list(range(0, most + 1, step))


def _totals(statement: Statement) -> list[tuple[int, Entry, float]]:
    """Number, entry and total after it, of some charges where there are many."""
    entries = statement.entries
    places = {round(at * (len(entries) - 1) / max(1, MOST_STEPS - 1)) for at in range(MOST_STEPS)}
    kind = type(statement)
    return [
        (at + 1, entries[at], float(kind.of(statement.account, entries[: at + 1]).total.epsilon))
        for at in sorted(one for one in places if one < len(entries))
    ]


CARDS: dict[str, Callable[[Any], Card]] = {
    "Guarantee": guarantee_card,
    "Release": release_card,
    "Statement": statement_card,
}
CHARTS: dict[str, Callable[[Any], Any]] = {
    "Guarantee": guarantee_chart,
    "Release": release_chart,
    "Statement": statement_chart,
}
"""What shows each class."""
