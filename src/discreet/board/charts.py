"""Charts of a budget: spent and left over time, and period by period."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from discreet.board.forecast import Forecast
from discreet.board.words import moment, shown
from discreet.privacy.ledger.balances import Balance
from discreet.privacy.ledger.statements import Entry, balance_of
from discreet.reports import BROAD, COLORS, NARROW
from discreet.reports.theme import LIGHT

__all__ = ["Point", "history_of", "over_time", "periods_chart"]

Point = tuple[datetime, float]

MOST_POINTS, MOST_TIGHT = 80, 20
"""How many moments are added up for a chart; fewer where the tight view is to be computed for each."""


def history_of(balance: Balance, charges: Sequence[Entry]) -> list[Point]:
    """What was charged in all, after each charge.

    Parameters
    ----------
    balance
        All of it: of the account, of a period, or of the lifetime.
    charges
        The entries that count; those of other periods are left out.
    """
    period = balance.period
    mine = [entry for entry in charges if period is None or period in entry.periods]
    most = MOST_TIGHT if balance.account.view == "pld" else MOST_POINTS
    chosen = sorted({round(place * (len(mine) - 1) / max(1, most - 1)) for place in range(most)}) if mine else []
    if len(mine) <= most:
        chosen = list(range(len(mine)))
    points = []
    for place in chosen:
        so_far = balance_of(balance.account, mine[: place + 1], period, lifetime=balance.lifetime)
        points.append((moment(mine[place].reserved_at), float(so_far.total.epsilon)))
    # Clocks may go backwards; what was charged does not.
    return [(max(at for at, _ in points[: place + 1]), total) for place, (_, total) in enumerate(points)]


def over_time(
    points: Sequence[Point],
    balance: Balance,
    *,
    start: datetime,
    now: datetime,
    forecast: Forecast | None = None,
    narrow: bool = False,
) -> Any:
    """The total as steps over time, the limit above it, and the forecast as a dashed line."""
    import altair as alt

    last = points[-1][1] if points else 0.0
    begin = min([start, *(at for at, _ in points[:1])])
    steps = [{"t": _text(begin), "ε": 0.0}, *({"t": _text(at), "ε": total} for at, total in points)]
    steps.append({"t": _text(now), "ε": last})
    limit = None if balance.limit is None else float(balance.limit.epsilon)
    ahead, until = _ahead(now, last, limit, forecast)
    ends = [moment for moment in (until, forecast.ends if forecast else None) if moment is not None]
    end = max([now, *(min(one, now + 2 * max(now - begin, timedelta(days=45))) for one in ends)])
    x = alt.X(
        "t:T",
        title=None,
        scale=alt.Scale(domain=[_text(begin), _text(end)]),
        axis=alt.Axis(format="%-d %b %Y", tickCount=3 if narrow else 6, labelFlush=True),
    )
    top = max(limit or 0.0, last, *(row["ε"] for row in ahead)) if ahead else max(limit or 0.0, last)
    y = alt.Y("ε:Q", title="ε charged", scale=alt.Scale(domain=[0, max(top, 1e-9) * 1.12]), stack=None)
    base = alt.Chart(alt.Data(values=steps)).encode(x=x, y=y)
    layers = [
        base.mark_area(interpolate="step-after", color=COLORS[0], opacity=0.2),
        base.mark_line(interpolate="step-after", color=COLORS[0], strokeWidth=2.5),
    ]
    if ahead:
        drawn = alt.Chart(alt.Data(values=ahead)).mark_line(
            color=COLORS[0], strokeWidth=2, strokeDash=[4, 4], clip=True
        )
        layers.append(drawn.encode(x="t:T", y="ε:Q"))
    if limit is not None and balance.limit is not None:
        told = [{"ε": limit, "t": _text(begin), "label": f"limit {shown('ε', balance.limit.epsilon)}"}]
        line = alt.Chart(alt.Data(values=told))
        layers.append(line.mark_rule(color=LIGHT["bad"], strokeWidth=2).encode(y="ε:Q"))
        label = line.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color=LIGHT["bad"], fontWeight="bold")
        layers.append(label.encode(x="t:T", y="ε:Q", text="label:N"))
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    size: dict[str, Any] = {"width": NARROW, "height": 230} if narrow else {"width": BROAD, "height": 300}
    return alt.layer(*layers).properties(**size, autosize=fit)


def _ahead(
    now: datetime, last: float, limit: float | None, forecast: Forecast | None
) -> tuple[list[dict[str, Any]], datetime | None]:
    """The line of the forecast, and where it ends."""
    if forecast is None or limit is None or not forecast.releases:
        return [], None
    if forecast.lasts:
        if forecast.ends is None or forecast.share_at_end is None:
            return [], None
        until, reached = forecast.ends, forecast.share_at_end * limit
    else:
        assert forecast.runs_out is not None
        until, reached = forecast.runs_out, limit
    return [{"t": _text(now), "ε": last}, {"t": _text(until), "ε": reached}], until


def periods_chart(balances: Sequence[Balance], *, narrow: bool = False) -> Any:
    """A bar for each period: what was charged to it, below its limit."""
    import altair as alt

    rows = [{"period": str(one.period), "ε": float(one.total.epsilon)} for one in balances]
    limit = balances[0].account.limit
    bars = alt.Chart(alt.Data(values=rows)).mark_bar(color=COLORS[0], size=min(46, 600 // max(1, len(rows))))
    drawn = bars.encode(
        x=alt.X("period:N", title=None, sort=None, axis=alt.Axis(labelAngle=-45 if len(rows) > 6 else 0)),
        y=alt.Y("ε:Q", title="ε charged", scale=alt.Scale(domain=[0, float(limit.epsilon) * 1.12])),
    )
    told = [{"ε": float(limit.epsilon), "label": f"limit {shown('ε', limit.epsilon)} each"}]
    line = alt.Chart(alt.Data(values=told))
    rule = line.mark_rule(color=LIGHT["bad"], strokeWidth=2).encode(y="ε:Q")
    words = line.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color=LIGHT["bad"], fontWeight="bold")
    label = words.encode(x=alt.value(0), y="ε:Q", text="label:N")
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    size: dict[str, Any] = {"width": NARROW, "height": 220} if narrow else {"width": BROAD, "height": 260}
    return alt.layer(drawn, rule, label).properties(**size, autosize=fit)


def _text(at: datetime) -> str:
    return at.isoformat(timespec="minutes")
