"""The report of the demo, as a page and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from discreet.cli.console import answer_table, answer_text
from discreet.cli.demo_story import CAP, EPSILON, KNOWN, PERSON, Story
from discreet.reports import BROAD, COLORS, NARROW, Page, Tile

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TITLE", "PrintedPage", "add_report"]

TITLE = "Differentially private recommendations and counts"
CODE = f"""import discreet as dc
films = dc.synthetic.films(seed=7)
ledger = dc.Ledger("budget.db")
ledger.open(films, epsilon=2, delta="1e-6", unit="user")
model = dc.PrivateRecommender(epsilon=1, delta="1e-6").fit(films, ledger=ledger)
print(model.recommend(["{PERSON}"], n=10))
release = dc.counting.ItemCounts(epsilon="{EPSILON}", cap={CAP}).release(films, ledger=ledger)
print(release.guarantee)"""


def add_report(page: Page, story: Story) -> None:
    """Add everything to a page."""
    from discreet.board.words import shown

    refuted = ", ".join(audit.model for audit in story.audits if audit.refuted) or "nothing"
    spent, limit = (shown("ε", amount.epsilon) for amount in (story.statement.spent, story.statement.account.limit))
    page.verdict(
        f"Recommendations, counts and a top 10 for {spent} of at most {limit} per person.",
        tone="good",
        more=f"{story.found} of the 10 most popular films were found. The audit refuted {refuted}.",
    )
    _recommendations(page, story)
    _counts(page, story)
    _attacks(page, story)
    _risk(page, story)
    _costs(page, story)


def _recommendations(page: Page, story: Story) -> None:
    page.heading("Recommendations")
    page.text(
        f"What recommenders suggest to {PERSON}: item neighbors without privacy, the same from noisy sums, and the "
        "private recommender (ε = 1, δ = 1e-6). What was released once answers everybody, at no further cost."
    )
    rows = [(place + 1, *titles) for place, titles in enumerate(zip(*story.lists.values(), strict=True))]
    page.table(["rank", *story.lists], rows, numbers=["rank"])
    assert story.model.guarantee is not None
    page.labelled(story.model.guarantee.describe())
    page.text("Its accuracy on people who were not in the training data, beside the best model without privacy:")
    columns = story.accuracy.headings()
    page.table(columns, story.accuracy.cells(), numbers=columns[1:])
    page.text(" ".join([f"{story.accuracy.heading}.", *story.accuracy.remarks]))


def _counts(page: Page, story: Story) -> None:
    noise = story.counts.parameters["noise_95"]
    page.heading("Counts of every film")
    page.chart(
        _counts_chart(story.compared, noise),
        f"Released counts of the 60 most popular films (dots, ±{noise:,.0f}) beside the true counts (solid) and the "
        f"true counts with each person's total weight clipped to {CAP} (dashed). Noise is the distance to the dashed "
        "line.",
        narrow=_counts_chart(story.compared, noise, narrow=True),
    )
    page.text(
        f"Each person's total weight is at most {CAP} ratings, and every count has noise of about ±{noise:,.0f} "
        f"(ε = {EPSILON}). The people are invented, so the true counts can be shown for comparison."
    )
    rows = story.compared.head(5).select("rank", "title", "count", "true").rows()
    shown = [(rank, title, f"{count:,.1f}", f"{true:,}") for rank, title, count, true in rows]
    page.table(["rank", "film", "released", "true"], shown, numbers=["rank", "released", "true"])
    page.labelled(story.counts.describe())
    page.heading("The ten most popular films")
    page.text(f"Chosen directly, without counts. {story.found} of these 10 are among the ten most popular in truth.")
    page.table(["rank", "film"], story.top.table("top").select("rank", "title").rows(), numbers=["rank"])
    page.labelled(story.top.describe())


def _attacks(page: Page, story: Story) -> None:
    page.heading("Attacks")
    page.text(
        f"An attacker who knows {KNOWN} ratings of a person registers {story.attack.rows[0].sybils} invented users "
        "with them and asks for the others. What counts is how much more is found than without that person in the data."
    )
    found = [(row.model, f"{row.exact_present:.0%}", f"{row.exact_absent:.0%}") for row in story.attack.rows]
    columns = ["model", "ratings found", "found without that person"]
    page.table(columns, found, numbers=columns[1:])
    page.heading("Audit")
    page.text(
        "An audit fits a model many times, with a person in the data and without, lets attackers guess which, and "
        "computes from their success how large ε must be at least. A published model and the private recommender, both "
        "claiming ε = 1:"
    )
    page.table(["model", "verdict"], [(audit.model, audit.verdict) for audit in story.audits])


def _risk(page: Page, story: Story) -> None:
    page.heading("How to choose epsilon")
    page.chart(
        _risk_chart(story),
        "Risk against utility; every point is one epsilon.",
        narrow=_risk_chart(story, narrow=True),
    )
    best = story.risk.curve.operating_point(value_of_utility=1, cost_of_risk=3)
    page.text(
        "Noise on the answers of Slope One, as published: what is left of the lists, and how often somebody who knows "
        "all ratings of a person but one finds that one. Its guarantee is refuted; the curve shows how to make such a "
        "choice. If risk costs three times what utility is worth, the strongest attacker leaves "
        f"ε = {best.epsilon:.3g} as the best choice. discreet risk draws the curve for your data and models."
    )


def _costs(page: Page, story: Story) -> None:
    from discreet.board.page import add_balance, add_releases
    from discreet.board.report import PopulationReport

    page.heading("What it cost")
    page.text("The ledger is charged before noise is drawn.")
    spent = PopulationReport.of(story.statement, (), datetime.now(UTC))
    add_balance(page, spent)
    add_releases(page, spent)
    page.text("A request that did not fit was refused, at no cost:")
    page.quote(story.refusal)
    page.heading("The same in Python")
    page.code(CODE)


def _risk_chart(story: Story, *, narrow: bool = False) -> Any:
    import altair as alt

    points = [
        {"utility": point.utility, "risk": point.risk, "epsilon": float(point.epsilon), "attacker": curve.attacker}
        for curve in story.risk.curves
        for point in curve.points
    ]
    legend = alt.Legend(orient="bottom", columns=1 if narrow else 2, labelLimit=300)
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("utility:Q", title="utility: share of the list that noise leaves", axis=alt.Axis(format="%")),
        y=alt.Y("risk:Q", title="risk: rating is found", axis=alt.Axis(format="%")),
        color=alt.Color("attacker:N", title=None, legend=legend),
        shape=alt.Shape("attacker:N", title=None, legend=legend),
        order="epsilon:Q",
    )
    return _sized(base.mark_line() + base.mark_point(size=44, filled=True, opacity=1), narrow)


def _counts_chart(compared: pl.DataFrame, noise: float, *, narrow: bool = False) -> Any:
    import altair as alt
    import polars as pl

    by_truth = compared.sort("true", descending=True).head(60).with_row_index("place", offset=1)
    shown = by_truth.with_columns(low=pl.col("count") - noise, high=pl.col("count") + noise)
    base = alt.Chart(alt.Data(values=shown.select("place", "count", "true", "clipped", "low", "high").to_dicts()))
    x = alt.X("place:Q", title="films, most popular first")
    y = alt.Y("low:Q", title="ratings")
    band = base.mark_rule(color=COLORS[0], opacity=0.25, strokeWidth=3).encode(x=x, y=y, y2="high:Q")
    dots = base.mark_circle(color=COLORS[0], size=36).encode(x=x, y="count:Q")
    truth = base.mark_line(color=COLORS[1], strokeWidth=2).encode(x=x, y="true:Q")
    clipped = base.mark_line(color=COLORS[1], strokeWidth=1.5, strokeDash=[5, 4]).encode(x=x, y="clipped:Q")
    return _sized(band + truth + clipped + dots, narrow)


def _sized(chart: Any, narrow: bool) -> Any:
    import altair as alt

    fit = alt.AutoSizeParams(type="fit", contains="padding")
    return chart.properties(width=NARROW if narrow else BROAD, height=280 if narrow else 320, autosize=fit)


WIDTH = 100


class PrintedPage(Page):
    """A page whose text and tables are answers of the program, too; charts are in the page alone."""

    def heading(self, text: str) -> None:
        answer_text(f"\n{text}\n{'─' * len(text)}")
        super().heading(text)

    def subheading(self, text: str) -> None:
        answer_text(f"\n{text}\n")
        super().subheading(text)

    def verdict(self, text: str, **settings: Any) -> None:
        answer_text(f"{textwrap.fill(text, WIDTH)}\n")
        super().verdict(text, **settings)

    def tiles(self, tiles: Iterable[Tile]) -> None:
        shown = list(tiles)
        for one in shown:
            answer_text(f"{one.label}: {one.figure}" + (f" ({one.remark})" if one.remark else ""))
        super().tiles(shown)

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        shown = list(facts)
        answer_text("\n".join(f"{label + ':':<12} {text}" for label, text in shown) + "\n")
        super().facts(shown)

    def text(self, text: str) -> None:
        answer_text(textwrap.fill(text, WIDTH) + "\n")
        super().text(text)

    def quote(self, text: str) -> None:
        answer_text(f"{text}\n")
        super().quote(text)

    def code(self, text: str) -> None:
        answer_text(f"{text}\n")
        super().code(text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], **settings: Any) -> None:
        answer_table("", columns, rows, numbers=settings.get("numbers", ()))
        super().table(columns, rows, **settings)
