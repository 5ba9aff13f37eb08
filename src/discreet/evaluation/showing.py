"""An evaluation as a chart, as a card in a notebook, and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.privacy.numbers import as_fraction
from discreet.reports import COLORS, NARROW, Page
from discreet.reports.cards import Card
from discreet.reports.charts import styled, text_lines
from discreet.reports.theme import LIGHT

if TYPE_CHECKING:
    from discreet.evaluation.evaluation import Evaluation

__all__ = ["card_of", "chart_of", "page_of"]

WIDTH = 560
LEAST_EPSILONS = 2
"""Budgets of one model from which a chart goes over ε."""

COMPARED = ("model", "value", "difference", "p", "p (Holm)", "users")
"""The columns of a comparison."""

CLOSING = "These figures were computed from the records without noise. They are for the owner of the records."


def card_of(found: Evaluation) -> Card:
    """The table and the comparison."""
    card = Card("Evaluation", found.heading)
    card.mark("not private: for the owner of the records", "warn")
    columns = found.headings()
    card.table(columns, found.cells(), numbers=columns[1:])
    for line in found.notes():
        card.text(line, soft=True)
    if len(found.models) > 1 and found.user_metrics:
        metric = found.user_metrics[0]
        card.text(f"{metric}, user by user: {_how(found)}", soft=True)
        card.table(COMPARED, found.compared(metric), numbers=COMPARED[1:])
    return card


def _how(found: Evaluation) -> str:
    other = found.reference or found.models[0]
    return f"differences to {other}, intervals of 95 % and paired t-test over users, p also raised after Holm."


def page_of(found: Evaluation) -> Page:
    """Chart, tables and how to read them."""
    page = Page(f"Evaluation on {found.dataset or 'the records'}", found.heading)
    metric = (found.user_metrics or [None])[0]
    if metric is not None:
        page.verdict(_verdict(found, metric), more=CLOSING)
        page.chart(chart_of(found, metric), label=f"Chart of {metric}", narrow=chart_of(found, metric, narrow=True))
    page.heading("All metrics")
    columns = found.headings()
    page.table(columns, found.cells(), numbers=columns[1:])
    for line in found.notes():
        page.text(line)
    if metric is not None and len(found.models) > 1:
        page.heading("User by user")
        page.text(
            f"{_how(found).capitalize()} A user who was asked about in several splits counts once. Users of one split "
            "share the noise of one fit: with few splits this says which fitted models differ."
        )
        for name in found.user_metrics:
            page.subheading(name)
            page.table(COMPARED, found.compared(name), numbers=COMPARED[1:])
    page.heading("Models")
    page.facts((name, _settings(found, name)) for name in found.models)
    return page


def _settings(found: Evaluation, name: str) -> str:
    told = found.described.get(name, {}).get("settings", {})
    return ", ".join(f"{key} = {value}" for key, value in told.items() if value not in (None, [], "")) or "no settings"


def _verdict(found: Evaluation, metric: str) -> str:
    private = [name for name in found.models if found.runs[name][0].guarantee is not None]
    lower_is_better = metric in ("rmse", "mae")
    best = (min if lower_is_better else max)(private or found.models, key=lambda name: found.value(metric, name))
    told = f"{best}: {metric} {found.value(metric, best):.4f}"
    if found.reference is None or best == found.reference:
        return f"{told}."
    return f"{told}, {found.share(metric, best):.0%} of {found.reference} without privacy."


# The chart


def chart_of(found: Evaluation, metric: str, *, narrow: bool = False) -> Any:
    """One metric, over ε where models have several budgets, else model by model."""
    rows = [_row(found, metric, name) for name in found.models]
    budgets: dict[str, set[float]] = {}
    for row in rows:
        if row["epsilon"] is not None:
            budgets.setdefault(row["family"], set()).add(row["epsilon"])
    over = any(len(one) >= LEAST_EPSILONS for one in budgets.values())
    width = NARROW - 60 if narrow else WIDTH
    drawn = _over_epsilon(rows, metric, width) if over else _by_model(rows, metric, width, narrow)
    splits = len(found.runs[found.models[0]])
    said = f"{metric} on {found.dataset or 'the records'}, with intervals of 95 % over users ({splits} splits)"
    return styled(drawn.properties(title=text_lines(said, 44 if narrow else 76)))


def _row(found: Evaluation, metric: str, name: str) -> dict[str, Any]:
    told = found.described.get(name, {})
    epsilon = told.get("settings", {}).get("epsilon")
    low, high = found.interval(metric, name)
    return {
        "name": name,
        "family": name.partition(" ε = ")[0],
        "epsilon": None if epsilon is None else float(as_fraction(epsilon)),
        "value": found.value(metric, name),
        "low": low,
        "high": high,
        "private": found.runs[name][0].guarantee is not None,
    }


def _over_epsilon(rows: list[dict[str, Any]], metric: str, width: int) -> Any:
    import altair as alt

    lines = [row for row in rows if row["epsilon"] is not None]
    levels = [row for row in rows if row["epsilon"] is None]
    names = list(dict.fromkeys(row["family"] for row in [*lines, *levels]))
    scale = alt.Scale(domain=names, range=[COLORS[place % len(COLORS)] for place in range(len(names))])
    legend = alt.Legend(orient="bottom", title=None, columns=2, labelLimit=260, symbolOpacity=1)
    color = alt.Color("family:N", scale=scale, legend=legend)
    ticks = sorted({row["epsilon"] for row in lines})
    x = alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(values=ticks, format="~g"))
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False))
    base = alt.Chart(alt.Data(values=lines)).encode(x=x, color=color)
    layers = [
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=metric), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=55, opacity=1).encode(y=y),
    ]
    if levels:
        level = alt.Chart(alt.Data(values=levels)).encode(color=color)
        layers.append(level.mark_rule(strokeDash=[6, 4], strokeWidth=2).encode(y=y))
    return alt.layer(*layers).properties(width=width, height=300)


def _by_model(rows: list[dict[str, Any]], metric: str, width: int, narrow: bool) -> Any:
    import altair as alt

    kinds = {True: "with a guarantee", False: "without privacy"}
    shown = [{**row, "kind": kinds[row["private"]]} for row in rows]
    color = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(kinds.values()), range=[COLORS[0], LIGHT["axis"]]),
        legend=alt.Legend(orient="bottom", title=None, symbolOpacity=1),
    )
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=120 if narrow else 260))
    base = alt.Chart(alt.Data(values=shown)).encode(y=y, color=color)
    layers = [
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=metric, scale=alt.Scale(zero=False)), x2="high:Q"),
        base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("value:Q")),
    ]
    return alt.layer(*layers).properties(width=width - (80 if narrow else 0), height=max(60, 34 * len(rows)))
