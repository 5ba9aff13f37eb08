"""The program as a person runs it: a process with its own stdout, stderr and exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `discreet …` in a folder of its own."""

    def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from discreet.cli import main; main()", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "COLUMNS": "100", **environment},
        )

    return call


@pytest.fixture
def films(run: Run, tmp_path: Path) -> Path:
    """A small world on disk."""
    done = run("data", "generate", "films", "--seed", "7", "--users", "120", "--items", "40", "--out", "films.parquet")
    assert done.returncode == 0, done.stderr
    return tmp_path / "films.parquet"
