"""The page that the demo leaves behind: what a privacy officer would want to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.demo_story import CAP, EPSILON, PERSON, Story

if TYPE_CHECKING:
    import polars as pl

    from discreet.attacks.audit import AuditReport
    from discreet.studies.page import Page

__all__ = ["demo_page"]


def demo_page(story: Story) -> Page:
    """The whole story as one page."""
    from discreet.studies.page import Page

    films = story.films
    page = Page(
        "What everybody watched, and what nobody told",
        f"{films.n_users:,} invented people rated {films.n_items:,} films. "
        "Here is what may be published about them, and why.",
    )
    _recommendations(page, story)
    _counts(page, story)
    _attack(page, story)
    _audits(page, story.audits)
    _risk(page, story)
    _costs(page, story)
    return page


def _recommendations(page: Page, story: Story) -> None:
    page.heading("Recommendations")
    page.text(
        f"What recommenders suggest to {PERSON}: item neighbors as everybody has them, the same from noisy sums, and "
        "the private recommender. What was released once answers anybody, any number of times, at no further cost."
    )
    rows = [(place + 1, *titles) for place, titles in enumerate(zip(*story.lists.values(), strict=True))]
    page.table(["rank", *story.lists], rows, numbers=["rank"])
    page.quote(str(story.model.guarantee))
    page.text("How good it is, on people whom it did not learn from, beside the best model without privacy:")
    page.code(str(story.accuracy))


def _counts(page: Page, story: Story) -> None:
    noise = story.counts.parameters["noise_95"]
    page.heading("Counts of every film")
    page.text(
        f"Each person weighs at most {CAP} ratings in all; noise of about ±{noise:,.0f} goes on every count. "
        "Whoever reads the counts learns next to nothing about whether any one person is among them."
    )
    page.chart(
        _counts_chart(story.compared, noise),
        f"Released counts of the 60 most popular films (dots, ±{noise:,.0f}) beside the truth (solid) and the truth "
        f"with everybody weighed down to {CAP} ratings (dashed). Noise is the distance to the dashed line.",
    )
    page.quote(str(story.counts.guarantee))
    page.heading("The ten most popular films")
    page.text(f"Chosen directly, without counts. {story.found} of these 10 are truly among the ten most popular.")
    page.table(["rank", "film"], story.top.table("top").select("rank", "title").rows(), numbers=["rank"])
    page.quote(str(story.top.guarantee))


def _attack(page: Page, story: Story) -> None:
    page.heading("Attacked")
    page.text(
        f"An attacker who knows 8 ratings of somebody registers {story.attack.rows[0].sybils} invented users with them "
        "and asks for the others. What counts is how much more is found than without that person among the data."
    )
    found = [(row.model, f"{row.exact_present:.0%}", f"{row.exact_absent:.0%}") for row in story.attack.rows]
    columns = ["model", "ratings found", "found anyway, without that person"]
    page.table(columns, found, numbers=columns[1:])


def _audits(page: Page, audits: tuple[AuditReport, ...]) -> None:
    page.heading("Audited")
    page.text(
        "An audit fits a model many times, with somebody in the data and without, lets attackers guess which, and "
        "works out from how often they are right how large ε must at least be. A published model and the private "
        "recommender, both claiming ε = 1:"
    )
    page.table(["model", "verdict"], [(audit.model, audit.verdict) for audit in audits])


def _risk(page: Page, story: Story) -> None:
    page.heading("Which epsilon?")
    page.text(
        "Noise on the answers of Slope One, as published: what is left of the lists, and how often somebody who knows "
        "all of a person's ratings but one finds that one out. Its promise is refuted; the curve is how such a choice "
        "is made. Draw it for your own data and models with discreet risk."
    )
    best = story.risk.curve.operating_point(value_of_utility=1, cost_of_risk=3)
    page.chart(
        _risk_chart(story),
        "Risk against utility; every point is one epsilon. If risk costs three times what utility is worth, the "
        f"strongest attacker leaves ε = {best.epsilon:.3g} as the best choice.",
    )


def _costs(page: Page, story: Story) -> None:
    page.heading("What it cost")
    page.text("The ledger was charged before any noise was drawn. A request that did not fit was refused, at no cost:")
    page.quote(story.refusal)
    page.code(str(story.statement))
    page.heading("Do it yourself")
    page.code(
        "import discreet as dc\n"
        "films = dc.synthetic.films(seed=7)\n"
        'ledger = dc.Ledger("budget.db"); ledger.open(films, epsilon=2, delta="1e-6", unit="user")\n'
        'model = dc.PrivateRecommender(epsilon=1, delta="1e-6").fit(films, ledger=ledger)\n'
        f'print(model.recommend(["{PERSON}"], n=10))\n'
        f'release = dc.counting.item_counts(films, epsilon="{EPSILON}", cap={CAP}, ledger=ledger)\n'
        "print(release.guarantee)"
    )


def _risk_chart(story: Story) -> Any:
    import altair as alt

    points = [
        {"utility": point.utility, "risk": point.risk, "epsilon": float(point.epsilon), "attacker": curve.attacker}
        for curve in story.risk.curves
        for point in curve.points
    ]
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("utility:Q", title="utility: share of the list that noise leaves"),
        y=alt.Y("risk:Q", title="risk: how often the rating is found"),
        color=alt.Color("attacker:N", title=None, legend=alt.Legend(orient="bottom")),
        order="epsilon:Q",
    )
    return (base.mark_line() + base.mark_circle(size=40)).properties(width=760, height=300)


def _counts_chart(compared: pl.DataFrame, noise: float) -> Any:
    import altair as alt
    import polars as pl

    by_truth = compared.sort("true", descending=True).head(60).with_row_index("place", offset=1)
    shown = by_truth.with_columns(low=pl.col("count") - noise, high=pl.col("count") + noise)
    base = alt.Chart(alt.Data(values=shown.select("place", "count", "true", "weighed", "low", "high").to_dicts()))
    x = alt.X("place:Q", title="films, most popular first")
    y = alt.Y("low:Q", title="ratings")
    band = base.mark_rule(color="#2f6f6a", opacity=0.25, strokeWidth=3).encode(x=x, y=y, y2="high:Q")
    dots = base.mark_circle(color="#2f6f6a", size=36).encode(x=x, y="count:Q")
    truth = base.mark_line(color="#c8553d", strokeWidth=2).encode(x=x, y="true:Q")
    weighed = base.mark_line(color="#c8553d", strokeWidth=1.5, strokeDash=[5, 4]).encode(x=x, y="weighed:Q")
    return (band + truth + weighed + dots).properties(width=760, height=300).configure_view(strokeWidth=0)
