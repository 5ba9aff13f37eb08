"""Fixtures that tests of several packages share."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

# Tests run side by side, one process for each core: threads of libraries would only wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    for threads in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(threads, "1")
    # Threads of compiled code stay, so that they are tested. Those that have nothing to do sleep instead of spinning.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import pytest
from hypothesis import settings
from tests.browser import require_good, running_browser

import discreet
from discreet.privacy import entropy

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Ledgers and releases wait for the disk after every write. What the tests write goes to memory where there is some.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2**31:
    os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = str(MEMORY)

# Machines are shared: a slow moment is not a failure.
settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")


def pytest_sessionstart() -> None:
    """Collecting makes a million objects that stay: looking for garbage among them takes seconds and finds little."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()  # and they need not be looked at, or be copied into forks, later
    gc.enable()


@pytest.fixture
def fixed_bits(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Replace the entropy of the operating system by a reproducible stream, so that statistical tests repeat."""

    def fix(seed: int) -> None:
        stream = np.random.default_rng(seed)
        drawn = lambda n: np.frombuffer(stream.bytes(n), dtype=np.uint8)  # noqa: E731
        monkeypatch.setattr(entropy, "random_bytes", drawn)
        monkeypatch.setattr(entropy, "public_bytes", drawn)
        monkeypatch.setattr(entropy, "bounding_key", lambda: tuple(int(word) for word in drawn(16).view(np.uint64)))

    fix(20240607)
    return fix


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, started once; tests that use it are skipped where there is none (``tests/browser.py``)."""
    with running_browser() as started:
        yield started


@pytest.fixture
def check_page(request: pytest.FixtureRequest) -> Callable[[str | Path], None]:
    """Checks a page in the browser. To be called last: where there is no browser, it skips the test."""
    return lambda page: require_good(request.getfixturevalue("browser"), page)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of our own."""
    if sys.version_info >= (3, 13):
        pytest.importorskip("pgserver", reason="there is no pgserver for this version of Python")
    from pgserver.postgres_server import get_server

    # Not below pytest's folders: the server runs as a user who may not enter them.
    server = get_server(tempfile.mkdtemp(prefix="discreet-postgres-"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster of Spark: two executors in processes of their own."""
    pytest.importorskip("pyspark")
    from discreet.engines.spark.session import open_session

    options = {
        "spark.ui.enabled": "false",
        "spark.executorEnv.PYTHONPATH": str(Path(discreet.__file__).parents[1]),
        "spark.sql.shuffle.partitions": "4",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        # Short runs: what is compiled thoroughly would hardly be used.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with mock.patch.dict(os.environ, {"SPARK_LOCAL_IP": "127.0.0.1"}):
        found = open_session("local-cluster[2,1,1024]", options)
        yield found
        found.stop()
