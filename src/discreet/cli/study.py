"""`discreet study`: a paper's experiment beside its published figures."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.commands import chosen_from
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, progressing
from discreet.cli.reading import RecordsReading
from discreet.cli.spending import Overwrite, place_for
from discreet.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from discreet.studies import StudyReport

__all__ = ["study"]

# Paragraphs are broken as the tables are wide.
WIDTH = 100


def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which one; they are named above.")],
    reading: RecordsReading,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="PATH", help="A file, folder or name (ml-1m); otherwise built-in data."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Keep the report: page, tables, charts.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draws splits and samples.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few settings, on a part of large data: under a minute.")
    ] = False,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME|MODULE:CLASS",
            help="With frontier: a model of your own beside those of discreet; repeatable.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Run a published experiment again, with the published figures beside ours.

    Neighbors: pncf, ppns, ppns-assured, twins. Counts: sampling. Pairs and sets: slope-one, subsets. Tags: pritop.
    Tables: cim. Accuracy of everything that is proved: frontier. A model every week: nightly. Several curators:
    curators.

    Nothing is charged to a ledger: errors are measured on the records themselves, and the report is for their owner.

    [bold]Example[/bold]

        discreet study pncf --data ml-100k --out pncf
        discreet study frontier --model package.module:Class --quick
    """
    from discreet.data import Table, TagAssignments
    from discreet.models.registry import class_of
    from discreet.studies import STUDIES, study_named
    from discreet.studies.report import REPORT

    chosen_from(name, sorted(STUDIES), "NAME")
    chosen = study_named(name)
    if seed < 0:
        raise UsageError(f"--seed must be a whole number, at least 0, got {seed}.")
    kinds = [class_of(one, "recommender") for one in model or ()]
    if out is not None:
        place_for(out, REPORT.kind, overwrite=overwrite, sources=(data,))
    records = None
    if data is not None:
        readers = {TagAssignments: reading.tags, Table: reading.table}
        records = readers.get(chosen.data_kind, reading.interactions)(data)
    with progressing(f"study {name}") as progress:
        report = chosen.run(records, seed=seed, quick=quick, models=kinds, progress=progress)
    try:
        if out is not None:
            out = report.save(out, overwrite=overwrite)
    finally:
        # Whatever became of the folder, what took minutes to measure is not lost.
        if as_json:
            answer_json({**report.to_dict(), "saved": None if out is None else str(out)})
        else:
            _say(report)
    if out is not None and not as_json:
        answer_text(f"Open {out / 'report.html'} in a browser; the numbers are in {out / 'report.json'}.")


def _say(report: StudyReport) -> None:
    from discreet.reports import numeric, readable, words
    from discreet.studies.report import VERDICTS

    answer_text(f"{textwrap.fill(report.headline, WIDTH)}\n\n{report.title}\n{report.source}\n")
    for name, value in report.setting.items():
        answer_text(textwrap.fill(f"{name}: {words(value)}", WIDTH, subsequent_indent="  "))
    answer_text("")
    for heading, table in report.tables.items():
        if heading != VERDICTS:
            answer_table(heading, table.columns, readable(table), numbers=numeric(table))
    if report.verdicts is not None:
        _say_verdicts(report.verdicts)
    for paragraph in (report.summary, *report.notes):
        answer_text(textwrap.fill(paragraph, WIDTH) + "\n")


def _say_verdicts(verdicts: pl.DataFrame) -> None:
    """Each claim with its place in the paper, and below it the verdict and the numbers of each case."""
    for (claim, where), cases in verdicts.group_by("claim", "where", maintain_order=True):
        answer_text(textwrap.fill(f"{claim} ({where})", WIDTH))
        for row in cases.iter_rows(named=True):
            told = [row["case"], row["measured"], row["condition"] and f"condition: {row['condition']}"]
            told.append(row["published"] and f"published: {row['published']}")
            line = f"  {row['verdict']}: {'; '.join(filter(None, told))}".rstrip(": ")
            answer_text(textwrap.fill(line, WIDTH, subsequent_indent="    "))
        answer_text("")
