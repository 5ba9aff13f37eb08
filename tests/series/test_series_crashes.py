"""A crash between any two writes of a step: nothing is released twice, nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from discreet.counting import ItemCounts
from discreet.data.interactions import Interactions
from discreet.privacy.ledger import Ledger
from discreet.privacy.ledger.step_lines import is_step
from discreet.series import Series, series

METHOD = ItemCounts(epsilon=10**6, delta="1e-6", cap=10**3)


class Killed(BaseException):
    """The process is gone: nothing of ours may catch this."""


@contextmanager
def killed_at(write: int, counted: list[str]) -> Iterator[None]:
    """Let the process die before one of its writes: files, renames, and what goes into the ledger."""

    def dying(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            counted.append(name)
            if len(counted) == write:
                raise Killed
            return function(*given, **options)

        return call

    with ExitStack() as stack:
        for owner, name in (
            (series.SeriesFolder, "_write"),
            (series.SeriesFolder, "_tidy"),
            (os, "replace"),
            (Ledger, "charge"),
            (Ledger, "record_step"),
            (Ledger, "note_saved"),
        ):
            stack.enter_context(mock.patch.object(owner, name, dying(name, getattr(owner, name))))
        yield


def advanced(folder: Path, tonight: Interactions, ledger: Ledger, step: int) -> Any:
    return Series(METHOD, steps=4, folder=folder).advance(tonight, ledger=ledger, step=step)


def truth(*nights: Interactions) -> list[int]:
    return np.sum([night.records_per_item for night in nights], axis=0).tolist()


def counts(release: Any) -> list[int]:
    return [round(count) for count in release.table("counts")["count"]]


@pytest.mark.parametrize("step", [0, 1])
def test_a_crash_before_every_write(tmp_path: Path, nights: list[Interactions], step: int) -> None:
    """Each write of the first step (which opens the series) and of a later one."""
    write, writes = 0, 1
    while write < writes:
        write += 1
        place = tmp_path / f"{step}-{write}"
        place.mkdir()
        ledger = Ledger(place / "budget.db")
        ledger.open(nights[0], epsilon=10**6, delta="1e-5", name="customers")
        if step:
            advanced(place / "s", nights[0], ledger, 0)
        before, done = dict(_steps(ledger)), []
        with pytest.raises(Killed) if write else ExitStack(), killed_at(write, done):
            advanced(place / "s", nights[step], ledger, step)
        if write == 1:
            writes = _writes(tmp_path / "dry", nights, step)
        assert len(_steps(ledger)) - len(before) in (0, 1)
        recorded = _steps(ledger).get(step)
        release = advanced(place / "s", nights[step], ledger, step)
        assert recorded in (None, release.id)  # what was recorded before the crash is what comes out
        assert counts(release) == truth(*nights[: step + 1])
        after = advanced(place / "s", nights[step + 1], ledger, step + 1)
        assert counts(after) == truth(*nights[: step + 2])
        charges = [entry for entry in ledger.statement("customers").entries if not is_step(entry)]
        assert len(charges) == 1
        assert sorted(_steps(ledger)) == list(range(step + 2))
    assert writes > 8


def _writes(place: Path, nights: list[Interactions], step: int) -> int:
    """How many writes the step has."""
    place.mkdir(exist_ok=True)
    ledger = Ledger(place / f"{step}.db")
    ledger.open(nights[0], epsilon=10**6, delta="1e-5", name="customers")
    if step:
        advanced(place / str(step), nights[0], ledger, 0)
    done: list[str] = []
    with killed_at(-1, done):
        advanced(place / str(step), nights[step], ledger, step)
    return len(done)


def _steps(ledger: Ledger) -> dict[int, str]:
    steps = [entry for entry in ledger.statement("customers").entries if is_step(entry)]
    return {entry.parameters["step"]: entry.release for entry in steps}  # type: ignore[misc]


def test_a_finished_draft_is_returned_and_not_taken_again(
    tmp_path: Path, nights: list[Interactions], ledger: Ledger
) -> None:
    counted = Series(METHOD, steps=4, folder=tmp_path / "s")
    counted.advance(nights[0], ledger=ledger)
    with mock.patch.object(Ledger, "record_step", side_effect=Killed), pytest.raises(Killed):
        counted.advance(nights[1], ledger=ledger)
    # The job runs again without a number: the step that was on the disk is finished, and no other is begun.
    again = Series(METHOD, steps=4, folder=tmp_path / "s")
    release = again.advance(nights[1], ledger=ledger)
    assert again.last == 1
    assert counts(release) == truth(*nights[:2])
