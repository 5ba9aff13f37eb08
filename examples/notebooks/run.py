"""Run the notebooks and keep their outputs: ``python examples/notebooks/run.py [NAME …]``; also ``make notebooks``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS = 300
"""For one cell, on a busy machine."""


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with new outputs, run in a folder of its own; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of the machine
    return notebook


if __name__ == "__main__":
    for one in NOTEBOOKS:
        if not sys.argv[1:] or one.stem in sys.argv[1:]:
            nbformat.write(run(one), one)
            sys.stdout.write(f"{one.name}\n")
