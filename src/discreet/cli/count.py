"""`discreet count`: noisy counts of items, in all and by context."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import (
    answer_json,
    answer_release,
    answer_table,
    note,
    release_facts,
    say_estimate,
    working,
)
from discreet.cli.reading import CatalogReading, DataPath
from discreet.cli.settings import Settings, settings_of, split_pair
from discreet.cli.spending import Spending, saved
from discreet.common.numerals import parse_real, parse_whole
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.counting import Profile
    from discreet.privacy import Release

__all__ = ["AssumeOption", "ContextOption", "assumed_profile", "count"]

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
    data: DataPath,
    spending: Spending,
    reading: CatalogReading,
    method: Annotated[str, typer.Option("--method", help="How to count, see above.")] = "weighted",
    cap: Annotated[
        int | None,
        typer.Option("--cap", help="The most that one user weighs, in records (30), or as a squared length (100)."),
    ] = None,
    context: ContextOption = None,
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

    [bold]sra, hpa, lpa, dft, gs[/bold]: of the papers, to compare with.

    [bold]Example[/bold], from nothing:

        discreet data generate checkins --seed 7 --out checkins.parquet
        discreet ledger open checkins.parquet --epsilon 2 --delta 1e-6 --ledger budget.db
        discreet count checkins.parquet --epsilon 1/2 --cap 30 --context weekday --ledger budget.db --out counts/
        discreet release show counts/
    """
    from discreet.counting.finishing import Finish
    from discreet.models.registry import create
    from discreet.privacy.folders import RELEASE

    settings = settings_of(option, epsilon=spending.epsilon, delta=spending.delta, cap=cap)
    mechanism = create(method, "counts", **settings)
    after = None if finish is None else Finish(finish, total=total)  # type: ignore[arg-type]
    if after is None and total is not None:
        raise UsageError("--total goes with --finish nonnegative.")
    profile, contexts = assumed_profile(assume or []), context or ()
    if spending.estimate:
        records = reading.interactions(data)
        say_estimate(mechanism.estimate(records, contexts=contexts, profile=profile, k=top), as_json=spending.as_json)
        return
    ledger, place = spending.opened(), spending.place(spending.out, RELEASE, data, reading.catalog)
    records = reading.interactions(data)
    with working("counting"):
        release = mechanism.release(
            records, contexts=contexts, finish=after, ledger=ledger, allow_refuted=spending.allow_refuted
        )
    _answer(release, saved(release.save, place), top, as_json=spending.as_json)


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


def _answer(release: Release, place: Path, length: int, *, as_json: bool) -> None:
    from discreet.counting import top as best

    leaders = best(release, min(length, release.table("counts").height))
    if as_json:
        answer_json(release_facts(release, place, top=leaders.to_dicts()))
        return
    shown = ["rank", "title" if "title" in leaders.columns else "item_id", "count"]
    answer_table(f"Most popular{_noise_of(release)}", shown, leaders.select(shown).rows(), numbers=["rank", "count"])
    answer_release(release, place)
    if release.parameters["contexts"]:
        wanted = " ".join(f'--where "{name}=…"' for name in release.parameters["contexts"])
        note(f"by context: discreet context {place} {wanted}")


def _noise_of(release: Release) -> str:
    """How far off the shown counts are; the most popular items may have noise of their own."""
    known = release.parameters
    noise = known.get("head_noise_95", known.get("noise_95"))
    after = f"; finished: {known['finish']['kind']}" if "finish" in known else ""
    return f"{'' if noise is None else f'; noise ± {noise:,.0f} (95 %)'}{after}"
