"""`discreet audit`: whether a model keeps its guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import Settings, settings_of
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, note, progressing
from discreet.cli.reading import DataPath, RecordsReading, TableReading
from discreet.cli.spending import Overwrite, place_for
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.attacks import AuditReport
    from discreet.attacks.games.game import Dataset
    from discreet.privacy import Ledger

__all__ = ["audit"]


def audit(
    data: DataPath,
    reading: RecordsReading,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "--target",
            metavar="NAME|MODULE:CLASS|URL",
            help="A model or method of discreet by its name, or another one: module:Class, file.py:Class, "
            "lenskit:ItemKNN, recbole:BPR, surprise:SVD, a URL.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", help="The budget of the model; the claim for another model that claims nothing."),
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="The delta that goes with it.")] = None,
    claim: Annotated[
        str | None,
        typer.Option("--claim", metavar="EPSILON[,DELTA]", help="What is claimed, in place of what the model says."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="What --claim is about: user, record, record/value …; user.")
    ] = None,
    cap: Annotated[
        int | None, typer.Option("--cap", help="How many records of one user the model uses, where it does not say.")
    ] = None,
    option: Settings = None,
    attacks: Annotated[str, typer.Option("--attacks", metavar="NAME,…", help="all, or attacks by name.")] = "all",
    runs: Annotated[int, typer.Option("--runs", help="Fits on each of two neighboring datasets.")] = 500,
    seconds: Annotated[float, typer.Option("--seconds", help="How long it may take; 0: no limit.")] = 180,
    confidence: Annotated[float, typer.Option("--confidence", help="Of all bounds together.")] = 0.95,
    processes: Annotated[int, typer.Option("--processes", help="How many share the work; 0: all processors.")] = 0,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="Keep finished runs, to go on after a stop; secret.")
    ] = None,
    train_url: Annotated[
        str | None, typer.Option("--train-url", metavar="URL", help="For a URL: where records are posted to.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draws targets and canaries, never noise.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write a page, audit.html.")] = None,
    overwrite: Overwrite = False,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", metavar="FILE|URL", help="Record verdict, date and hash in this ledger."),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population", metavar="NAME", help="Whose audit it is, where the ledger does not know the data."
        ),
    ] = None,
    domains: Annotated[
        Path | None, typer.Option("--domains", metavar="FILE", help="Public domains of a bare table, JSON.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model many times with a secret and without, and prove how much it reveals.

    The answer is a lower bound on epsilon beside the claim: more than the claim refutes it. Nothing is charged to a
    ledger and nothing that is fitted can be saved; results on real records are for their owner. Exit code 1 if a claim
    is refuted.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet audit films.parquet --model ppns --epsilon 1 --out audit.html
        discreet ledger open films.parquet --epsilon 4 --delta 1e-6 --ledger budget.db
        discreet audit films.parquet --model private-recommender --epsilon 1 --out second.html --ledger budget.db
        discreet audit films.parquet --model lenskit:ItemKNN --option max_nbrs=20
        discreet audit films.parquet --model my_models.py:NoisyCounts --option k=20 --claim 1,1e-6 --seconds 60
        discreet audit films.parquet --model package.module:Class --claim 1 --unit record

    Your own class has fit(data) and recommend(users, n) or predict(pairs), and shows what it publishes in release_.
    Ctrl-C ends an audit and reports what was played. [bold]--keep[/bold] continues later, with the same model,
    settings and source.

    Tags and tables are audited alike; for tables, [bold]--option[/bold] also takes queries=100 and coupling=group,
    none or pearson:

        discreet audit tags.parquet --model pritop --epsilon 1
        discreet audit survey.parquet --model cim --epsilon 1 --option coupling=pearson
    """
    from discreet.attacks import audit as run
    from discreet.reports import PAGE

    if out is not None:
        place_for(out, PAGE, overwrite=overwrite, sources=(data, domains))
    settings = settings_of(option, epsilon=epsilon, delta=delta)
    prototype, claimed = _prototype(model, settings, given=option or [], train=train_url)
    records = _records(data, model, reading, domains)
    kept_in = _ledger(ledger, population, records)
    with progressing(f"auditing {model}") as progress:
        report = run(
            prototype,
            records,
            attacks=attacks,
            runs=runs,
            claim=claim or claimed,
            unit=unit,
            cap=cap,
            confidence=confidence,
            seconds=seconds or None,
            processes=processes or None,
            folder=keep,
            seed=seed,
            progress=progress,
        )
    if out is not None:
        note(f"written to {report.save(out, overwrite=overwrite)}; it is for the owner of the records")
    if kept_in is not None:
        kept = report.keep(kept_in, population or records, page=out)
        note(f"kept in {ledger} as audit {kept.id}, SHA-256 of the page {kept.digest}")
    if as_json:
        answer_json(report.to_json())
    else:
        _say(report)
    if report.refuted or report.interrupted:
        raise typer.Exit(1)


def _ledger(place: str | None, population: str | None, records: Dataset) -> Ledger | None:
    """The ledger that will keep the audit; whether it knows the people is asked before anything is played."""
    from discreet.privacy.ledger import Ledger

    if place is None:
        if population is not None:
            raise UsageError("--population goes with --ledger.")
        return None
    opened = Ledger(place)
    opened.account(population or records)
    return opened


def _prototype(
    model: str | None, settings: dict[str, Any], *, given: list[str], train: str | None
) -> tuple[Any, str | None]:
    """What is to be audited, and what is claimed for a model that is not of discreet: the epsilon and delta typed."""
    from discreet.attacks.engine.making import speaks_for_itself
    from discreet.models.foreign.lookup import is_outside, outside

    if model is None:
        raise UsageError("no model was given.", remedy="Give --model NAME, --model MODULE:CLASS or --model URL.")
    if not is_outside(model):
        return _named(model, settings), None
    typed = settings_of(given)
    budget = {name: settings[name] for name in ("epsilon", "delta") if name in settings}
    claimed = ",".join(str(value) for value in budget.values()) if "epsilon" in budget else None
    found = outside(model, train=train, settings=typed, budget=budget)
    return found, None if speaks_for_itself(found) else claimed


def _named(name: str, settings: dict[str, Any]) -> Any:
    """The model or method of that name."""
    from discreet.attacks import Asked
    from discreet.models.registry import create, entry_of

    entry = entry_of(name)
    if entry.takes != "table":
        return create(name, **settings)
    asking = {key: settings.pop(key) for key in ("queries", "coupling") if key in settings}
    return Asked(create(name, **settings), **asking)


def _records(path: Path, model: str | None, reading: RecordsReading, domains: Path | None) -> Dataset:
    """The records, read as what the model is made for.

    Nothing is released, so nothing depends on whether the items, tags or resources that occur are public.
    """
    from discreet.models.registry import entries

    known = entries().get(model or "")
    takes = "interactions" if known is None else known.takes
    if takes == "table":
        return TableReading(format=reading.format, domains=domains).read(path)
    if takes == "tags":
        return reading.tags(path).with_vocabulary("observed").with_resources("observed")
    records = reading.interactions(path)
    return records if records.catalog_is_public else records.with_catalog("observed")


def _say(report: AuditReport) -> None:
    answer_text("\n".join(f"{line}." for line in (f"{report.model}: {report.verdict}", *report.notes)))
    numbers = ["runs", "TPR", "FPR", "at least", "ceiling", "claimed"]
    answer_table("", report.headings(), report.cells(), numbers=numbers)
    for score in report.scores:
        note(f"{score.game}: {score.how}")
    for reason, names in report.reasons().items():
        note(f"not played: {', '.join(names)} ({reason})")
