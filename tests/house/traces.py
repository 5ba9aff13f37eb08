"""Print how four commands cross packages: *count*, *fit*, *tags release*, *audit*.

An edge is a pair of modules of different packages of which the first called the second while the command ran. Calls
that an import makes are left out. ``common`` counts as a library: what it calls back counts for the module that called
it. ``tests/house/test_traces.py`` keeps the numbers down. Version 0.1 had 23, 31, 23 and 37.

    python tests/house/traces.py
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import discreet as dc
from discreet.data.readers import write

__all__ = ["COMMANDS", "Edge", "traces"]

Edge = tuple[str, str]
"""The calling module and the called one, as paths below ``src/discreet``."""

SOURCE = f"{Path(dc.__file__).parent}{os.sep}"
LIBRARY = f"{SOURCE}common{os.sep}"

COMMANDS = {
    "count": "count visits.parquet --epsilon 1 --cap 5 --items-public --no-ledger --out counts",
    "fit": "fit films.parquet --epsilon 1 --delta 1e-6 --items-public --no-ledger --out model",
    "tags release": "tags release tags.parquet --epsilon 1 --delta 1e-6 --vocabulary-public --resources-public "
    "--no-ledger --out tags",
    "audit": "audit films.parquet --model weighted --option cap=5 --epsilon 1 --runs 2 --seconds 0 --processes 1",
}


def traces() -> dict[str, set[Edge]]:
    """The edges of each command, run on small synthetic data in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write(dc.synthetic.films(users=30, items=12, seed=7), "films.parquet")
        write(dc.synthetic.checkins(users=60, items=12, seed=3), "visits.parquet")
        write(dc.synthetic.tags(users=60, resources=20, vocabulary=40, seed=7), "tags.parquet")
        return {name: edges_of(command.split()) for name, command in COMMANDS.items()}


def edges_of(arguments: list[str]) -> set[Edge]:
    """Run ``discreet …`` in this process, and listen to every call."""
    from discreet.cli import main

    listener, output = Listener(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), as_program(arguments):
        sys.setprofile(listener)
        try:
            main()
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"discreet {' '.join(arguments)}:\n{output.getvalue()}") from stop
        finally:
            sys.setprofile(None)
    return {(caller, called) for caller, called in listener.calls if package_of(caller) != package_of(called)}


class Listener:
    """Remembers which module called which; what other libraries call on the way counts for the module before them."""

    def __init__(self) -> None:
        self.calls: set[Edge] = set()
        self._modules: dict[CodeType, str | None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or (called := self._module(frame.f_code)) is None:
            return
        before = frame.f_back
        while before is not None and self._module(before.f_code) is None:
            if before.f_code.co_filename.startswith("<frozen importlib"):
                return
            before = before.f_back
        if before is not None and not during_import(before) and (caller := self._module(before.f_code)):
            self.calls.add((caller, called))

    def _module(self, code: CodeType) -> str | None:
        if code not in self._modules:
            inside = code.co_filename.startswith(SOURCE) and not code.co_filename.startswith(LIBRARY)
            self._modules[code] = code.co_filename.removeprefix(SOURCE) if inside else None
        return self._modules[code]


def during_import(frame: FrameType | None) -> bool:
    """Whether a frame is the body of a module, or of a class of it."""
    while frame is not None and frame.f_code.co_name != "<module>":
        if frame.f_code.co_flags & 0x2:  # a function has local variables that are numbered; a body has not
            return False
        frame = frame.f_back
    return True


@contextlib.contextmanager
def as_program(arguments: list[str]) -> Iterator[None]:
    before = sys.argv
    sys.argv = ["discreet", *arguments]
    try:
        yield
    finally:
        sys.argv = before


def package_of(module: str) -> str:
    """The interface of recommenders belongs to ``models``."""
    package = module.partition(os.sep)[0]
    return "models" if package == "recommender.py" else package


if __name__ == "__main__":
    for name, edges in traces().items():
        print(f"{name}: {len(edges)}")
        for caller, called in sorted(edges):
            print(f"    {caller} -> {called}")
