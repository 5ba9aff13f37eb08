"""`discreet demo`: the whole story on built-in data, with a report to open in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text, working
from discreet.cli.options import AsJson
from discreet.errors import BudgetError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from discreet.attacks import AttackReport
    from discreet.data import Interactions
    from discreet.privacy import Release
    from discreet.recommender import Recommender
    from discreet.studies.page import Page

__all__ = ["demo"]

MARK = "made-by-discreet-demo"
EPSILON, CAP, PERSON = "1/2", 30, "u17"


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the releases, the ledger and the report.")] = Path(
        "demo"
    ),
    as_json: AsJson = False,
) -> None:
    """Private counts, a top-10 and recommendations of invented film fans: what came out, what it cost, and why.

    [bold]Example[/bold]: discreet demo --out demo
    """
    from discreet import counting
    from discreet.data import synthetic
    from discreet.neighbors import KNN, PrivateItemKNN
    from discreet.privacy import Ledger

    _prepare(out)
    with working("inventing people who watch films"):
        films = synthetic.films(seed=7)
    ledger = Ledger(out / "budget.db")
    ledger.open(films, epsilon=3, delta="1e-6", unit="user", name="films")

    counts = counting.item_counts(films, epsilon=EPSILON, cap=CAP, ledger=ledger)
    counts.save(out / "counts")
    top = counting.top_items(films, 10, epsilon=EPSILON, ledger=ledger)
    top.save(out / "top")
    with working("fitting two recommenders"):
        plain = KNN(k=20).fit(films)
        private = PrivateItemKNN(epsilon=1, delta="1e-6").fit(films, ledger=ledger)
    private.save(out / "model")
    lists = {name: _titles(films, model) for name, model in (("plain", plain), ("private", private))}
    with working("attacking both with invented users"):
        attack = _attacked(films)
    refusal = _refused(lambda: counting.item_counts(films, epsilon=5, cap=CAP, ledger=ledger))
    statement = ledger.statement(films)

    compared = _compared(films, counts)
    found = _shared_with_truth(films, top)
    report = _report(films, counts, top, compared, found)
    _add_recommendations(report, private, lists, attack)
    _add_costs(report, refusal, str(statement))
    page = report.save(out / "report.html")
    if as_json:
        answer_json(
            {
                "report": str(page),
                "counts": {"folder": str(out / "counts"), "guarantee": counts.guarantee.to_json()},
                "top": {"folder": str(out / "top"), "guarantee": top.guarantee.to_json(), "truly_in_top_10": found},
                "model": {"folder": str(out / "model"), "guarantee": str(private.guarantee), "lists": lists},
                "attack": attack.to_json(),
                "refusal": refusal,
                "statement": statement.to_json(),
            }
        )
        return
    answer_text(f"{films!r}: invented people, so this demo may show the truth beside what is released.\n")
    noise = counts.parameters["noise_95"]
    rows = [(r["rank"], r["title"], r["count"], r["true"]) for r in compared.head(10).to_dicts()]
    answer_table(
        f"Private counts, ε = {EPSILON}: noise ±{noise:,.0f}, and lower because nobody weighs more than {CAP} ratings",
        ["rank", "film", "released", "(true)"],
        rows,
        numbers=["rank", "released", "(true)"],
    )
    answer_table(
        f"Private top-10 chosen directly, ε = {EPSILON}: {found} of 10 are truly in the top 10",
        ["rank", "film"],
        top.table("top").select("rank", "title").rows(),
        numbers=["rank"],
    )
    answer_table(
        f"Recommended to {PERSON}, without and with privacy (ε = 1, δ = 1e-6)",
        ["rank", "item neighbors", "private item neighbors"],
        [(place + 1, *titles) for place, titles in enumerate(zip(*lists.values(), strict=True))],
        numbers=["rank"],
    )
    answer_table(
        f"What {attack.rows[0].sybils} invented users find out about a person of whom they know 8 ratings",
        ["model", "ratings found", "found anyway, without that person"],
        [(row.model, f"{row.exact_present:.0%}", f"{row.exact_absent:.0%}") for row in attack.rows],
        numbers=["ratings found", "found anyway, without that person"],
    )
    answer_text(f"Promised for the counts:\n{counts.guarantee}\n")
    answer_text(f"A request that is too large costs nothing:\n{refusal}\n")
    answer_text(f"{statement}\n")
    answer_text(f"Open {page} in a browser.")


def _prepare(out: Path) -> None:
    """An empty folder of our own; what an earlier demo left is replaced, anything else is not touched."""
    if out.exists():
        if not (out / MARK).exists():
            raise UsageError(f"{out} is there and was not made by a demo.", remedy="Choose another folder with --out.")
        shutil.rmtree(out)
    out.mkdir(parents=True)
    (out / MARK).touch()


def _refused(ask: Any) -> str:
    try:
        ask()
    except BudgetError as refusal:
        return str(refusal)
    raise AssertionError("the ledger let a request pass that was larger than its limit")


def _compared(films: Interactions, counts: Release) -> pl.DataFrame:
    """Released beside true counts, best first. The truth may be shown because nobody in it exists."""
    import polars as pl

    from discreet.counting import top
    from discreet.privacy.weighing import weigh

    ranked = top(counts, films.n_items)
    weighed = weigh(films, CAP)
    true = pl.DataFrame(
        {
            "item_id": films.items.series,
            "true": films.records_per_item,
            "weighed": weighed.values * float(weighed.step),
        }
    )
    return ranked.join(true, on="item_id", how="left", maintain_order="left")


def _shared_with_truth(films: Interactions, top: Release) -> int:
    import numpy as np

    best = set(films.items.decode(np.argsort(-films.records_per_item, kind="stable")[:10]))
    return len(best & set(top.table("top")["item_id"].to_list()))


def _report(
    films: Interactions,
    counts: Release,
    top: Release,
    compared: pl.DataFrame,
    found: int,
) -> Page:
    from discreet.studies.page import Page

    noise = counts.parameters["noise_95"]
    report = Page(
        "What everybody watched, and what nobody told",
        f"{films.n_users:,} invented people rated {films.n_items:,} films. "
        "Here is what may be published about them, and why.",
    )
    report.heading("Counts of every film")
    report.text(
        f"Each person weighs at most {CAP} ratings in all; noise of about ±{noise:,.0f} goes on every count. "
        "Whoever reads the counts learns next to nothing about whether any one person is among them."
    )
    report.chart(
        _counts_chart(compared, noise),
        f"Released counts of the 60 most popular films (dots, ±{noise:,.0f}) beside the truth (solid) and the truth "
        f"with everybody weighed down to {CAP} ratings (dashed). Noise is the distance to the dashed line.",
    )
    report.quote(str(counts.guarantee))
    report.heading("The ten most popular films")
    report.text(f"Chosen directly, without releasing counts. {found} of these 10 are truly among the ten most popular.")
    report.table(["rank", "film"], top.table("top").select("rank", "title").rows(), numbers=["rank"])
    report.quote(str(top.guarantee))
    return report


def _titles(films: Interactions, model: Recommender) -> list[str]:
    best = model.recommend([PERSON], n=8)
    return films.titles(films.items.encode(best["item_id"]))


def _attacked(films: Interactions) -> AttackReport:
    """Sybils against neighbors of users, as the published attacks have them, and against the private model."""
    from discreet.attacks import SybilAttack
    from discreet.neighbors import KNN, PrivateItemKNN
    from discreet.neighbors.similarity import Similarity

    def plain() -> KNN:
        likeness = Similarity("cosine", shrinkage=5)
        return KNN(k=10, axis="user", candidates="all", centering=None, fallback=None, similarity=likeness)

    def private() -> PrivateItemKNN:
        return PrivateItemKNN(epsilon=1, delta="1e-6")

    return SybilAttack(k=10, known=8).run({"neighbors": plain, "private": private}, films, targets=3, seed=7)


def _add_recommendations(report: Page, private: Recommender, lists: dict[str, list[str]], attack: AttackReport) -> None:
    report.heading("Recommendations")
    report.text(
        f"What two recommenders suggest to {PERSON}: item neighbors as everybody has them, and item neighbors from one "
        "noisy release. The second answers anybody, any number of times, at no further cost."
    )
    rows = [(place + 1, *titles) for place, titles in enumerate(zip(*lists.values(), strict=True))]
    report.table(["rank", "item neighbors", "private item neighbors"], rows, numbers=["rank"])
    report.quote(str(private.guarantee))
    report.heading("Attacked")
    report.text(
        f"An attacker who knows 8 ratings of somebody registers {attack.rows[0].sybils} invented users with them and "
        "asks for the others. What counts is how much more is found than without that person among the data."
    )
    found = [(row.model, f"{row.exact_present:.0%}", f"{row.exact_absent:.0%}") for row in attack.rows]
    columns = ["model", "ratings found", "found anyway, without that person"]
    report.table(columns, found, numbers=columns[1:])


def _add_costs(report: Page, refusal: str, statement: str) -> None:
    report.heading("What it cost")
    report.text(
        "The ledger was charged before any noise was drawn. A request that did not fit was refused, at no cost:"
    )
    report.quote(refusal)
    report.code(statement)
    report.heading("Do it yourself")
    report.code(
        "import discreet as dc\n"
        "films = dc.synthetic.films(seed=7)\n"
        'ledger = dc.Ledger("budget.db"); ledger.open(films, epsilon=2, delta="1e-6", unit="user")\n'
        f'release = dc.counting.item_counts(films, epsilon="{EPSILON}", cap={CAP}, ledger=ledger)\n'
        "print(release.guarantee)"
    )


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
