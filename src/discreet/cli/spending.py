"""The options of every command that spends budget: what may be spent, from which ledger, and where the result goes."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from discreet.cli.console import AsJson
from discreet.cli.rescue import kept_elsewhere
from discreet.errors import DiscreetError, ReleaseError, UsageError

if TYPE_CHECKING:
    from discreet.common.replacing import Kind, Place
    from discreet.privacy import Ledger

__all__ = ["Charging", "LedgerPath", "OptionalSpending", "Overwrite", "Spending", "place_for", "saved"]

LedgerPath = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE|URL",
        envvar="DISCREET_LEDGER",
        help="The ledger to charge (SQLite file or PostgreSQL URL).",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the result of an earlier run.")]


@dataclass(frozen=True, kw_only=True)
class Charging:
    """Which ledger is charged, and how the answer is given."""

    PANEL: ClassVar = "Spending"

    ledger: LedgerPath = None
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Spend without a ledger.")] = False
    overwrite: Overwrite = False
    as_json: AsJson = False

    def opened(self) -> Ledger | None:
        """The ledger to charge; to charge none must be said."""
        from discreet.privacy import Ledger

        place = self.ledger
        if self.no_ledger and place == os.environ.get("DISCREET_LEDGER"):
            place = None  # what was typed goes before what is set
        if place is not None and self.no_ledger:
            raise UsageError("--ledger and --no-ledger exclude each other.")
        if place is None and not self.no_ledger:
            raise UsageError(
                "no ledger was given.",
                remedy="Give --ledger FILE (or set DISCREET_LEDGER), or --no-ledger to spend without one.",
            )
        return None if place is None else Ledger(place)

    def place(self, out: Path | None, kind: Kind, *sources: Path | None) -> Place:
        """Where a result goes; refused before anything is spent where it cannot be written."""
        return place_for(out, kind, overwrite=self.overwrite, sources=(*sources, *_ledger_files(self.ledger)))


@dataclass(frozen=True, kw_only=True)
class Spending(Charging):
    """What may be spent, and where the result goes."""

    epsilon: Annotated[str, typer.Option("--epsilon", help='The budget: "1/2", "0.5" or "1".')]
    delta: Annotated[
        str | None, typer.Option("--delta", help="The delta that goes with it, such as 1e-6; without one it is 0.")
    ] = None
    out: Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="Where the result goes.")] = None
    estimate: Annotated[bool, typer.Option("--estimate", help="Show what to expect and spend nothing.")] = False
    allow_refuted: Annotated[
        bool, typer.Option("--allow-refuted", help="Run a published method whose guarantee is refuted.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class OptionalSpending(Spending):
    """The same where the budget can be left out."""

    epsilon: Annotated[str | None, typer.Option("--epsilon", help='The budget: "1/2", "0.5" or "1".')] = None  # type: ignore[assignment]


def place_for(
    out: Path | None, kind: Kind, *, overwrite: bool, sources: Iterable[Path | None] = (), spends: bool = True
) -> Place:
    """Where a result goes. Whether it may and can be written there is found out before any work.

    Parameters
    ----------
    sources
        What the command reads or charges, which is never replaced.
    spends
        Whether the error says that nothing was spent.
    """
    from discreet.common import replacing

    if out is None:
        raise UsageError("no place for the result was given.", remedy="Give --out FOLDER.")
    try:
        place = replacing.place_for(out, kind, overwrite=overwrite, sources=sources)
        place.check_writable()
    except DiscreetError as error:
        what = f"{error.what.removesuffix('.')}; nothing was spent." if spends else error.what
        raise ReleaseError(what, remedy=error.remedy) from None
    return place


def saved(save: Callable[[Path], object], place: Place, *, beside: Callable[[Path], object] | None = None) -> Path:
    """Write what was paid for: aside, and then into its place.

    If another process took the place in the meantime, it goes beside it. If the disk fails, it is kept where there is
    room, and the error names that folder.

    Parameters
    ----------
    beside
        Writes more into the same folder, which may fail.
    """

    def make(aside: Path) -> None:
        save(aside)
        if beside is not None:
            # What was paid for is written; it is kept whatever becomes of the rest.
            with contextlib.suppress(OSError):
                beside(aside)

    try:
        return place.put(make)
    except ReleaseError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or not error.what.startswith("cannot write"):
            raise
        told = ReleaseError(f"cannot write {place.given}: {cause.strerror or cause}.")
        raise kept_elsewhere(save, place.given, told) from error


def _ledger_files(ledger: str | None) -> list[Path]:
    """A ledger in a file, and the files that belong to it."""
    if ledger is None or ("://" in ledger and not ledger.startswith("sqlite:///")):
        return []
    path = Path(ledger.removeprefix("sqlite:///"))
    beside = [path.with_name(path.name + ending) for ending in ("-wal", "-shm", "-journal")]
    return [path, *beside, *path.parent.glob(f"{glob.escape(path.name)}[-.]*")]
