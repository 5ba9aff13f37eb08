"""`discreet top`: the most popular items, from a release or chosen directly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text, note, working
from discreet.cli.count import AssumeOption, ContextOption, assumed_profile
from discreet.cli.options import (
    AsJson,
    Catalog,
    Column,
    Duplicates,
    Format,
    ItemsPublic,
    LedgerPath,
    Scale,
    ledger_at,
    read_interactions,
    saved,
    target_for,
)
from discreet.errors import ReleaseError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from discreet.counting import TopPlan
    from discreet.privacy import Release

__all__ = ["top"]

WAYS = {"auto": None, "direct": "selection", "counts": "counts"}


def top(
    source: Annotated[Path, typer.Argument(metavar="RELEASE|DATA", help="A release of counts, or the records.")],
    k: Annotated[int, typer.Option("-k", "--many", help="How many items.")] = 10,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help='For records: the budget, "1/2", "0.5" or "1".')
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="With a delta the budget goes further.")] = None,
    context: ContextOption = None,
    one_context_each: Annotated[
        bool, typer.Option("--one-context-each", help="Count each user in one context, drawn at random.")
    ] = False,
    count_share: Annotated[
        str, typer.Option("--count-share", help="Share of the budget for numbers of users of the winners.")
    ] = "0",
    way: Annotated[str, typer.Option("--way", help="auto, direct or counts.")] = "auto",
    cap: Annotated[int, typer.Option("--cap", help="If counts are made: the most that one user weighs.")] = 30,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what to expect; spend nothing.")] = False,
    assume: AssumeOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the release.")] = None,
    ledger: LedgerPath = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Spend without keeping a book.")] = False,
    catalog: Catalog = None,
    items_public: ItemsPublic = False,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the release in the folder.")] = False,
    as_json: AsJson = False,
) -> None:
    """The most popular items.

    From a release of counts this is free. From records it is chosen directly,
    by one shot of Gumbel noise, which needs no cap; where noisy counts are
    expected to find more of the list, those are made instead (--estimate says
    which and why).

    [bold]Example[/bold]:

        discreet top counts/ -k 10
        discreet top checkins.parquet -k 10 --epsilon 1/2 --ledger budget.db --out top/
    """
    if _is_release(source):
        if epsilon is not None or estimate or context or out is not None:
            raise UsageError(
                f"{source} is a release: its best items are read off, which costs nothing and makes no other release.",
                remedy="Give -k alone; for a list by context: discreet context. To spend, give the records.",
            )
        _answer_free(source, k, as_json=as_json)
        return
    if not source.exists():
        raise ReleaseError(f"{source} is not there.", remedy="Give the folder of a release, or a file of records.")
    if epsilon is None:
        raise UsageError(f"{source} is no release; how much may the list cost?", remedy="Give --epsilon.")
    if way not in WAYS:
        raise UsageError(f"--way {way}?", remedy=f"Choose from: {', '.join(WAYS)}.")
    profile = assumed_profile(assume or [])
    book = None if estimate else ledger_at(ledger, unbooked=no_ledger)
    target = target_for(out, overwrite=overwrite) if out is not None and not estimate else None
    records = read_interactions(
        source,
        format=format,
        column=column,
        scale=scale,
        duplicates=duplicates,
        catalog=catalog,
        items_public=items_public,
    )
    from discreet.counting import plan_top

    plan = plan_top(
        records,
        k,
        epsilon=epsilon,
        delta=delta,
        cap=cap,
        contexts=context or (),
        way=WAYS[way],  # type: ignore[arg-type]
        profile=profile,
        count_share=count_share,
        one_context_each=one_context_each,
    )
    if estimate:
        _say_estimate(plan, as_json=as_json)
        return
    with working("choosing"):
        release = plan.chosen.release(records, contexts=context or (), ledger=book)
    place = None if target is None else saved(release.save, target, overwrite=overwrite)
    _answer(release, k, as_json=as_json, plan=plan, place=place)


def _is_release(path: Path) -> bool:
    return path.is_dir() and (path / "manifest.json").is_file()


def _answer_free(folder: Path, k: int, *, as_json: bool) -> None:
    from discreet.privacy import Release

    _answer(Release.load(folder), k, as_json=as_json)


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
    answer_table(_title(k, release, free=plan is None), shown, best.select(shown).rows(), numbers=["rank", "count"])
    answer_text(str(release.guarantee))
    if plan is not None:
        note(f"{'chosen directly' if plan.way == 'selection' else 'read off counts'}: {plan.reason}")
    if place is not None:
        note(f"saved in {place}")


def _title(k: int, release: Release, *, free: bool) -> str:
    cost = "read off a release, at no cost" if free else f"costs {release.guarantee.loss}"
    return f"The {k} most popular; {cost}"


def _best(release: Release, k: int, *, by_context: bool) -> pl.DataFrame:
    """The list of a release: read off its counts, or its own."""
    import polars as pl

    from discreet.counting import top as best
    from discreet.counting.lists import check_k

    if release.kind == "item-counts":
        return best(release, k, by_context=by_context)
    if release.kind != "top-items":
        raise ReleaseError(f"a release of kind {release.kind!r} has no list of popular items.")
    table = release.table("top")
    check_k(k, int(table["rank"].max()))  # type: ignore[arg-type]
    return table.filter(pl.col("rank") <= k)


def _say_estimate(plan: TopPlan, *, as_json: bool) -> None:
    if as_json:
        answer_json(plan.to_json())
        return
    facts = plan.facts
    lists = f", in {facts['lists']} contexts" if facts["lists"] > 1 else ""
    rows = [
        ("chosen directly (one-shot Gumbel)", plan.noise_sd["selection"], plan.precision["selection"]),
        (f"noisy counts, cap {facts['cap']}", plan.noise_sd["counts"], plan.precision["counts"]),
    ]
    answer_table(
        f"The {facts['k']} most popular of {facts['items']:,} items{lists}",
        ["way", "noise (standard deviation)", "expected precision"],
        rows,
        numbers=["noise (standard deviation)", "expected precision"],
    )
    taken = "choose directly" if plan.way == "selection" else "read it off counts"
    answer_text(f"Would {taken}: {plan.reason}. Costs {plan.loss}; nothing was spent.")
    answer_text(f"Precision is for an assumed {plan.profile}; the records were not looked at.")
