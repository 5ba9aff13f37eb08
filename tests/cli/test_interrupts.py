"""Ctrl-C, SIGTERM and kill -9 in the middle of `recommend --all`: nothing half-written has the final name."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run

from discreet.models import export

IN_THE_MIDDLE = """
import sys, time
from pathlib import Path
from discreet.cli import main
from discreet.models import export

def slowly(*given):
    write = whole(*given)
    def two_parts(part):
        write(part)
        written.append(part)
        if len(written) == 2:
            Path("waits").touch()
            try:
                for _ in range(6000):
                    time.sleep(0.1)
            except KeyboardInterrupt:
                if not swallows:
                    raise
    return two_parts

swallows = sys.argv.pop(1) == "swallows"
written, whole, export._writer, export.AT_ONCE = [], export._writer, slowly, 20
main()
"""


def interrupted(folder: Path, out: str, how: signal.Signals, *, swallows: bool) -> subprocess.CompletedProcess[str]:
    """Send a signal when two of six parts are written."""
    line = ["recommend", "model", "--all", "-n", "5", "--out", out, "--overwrite"]
    process = subprocess.Popen(
        [sys.executable, "-c", IN_THE_MIDDLE, "swallows" if swallows else "-", *line],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while process.poll() is None and not (folder / "waits").exists():
        time.sleep(0.02)
    hidden = list(folder.glob(".discreet-*"))
    assert len(hidden) == 1, process.communicate()
    assert stat.S_IMODE(hidden[0].stat().st_mode) == 0o600
    os.kill(process.pid, how)
    said = process.communicate(timeout=300)
    (folder / "waits").unlink()
    return subprocess.CompletedProcess(line, process.returncode, *said)


@pytest.mark.parametrize(
    ("how", "out", "swallows"),
    [
        (signal.SIGINT, "recs.csv", True),
        (signal.SIGTERM, "recs.parquet", False),
        (signal.SIGKILL, "recs.parquet", False),
    ],
)
def test_the_final_name_has_what_it_had(
    run: Run, model: Path, tmp_path: Path, how: signal.Signals, out: str, swallows: bool
) -> None:
    before = b""
    if out == "recs.parquet":
        assert run("recommend", "model", "--all", "-n", "2", "--out", out).returncode == 0
        before = (tmp_path / out).read_bytes()
    names = {path.name for path in tmp_path.iterdir()}
    done = interrupted(tmp_path, out, how, swallows=swallows)
    left = {path.name for path in tmp_path.iterdir()} - names
    if how == signal.SIGKILL:
        assert done.returncode == -how
        assert len(left) == 1  # under a hidden name, which nobody takes for the lists
    else:
        assert done.returncode == 1
        assert "interrupted" in done.stderr
        assert "Traceback" not in done.stderr + done.stdout
        assert not left
    assert not before or (tmp_path / out).read_bytes() == before
    again = run("recommend", "model", "--all", "-n", "5", "--out", out, "--overwrite")
    assert again.returncode == 0, again.stderr
    read = pl.read_parquet if out.endswith("parquet") else pl.read_csv
    assert read(tmp_path / out).height == 120 * 5


def test_an_interrupt_that_became_an_error_of_a_library(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled code that is interrupted ends with a SystemError of its own."""

    def broken(*_: object, **__: object) -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(export, "_writer", broken)
    done = run("recommend", "model", "--all", "--out", "recs.csv")
    assert done.returncode == 1
    assert "interrupted" in done.stderr
    assert "defect" not in done.stderr
    assert not list(tmp_path.glob(".discreet-*"))
    monkeypatch.setattr(export, "_writer", lambda *_: (_ for _ in ()).throw(SystemError("something else")))
    assert "defect" in run("recommend", "model", "--all", "--out", "recs.csv").stderr
