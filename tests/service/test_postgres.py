"""The same flow with everything in a PostgreSQL database."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sql
from tests.service import test_flow, test_hardening, test_trust
from tests.service.conftest import COUNTS, MODEL, Running, start
from tests.service.crash import schema_of

from discreet.errors import LedgerError

_numbers = count(1)


@pytest.fixture
def on_postgres(postgres_server: str, tmp_path: Path) -> Iterator[Running]:
    running = start(tmp_path, database=schema_of(postgres_server, f"flow_{next(_numbers)}"))
    with running.web:
        yield running


TESTS = [
    test
    for module in (test_flow, test_trust, test_hardening)
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


def test_a_pooler_that_drops_the_schema_is_refused(on_postgres: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.service.store._in_schema", lambda url, schema: url)
    on_postgres.hub.store._ledgers.clear()
    with pytest.raises(LedgerError, match="does not keep the ledgers of tenants apart"):
        on_postgres.hub.store.ledger(on_postgres.hub.keys.caller(on_postgres.key).tenant, "somebody")


def test_a_database_that_is_away_is_told_without_its_address(
    postgres_server: str, on_postgres: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = sql.create_engine("postgresql+psycopg://127.0.0.1:9/nowhere", connect_args={"connect_timeout": 5})
    monkeypatch.setattr(on_postgres.hub.store, "engine", away)
    answer = on_postgres.call("GET", "/jobs")
    assert (answer.status_code, answer.json()["code"]) == (503, "database")
    assert answer.headers["Retry-After"]
    assert "nowhere" not in answer.text
    assert on_postgres.web.get("/health/ready").status_code == 503
    assert on_postgres.web.get("/health/live").status_code == 200
