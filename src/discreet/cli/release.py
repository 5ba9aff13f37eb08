"""`discreet release`: what a release promises, and whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import answer_json, answer_table, answer_text
from discreet.cli.options import AsJson, LedgerPath

__all__ = ["app"]

app = typer.Typer(help="Show and verify releases.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.")]


@app.command()
def show(folder: Folder, as_json: AsJson = False) -> None:
    """What was promised, and how it was made.

    [bold]Example[/bold]: discreet release show counts/
    """
    from discreet.privacy import Release

    release = Release.load(folder)
    if as_json:
        answer_json(
            {
                "id": release.id,
                "kind": release.kind,
                "dataset": release.dataset,
                "mechanism": release.mechanism,
                "parameters": dict(release.parameters),
                "created": release.created,
                "version": release.version,
                "guarantee": release.guarantee.to_json(),
                "parts": {name: list(part.shape) for name, part in release.parts.items()},
            }
        )
        return
    answer_text(f"{release.guarantee}\n")
    rows = [
        ("kind", release.kind),
        ("dataset", release.dataset or "(unnamed)"),
        ("mechanism", release.mechanism),
        *((f"  {name}", value) for name, value in release.parameters.items()),
        ("created", f"{release.created} by discreet {release.version}"),
        ("id", release.id),
        *((f"part {name}", " × ".join(map(str, part.shape))) for name, part in release.parts.items()),
    ]
    answer_table("", ["", "value"], rows)


@app.command()
def verify(folder: Folder, ledger: LedgerPath = None, as_json: AsJson = False) -> None:
    """Check every part against its SHA-256, and the release against the book if one is given.

    [bold]Example[/bold]: discreet release verify counts/ --ledger budget.db
    """
    from discreet.errors import ReleaseError
    from discreet.privacy import Ledger, Release

    release = Release.load(folder)
    account = None
    if ledger is not None:
        account = Ledger(ledger).account_of_release(release.id)
        if account is None:
            raise ReleaseError(f"{folder} is whole, but {ledger} has no such release ({release.id[:12]}…).")
    if as_json:
        answer_json({"whole": True, "id": release.id, "account": None if account is None else account.name})
        return
    booked = "" if account is None else f" It was charged to {account.name!r}."
    answer_text(f"{folder} is whole: {len(release.parts)} part(s), id {release.id[:12]}….{booked}")
