"""The `discreet` program: its commands, and what becomes of errors."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from discreet import __version__
from discreet.cli import (
    attack,
    audit,
    context,
    count,
    data,
    demo,
    doctor,
    fit,
    ledger,
    query,
    release,
    risk,
    study,
    tags,
    top,
)
from discreet.cli.console import note
from discreet.errors import DiscreetError, UsageError

__all__ = ["app", "main"]

app = typer.Typer(
    name="discreet",
    help="Recommendations that keep secrets: private counts and rankings, a budget that cannot be overdrawn.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Begin with: discreet demo",
)
app.command(name="demo")(demo.demo)
app.command(name="fit")(fit.fit)
app.command(name="recommend")(fit.recommend)
app.command(name="similar")(fit.similar)
app.command(name="attack")(attack.attack)
app.command(name="audit")(audit.audit)
app.command(name="risk")(risk.risk)
app.command(name="study")(study.study)
app.command(name="count")(count.count)
app.command(name="top")(top.top)
app.command(name="context")(context.context)
app.command(name="query")(query.query)
app.add_typer(tags.app, name="tags")
app.add_typer(data.app, name="data")
app.add_typer(ledger.app, name="ledger")
app.add_typer(release.app, name="release")
app.command(name="doctor")(doctor.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"discreet {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and stop.")
    ] = False,
) -> None:
    """Recommendations that keep secrets."""


# What the library says in Python, as it is typed here.
SPOKEN = {
    "duplicates='last' (keep the latest) or 'keep' (visits, plays)": "--duplicates last or --duplicates keep",
    "duplicates='last'": "--duplicates last",
    "overwrite=True": "--overwrite",
    "allow_refuted=True": "--allow-refuted",
    "with scale=": "with --scale LOW:HIGH[:STEP]",
    'Interactions(…, scale="1:5")': "--scale 1:5",
    'data.with_vocabulary(tags, outside="drop") (on the command line --vocabulary FILE)': "--vocabulary FILE",
    "find one privately with discover_tags": "make one privately with discreet tags vocabulary",
    'data.with_vocabulary("observed")': "--vocabulary-public",
    'data.with_resources(ids, outside="drop")': "--resources FILE",
    "find one privately with discover_resources": "make one privately with discreet tags vocabulary --of resources",
    'data.with_resources("observed")': "--resources-public",
    "with user=": "with --column user=NAME",
    "with item=": "with --column item=NAME",
    "with format=": "with --format NAME",
    'ledger.open(data, epsilon=…, delta=…, unit="user")': "discreet ledger open DATA --epsilon … --delta … --ledger …",
    "ledger.link(data, account)": "discreet ledger link DATA ACCOUNT --ledger …",
}


INTERRUPTED = 130
"""What the parser of the command line returns when somebody pressed Ctrl-C."""


def _as_typed(message: str) -> str:
    for python, typed in SPOKEN.items():
        message = message.replace(python, typed)
    return message


def main() -> None:
    """Run the program: 0 done, 1 refused or failed, 2 wrong use; never a traceback."""
    try:
        code = app(standalone_mode=False) or 0
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(code)
    except DiscreetError as error:
        note(f"discreet: {_as_typed(str(error))}")
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except (KeyboardInterrupt, typer.Abort):
        note("discreet: interrupted. What was finished is kept; what was charged stays charged: discreet ledger show.")
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output has left; say nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        note("discreet: there is not enough memory for this; nothing was written.")
        sys.exit(1)
    except OSError as error:
        note(f"discreet: {error.filename or 'the system'}: {error.strerror or error}.")
        sys.exit(1)
    except Exception as error:
        show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
        if show is not None and code is not None:  # wrong use, found by the parser of the command line
            show()
            sys.exit(code)
        if os.environ.get("DISCREET_TRACEBACK"):
            raise
        note(
            f"discreet: {type(error).__name__}: {error}\nThis is a defect of discreet, not of your data. "
            "Set DISCREET_TRACEBACK=1 to see where, and please report it."
        )
        sys.exit(1)
