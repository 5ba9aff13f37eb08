"""The `discreet` program: its commands, and what becomes of errors."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer

from discreet import __version__
from discreet.cli import data, ledger, release, series, tags
from discreet.cli.attack import attack
from discreet.cli.audit import audit
from discreet.cli.commands import command, group
from discreet.cli.console import ask_to_stop, nobody_asked_to_stop, note
from discreet.cli.count import context, count, top
from discreet.cli.demo import demo
from discreet.cli.doctor import doctor
from discreet.cli.evaluate import evaluate
from discreet.cli.fit import fit, recommend, similar
from discreet.cli.new import new
from discreet.cli.query import query
from discreet.cli.report import report
from discreet.cli.risk import risk
from discreet.cli.serve import serve
from discreet.cli.spending import what_stays_charged
from discreet.cli.study import study
from discreet.cli.synthesize import synthesize
from discreet.common.foreign import is_panic
from discreet.errors import DiscreetError, DiscreetWarning, OverLimitError, UsageError

__all__ = ["COMMANDS", "GROUPS", "app", "main"]

COMMANDS = (
    demo,
    fit,
    recommend,
    similar,
    evaluate,
    attack,
    audit,
    risk,
    study,
    count,
    top,
    context,
    query,
    synthesize,
    report,
    serve,
    new,
    doctor,
)
GROUPS = {"series": series.app, "tags": tags.app, "data": data.app, "ledger": ledger.app, "release": release.app}

app = group(
    "Differentially private recommendations, counts and rankings, with a ledger that limits what is spent.",
    name="discreet",
    pretty_exceptions_enable=False,
    epilog="Begin with: discreet demo",
)
for function in COMMANDS:
    command(app)(function)
for name, part in GROUPS.items():
    app.add_typer(part, name=name)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"discreet {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Differentially private recommendations."""


INTERRUPTED = 130
"""What the parser of the command line returns when the user pressed Ctrl-C or the program was terminated."""


STOPPED = "interrupted. What was finished is kept; what was charged stays charged: discreet ledger show."

CODES: dict[type[DiscreetError], int] = {UsageError: 2, OverLimitError: 3}
"""Exit codes of errors; all others end with 1."""


def _show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Warnings of discreet are for the person who typed the command; those of libraries are for developers."""
    if issubclass(category, DiscreetWarning):
        note(f"discreet: {message}")
    elif os.environ.get("DISCREET_TRACEBACK"):
        note(warnings.formatwarning(message, category, str(where[0]), int(where[1])))


def _was_interrupted(error: BaseException) -> bool:
    """Whether an error of a library is what became of an interrupt inside of it."""
    seen: list[BaseException] = []
    while not isinstance(error, KeyboardInterrupt) and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__ or error
    return isinstance(error, KeyboardInterrupt)


def _stop(message: str, code: int) -> NoReturn:
    """Print why the program ends, and what stays charged without a saved release."""
    note("\n".join(filter(None, [f"discreet: {message}", what_stays_charged()])))
    sys.exit(code)


def main() -> None:
    """Run the program: 0 done, 1 refused or failed, 2 wrong use, 3 not enough budget left; never a traceback."""
    nobody_asked_to_stop()
    signal.signal(signal.SIGTERM, ask_to_stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not in the background, where it is ignored
        signal.signal(signal.SIGINT, ask_to_stop)
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", DiscreetWarning)
    try:
        code = app(standalone_mode=False) or 0
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(code)
    except DiscreetError as error:
        _stop(error.cli_message, next((code for kind, code in CODES.items() if isinstance(error, kind)), 1))
    except (KeyboardInterrupt, typer.Abort):
        _stop(STOPPED, 1)
    except UnicodeEncodeError as error:
        _stop(f"{error.object[:60]!a} is not valid Unicode. Write it in UTF-8.", 2)
    except BrokenPipeError:
        # The reader of the output has left: print nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _stop("there is not enough memory for this; nothing was written.", 1)
    except OSError as error:
        _stop(f"{error.filename or 'the system'}: {error.strerror or error}.", 1)
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
        if show is not None and code is not None:  # wrong use, found by the parser of the command line
            show()
            sys.exit(code)
        if os.environ.get("DISCREET_TRACEBACK"):
            raise
        if _was_interrupted(error):
            _stop(STOPPED, 1)
        _stop(
            f"{type(error).__name__}: {error}\nThis is a defect of discreet, not of your data. "
            "Set DISCREET_TRACEBACK=1 to see where, and please report it.",
            1,
        )
