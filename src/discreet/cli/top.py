"""`discreet top`: the most popular items, from a release or chosen directly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_release, answer_table, note, say_estimate, working
from discreet.cli.count import AssumeOption, ContextOption, assumed_profile
from discreet.cli.reading import CatalogReading
from discreet.cli.settings import chosen_from
from discreet.cli.spending import OptionalSpending, saved
from discreet.errors import ReleaseError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from discreet.counting.top_plan import TopPlan
    from discreet.privacy import Release

__all__ = ["top"]

WAYS = {"auto": None, "direct": "selection", "counts": "counts"}


def top(
    source: Annotated[Path, typer.Argument(metavar="RELEASE|DATA", help="A release of counts, or the records.")],
    spending: OptionalSpending,
    reading: CatalogReading,
    k: Annotated[int, typer.Option("-k", "--many", help="How many items.")] = 10,
    context: ContextOption = None,
    one_context_each: Annotated[
        bool, typer.Option("--one-context-each", help="Count each user in one context, drawn at random.")
    ] = False,
    count_share: Annotated[
        str, typer.Option("--count-share", help="Share of the budget for numbers of users of the winners.")
    ] = "0",
    way: Annotated[str, typer.Option("--way", help="auto, direct or counts.")] = "auto",
    cap: Annotated[int, typer.Option("--cap", help="If counts are made: the most that one user weighs.")] = 30,
    assume: AssumeOption = None,
) -> None:
    """The most popular items.

    From a release of counts this is free. From records it is chosen directly, by one shot of Gumbel noise, which
    needs no cap; where noisy counts are expected to find more of the list, those are made instead (--estimate shows
    which and why).

    [bold]Example[/bold]

        discreet top counts/ -k 10
        discreet top checkins.parquet -k 10 --epsilon 1/2 --ledger budget.db --out top/
    """
    from discreet.counting import plan_top
    from discreet.privacy import Release
    from discreet.privacy.folders import RELEASE

    if source.is_dir() and (source / "manifest.json").is_file():
        if spending.epsilon is not None or spending.estimate or context or spending.out is not None:
            raise UsageError(
                f"{source} is a release: its best items cost nothing, and no other release is made.",
                remedy="Give -k alone; for a list by context: discreet context. To spend, give the records.",
            )
        _answer(Release.load(source), k, as_json=spending.as_json)
        return
    if not source.exists():
        raise ReleaseError(f"{source} is not there.", remedy="Give the folder of a release, or a file of records.")
    if spending.epsilon is None:
        raise UsageError(f"{source} is not a release, and no budget was given.", remedy="Give --epsilon.")
    taken = WAYS[chosen_from(way, list(WAYS), "--way")]
    profile = assumed_profile(assume or [])
    ledger = place = None
    if not spending.estimate:
        ledger = spending.opened()
        if spending.out is not None:
            place = spending.place(spending.out, RELEASE, source, reading.catalog)
    records = reading.interactions(source)
    plan = plan_top(
        records,
        k,
        epsilon=spending.epsilon,
        delta=spending.delta or 0,
        cap=cap,
        contexts=context or (),
        way=taken,  # type: ignore[arg-type]
        profile=profile,
        count_share=count_share,
        one_context_each=one_context_each,
    )
    if spending.estimate:
        say_estimate(plan.to_json(), as_json=spending.as_json)
        return
    with working("choosing"):
        release = plan.chosen.release(records, contexts=context or (), ledger=ledger)
    folder = None if place is None else saved(release.save, place)
    _answer(release, k, as_json=spending.as_json, plan=plan, place=folder)


def _answer(release: Release, k: int, *, as_json: bool, plan: TopPlan | None = None, place: Path | None = None) -> None:
    best = _best(release, k, by_context=plan is not None and plan.facts["lists"] > 1)
    if as_json:
        facts: dict[str, Any] = {"id": release.id, "guarantee": release.guarantee.to_json(), "top": best.to_dicts()}
        if plan is not None:
            facts |= {"way": plan.way, "reason": plan.reason, "release": None if place is None else str(place)}
        answer_json(facts)
        return
    known = ("item_id", "title", "rank", "count")
    contexts = [name for name in best.columns if name not in known]
    item = "title" if "title" in best.columns else "item_id"
    shown = [*contexts, "rank", item, *(["count"] if "count" in best.columns else [])]
    cost = "read from a release, at no cost" if plan is None else f"costs {release.guarantee.loss}"
    answer_table(f"The {k} most popular; {cost}", shown, best.select(shown).rows(), numbers=["rank", "count"])
    answer_release(release, place)
    if plan is not None:
        note(f"{'chosen directly' if plan.way == 'selection' else 'read from noisy counts'}: {plan.reason}")


def _best(release: Release, k: int, *, by_context: bool) -> pl.DataFrame:
    """The list of a release: from its counts, or its own."""
    import polars as pl

    from discreet.counting import top as best
    from discreet.counting.counts import check_k

    if release.kind == "item-counts":
        return best(release, k, by_context=by_context)
    if release.kind != "top-items":
        raise ReleaseError(f"a release of kind {release.kind!r} has no list of popular items.")
    table = release.table("top")
    check_k(k, int(table["rank"].max()))  # type: ignore[arg-type]
    return table.filter(pl.col("rank") <= k)
