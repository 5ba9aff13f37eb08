"""`discreet release`: what a release guarantees, and whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.commands import command, group
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, counted
from discreet.cli.spending import LedgerPath, release_facts

__all__ = ["app"]

app = group("Show and verify releases.")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.")]


@command(app)
def show(folder: Folder, as_json: AsJson = False) -> None:
    """The guarantee of a release, and how it was made.

    [bold]Example[/bold]

        discreet release show counts/
    """
    from discreet.privacy import Release

    release = Release.load(folder)
    if as_json:
        answer_json(
            release_facts(
                release,
                folder,
                dataset=release.dataset,
                mechanism=release.mechanism,
                created=release.created,
                version=release.version,
                parts={name: list(part.shape) for name, part in release.parts.items()},
            )
        )
        return
    answer_text(f"{release.describe()}\n")
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


@command(app)
def verify(folder: Folder, ledger: LedgerPath = None, as_json: AsJson = False) -> None:
    """Check every part against its SHA-256, and the release against a ledger if one is given.

    [bold]Example[/bold]

        discreet release verify counts/ --ledger budget.db
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
    charged = "" if account is None else f" It was charged to {account.name!r}."
    answer_text(f"{folder} is whole: {counted(len(release.parts), 'part')}, id {release.id[:12]}….{charged}")
