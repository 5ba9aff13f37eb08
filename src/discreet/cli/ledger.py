"""`discreet ledger`: open a budget, see what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import command, group
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, note
from discreet.cli.reading import Reading, RecordsReading, TableReading
from discreet.errors import LedgerError, UsageError

if TYPE_CHECKING:
    from discreet.privacy import Ledger

__all__ = ["app"]

app = group("What each dataset has spent and may still spend.")

LedgerOption = Annotated[
    str,
    typer.Option("--ledger", metavar="FILE|URL", envvar="DISCREET_LEDGER", help="SQLite file or PostgreSQL URL."),
]
DataOrName = Annotated[str, typer.Argument(metavar="DATA|NAME", help="A dataset, or the name of its account.")]


@command(app, "open")
def open_account(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The dataset whose budget this is.")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="The most that may ever be spent.")],
    ledger: LedgerOption,
    reading: RecordsReading,
    delta: Annotated[str, typer.Option("--delta", help="The delta that goes with it.")] = "0",
    unit: Annotated[
        str,
        typer.Option("--unit", help="What is protected: user, record, user/replace, record/value, group/replace:6 …"),
    ] = "user",
    view: Annotated[str, typer.Option("--view", help="How it is added up: basic, concentrated or pld.")] = "basic",
    name: Annotated[str | None, typer.Option("--name", help="What to call the account.")] = None,
    domains: Annotated[
        Path | None, typer.Option("--domains", metavar="FILE", help="The public domains of a table, as for query.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Open the account of a dataset, once, with its limit.

    For `discreet query` the unit is record/replace, or group/replace:K for groups of up to K coupled rows, which also
    pays for queries about single rows.

    [bold]Example[/bold]

        discreet ledger open films.parquet --epsilon 2 --delta 1e-6 --ledger budget.db
    """
    from discreet.privacy import Ledger

    if domains is not None:
        records = TableReading(format=reading.format, domains=domains).read(data)
    else:
        records = reading.read(data)
    account = Ledger(ledger).open(
        records, epsilon=epsilon, delta=delta, unit=unit, view=view, name=name or records.name or data.stem
    )
    if as_json:
        answer_json(account.to_json())
    else:
        answer_text(str(account))


@command(app)
def show(ledger: LedgerOption, as_json: AsJson = False) -> None:
    """All accounts of a ledger.

    [bold]Example[/bold]

        discreet ledger show --ledger budget.db
    """
    from discreet.privacy import Ledger

    if "://" not in ledger and not Path(ledger).exists():
        raise LedgerError(f"there is no ledger {ledger}.", remedy="It is made when its first account is opened.")
    opened = Ledger(ledger)
    statements = [opened.statement(account.name) for account in opened.datasets()]
    if as_json:
        answer_json([statement.to_json() for statement in statements])
        return
    if not statements:
        answer_text(f"{ledger} has no accounts yet.")
        return
    answer_table(
        "",
        ["account", "limit", "spent", "reserved", "left"],
        [(s.account.name, s.account.limit, s.spent, s.reserved, s.left) for s in statements],
    )


@command(app)
def statement(data: DataOrName, ledger: LedgerOption, reading: RecordsReading, as_json: AsJson = False) -> None:
    """What one dataset has spent, reserved and left.

    [bold]Example[/bold]

        discreet ledger statement films --ledger budget.db
    """
    from discreet.privacy import Ledger

    opened = Ledger(ledger)
    result = opened.statement(_account(opened, data, reading))
    if as_json:
        answer_json(result.to_json())
    else:
        answer_text(str(result))


@command(app)
def link(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="New data about people whose budget is open.")],
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="The account that they belong to.")],
    ledger: LedgerOption,
    reading: RecordsReading,
) -> None:
    """Charge new data about the same people to an account that is open already.

    [bold]Example[/bold]

        discreet ledger link films-today.parquet films --ledger budget.db
    """
    from discreet.privacy import Ledger

    answer_text(str(Ledger(ledger).link(reading.read(data), account)))


@command(app)
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not be there yet.")],
    ledger: LedgerOption,
) -> None:
    """Check a ledger and write a copy of it to a file.

    [bold]Example[/bold]

        discreet ledger backup budget-monday.backup --ledger budget.db
    """
    from discreet.privacy import Ledger

    answer_text(f"{Ledger(ledger).backup(file)} is a copy of {ledger}.")


@command(app)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `discreet ledger backup` has written.")],
    ledger: LedgerOption,
    forget: Annotated[bool, typer.Option("--forget", help="Restore even if charges are lost by it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of a ledger, and show which charges are lost by it.

    Charges that the backup does not hold are listed, and without --forget nothing is changed. The files from before
    are kept beside the ledger under other names. Stop all programs that use the ledger first.

    [bold]Example[/bold]

        discreet ledger restore budget-monday.backup --ledger budget.db
    """
    from discreet.privacy.ledger import restore_ledger

    forgotten = restore_ledger(file, ledger, forget=forget)
    if as_json:
        answer_json(forgotten.to_json())
        return
    answer_text(f"{ledger} was restored from {file}. {forgotten}")
    if forgotten.kept:
        note(f"The files from before: {', '.join(map(str, forgotten.kept))}")


def _account(opened: Ledger, given: str, reading: Reading) -> Any:
    if given in {account.name for account in opened.datasets()}:
        return given
    if Path(given).exists():
        return reading.read(Path(given))
    raise UsageError(
        f"{given!r} is neither an account of this ledger nor a file.", remedy="See: discreet ledger show --ledger …"
    )
