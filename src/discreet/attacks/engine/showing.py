"""An audit as a card in a notebook, and as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.reports import COLORS
from discreet.reports.cards import Card
from discreet.reports.charts import styled, text_lines
from discreet.reports.theme import LIGHT

if TYPE_CHECKING:
    from discreet.attacks.engine.report import AuditReport

__all__ = ["card_of", "chart_of"]

WIDTH = 520


def card_of(report: AuditReport) -> Card:
    """The verdict, and what each attack proved."""
    card = Card(f"Audit of {report.model}")
    if report.refuted:
        card.mark("refuted", "bad")
    elif report.guarantee is None:
        card.mark("nothing is claimed", "plain")
    elif report.worst.verdict == "inconclusive":
        card.mark("inconclusive", "warn")
    else:
        card.mark("not refuted", "good")
    card.text(f"{report.verdict}.")
    for note in report.notes:
        card.text(f"{note}.", soft=True)
    numbers = ("runs", "TPR", "FPR", "at least", "ceiling", "claimed")
    card.table(report.headings(), report.cells(), numbers=numbers)
    for reason, names in report.reasons().items():
        card.text(f"not played: {', '.join(names)} ({reason})", soft=True)
    return card


def chart_of(report: AuditReport) -> Any:
    """What each attack proves, what as many runs could have proved, and what is claimed."""
    import altair as alt

    claims = [score.claim for score in report.scores if score.claim is not None]
    measure = claims[0].measure if claims and all(one.measure == claims[0].measure for one in claims) else "ε"
    proved, most, claimed = f"proved: {measure} is at least", "an attacker who is always right", "claimed"
    rows = []
    for score in report.scores:
        claim = None if score.claim is None else score.claim if measure != "ε" else score.claim.as_epsilon()
        rows.append({"attack": score.game, "value": score.proved.of(measure), "what": proved})
        rows.append({"attack": score.game, "value": score.ceiling.of(measure), "what": most})
        if claim is not None:
            rows.append({"attack": score.game, "value": claim.value, "what": claimed})
    names = [proved, most, claimed] if claims else [proved, most]
    colors = [LIGHT["bad"] if report.refuted else COLORS[0], LIGHT["axis"], COLORS[3]]
    scale = alt.Scale(domain=names, range=colors[: len(names)])
    legend = alt.Legend(orient="bottom", title=None, columns=1, labelLimit=WIDTH, symbolOpacity=1)
    color = alt.Color("what:N", scale=scale, legend=legend)
    y = alt.Y("attack:N", title=None, sort=None)
    x = alt.X(
        "value:Q",
        title=f"{measure}, with confidence {report.confidence:.0%} for all attacks together",
        axis=alt.Axis(tickCount=8),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=color)
    layers = [
        base.transform_filter(alt.datum.what == proved).mark_bar(height=12),
        base.transform_filter(alt.datum.what != proved).mark_tick(thickness=3, size=22, opacity=1),
    ]
    title = text_lines(f"Audit of {report.model}: {report.headline}", 66)
    return styled(alt.layer(*layers).properties(width=WIDTH, height=max(60, 30 * len(report.scores)), title=title))
