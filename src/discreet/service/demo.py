"""A service with something to see: invented people, four populations, keys of every role, a history of releases.

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
from discreet.service.store import clock, dated, fresh_id
from discreet.service.worker import perform

__all__ = ["fill"]

TENANT = "demo"
USERS, ITEMS = 2000, 300
READERS, BOOKS = 600, 80
DAYS = 70
"""So long ago the history begins."""

HOUSEHOLDS = 500
WEEKS = (3, 4, 5, 6, 7, 8, 9)
"""How many weeks ago the steps of the series were due."""

MISSED = 6
QUESTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"gender": "F", "age": [18, 29]},
    {"commute": "car"},
    {"housing": "rents"},
    {"income": {"in": ["low", "middle"]}},
)

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
        _frontier(hub, carla, films, say)
    say("readers, with a budget for each month")
    _add_readers(hub, carla, today)
    say("listeners, with a series of weekly counts")
    _add_listeners(hub, carla, today)
    say("residents, with a survey and a session of questions")
    _add_residents(hub, carla, today)
    return key


def _place(hub: Hub, carla: Caller, ending: str) -> Path:
    """Where an upload lies: in a folder of its own, which is deleted with its dataset."""
    return hub.store.folder(carla.tenant, "data", fresh_id("up")) / f"upload{ending}"


def _films(hub: Hub, carla: Caller) -> str:
    films = synthetic.films(users=USERS, items=ITEMS, seed=7)
    file = write(films, _place(hub, carla, ".parquet"), overwrite=True)
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
        file = _place(hub, carla, ".csv")
        books.with_columns(pl.col("item_id").str.replace("film", "book"), timestamp=when).write_csv(file)
        reading = {"scale": "1:5", "window": f"{month:%Y-%m}", "time_zone": "UTC", "items_public": True}
        loans = _registered(hub, carla, "loans", "readers", file, reading, {"users": READERS, "records": 10})
        counts = {"method": "weighted", "settings": {"epsilon": "1/2", "cap": 20}, "name": "loans of the month"}
        _run(hub, carla, {"dataset": loans, **counts})


def _add_listeners(hub: Hub, carla: Caller, today: datetime) -> None:
    """A population with a series of weekly counts; one week was missed, and the last two are overdue."""
    with dated(today - timedelta(days=7 * WEEKS[-1])):
        hub.populations.open(carla, name="listeners", epsilon=2, delta="1e-6")
        songs = synthetic.films(users=READERS, items=BOOKS, seed=13)
        file = write(songs, _place(hub, carla, ".parquet"), overwrite=True)
        plays = _registered(hub, carla, "plays", "listeners", file, {}, {"users": READERS, "records": 10})
        run = RunRequest(plays, "weighted", {"epsilon": "1", "delta": "1e-7", "cap": 20}, name="weekly plays")
        job, _ = hub.series.open(carla, run, {"steps": 52, "records": "all"}, "demo series")
        perform(hub.store, job.id)
    for week in reversed(WEEKS):
        if week != MISSED:
            with dated(today - timedelta(days=7 * week)):
                step = hub.series.advance(carla, job.id, plays, WEEKS[-1] - week)
                perform(hub.store, step.id)


def _add_residents(hub: Hub, carla: Caller, today: datetime) -> None:
    """A survey of households, and a session in which some questions were asked."""
    with dated(today - timedelta(days=20)):
        hub.populations.open(carla, name="residents", epsilon=3, unit="record/replace", delta="1e-6")
        survey = synthetic.survey(households=HOUSEHOLDS, seed=3)
        file = write(survey, _place(hub, carla, ".parquet"), overwrite=True)
        dataset = _registered(hub, carla, "survey", "residents", file, {}, {})
    request = RunRequest(dataset, "pmw", {"epsilon": "1", "updates": 10}, name="questions of the council")
    session = hub.sessions.open(carla, request, 100, "demo session")[0].id
    for question in QUESTIONS:
        hub.sessions.ask(carla, session, question)
    hub.sessions.close(carla, session)


def _registered(
    hub: Hub, carla: Caller, name: str, population: str, file: Path, reading: dict[str, Any], declared: dict[str, int]
) -> str:
    dataset = hub.datasets.add(carla, name=name, population=population, file=file, reading=reading, declared=declared)
    job, _ = hub.jobs.submit(carla, "register", {"dataset": dataset, "name": name}, population=population)
    perform(hub.store, job.id)
    return dataset


def _run(hub: Hub, caller: Caller, run: dict[str, Any]) -> None:
    perform(hub.store, hub.run(caller, RunRequest.from_json(run), f"demo {run['name']}")[0].id)


def _frontier(hub: Hub, carla: Caller, dataset: str, say: Callable[[str], None]) -> None:
    """How good the lists of the recommender are, over epsilon."""
    say("accuracy over ε")
    asked = {
        "dataset": dataset,
        "method": "private-recommender",
        "settings": {"delta": "1e-7"},
        "epsilons": [0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
        "measure": "rankings",
        "seed": 1,
    }
    perform(hub.store, hub.report(carla, "frontier", asked).id)


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
