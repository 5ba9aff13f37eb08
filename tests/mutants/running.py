"""Running the tests of mutants, each in a scratch copy of the sources and tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from queue import Queue
from typing import Literal

from tests.mutants.mutant import ROOT, Mutant

__all__ = ["Result", "Verdict", "run_all", "verdict_of"]

Verdict = Literal["killed", "survived", "broken"]

SECONDS = 600
"""A run that takes longer than this has no verdict."""

OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no")

# A test that ends with one of these shows that the change made no program, not that a guarantee was broken.
NO_PROGRAM = re.compile(r" - (NameError|SyntaxError|ImportError|ModuleNotFoundError|AttributeError|numba\.\S+)\b")


@dataclass(frozen=True)
class Result:
    """What became of a mutant.

    Attributes
    ----------
    verdict
        "killed": a test failed. "survived": all passed. "broken": there is no verdict, because the tests could not be
        run, no test was selected, or they fail without the change, too.
    reason
        The test that failed, or why there is no verdict.
    """

    mutant: Mutant
    verdict: Verdict
    reason: str
    seconds: float


def run_all(
    mutants: Sequence[Mutant], *, jobs: int = 2, trust: bool = False, tell: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """Run the tests of every mutant, so many at a time; results in the order of the list.

    Parameters
    ----------
    trust
        Do not run the tests on the unchanged code first.
    tell
        Called with each result as soon as it is known.
    """
    with tempfile.TemporaryDirectory(prefix="discreet-mutants-") as folder:
        copies: Queue[_Copy] = Queue()
        for number in range(jobs):
            copies.put(_Copy(Path(folder) / f"copy-{number}"))
        unchanged = _Unchanged(trust)

        def one(mutant: Mutant) -> Result:
            copy = copies.get()
            try:
                result = _result(mutant, copy, unchanged)
            finally:
                copies.put(copy)
            tell(result)
            return result

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, mutants))


class _Copy:
    """A scratch copy of what tests need; one mutant at a time is applied to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Times are copied, too: what was compiled for the files of the original is good for those of the copy.
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, folder / name)
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy2(ROOT / name, folder / name)
        shutil.copytree(ROOT / "docs", folder / "docs")
        where = self._run([sys.executable, "-c", "import discreet; print(discreet.__file__)"], {}).stdout.strip()
        if not Path(where).resolve().is_relative_to(folder.resolve()):
            raise RuntimeError(f"the copy would test {where}, not itself.")

    def tested(self, arguments: Sequence[str], environment: dict[str, str] | None = None) -> tuple[int, str]:
        """Exit code and output of pytest."""
        try:
            done = self._run([sys.executable, "-m", "pytest", *OPTIONS, *arguments], environment or {})
        except subprocess.TimeoutExpired:
            return -1, f"no verdict in {SECONDS} seconds"
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[dict[str, str]]:
        """The copy with one mutant applied; gives what is to be added to the environment."""
        file = self.folder / mutant.path
        source, times = file.read_text(encoding="utf-8"), file.stat()
        with tempfile.TemporaryDirectory(prefix="discreet-numba-") as compiled:
            try:
                file.write_text(mutant.applied(source), encoding="utf-8")
                _forget_compiled(file)
                # Compiled loops are kept by file: those of other files that call this one would be stale.
                yield {"NUMBA_CACHE_DIR": compiled} if "njit" in source else {}
            finally:
                file.write_text(source, encoding="utf-8")
                os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
                _forget_compiled(file)

    def _run(self, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        one_thread = dict.fromkeys(("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS"), "1") | {
            "COLUMNS": "1000"
        }
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **one_thread, "PYTHONPATH": str(self.folder / "src"), **environment},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )


class _Unchanged:
    """Whether tests pass on the unchanged code: found out once for each selection of tests."""

    def __init__(self, trust: bool) -> None:
        self._trust = trust
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def problem(self, mutant: Mutant, copy: _Copy) -> str:
        """Why a failure of these tests would tell nothing; empty where they pass."""
        if self._trust:
            return ""
        with self._lock:
            known = self._known.get(mutant.tests)
        if known is None:
            code, output = copy.tested(mutant.arguments)
            known = "" if code == 0 else f"without the change: {_first(output) or _last_line(output)}"
            with self._lock:
                self._known[mutant.tests] = known
        return known


def _result(mutant: Mutant, copy: _Copy, unchanged: _Unchanged) -> Result:
    begun = time.monotonic()
    verdict: Verdict = "broken"
    reason = unchanged.problem(mutant, copy)
    if not reason:
        with copy.changed(mutant) as environment:
            code, output = copy.tested(mutant.arguments, environment)
        verdict, reason = verdict_of(code, output)
    return Result(mutant, verdict, reason, time.monotonic() - begun)


def verdict_of(code: int, output: str) -> tuple[Verdict, str]:
    """What an exit code and an output of pytest say about a mutant, and the test or the reason."""
    if code == 0:
        return "survived", "all tests passed"
    failed = _first(output)
    if code == 1 and failed and not NO_PROGRAM.search(failed):
        return "killed", failed.partition(" - ")[0]
    return "broken", failed or _last_line(output)


def _first(output: str) -> str:
    """The first test that failed, as pytest names it, with its message."""
    return next((line.removeprefix("FAILED ") for line in output.splitlines() if line.startswith("FAILED ")), "")


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def _forget_compiled(file: Path) -> None:
    Path(cache_from_source(str(file))).unlink(missing_ok=True)
