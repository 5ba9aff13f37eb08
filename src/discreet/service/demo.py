"""A service with something to see: invented films, a population, analysts, a history of releases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.service.access import Caller
from discreet.service.hub import Hub
from discreet.service.runs import RunRequest
from discreet.service.worker import perform

__all__ = ["fill"]

TENANT = "demo"
USERS, ITEMS = 2000, 300
RUNS: tuple[dict[str, Any], ...] = (
    {"method": "weighted", "settings": {"epsilon": "1/4", "cap": 30}, "name": "film counts"},
    {"method": "top-items", "settings": {"epsilon": "1/4", "k": 20}, "name": "top 20"},
    {"method": "private-recommender", "settings": {"epsilon": "1", "delta": "1e-7"}, "name": "recommender, week 1"},
    {"method": "private-ratings", "settings": {"epsilon": "1/2", "delta": "1e-7"}, "name": "ratings"},
    {"method": "private-recommender", "settings": {"epsilon": "1", "delta": "1e-7"}, "name": "recommender, week 2"},
)


def fill(hub: Hub, say: Callable[[str], None] = lambda text: None) -> str | None:
    """Fill an empty service; the key of its curator, or None where it was filled before."""
    if TENANT in hub.keys.tenants():
        return None
    _, token = hub.keys.add_tenant(TENANT)
    key = hub.keys.redeem(token, "demo curator")
    curator = hub.keys.caller(key)
    hub.populations.open(curator, name="viewers", open_to_analysts=True, epsilon=4, delta="1e-6")
    analyst, _ = hub.keys.issue(curator, name="Ann, analyst", role="analyst")
    hub.keys.issue(curator, name="web shop", role="application")
    hub.keys.issue(curator, name="privacy office", role="auditor")
    hub.populations.allow(curator, "viewers", analyst, {"epsilon": "1", "delta": "1e-7"})
    films = synthetic.films(users=USERS, items=ITEMS, seed=7)
    file = write(films, hub.store.folder(curator.tenant, "data", "films") / "films.parquet", overwrite=True)
    dataset = hub.datasets.add(
        curator, name="films", population="viewers", file=file, reading={}, declared={"users": USERS, "records": 20}
    )
    _work(hub, hub.jobs.submit(curator, "register", {"dataset": dataset, "name": "films"}, population="viewers")[0].id)
    for number, run in enumerate(RUNS):
        say(run["name"])
        request = RunRequest.from_json({"dataset": dataset, **run})
        _work(hub, hub.run(curator, request, f"demo-{number}")[0].id)
    _audit(hub, curator, dataset)
    return key


def _audit(hub: Hub, curator: Caller, dataset: str) -> None:
    """One audit that refutes a published method."""
    asked = {
        "dataset": dataset,
        "method": "ppns",
        "settings": {"epsilon": "1"},
        "options": {"seconds": 20, "runs": 200},
    }
    _work(hub, hub.jobs.submit(curator, "audit", asked, population="viewers")[0].id)


def _work(hub: Hub, job: str) -> None:
    perform(hub.store, job)
