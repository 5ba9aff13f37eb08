"""The notebooks in examples run, and what is kept of them is what somebody should read."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module")
def run() -> Any:
    return runpy.run_path(str(FOLDER / "run.py"))["run"]


def test_there_are_six() -> None:
    assert [path.stem.partition("-")[0] for path in NOTEBOOKS] == list("123456")


def texts_of(notebook: Any) -> list[str]:
    """Everything that the outputs of a notebook show."""
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            shown += [output.get("text", ""), *map(str, output.get("data", {}).values())]
    return shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, run: Any) -> None:
    """An error in a cell is raised. Outputs differ, by the noise; which cells have some does not."""
    kept, again = nbformat.read(path, as_version=4), run(path)
    for cell, new in zip(kept.cells, again.cells, strict=True):
        if cell.cell_type == "code":
            assert bool(cell.outputs) == bool(new.outputs), cell.source
    assert not [text for text in texts_of(again) if "Warning" in text]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_kept_names_no_machine_and_shows_pictures(path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    texts = texts_of(kept)
    for text in texts:
        assert not any(place in text for place in ("/work/", "/home/", "/root/", "/tmp/", "site-packages", "Traceback"))
    assert any(text.startswith("<svg") for text in texts)
    assert kept.cells[0].source.startswith("# ")
