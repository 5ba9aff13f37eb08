"""Loads the example DAG in a real Airflow and runs its task: `make check-airflow`, in an environment of its own.

The script that the DAG names is replaced by one that writes down its arguments and ends with a given exit code.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

DAG_FILE = Path(__file__).parents[2] / "examples" / "nightly" / "nightly_dag.py"


def main(home: Path) -> None:
    os.environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }
    for name, code in (("done", 0), ("kept", 3)):
        script = home / name / "nightly.sh"
        script.parent.mkdir()
        script.write_text(f'#!/bin/sh\necho "$SHOP $*" >> {home}/{name}.txt\nexit {code}\n')
        script.chmod(0o755)
        folder = home / "dags" / name
        folder.mkdir(parents=True)
        text = DAG_FILE.read_text(encoding="utf-8")
        assert "/opt/discreet" in text
        text = text.replace("/opt/discreet", str(script.parent)).replace('"discreet_nightly"', f'"{name}"')
        (folder / f"{name}.py").write_text(text, encoding="utf-8")

    from airflow.utils.db import initdb  # pyright: ignore

    initdb()
    try:
        from airflow.dag_processing.dagbag import DagBag  # pyright: ignore
    except ImportError:
        from airflow.models import DagBag  # pyright: ignore
    import pendulum  # pyright: ignore
    from airflow import __version__ as version  # pyright: ignore

    bag = DagBag(home / "dags")
    assert not bag.import_errors, bag.import_errors
    assert sorted(bag.dags) == ["done", "kept"], bag.dags
    for name, state in (("done", "success"), ("kept", "skipped")):
        # Started by hand at that time: the interval is the one that ended then, as of the timer's run.
        day = {"logical_date" if version[0] == "3" else "execution_date": pendulum.datetime(2026, 11, 16, 2, 30)}
        run = bag.dags[name].test(**day)
        (task,) = run.get_task_instances()
        assert task.state == state, (name, task.state)
        assert (home / f"{name}.txt").read_text() == "/srv/shop 2026-11-15\n"
    print(f"Airflow {version}: the DAG was loaded without errors, and its task ran.")  # noqa: T201


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
    sys.exit(0)
