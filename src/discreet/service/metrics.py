"""Figures for Prometheus: budgets, jobs, requests of one tenant."""

from __future__ import annotations

import sqlalchemy as sql
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    generate_latest,
)

from discreet import __version__
from discreet.service.access import Caller
from discreet.service.hub import Hub
from discreet.service.schema import JOBS

__all__ = ["CONTENT_TYPE", "metrics"]

disable_created_metrics()  # they would say when the figures were asked for
CONTENT_TYPE = CONTENT_TYPE_LATEST
STATES = ("queued", "running", "done", "failed", "cancelled")


def metrics(hub: Hub, caller: Caller) -> bytes:
    """The figures of the caller's tenant, in the text format of Prometheus."""
    caller.require("read metrics")
    registry = CollectorRegistry()
    Gauge("discreet_info", "The version that runs.", ["version"], registry=registry).labels(__version__).set(1)
    requests = Counter("discreet_requests", "Requests with a valid key.", registry=registry)
    requests.inc(hub.requests_of(caller.tenant))
    _add_jobs(hub, caller, registry)
    _add_budgets(hub, caller, registry)
    return generate_latest(registry)


def _add_jobs(hub: Hub, caller: Caller, registry: CollectorRegistry) -> None:
    jobs = Gauge("discreet_jobs", "Jobs by state.", ["state"], registry=registry)
    query = (
        sql.select(JOBS.c.state, sql.func.count().label("many"))
        .where(JOBS.c.tenant == caller.tenant)
        .group_by(JOBS.c.state)
    )
    found = {row.state: row.many for row in hub.store.all(query)}
    for state in STATES:
        jobs.labels(state).set(found.get(state, 0))


def _add_budgets(hub: Hub, caller: Caller, registry: CollectorRegistry) -> None:
    """Limit, spent (with what is reserved) and left of every population; in an account per period, of this period."""
    gauges = {
        name: Gauge(f"discreet_budget_{name}", text, ["population", "amount"], registry=registry)
        for name, text in {
            "limit": "What may be lost about a population.",
            "charged": "What was charged: spent and reserved.",
            "left": "What the limit leaves.",
        }.items()
    }
    entries = Gauge("discreet_ledger_entries", "Charges in the ledger.", ["population"], registry=registry)
    for population in hub.populations.listed(caller):
        name = population["name"]
        statement = hub.populations.statement(caller, name)
        entries.labels(name).set(len(statement.every))
        for amount in ("epsilon", "delta"):
            charged = getattr(statement.spent, amount) + getattr(statement.reserved, amount)
            gauges["limit"].labels(name, amount).set(float(getattr(statement.account.limit, amount)))
            gauges["charged"].labels(name, amount).set(float(charged))
            gauges["left"].labels(name, amount).set(float(getattr(statement.left, amount)))
