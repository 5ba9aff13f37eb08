"""Places to keep a ledger: a SQLite file, and a schema of a real PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

import psycopg
import pytest

InChild = Callable[[Callable[[], object]], int]

_numbers = count(1)


@pytest.fixture
def in_child() -> InChild:
    """Runs something in a fork of this process, which saves the time that a new process takes; gives its exit code.

    A child that was killed by a signal has the negative number of the signal.
    """
    if not hasattr(os, "fork"):
        pytest.skip("this test forks")

    def run(action: Callable[[], object]) -> int:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                action()
                code = 0
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run


@pytest.fixture
def postgres_place(postgres_server: str) -> str:
    """The URL of a fresh schema."""
    schema = f"book_{next(_numbers)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")  # type: ignore[arg-type]
    return f"{postgres_server}&options=-csearch_path%3D{schema}"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger can be kept, once in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    return request.getfixturevalue("postgres_place")
