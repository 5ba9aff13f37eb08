"""The chart of a risk report: risk against utility, and both over epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.attacks.risk.answers import OperatingPoint
from discreet.attacks.risk.report import RiskReport
from discreet.reports import COLORS

if TYPE_CHECKING:
    import altair as alt

__all__ = ["risk_chart"]

UTILITY, LIMIT = "utility left", "any attacker at most"


def risk_chart(report: RiskReport, points: tuple[OperatingPoint, ...] = ()) -> alt.HConcatChart:
    """Two panels: the risk-utility curve with the best points (the paper's Figure 2), and both over epsilon with bands.

    Examples
    --------
    >>> from discreet.attacks.risk import RiskCurve, RiskPoint
    >>> rows = tuple(RiskPoint(e, u, u, u, r, r, r) for e, u, r in ((1, 0.1, 0.2), (5, 0.7, 0.3)))
    >>> report = RiskReport("a model", "rating", None, (RiskCurve("who knows", 0.2, rows),), {})
    >>> [len(panel["layer"]) for panel in risk_chart(report).to_dict()["hconcat"]]
    [2, 3]
    """
    import altair as alt

    rows = [
        {"series": series, "epsilon": point.epsilon, "utility": point.utility, "risk": risk, "low": low, "high": high}
        for curve in report.curves
        for point in curve.points
        for series, risk, low, high in (
            (curve.attacker, point.risk, point.risk_low, point.risk_high),
            (LIMIT, point.limit, point.limit, point.limit),
        )
        if risk is not None
    ]
    kept = [
        {"series": UTILITY, "epsilon": p.epsilon, "risk": p.utility, "low": p.utility_low, "high": p.utility_high}
        for p in report.curve.points
    ]
    y = alt.Y("risk:Q", title="risk: right guesses", scale=alt.Scale(domain=[0, 1]))
    x = alt.X("utility:Q", title=UTILITY, scale=alt.Scale(domain=[0, 1]))
    trade = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=_color(rows), order="epsilon:Q")
    left = alt.layer(trade.mark_line(strokeWidth=2), trade.mark_circle(size=28, opacity=1), *_best(points))
    over = alt.Chart(alt.Data(values=[*rows, *kept])).encode(
        x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log")),
        y=alt.Y("risk:Q", title="share", scale=alt.Scale(domain=[0, 1])),
        color=_color([*kept, *rows]),
    )
    band = over.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title="share"), y2="high:Q")
    right = alt.layer(band, over.mark_line(strokeWidth=2), over.mark_circle(size=28, opacity=1))
    panels = [
        panel.properties(width=330, height=300, title=title)
        for panel, title in ((left, "Risk against utility"), (right, "Over ε, with bands"))
    ]
    both = alt.hconcat(*panels, title=f"Risk and utility of {report.model}").resolve_scale(color="independent")
    return both.configure_view(strokeWidth=0)


def _best(points: tuple[OperatingPoint, ...]) -> list[Any]:
    """The best points as diamonds with their epsilon."""
    import altair as alt

    rows = [{"utility": best.utility, "risk": best.risk, "label": f"ε = {best.epsilon:g}"} for best in points]
    base = alt.Chart(alt.Data(values=rows)).encode(x="utility:Q", y="risk:Q")
    label = base.mark_text(align="left", dx=9, dy=-9, fontWeight="bold").encode(text="label:N")
    return [base.mark_point(shape="diamond", size=130, filled=True, color="#1d2430"), label] if rows else []


def _color(rows: list[dict[str, Any]]) -> alt.Color:
    """Colors of the series: fixed ones for the utility and the limit, the others of the palette in their order."""
    import altair as alt

    names = list(dict.fromkeys(row["series"] for row in rows))
    fixed = {UTILITY: COLORS[0], LIMIT: COLORS[3]}
    free = iter([COLORS[1], COLORS[2], COLORS[4]])
    colors = [fixed[name] if name in fixed else next(free) for name in names]
    legend = alt.Legend(orient="bottom", columns=1, title=None, labelLimit=330, symbolOpacity=1)
    return alt.Color("series:N", scale=alt.Scale(domain=names, range=colors), legend=legend)
