"""The chart of a risk report: risk against utility, and both over epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.attacks.risk.answers import OperatingPoint
from discreet.attacks.risk.report import RiskReport

if TYPE_CHECKING:
    import altair as alt

__all__ = ["risk_chart"]

UTILITY, LIMIT = "utility left", "any attacker at most"
COLORS = {UTILITY: "#2f6f6a", LIMIT: "#c79a2b"}
RISKS = ("#c8553d", "#5a6fb0", "#8a5a83")


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

    left = alt.layer(*_trade_off(report), *_best(points)).properties(
        width=330, height=300, title="Risk against utility"
    )
    right = alt.layer(*_over_epsilon(report)).properties(width=330, height=300, title="Over ε, with bands")
    both = alt.hconcat(left, right, title=f"Risk and utility of {report.model}").resolve_scale(color="independent")
    return both.configure_view(strokeWidth=0)


def _trade_off(report: RiskReport) -> list[Any]:
    import altair as alt

    rows = [
        {"series": series, "utility": point.utility, "risk": risk, "epsilon": point.epsilon}
        for curve in report.curves
        for point in curve.points
        for series, risk in ((curve.attacker, point.risk), (LIMIT, point.limit))
        if risk is not None
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("utility:Q", title=UTILITY, scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("risk:Q", title="risk: right guesses", scale=alt.Scale(domain=[0, 1])),
        color=_color(report, [curve.attacker for curve in report.curves] + _limits(report)),
        order="epsilon:Q",
        tooltip=["series:N", "epsilon:Q", "utility:Q", "risk:Q"],
    )
    return [base.mark_line(strokeWidth=2), base.mark_circle(size=28, opacity=1)]


def _best(points: tuple[OperatingPoint, ...]) -> list[Any]:
    import altair as alt

    if not points:
        return []
    rows = [{"utility": best.utility, "risk": best.risk, "label": f"ε = {best.epsilon:g}"} for best in points]
    base = alt.Chart(alt.Data(values=rows)).encode(x="utility:Q", y="risk:Q")
    return [
        base.mark_point(shape="diamond", size=130, filled=True, color="#1d2430"),
        base.mark_text(align="left", dx=9, dy=-9, fontWeight="bold").encode(text="label:N"),
    ]


def _over_epsilon(report: RiskReport) -> list[Any]:
    import altair as alt

    rows = []
    for curve in report.curves:
        for point in curve.points:
            rows.append(_row(curve.attacker, point.epsilon, point.risk, point.risk_low, point.risk_high))
            if point.limit is not None:
                rows.append(_row(LIMIT, point.epsilon, point.limit, point.limit, point.limit))
    rows += [_row(UTILITY, p.epsilon, p.utility, p.utility_low, p.utility_high) for p in report.curve.points]
    names = [UTILITY, *(curve.attacker for curve in report.curves), *_limits(report)]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log")), color=_color(report, names)
    )
    y = alt.Y("value:Q", title="share", scale=alt.Scale(domain=[0, 1]))
    return [
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title="share"), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_circle(size=28, opacity=1).encode(y=y),
    ]


def _row(series: str, epsilon: float, value: float, low: float, high: float) -> dict[str, Any]:
    return {"series": series, "epsilon": epsilon, "value": value, "low": low, "high": high}


def _limits(report: RiskReport) -> list[str]:
    return [LIMIT] if any(point.limit is not None for point in report.curve.points) else []


def _color(report: RiskReport, names: list[str]) -> Any:
    import altair as alt

    colors = COLORS | {curve.attacker: color for curve, color in zip(report.curves, RISKS, strict=False)}
    legend = alt.Legend(orient="bottom", columns=1, title=None, labelLimit=330, symbolOpacity=1)
    return alt.Color("series:N", scale=alt.Scale(domain=names, range=[colors[name] for name in names]), legend=legend)
