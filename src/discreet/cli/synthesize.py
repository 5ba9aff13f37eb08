"""`discreet synthesize`: records of people who do not exist, for anybody to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.commands import Settings, settings_of
from discreet.cli.console import answer_json, answer_table, counted, note, working
from discreet.cli.reading import CatalogReading
from discreet.cli.spending import OptionalSpending, answer_release, release_facts, saved, say_estimate
from discreet.errors import ReleaseError, UsageError

if TYPE_CHECKING:
    from discreet.privacy import Release

__all__ = ["synthesize"]

SHOWN = 10
"""So many records are shown."""


def synthesize(
    source: Annotated[
        Path,
        typer.Argument(metavar="DATA|RELEASE", help="The records, or an earlier result to draw other people from."),
    ],
    spending: OptionalSpending,
    reading: CatalogReading,
    people: Annotated[
        int | None, typer.Option("--people", help="How many people to draw; about as many as there are by default.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            metavar="NAME[=VALUE,…]",
            help='Contexts of records to draw, too: weekday, "device=phone,laptop"; repeatable.',
        ),
    ] = None,
    option: Settings = None,
) -> None:
    """Make records of people who do not exist, privately.

    Popularity, activity and tastes are released with noise, and with ratings and contexts also how people rate and
    when. People are drawn from that, as many as wanted. The result is a folder with Parquet files and its guarantee. It
    may be given to anybody, every tool reads it, and nothing is charged for what is done with it.

    From an earlier result other people are drawn, free: give its folder and --people.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet ledger open films.parquet --epsilon 4 --delta 1e-5 --ledger budget.db
        discreet synthesize films.parquet --epsilon 2 --delta 1e-6 --ledger budget.db --out people/
        discreet fit people/ --model ease --no-ledger --out model/
        discreet synthesize people/ --people 10000 --out more-people/
    """
    from discreet.common.folders import RELEASE
    from discreet.factors.synthetic_interactions import redrawn
    from discreet.models.registry import create
    from discreet.privacy import Release

    if source.is_dir() and (source / "manifest.json").is_file():
        if spending.epsilon is not None or spending.estimate or people is None or context or option:
            raise UsageError(
                f"{source} is a release: other people are drawn from it at no cost, and with its settings.",
                remedy="Give --people and --out alone. To spend, give the records.",
            )
        place = spending.place(spending.out, RELEASE, source)
        release = redrawn(Release.load(source), people)
        _answer(release, saved(release.save, place), as_json=spending.as_json)
        return
    if not source.exists():
        raise ReleaseError(f"{source} is not there.", remedy="Give a file of records, or the folder of a release.")
    if spending.epsilon is None:
        raise UsageError(f"{source} is not a release, and no budget was given.", remedy="Give --epsilon.")
    settings = settings_of(
        option, epsilon=spending.epsilon, delta=spending.delta, people=people, contexts=context or None
    )
    method = create("synthetic-interactions", "synthetic data", **settings)
    if spending.estimate:
        records = reading.interactions(source, contexts=context or ())
        say_estimate(method.estimate(records), as_json=spending.as_json)
        return
    ledger, place = spending.opened(), spending.place(spending.out, RELEASE, source, reading.catalog)
    records = reading.interactions(source, contexts=context or ())
    with working("drawing people"):
        release = method.release(records, ledger=ledger)
    if records.rating is not None and "rating" not in release.table("interactions").columns:
        note("ratings are left out, since it is not public how people rate: declare it with --scale LOW:HIGH[:STEP]")
    _answer(release, saved(release.save, place), as_json=spending.as_json)


def _answer(release: Release, place: Path, *, as_json: bool) -> None:
    table, number = release.table("interactions"), release.parameters["drawn"]
    facts = {"people": number, "records": table.height}
    if as_json:
        answer_json(release_facts(release, place, **facts))
        return
    whose = counted(number, "person who does", "people who do")
    title = f"The first of {counted(table.height, 'record')} of {whose} not exist"
    answer_table(title, table.columns, table.head(SHOWN).rows(), numbers=["rating"])
    answer_release(release, place)
    note(f"the records are in {place / 'interactions.parquet'}; nothing is charged for what is done with {place}")
