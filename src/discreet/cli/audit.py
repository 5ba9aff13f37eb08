"""`discreet audit`: does a model keep its promise?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text, note
from discreet.cli.options import (
    AsJson,
    Column,
    DataPath,
    Duplicates,
    Format,
    Scale,
    Settings,
    model_of,
    read_interactions,
    settings_of,
)
from discreet.cli.progress import progressing
from discreet.cli.query_inputs import read_declared
from discreet.cli.tag_inputs import read_tags
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.attacks.audit import AuditReport
    from discreet.attacks.audit.game import Dataset
    from discreet.privacy import Guarantee

__all__ = ["audit"]


def audit(
    data: DataPath,
    model: Annotated[
        str | None,
        typer.Option("--model", help="A model of discreet, a way to count, to release tags or to answer, by its name."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="LIBRARY:MODEL|URL", help="Of elsewhere: lenskit:ItemKNN, surprise:SVD, URL."),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="The budget of the model; for a --target, what is claimed for it.")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="The delta that goes with it.")] = None,
    option: Settings = None,
    attacks: Annotated[str, typer.Option("--attacks", metavar="NAME,…", help="all, or attacks by name.")] = "all",
    runs: Annotated[int, typer.Option("--runs", help="Fits in each world, on the given records.")] = 500,
    seconds: Annotated[float, typer.Option("--seconds", help="About how long it may take; 0: any.")] = 180,
    confidence: Annotated[float, typer.Option("--confidence", help="Of all that is said, together.")] = 0.95,
    processes: Annotated[int, typer.Option("--processes", help="How many share the work; 0: all processors.")] = 0,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="Keep finished runs, to go on after a stop; secret.")
    ] = None,
    train_url: Annotated[
        str | None, typer.Option("--train-url", metavar="URL", help="For a URL: where records are posted to.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draws targets and canaries, never noise.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write a page, audit.html.")] = None,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    domains: Annotated[
        Path | None, typer.Option("--domains", metavar="FILE", help="Public domains of a bare table, JSON.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model many times with a secret and without, and prove how much it gives away.

    The answer is a lower bound on epsilon beside the claim: more than the claim refutes it. Nothing is charged to a
    ledger and nothing that is fitted can be saved; what is played on real records is for their owner.
    Exit code 1 if a claim is refuted.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet audit films.parquet --model ppns --epsilon 1 --out audit.html
        discreet audit films.parquet --target lenskit:ItemKNN

    Tags and tables are audited alike; for tables, [bold]--option[/bold] also takes queries=100 and coupling=group,
    none or pearson:

        discreet audit tags.parquet --model pritop --epsilon 1
        discreet audit survey.parquet --model cim --epsilon 1 --option coupling=pearson
    """
    from discreet.attacks.audit import audit as run

    prototype = _prototype(model, target, epsilon=epsilon, delta=delta, options=option or [], train=train_url)
    claim = _claim(epsilon, delta) if target is not None else None
    reading = {"format": format, "column": column, "scale": scale, "duplicates": duplicates}
    records = _records(data, model, domains=domains, **reading)
    with progressing(f"auditing {model or target}") as progress:
        report = run(
            prototype,
            records,
            attacks=attacks,
            runs=runs,
            claim=claim,
            confidence=confidence,
            seconds=seconds or None,
            processes=processes or None,
            folder=keep,
            seed=seed,
            progress=progress,
        )
    if out is not None:
        note(f"written to {report.save(out)}; it is for the owner of the records")
    if as_json:
        answer_json(report.to_json())
    else:
        _say(report)
    if report.refuted:
        raise typer.Exit(1)


def _prototype(
    model: str | None,
    target: str | None,
    *,
    epsilon: str | None,
    delta: str | None,
    options: list[str],
    train: str | None,
) -> Any:
    if (model is None) == (target is None):
        raise UsageError("what is to be audited?", remedy="Give --model NAME, or --target LIBRARY:MODEL.")
    if target is not None:
        from discreet.attacks.audit.outside import outside

        if options:
            raise UsageError("--option is for the models of discreet.")
        return outside(target, train=train)
    assert model is not None
    return _named(model, settings_of(options, epsilon=epsilon, delta=delta))


def _named(name: str, settings: dict[str, Any]) -> Any:
    """What is called so: a model, a way to count, to release tags or to answer queries."""
    from discreet import counting, recommender
    from discreet.attacks.audit import Asked
    from discreet.attacks.audit.tag_targets import TAG_MODELS, tag_model
    from discreet.coupled import methods as answering
    from discreet.tagging import methods as releasing

    if name in counting.METHODS:
        return counting.count_method(name, **settings)
    if name in releasing.METHODS:
        return releasing.tag_method(name, **settings)
    if name in TAG_MODELS:
        return tag_model(name, **settings)
    if name in answering.METHODS:
        asking = {key: settings.pop(key) for key in ("queries", "coupling") if key in settings}
        return Asked(answering.query_method_named(name, **settings), **asking)
    known = [*recommender.MODELS, *counting.METHODS, *releasing.METHODS, *TAG_MODELS, *answering.METHODS]
    if name not in known:
        raise UsageError(f"there is nothing called {name!r} to audit.", remedy=f"Choose from: {', '.join(known)}.")
    return model_of(name, [], **settings)


def _records(path: Path, model: str | None, *, domains: Path | None, **reading: Any) -> Dataset:
    """The records, read as what the model is made for.

    Nothing is released, so nothing hangs on whether the items, tags or resources that occur are public.
    """
    from discreet.attacks.audit.tag_targets import TAG_MODELS
    from discreet.coupled import methods as answering
    from discreet.tagging import methods as releasing

    if model in answering.METHODS:
        return read_declared(path, format=reading["format"], attributes=None, domains=domains)
    if model in releasing.METHODS or model in TAG_MODELS:
        triples = read_tags(path, **reading)
        return triples.with_vocabulary("observed").with_resources("observed")
    records = read_interactions(path, **reading)
    return records if records.catalog_is_public else records.with_catalog("observed")


def _claim(epsilon: str | None, delta: str | None) -> Guarantee | None:
    """What is said to hold for a model that says nothing itself."""
    from discreet.privacy import Guarantee, Standing, Unit
    from discreet.privacy.losses import Approximate, Pure
    from discreet.privacy.numbers import as_positive, as_probability

    if epsilon is None:
        return None
    budget = as_positive(epsilon, "epsilon")
    loss = Pure(budget) if delta is None else Approximate(budget, as_probability(delta))
    return Guarantee(loss, Unit("user"), Standing.AS_PUBLISHED, "claimed by whoever asks", "what the model shows")


def _say(report: AuditReport) -> None:
    answer_text(f"{report.model}: {report.verdict}.")
    numbers = ["runs", "TPR", "FPR", "at least", "ceiling", "claimed"]
    answer_table("", report.headings(), report.cells(), numbers=numbers)
    for score in report.scores:
        note(f"{score.game}: {score.how}")
    for name, reason in report.skipped.items():
        note(f"{name}: not played, {reason}")
