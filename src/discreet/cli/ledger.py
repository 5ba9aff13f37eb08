"""`discreet ledger`: open a budget, see what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text
from discreet.cli.options import AsJson, Column, Duplicates, Format, Scale, read_any
from discreet.errors import LedgerError, UsageError

if TYPE_CHECKING:
    from discreet.privacy import Ledger

__all__ = ["app"]

app = typer.Typer(help="The book of what each dataset has spent.", no_args_is_help=True)

Book = Annotated[
    str,
    typer.Option("--ledger", metavar="FILE|URL", envvar="DISCREET_LEDGER", help="SQLite file or PostgreSQL URL."),
]
DataOrName = Annotated[str, typer.Argument(metavar="DATA|NAME", help="A dataset, or the name of its account.")]


@app.command(name="open")
def open_account(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The dataset whose budget this is.")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="The most that may ever be spent.")],
    ledger: Book,
    delta: Annotated[str, typer.Option("--delta", help="The delta that goes with it.")] = "0",
    unit: Annotated[
        str, typer.Option("--unit", help="Whose secret: user, record, user/replace, record/value, group/replace:6 …")
    ] = "user",
    view: Annotated[str, typer.Option("--view", help="How it is added up: basic, concentrated or pld.")] = "basic",
    name: Annotated[str | None, typer.Option("--name", help="What to call the account.")] = None,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    domains: Annotated[
        Path | None, typer.Option("--domains", metavar="FILE", help="The public domains of a table, as for query.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Open the account of a dataset, once, with its limit.

    For `discreet query` the unit is record/replace, or group/replace:K for groups of up to K coupled rows, which also
    pays for queries about single rows.

    [bold]Example[/bold]: discreet ledger open films.parquet --epsilon 2 --delta 1e-6 --ledger budget.db
    """
    from discreet.cli.query_inputs import read_declared
    from discreet.privacy import Ledger

    if domains is not None:
        records = read_declared(data, format=format, attributes=None, domains=domains)
    else:
        records = read_any(data, format=format, column=column, scale=scale, duplicates=duplicates)
    account = Ledger(ledger).open(
        records, epsilon=epsilon, delta=delta, unit=unit, view=view, name=name or records.name or data.stem
    )
    if as_json:
        answer_json(account.to_json())
    else:
        answer_text(str(account))


@app.command()
def show(ledger: Book, as_json: AsJson = False) -> None:
    """All accounts of a book.

    [bold]Example[/bold]: discreet ledger show --ledger budget.db
    """
    from discreet.privacy import Ledger

    if "://" not in ledger and not Path(ledger).exists():
        raise LedgerError(f"there is no ledger {ledger}.", remedy="It is made when its first account is opened.")
    book = Ledger(ledger)
    statements = [book.statement(account.name) for account in book.datasets()]
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


@app.command()
def statement(data: DataOrName, ledger: Book, format: Format = None, as_json: AsJson = False) -> None:
    """What one dataset has spent, reserved and left.

    [bold]Example[/bold]: discreet ledger statement films --ledger budget.db
    """
    from discreet.privacy import Ledger

    book = Ledger(ledger)
    result = book.statement(_account(book, data, format))
    if as_json:
        answer_json(result.to_json())
    else:
        answer_text(str(result))


@app.command()
def link(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="New data about people whose budget is open.")],
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="The account that they belong to.")],
    ledger: Book,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
) -> None:
    """Charge new data about the same people to an account that is open already.

    [bold]Example[/bold]: discreet ledger link films-today.parquet films --ledger budget.db
    """
    from discreet.privacy import Ledger

    records = read_any(data, format=format, column=column, scale=scale, duplicates=duplicates)
    answer_text(str(Ledger(ledger).link(records, account)))


def _account(book: Ledger, given: str, format: str | None) -> Any:
    if given in {account.name for account in book.datasets()}:
        return given
    if Path(given).exists():
        return read_any(Path(given), format=format)
    raise UsageError(
        f"{given!r} is neither an account of this book nor a file.", remedy="See: discreet ledger show --ledger …"
    )
