"""A service with something to see: invented films, two populations, people of every role, a history of releases.

The people and films are invented, and so are the dates: the history is written as if it had taken ten weeks.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.service.access import Caller
from discreet.service.hub import Hub
from discreet.service.runs import RunRequest
from discreet.service.store import clock, dated
from discreet.service.worker import perform

__all__ = ["fill"]

TENANT = "demo"
USERS, ITEMS = 2000, 300
READERS, BOOKS = 600, 80
DAYS = 70
"""So long ago the history begins."""

RUNS: tuple[tuple[int, str, dict[str, Any]], ...] = (
    (66, "carla", {"method": "weighted", "settings": {"epsilon": "1/4", "cap": 30}, "name": "film counts"}),
    (60, "carla", {"method": "top-items", "settings": {"epsilon": "1/4", "k": 20}, "name": "top 20"}),
    (
        49,
        "carla",
        {"method": "private-recommender", "settings": {"epsilon": "1", "delta": "1e-7"}, "name": "recommender, week 1"},
    ),
    (35, "ann", {"method": "top-items", "settings": {"epsilon": "1/4", "k": 10}, "name": "top 10 for the newsletter"}),
    (
        28,
        "carla",
        {"method": "private-ratings", "settings": {"epsilon": "1/2", "delta": "1e-7"}, "name": "ratings"},
    ),
    (
        9,
        "carla",
        {"method": "private-recommender", "settings": {"epsilon": "1", "delta": "1e-7"}, "name": "recommender, week 2"},
    ),
)
"""How many days ago, by whom, and what."""


def fill(hub: Hub, say: Callable[[str], None] = lambda text: None) -> str | None:
    """Fill an empty service; the key of its curator, or None where it was filled before."""
    if TENANT in hub.keys.tenants():
        return None
    today = clock()
    _, token = hub.keys.add_tenant(TENANT)
    with dated(today - timedelta(days=DAYS)):
        key = hub.keys.redeem(token, "Carla, curator")
        carla = hub.keys.caller(key)
        ann = hub.keys.caller(hub.keys.issue(carla, name="Ann, analyst", role="analyst")[1])
        hub.keys.issue(carla, name="web shop", role="application")
        hub.keys.issue(carla, name="privacy office", role="auditor")
        hub.populations.open(carla, name="viewers", open_to_analysts=True, epsilon=5, delta="1e-6")
        hub.populations.allow(carla, "viewers", ann.key, {"epsilon": "1", "delta": "1e-7"})
        films = _films(hub, carla)
    people = {"carla": carla, "ann": ann}
    for ago, who, run in RUNS:
        say(run["name"])
        with dated(today - timedelta(days=ago)):
            _run(hub, people[who], {"dataset": films, **run})
    say("a model without privacy, for comparison")
    with dated(today - timedelta(days=8)):
        _run(hub, carla, {"dataset": films, "method": "ease", "settings": {}, "name": "without privacy"})
        _audit(hub, carla, films, say)
    say("readers, with a budget for each month")
    _add_readers(hub, carla, today)
    return key


def _films(hub: Hub, carla: Caller) -> str:
    films = synthetic.films(users=USERS, items=ITEMS, seed=7)
    file = write(films, hub.store.folder(carla.tenant, "data", "films") / "films.parquet", overwrite=True)
    return _registered(hub, carla, "films", "viewers", file, {}, {"users": USERS, "records": 20})


def _add_readers(hub: Hub, carla: Caller, today: datetime) -> None:
    """A population whose limit is renewed every month, with records of this month and one release from them."""
    month = today.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    with dated(month):
        terms = {"epsilon": 1, "delta": "1e-6", "per": "month", "time_zone": "UTC", "lifetime": 8}
        hub.populations.open(carla, name="readers", **terms)
    with dated(max(month, today - timedelta(days=2))):
        books = synthetic.films(users=READERS, items=BOOKS, seed=11).to_frame()
        seconds = int((today - month).total_seconds()) or 1
        when = int(month.timestamp()) + (pl.int_range(pl.len()) * 7919) % seconds
        file = hub.store.folder(carla.tenant, "data", "loans") / "loans.csv"
        books.with_columns(pl.col("item_id").str.replace("film", "book"), timestamp=when).write_csv(file)
        reading = {"scale": "1:5", "window": f"{month:%Y-%m}", "time_zone": "UTC", "items_public": True}
        loans = _registered(hub, carla, "loans", "readers", file, reading, {"users": READERS, "records": 10})
        counts = {"method": "weighted", "settings": {"epsilon": "1/2", "cap": 20}, "name": "loans of the month"}
        _run(hub, carla, {"dataset": loans, **counts})


def _registered(
    hub: Hub, carla: Caller, name: str, population: str, file: Path, reading: dict[str, Any], declared: dict[str, int]
) -> str:
    dataset = hub.datasets.add(carla, name=name, population=population, file=file, reading=reading, declared=declared)
    job, _ = hub.jobs.submit(carla, "register", {"dataset": dataset, "name": name}, population=population)
    perform(hub.store, job.id)
    return dataset


def _run(hub: Hub, caller: Caller, run: dict[str, Any]) -> None:
    perform(hub.store, hub.run(caller, RunRequest.from_json(run), f"demo {run['name']}")[0].id)


def _audit(hub: Hub, carla: Caller, dataset: str, say: Callable[[str], None]) -> None:
    """One audit that refutes a published method."""
    say("an audit")
    asked = {
        "dataset": dataset,
        "method": "ppns",
        "settings": {"epsilon": "1"},
        "options": {"seconds": 20, "runs": 200},
    }
    perform(hub.store, hub.jobs.submit(carla, "audit", asked, population="viewers")[0].id)
