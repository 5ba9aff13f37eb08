"""The program as a person runs it: a process with its own stdout, stderr and exit code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.neighbors import PrivateItemKNN

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


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world and a model of it, made once."""
    folder = tmp_path_factory.mktemp("made")
    films = synthetic.films(users=120, items=40, seed=7)
    write(films, folder / "films.parquet")
    PrivateItemKNN(epsilon=8, delta="1e-6").fit(films).save(folder / "model")
    return folder


@pytest.fixture
def films(made: Path, tmp_path: Path) -> Path:
    """The small world, in the folder of the test."""
    return Path(shutil.copy(made / "films.parquet", tmp_path / "films.parquet"))


@pytest.fixture
def model(made: Path, films: Path, tmp_path: Path) -> Path:
    """The model of the small world, as `discreet fit` leaves it."""
    shutil.copytree(made / "model", tmp_path / "model")
    (tmp_path / "model" / "source.json").write_text(json.dumps({"data": str(films)}))
    return tmp_path / "model"
