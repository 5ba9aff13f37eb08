"""The same flow with everything in a PostgreSQL database."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.service import test_flow, test_trust
from tests.service.conftest import COUNTS, MODEL, Running, start
from tests.service.crash import schema_of

_numbers = count(1)


@pytest.fixture
def on_postgres(postgres_server: str, tmp_path: Path) -> Iterator[Running]:
    running = start(tmp_path, database=schema_of(postgres_server, f"flow_{next(_numbers)}"))
    with running.web:
        yield running


TESTS = [
    test
    for module in (test_flow, test_trust)
    for name, test in vars(module).items()
    if name.startswith("test_") and next(iter(inspect.signature(test).parameters), "") in ("service", "shared")
    if len(inspect.signature(test).parameters) == 1
]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_the_flow_on_postgres(on_postgres: Running, test: Callable[[Running], None]) -> None:
    if "shared" in inspect.signature(test).parameters:
        on_postgres.run(COUNTS, under="counts")
        on_postgres.run(MODEL, under="model")
    test(on_postgres)
