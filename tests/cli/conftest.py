"""The program as a person runs it: in this process, or where that matters in a process of its own."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from discreet.cli import console, main
from discreet.data import synthetic
from discreet.data.readers import write
from discreet.neighbors import PrivateItemKNN
from discreet.privacy import charging

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """Run `discreet …` in a process and in a folder of its own."""

    def call(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from discreet.cli import main; main()", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            env={**os.environ, "COLUMNS": "100", **environment},
        )

    return call


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `discreet …` in a folder of its own and in this process, which saves the seconds that imports take.

    It answers as ``process`` does. What a process would forget at its end is forgotten here, too.
    """

    def call(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        line = list(map(str, arguments))
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        loaded, handlers = set(sys.modules), {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
        with monkeypatch.context() as patch, warnings.catch_warnings():
            patch.chdir(tmp_path)
            patch.syspath_prepend(tmp_path)
            patch.setattr(sys, "argv", ["discreet", *line])
            patch.setattr(charging, "_CHARGES", deque())
            for name, value in {"COLUMNS": "100", **environment}.items():
                patch.setenv(name, value)
            _forget(loaded, tmp_path)
            with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
                main()
        _forget(loaded, tmp_path)
        for one, handler in handlers.items():
            signal.signal(one, handler)
        said = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
        return subprocess.CompletedProcess(line, int(ended.value.code or 0), *said)

    return call


def _forget(loaded: set[str], folder: Path) -> None:
    """Forget the terminal, and modules that were loaded from the folder of the test."""
    console._out.cache_clear()
    console._err.cache_clear()
    for name in set(sys.modules) - loaded:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset and a model of it, made once."""
    folder = tmp_path_factory.mktemp("made")
    films = synthetic.films(users=120, items=40, seed=7)
    write(films, folder / "films.parquet")
    PrivateItemKNN(epsilon=8, delta="1e-6").fit(films).save(folder / "model")
    return folder


@pytest.fixture
def films(made: Path, tmp_path: Path) -> Path:
    """The small dataset, in the folder of the test."""
    return Path(shutil.copy(made / "films.parquet", tmp_path / "films.parquet"))


@pytest.fixture
def model(made: Path, films: Path, tmp_path: Path) -> Path:
    """The model of the small dataset, as `discreet fit` leaves it."""
    shutil.copytree(made / "model", tmp_path / "model")
    (tmp_path / "model" / "source.json").write_text(json.dumps({"data": str(films)}))
    return tmp_path / "model"
