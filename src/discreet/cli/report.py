"""`discreet report`: the page for a board or a privacy officer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, note
from discreet.cli.ledger import LedgerOption
from discreet.cli.spending import Overwrite, place_for

__all__ = ["report"]


def report(
    ledger: LedgerOption,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the page, board.html.")] = None,
    population: Annotated[
        str | None, typer.Option("--population", metavar="NAME", help="Only this population; otherwise all.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Show what was promised to whom, what was spent, what is left, and how long it will last.

    The page has charts, every release with its guarantee and who made it, audits that were kept and steps of series
    that were missed. It is one file that needs no network. Nothing is charged; the ledger is only read.

    [bold]Example[/bold]

        discreet report --ledger budget.db --out board.html
    """
    from discreet.board import board_report
    from discreet.privacy import Ledger
    from discreet.reports import PAGE

    if out is not None:
        place_for(out, PAGE, overwrite=overwrite, sources=() if "://" in ledger else (Path(ledger),))
    made = board_report(Ledger(ledger), population)
    saved = None if out is None else made.save(out, overwrite=overwrite)
    if as_json:
        answer_json({**made.to_json(), "saved": saved and str(saved)})
        return
    answer_text(f"{made.verdict}\n")
    answer_table(
        "",
        ["population", "limit", "charged", "left", "releases", "audits", "forecast"],
        [
            (
                one.name,
                one.account.limit,
                one.balance.total,
                one.account.text_of_left(one.balance.left),
                len(one.charges),
                len(one.audits),
                one.forecast or "",
            )
            for one in made.populations
        ],
        numbers=["releases", "audits"],
    )
    for text in made.remarks:
        note(text)
    if saved is not None:
        answer_text(f"Open {saved} in a browser; it is for the organization, not for publication.")
