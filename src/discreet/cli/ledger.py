"""`discreet ledger`: open a budget, see what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import command, group
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, note
from discreet.cli.parts import PartsReading, found_files
from discreet.cli.reading import TableReading
from discreet.cli.spending import LedgerPath
from discreet.errors import LedgerError, UsageError

if TYPE_CHECKING:
    from discreet.privacy import Ledger
    from discreet.privacy.ledger import Account

__all__ = ["app"]

app = group("What each population has spent and may still spend.")

LedgerOption = Annotated[
    str,
    typer.Option("--ledger", metavar="FILE|URL", envvar="DISCREET_LEDGER", help="SQLite file or PostgreSQL URL."),
]
DataOrName = Annotated[str, typer.Argument(metavar="DATA|NAME", help="A dataset, or the name of its population.")]
NewData = Annotated[Path, typer.Argument(metavar="DATA", help="New data about people whose account is open.")]
Population = Annotated[str, typer.Argument(metavar="POPULATION", help="The population that they belong to.")]


@command(app, "open")
def open_account(
    ledger: LedgerOption,
    reading: PartsReading,
    data: Annotated[Path | None, typer.Argument(metavar="[DATA]", help="The first data about these people.")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="The most that may ever be spent.")] = None,
    population: Annotated[
        str | None, typer.Option("--population", metavar="NAME", help="What the people are called, such as customers.")
    ] = None,
    same_people_as: Annotated[
        str | None,
        typer.Option("--same-people-as", metavar="NAME", help="The data are about a population that has an account."),
    ] = None,
    new_people: Annotated[
        bool, typer.Option("--new-people", help="The data are about people who have no account in this ledger.")
    ] = False,
    delta: Annotated[str, typer.Option("--delta", help="The delta that goes with it.")] = "0",
    unit: Annotated[
        str,
        typer.Option("--unit", help="What is protected: user, record, user/replace, record/value, group/replace:6 …"),
    ] = "user",
    view: Annotated[str, typer.Option("--view", help="How it is added up: basic, concentrated or pld.")] = "basic",
    per: Annotated[
        str | None, typer.Option("--per", metavar="PERIOD", help="Limit each year, quarter, month, week or day.")
    ] = None,
    lifetime: Annotated[
        str | None, typer.Option("--lifetime", metavar="EPSILON", help="Limit all periods together as well.")
    ] = None,
    lifetime_delta: Annotated[
        str | None, typer.Option("--lifetime-delta", help="The delta of the lifetime limit; otherwise --delta.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Another word for --population.", hidden=True)] = None,
    domains: Annotated[
        Path | None, typer.Option("--domains", metavar="FILE", help="The public domains of a table, as for query.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Open the account of a population, once, with its limit, and attach the data to it.

    In a ledger that has accounts say --same-people-as NAME, which attaches the data to that account, or --new-people.

    For `discreet query` the unit is record/replace, or group/replace:K for groups of up to K coupled rows, which also
    pays for queries about single rows.

    [bold]Example[/bold]

        discreet ledger open films.parquet --epsilon 2 --delta 1e-6 --ledger budget.db
    """
    from discreet.privacy import Ledger
    from discreet.privacy.ledger.families import whose_data

    if same_people_as is not None and new_people:
        raise UsageError("--same-people-as and --new-people exclude each other.")
    opened = Ledger(ledger)
    if same_people_as is None and not new_people and (accounts := opened.datasets()):
        raise whose_data(str(data or population or name or "this population"), accounts)
    records = None
    if data is not None and domains is not None:
        records = TableReading(format=reading.format, domains=domains).read(data)
    elif data is not None:
        records = reading.any_data(data)
    if same_people_as is not None:
        account = _attached(opened, records, same_people_as, epsilon, delta)
    elif epsilon is None:
        raise UsageError("no limit was given.", remedy="Give --epsilon, the most that may ever be spent.")
    else:
        called = population or name or (None if data is None or records is None else records.name or data.stem)
        if lifetime is None and lifetime_delta is not None:
            raise UsageError("--lifetime-delta goes with --lifetime.")
        account = opened.open(
            records,
            population=called,
            epsilon=epsilon,
            delta=delta,
            unit=unit,
            view=view,
            per=per,
            time_zone=reading.time_zone if per else None,
            lifetime=lifetime if lifetime is None else (lifetime, lifetime_delta or delta),
            other_people=new_people,
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
def statement(data: DataOrName, ledger: LedgerOption, reading: PartsReading, as_json: AsJson = False) -> None:
    """What one population has spent, reserved and left.

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
def audits(data: DataOrName, ledger: LedgerOption, reading: PartsReading, as_json: AsJson = False) -> None:
    """The audits that were kept about a population; `discreet audit … --ledger` keeps one.

    [bold]Example[/bold]

        discreet ledger audits films --ledger budget.db
    """
    from discreet.privacy import Ledger

    opened = Ledger(ledger)
    kept = opened.audits(_account(opened, data, reading))
    if as_json:
        answer_json([audit.to_json() for audit in kept])
        return
    columns = ["#", "when", "model", "claimed", "outcome", "made by", "SHA-256 of the page"]
    rows = [(one.id, one.at, one.model, one.claim or "–", one.outcome, one.who, one.digest) for one in kept]
    answer_table("", columns, rows, numbers=["#"])


@command(app)
def attach(data: NewData, population: Population, ledger: LedgerOption, reading: PartsReading) -> None:
    """Charge new data about the same people to the account of their population.

    [bold]Example[/bold]

        discreet ledger attach orders-today.parquet customers --ledger budget.db
    """
    from discreet.privacy import Ledger

    answer_text(str(Ledger(ledger).attach(reading.any_data(data), population)))


@command(app)
def link(data: NewData, account: Population, ledger: LedgerOption, reading: PartsReading) -> None:
    """The same as attach, under the name that version 0.1 had for it.

    [bold]Example[/bold]

        discreet ledger link orders-today.parquet customers --ledger budget.db
    """
    attach(data, account, ledger, reading)


@command(app)
def plan(
    nights: Annotated[int, typer.Option("--nights", help="How long the budget must last.")] = 365,
    population: Annotated[
        str | None, typer.Option("--population", metavar="NAME", help="Take budget and delta of this population.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="The budget for all nights; otherwise what is left.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="The delta; otherwise that of the account, or 1e-6.")
    ] = None,
    users: Annotated[
        int | None,
        typer.Option("--users", min=1, help="How many people there will be, as is public: for the expected recall."),
    ] = None,
    history: Annotated[
        int, typer.Option("--history", min=0, help="How many of them are there before the first night.")
    ] = 0,
    ledger: LedgerPath = None,
    as_json: AsJson = False,
) -> None:
    """What each night may spend, and what a series gives instead. Nothing is read but the ledger, nothing is spent.

    [bold]Example[/bold]

        discreet ledger plan --nights 365 --epsilon 4 --delta 1e-6 --users 100000
    """
    from discreet.cli.planning import HEAD, plan_of, rows_of

    made = plan_of(ledger, population, nights, epsilon, delta, users, history)
    if as_json:
        answer_json(made)
        return
    rows = rows_of(made)
    answer_table(f"ε = {made['epsilon']}, δ = {made['delta']} over {nights} nights", HEAD[: len(rows[0])], rows)
    answer_text(f"Recommended: {made['recommended']}")
    if made["left"] is not None:
        note(f"{population}: left {made['left']} of {made['limit']}")
    for text in made["notes"] if users is not None else made["notes"][:1]:
        note(text)


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


def _attached(opened: Ledger, records: Any, population: str, epsilon: str | None, delta: str) -> Account:
    """The account of people who have one; terms that were typed must be those that it has."""
    from discreet.privacy.numbers import as_positive, as_probability

    if records is None:
        raise UsageError("no data to attach were given.", remedy="Name the file or folder.")
    for account in opened.datasets():
        if account.name == population and epsilon is not None:
            given = as_positive(epsilon, "epsilon"), as_probability(delta)
            if given != (account.limit.epsilon, account.limit.delta):
                raise UsageError(
                    f"the account is open with another limit: {account}. An account is opened once.",
                    remedy="Leave --epsilon and --delta out.",
                )
    return opened.attach(records, population)


def _account(opened: Ledger, given: str, reading: PartsReading) -> Any:
    if given in {account.name for account in opened.datasets()}:
        return given
    if found_files(Path(given))[0].exists():
        return reading.any_data(Path(given))
    raise UsageError(
        f"{given!r} is neither an account of this ledger nor a file.", remedy="See: discreet ledger show --ledger …"
    )
