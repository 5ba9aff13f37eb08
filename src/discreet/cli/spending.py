"""The options of every command that spends budget, and where its result goes."""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, note
from discreet.errors import DiscreetError, ReleaseError, UsageError

if TYPE_CHECKING:
    from discreet.common.replacing import Kind, Place
    from discreet.privacy import Ledger, Release
    from discreet.privacy.ledger import Spend

__all__ = [
    "Charging",
    "LedgerPath",
    "OptionalSpending",
    "Overwrite",
    "Spending",
    "answer_release",
    "place_for",
    "release_facts",
    "saved",
    "say_estimate",
    "what_stays_charged",
]

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
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Name of this run: if it is repeated, it is charged once."),
    ] = None
    population: Annotated[
        str | None,
        typer.Option("--population", metavar="NAME", help="Whose data these are: attach them and charge that account."),
    ] = None
    as_json: AsJson = False

    def opened(self) -> Ledger | None:
        """The ledger to charge; to charge none must be said."""
        from discreet.privacy.ledger import Ledger

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
        if place is None and self.key is not None:
            raise UsageError("--key needs a ledger.", remedy="Give --ledger FILE, or leave --key out.")
        if place is None and self.population is not None:
            raise UsageError("--population needs a ledger.", remedy="Give --ledger FILE, or leave --population out.")
        return None if place is None else Ledger(place).keyed(self.key).about(self.population)

    def place(self, out: Path | None, kind: Kind, *sources: Path | None) -> Place:
        """Where a result goes; refused before anything is spent where it cannot be written."""
        overwrite = self.overwrite or self._was_saved(out)
        return place_for(out, kind, overwrite=overwrite, sources=(*sources, *_ledger_files(self.ledger)))

    def _was_saved(self, out: Path | None) -> bool:
        """Whether the release of an earlier run under the key is there: it will be returned, not written again."""
        from discreet.privacy.ledger import Ledger

        if self.key is None or self.ledger is None or out is None or not out.is_dir():
            return False
        return Ledger(self.ledger).saved_under(self.key, out)


@dataclass(frozen=True, kw_only=True)
class Spending(Charging):
    """What may be spent, and where the result goes."""

    epsilon: Annotated[str, typer.Option("--epsilon", help='The budget: "1/2", "0.5" or "1".')]
    delta: Annotated[
        str | None,
        typer.Option(
            "--delta",
            help="The delta that goes with it, such as 1e-6; without one it is that of the method, 0 or 1e-6.",
        ),
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
    of = getattr(save, "__self__", None)
    if getattr(getattr(of, "release_", of), "loaded_from", None) == place.given.absolute():
        note("released before under this key: nothing was drawn and nothing was charged")
        return place.given

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


def kept_elsewhere(save: Callable[[Path], object], out: Path, error: Exception) -> ReleaseError:
    """Save into the first folder that takes it, readable by its owner alone; the error that names the folder."""
    what = error.what if isinstance(error, ReleaseError) else f"cannot write {out}: {error}."
    for parent in _parents(out):
        folder: str | None = None
        try:
            folder = tempfile.mkdtemp(prefix=f"{out.name}-kept-", dir=parent)
            kept = Path(folder) / out.name
            save(kept)
        except (ReleaseError, OSError):
            if folder is not None:
                with suppress(OSError):  # it has something in it: leave it
                    os.rmdir(folder)
            continue
        return ReleaseError(
            f"{what} The noise was drawn, so the result is kept in {kept}.", remedy="Move it from there."
        )
    return ReleaseError(f"{what} No other folder took the result either; it is lost.", remedy=what_stays_charged())


def what_stays_charged() -> str:
    """The charges of this run for which nothing was saved, in words; empty where there are none."""
    charges = _unsaved()
    if not charges:
        return ""
    them = "It stays" if len(charges) == 1 else "They stay"
    return f"No release was saved for {', '.join(map(str, charges))} in {charges[0].place}. {them} charged."


def _unsaved() -> tuple[Spend, ...]:
    charging = sys.modules.get("discreet.privacy.charging")  # not loaded: nothing was charged
    return () if charging is None else charging.unsaved()


def _parents(out: Path) -> Iterator[Path]:
    """Where to try: beside the target, beside the ledger, the folder for temporary files, the home folder."""
    yield out.absolute().parent
    yield from (Path(spend.place).parent for spend in _unsaved() if "://" not in spend.place)
    with suppress(OSError):
        yield Path(tempfile.gettempdir())
    with suppress(RuntimeError):
        yield Path.home()


# What is printed about a release


def release_facts(release: Release, place: Path | None, **more: Any) -> dict[str, Any]:
    """What the JSON answer says about every release."""
    return {
        "release": None if place is None else str(place),
        "id": release.id,
        "kind": release.kind,
        "guarantee": release.guarantee.to_json(),
        "parameters": dict(release.parameters),
        **more,
    }


def answer_release(release: Release, place: Path | None) -> None:
    """Print the guarantee of a release, and where the release is."""
    answer_text(release.describe())
    if place is not None:
        note(f"saved in {place}")


def say_estimate(expected: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a release would be like."""
    if as_json:
        answer_json(expected)
        return
    rows = [(name.replace("_", " "), value) for name, value in expected.items() if value is not None and name != "loss"]
    answer_table("What to expect; no record was used", ["", "value"], rows)
    # Methods for counts do not name their standing; noise that follows from the records has no estimate.
    refuted = expected.get("standing", "" if "noise_sd" in expected else "refuted") == "refuted"
    costs = f"Claims {expected['loss']}, which is refuted" if refuted else f"Costs {expected['loss']}"
    answer_text(f"{costs}; nothing was spent.")
