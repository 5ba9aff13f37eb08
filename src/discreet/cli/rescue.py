"""What was charged and could not be saved: keep it where there is room, and say what stays charged."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ReleaseError

if TYPE_CHECKING:
    from discreet.privacy.ledger import Spend

__all__ = ["kept_elsewhere", "what_stays_charged"]


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
