"""`discreet study`: a paper's experiment beside its published figures."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import answer_json, answer_table, answer_text
from discreet.cli.options import AsJson, Column, Duplicates, Format, Scale, read_interactions, target_for
from discreet.cli.progress import progressing
from discreet.cli.query_inputs import read_table
from discreet.cli.tag_inputs import read_tags
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.studies import StudyReport

__all__ = ["study"]

# Paragraphs are broken as the tables are wide.
WIDTH = 100


def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which one; they are named above.")],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="PATH", help="A file or folder; otherwise built-in data.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Keep the report: page, tables, charts.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draws splits and samples.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a report that is there.")] = False,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    as_json: AsJson = False,
) -> None:
    """Run a published experiment again, with the published figures beside ours.

    Neighbors: pncf, ppns, twins. Counts: sampling. Pairs and sets: slope-one, subsets. Tags: pritop. Tables:
    cim. Accuracy of everything that is proved: frontier.

    Nothing is charged to a ledger: errors are measured on the records themselves, and the report is for their owner.

    [bold]Example[/bold]: discreet study pncf --data ml-100k --out pncf
    """
    from discreet.data import Interactions, Table, TagAssignments
    from discreet.studies import KINDS, STUDIES
    from discreet.studies import study as run

    if name not in STUDIES:
        raise UsageError(f"there is no study {name!r}.", remedy=f"Choose from: {', '.join(sorted(STUDIES))}.")
    if seed < 0:
        raise UsageError(f"--seed {seed} is not a seed.", remedy="Give a whole number from 0 up.")
    if out is not None:
        target_for(out, overwrite=overwrite)
    records = None
    if data is not None:
        readers = {TagAssignments: read_tags, Table: read_table}
        reader = readers.get(KINDS.get(name, Interactions), read_interactions)
        records = reader(data, format=format, column=column, scale=scale, duplicates=duplicates)
    with progressing(f"study {name}") as progress:
        report = run(name, records, seed=seed, quick=quick, progress=progress)
    try:
        if out is not None:
            report.save(out, overwrite=overwrite)
    finally:
        # Whatever became of the folder, what took minutes to measure is not lost.
        if as_json:
            answer_json({**report.to_dict(), "saved": None if out is None else str(out)})
        else:
            _say(report)
    if out is not None and not as_json:
        answer_text(f"Open {out / 'report.html'} in a browser; the numbers are in {out / 'report.json'}.")


def _say(report: StudyReport) -> None:
    from discreet.studies.cells import numeric, readable, words

    answer_text(f"{report.title}\n{report.source}\n")
    for name, value in report.setting.items():
        answer_text(textwrap.fill(f"{name}: {words(value)}", WIDTH, subsequent_indent="  "))
    answer_text("")
    for heading, table in report.tables.items():
        answer_table(heading, table.columns, readable(table), numbers=numeric(table))
    for finding in report.findings:
        answer_text(textwrap.fill(finding, WIDTH) + "\n")
