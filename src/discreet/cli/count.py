"""`discreet count`, `discreet top`, `discreet context`: noisy counts of items, and the most popular ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import Settings, chosen_from, settings_of, split_pair
from discreet.cli.console import AsJson, answer_json, answer_table, note, working
from discreet.cli.parts import DataFiles, PartsCatalogReading, found_files
from discreet.cli.rounds import CuratorRound
from discreet.cli.spending import OptionalSpending, Spending, answer_release, release_facts, saved, say_estimate
from discreet.common.numerals import parse_real, parse_whole
from discreet.errors import ReleaseError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from discreet.counting import Profile
    from discreet.privacy import Release

__all__ = ["AssumeOption", "assumed_profile", "context", "count", "top"]

ContextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="NAME[=VALUE,…]",
        help='What to count by: weekday, "device=phone,laptop", "age=<25,25-44,45+"; repeatable.',
    ),
]
AssumeOption = Annotated[
    list[str] | None,
    typer.Option("--assume", metavar="NAME=VALUE", help="For the estimate: users, records, exponent; repeatable."),
]


def count(
    data: DataFiles,
    spending: Spending,
    reading: PartsCatalogReading,
    curator: CuratorRound,
    method: Annotated[str, typer.Option("--method", help="How to count, see above.")] = "weighted",
    cap: Annotated[
        int | None,
        typer.Option("--cap", help="The most that one user weighs, in records (30), or as a squared length (100)."),
    ] = None,
    context: ContextOption = None,
    score: Annotated[
        str | None,
        typer.Option("--score", metavar="COLUMN", help="With --method hpa: which records of a user count first."),
    ] = None,
    option: Settings = None,
    finish: Annotated[
        str | None,
        typer.Option("--finish", help="After the noise: nonnegative, or expected (what each count likely stands for)."),
    ] = None,
    total: Annotated[
        str | None, typer.Option("--total", help="With --finish nonnegative: a PUBLIC number that items add up to.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many items to show.")] = 10,
    assume: AssumeOption = None,
) -> None:
    """Count every item of the catalog, privately, in all and by context.

    One user weighs no more than the cap allows, and every count gets noise for that: the counts are differentially
    private for the whole history of one user. Methods:

    [bold]weighted[/bold]: records of users over the cap weigh less. With --delta the cap bounds a user's counts in
    squared length, and noise grows with its root only: better wherever people have more than a few records.

    [bold]hybrid[/bold]: better for counts by context of data with many repeats, such as check-ins. Noisy popularity is
    released first, and each user's cap is spent on popular items.

    [bold]sra, hpa, lpa, dft, gs[/bold]: of the papers, to compare with. hpa takes --score COLUMN: the records of each
    user with the highest values there (rating, timestamp, a context) are counted.

    [bold]Example[/bold], from nothing:

        discreet data generate checkins --seed 7 --out checkins.parquet
        discreet ledger open checkins.parquet --epsilon 2 --delta 1e-6 --ledger budget.db
        discreet count checkins.parquet --epsilon 1/2 --cap 30 --context weekday --ledger budget.db --out counts/
        discreet release show counts/
    """
    from discreet.common.folders import RELEASE
    from discreet.counting import top as best_items
    from discreet.counting.finishing import Finish
    from discreet.models.registry import create

    if score is not None and method != "hpa":
        raise UsageError("--score goes with --method hpa.")
    settings = settings_of(option, epsilon=spending.epsilon, delta=spending.delta, cap=cap, score=score)
    mechanism = create(method, "counts", **settings)
    after = None if finish is None else Finish(finish, total=total)  # type: ignore[arg-type]
    if after is None and total is not None:
        raise UsageError("--total goes with --finish nonnegative.")
    profile, contexts = assumed_profile(assume) if assume else None, context or ()
    columns = [*contexts, *([score] if score not in (None, "rating", "timestamp") else [])]
    if spending.estimate:
        records = reading.records(data, mechanism, contexts=columns, public=True)
        say_estimate(mechanism.estimate(records, contexts=contexts, profile=profile, k=top), as_json=spending.as_json)
        return
    if curator.asked:
        if after is not None:
            raise UsageError("--finish is for the combination.", remedy="Leave it out, and finish what is combined.")
        records = reading.records(data, mechanism, contexts=columns)
        curator.run(mechanism, records, spending, *found_files(data), reading.catalog, contexts=contexts)
        return
    ledger, place = spending.opened(), spending.place(spending.out, RELEASE, *found_files(data), reading.catalog)
    records = reading.records(data, mechanism, contexts=columns)
    with working("counting"):
        release = mechanism.release(
            records, contexts=contexts, finish=after, ledger=ledger, allow_refuted=spending.allow_refuted
        )
    folder = saved(release.save, place)
    leaders = best_items(release, min(top, release.parts["counts"].height))
    _answer(release, leaders, f"Most popular{_noise_of(release)}", folder, as_json=spending.as_json)
    if release.parameters["contexts"] and not spending.as_json:
        wanted = " ".join(f'--where "{name}=…"' for name in release.parameters["contexts"])
        note(f"by context: discreet context {folder} {wanted}")


def assumed_profile(assumed: list[str]) -> Profile:
    """The popularity that an estimate is for."""
    from discreet.counting import Profile

    kinds = {"users": parse_whole, "records": parse_whole, "exponent": parse_real}
    example = "users=10000, records=30 or exponent=1"
    given: dict[str, Any] = {}
    for text in assumed:
        name, value = split_pair(text, "--assume", example=example)
        try:
            given[name] = kinds[name](value)
        except (KeyError, ValueError, OverflowError):
            raise UsageError(f"--assume {text!r} is not understood.", remedy=f"Write {example}.") from None
    return Profile(**given)


def _answer(
    release: Release, best: pl.DataFrame, title: str, place: Path | None, *, as_json: bool, **more: Any
) -> None:
    """Show the best items of a release, its guarantee, and where it is."""
    if as_json:
        answer_json(release_facts(release, place, **more, top=best.to_dicts()))
        return
    known = ("item_id", "title", "rank", "count", "score")
    contexts = [name for name in best.columns if name not in known]
    item = "title" if "title" in best.columns else "item_id"
    shown = [*contexts, "rank", item, *(name for name in ("count", "score") if name in best.columns)]
    answer_table(title, shown, best.select(shown).rows(), numbers=["rank", "count", "score"])
    answer_release(release, place)


def _noise_of(release: Release) -> str:
    """How far off the shown counts are; the most popular items may have noise of their own."""
    known = release.parameters
    noise = known.get("head_noise_95", known.get("noise_95"))
    after = f"; finished: {known['finish']['kind']}" if "finish" in known else ""
    return f"{'' if noise is None else f'; noise ± {noise:,.0f} (95 %)'}{after}"


WAYS = {"auto": None, "direct": "selection", "counts": "counts"}


def top(
    source: Annotated[Path, typer.Argument(metavar="RELEASE|DATA", help="A release of counts, or the records.")],
    spending: OptionalSpending,
    reading: PartsCatalogReading,
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
    from discreet.common.folders import RELEASE
    from discreet.counting import plan_top
    from discreet.privacy import Release

    if source.is_dir() and (source / "manifest.json").is_file():
        if spending.epsilon is not None or spending.estimate or context or spending.out is not None:
            raise UsageError(
                f"{source} is a release: its best items cost nothing, and no other release is made.",
                remedy="Give -k alone; for a list by context: discreet context. To spend, give the records.",
            )
        release = Release.load(source)
        title = f"The {k} most popular; read from a release, at no cost"
        _answer(release, _best(release, k, by_context=False), title, None, as_json=spending.as_json)
        return
    if not found_files(source)[0].exists():
        raise ReleaseError(f"{source} is not there.", remedy="Give the folder of a release, or a file of records.")
    if spending.epsilon is None:
        raise UsageError(f"{source} is not a release, and no budget was given.", remedy="Give --epsilon.")
    taken = WAYS[chosen_from(way, list(WAYS), "--way")]
    profile = assumed_profile(assume or [])
    ledger = place = None
    if not spending.estimate:
        ledger = spending.opened()
        if spending.out is not None:
            place = spending.place(spending.out, RELEASE, *found_files(source), reading.catalog)
    records = reading.records(source, None, contexts=context or (), public=spending.estimate)
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
    best = _best(release, k, by_context=plan.facts["lists"] > 1)
    title = f"The {k} most popular; costs {release.guarantee.loss}"
    _answer(release, best, title, folder, as_json=spending.as_json, way=plan.way, reason=plan.reason)
    if not spending.as_json:
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


def context(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release of counts by context.")],
    where: Annotated[
        list[str] | None, typer.Option("--where", metavar="NAME=VALUE", help="The context; repeatable.")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--many", help="How many items.")] = 10,
    as_json: AsJson = False,
) -> None:
    """What is popular in a context: "good places on a Tuesday", "films for men under 25".

    Counts in a context are shrunk towards what is popular in all, the more the larger their noise is. Contexts that
    are not named are summed over. Everything is read from the release and costs nothing.

    [bold]Example[/bold]

        discreet count checkins.parquet --epsilon 1 --cap 10 --context weekday --ledger budget.db --out counts/
        discreet context counts/ --where weekday=Tuesday -k 10
    """
    from discreet.counting import ContextPopularity
    from discreet.counting.counts import check_k
    from discreet.privacy import Release

    wanted = _where(where or [])
    release = Release.load(folder)
    model = ContextPopularity.of_release(release)
    if not model.contexts_:
        raise ReleaseError(
            f"{folder} has no counts by context.", remedy="Count by one: discreet count DATA --context weekday …"
        )
    if not wanted:
        known = "; ".join(f"{one.name}: {', '.join(one.values)}" for one in model.contexts_)
        raise UsageError("no context was given.", remedy=f"Give --where NAME=VALUE. The contexts are {known}.")
    check_k(k, len(model.items_))
    best = model.recommend(context=wanted, n=k)
    counts = release.table("counts")
    if "title" in counts.columns:
        best = best.join(counts.select("item_id", "title"), on="item_id", how="left", maintain_order="left")
    described = ", ".join(f"{name} {value}" for name, value in wanted.items())
    _answer(release, best, f"Popular where {described}", None, as_json=as_json, context=wanted)
    if (noise := release.parameters.get("edge_noise_95")) and not as_json:
        note(f"every count in a context was released with noise of ± {noise:,.0f} (95 %)")


def _where(texts: list[str]) -> dict[str, str]:
    wanted: dict[str, str] = {}
    for text in texts:
        name, value = split_pair(text, "--where")
        if not value:
            raise UsageError(f"--where {text!r} names no value.", remedy="Write NAME=VALUE.")
        if name in wanted:
            raise UsageError(f"--where names {name!r} twice.", remedy="Leave it out to sum over its values.")
        wanted[name] = value
    return wanted
