"""Everything that routes and pages work with, in one object."""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Connection, Row

from discreet.privacy import Guarantee, Standing
from discreet.privacy.ledger.balances import Estimate
from discreet.service.access import Caller
from discreet.service.asking import Asking
from discreet.service.datasets import Datasets, path_below
from discreet.service.jobs import Jobs
from discreet.service.keys import Keys
from discreet.service.populations import Populations, amount_of
from discreet.service.problems import Problem, not_found
from discreet.service.releases import Releases, guarantee_lines
from discreet.service.reports import Reports
from discreet.service.runs import RunRequest, cost_of
from discreet.service.series import SeriesOfTenants
from discreet.service.sessions import Sessions
from discreet.service.store import Store
from discreet.service.supervisor import Supervisor

__all__ = ["Hub"]

WINDOW = 10.0

ID = re.compile(r"(rel|job|ds|rep|up)_[0-9a-f]+")
"""What the service names things: no release is called so."""


@dataclass
class Hub:
    """A running service without its routes."""

    store: Store
    keys: Keys = field(init=False)
    datasets: Datasets = field(init=False)
    populations: Populations = field(init=False)
    jobs: Jobs = field(init=False)
    releases: Releases = field(init=False)
    reports: Reports = field(init=False)
    asking: Asking = field(init=False)
    supervisor: Supervisor = field(init=False)
    sessions: Sessions = field(init=False)
    series: SeriesOfTenants = field(init=False)

    def __post_init__(self) -> None:
        self.keys, self.asking = Keys(self.store), Asking(self.store)
        self.datasets = Datasets(self.store, changed=self.asking.own.forget)
        self.populations, self.jobs = Populations(self.store), Jobs(self.store)
        self.releases, self.reports = Releases(self.store), Reports(self.store)
        self.supervisor, self.sessions, self.series = Supervisor(self.store), Sessions(self), SeriesOfTenants(self)
        self._requests: dict[str, deque[float]] = defaultdict(deque)
        self._counted: dict[str, int] = defaultdict(int)
        self.streams: dict[str, int] = defaultdict(int)  # jobs that a key follows now
        self._lock = threading.Lock()

    def roots(self, caller: Caller) -> tuple[Path, ...]:
        """The folders below which a curator may register files.

        A root that names a tenant is that tenant's. One that names none is for a service with one tenant: the curators
        of several would read each other's files.
        """
        settings, names = self.store.settings, self.keys.tenants()
        mine = [folder for name, folder in settings.tenant_roots if name == self.keys.tenant_name(caller.tenant)]
        shared = [] if len(names) > 1 else list(settings.roots)
        return (*mine, *shared)

    def file_below_roots(self, caller: Caller, path: str) -> Path:
        """A file that a curator names by its path, below a root and not one of the service's own."""
        return path_below(self.roots(caller), path, apart_from=self.store.settings.folder)

    # Estimate, rehearse, run

    def estimate(self, caller: Caller, request: RunRequest) -> dict[str, Any]:
        """What a run would cost, whether it fits, and what to expect: from public values alone."""
        caller.require("estimate")
        dataset = self._dataset(caller, request)
        public = self.datasets.public(caller.tenant, dataset.id)
        guarantee = request.guarantee(public)
        expected = request.estimate(public, dataset.declared)
        return {**self.price(caller, dataset, public, guarantee, request), "expected": expected}

    def price(
        self, caller: Caller, dataset: Row[Any], public: Any, guarantee: Guarantee | None, request: RunRequest
    ) -> dict[str, Any]:
        """What a guarantee would cost, what is left then, and whether it fits."""
        if guarantee is None:
            return {"guarantee": None, "lines": None, "cost": None, "fits": True}
        ledger = self.populations.ledger(caller, dataset.population, delta=request.delta)
        found = ledger.estimate(
            dataset.population, guarantee, allow_refuted=request.allow_refuted, window=getattr(public, "window", None)
        )
        cost = cost_of(guarantee, found.requested, request.delta)
        answer = {
            "guarantee": guarantee.to_json(),
            "lines": guarantee_lines(guarantee.to_json()),
            "cost": cost.to_json(),
            "left": found.left.to_json(),
            "left_after": _left_after(found),
            "fits": found.fits,
        }
        if not caller.is_curator:
            allowance = self.populations.allowance(caller, dataset.population)
            answer["allowance"] = allowance
            answer["fits"] = found.fits and cost.within(amount_of(allowance["left"]))
        return answer

    def rehearse(self, caller: Caller, request: RunRequest) -> Row[Any]:
        """The whole job on invented people."""
        caller.require("rehearse")
        dataset = self._dataset(caller, request)
        request.guarantee(self.datasets.public(caller.tenant, dataset.id))  # finds every mistake
        job, _ = self.jobs.submit(
            caller,
            "rehearse",
            {**request.to_json(), "dataset": dataset.id},
            population=dataset.population,
            reserve=lambda connection: self.releases.require_name(connection, caller, request.name),
        )
        self.supervisor.wake()
        return job

    def run(self, caller: Caller, request: RunRequest, idempotency: str) -> tuple[Row[Any], bool]:
        """Submit a run. What does not fit now is refused now, and nothing is charged."""
        caller.require("run")
        dataset = self._dataset(caller, request)
        if request.allow_refuted and not caller.is_curator:
            raise Problem(403, "forbidden", "Refuted methods are for curators.", remedy="Choose a proved method.")
        public = self.datasets.public(caller.tenant, dataset.id)
        guarantee = request.guarantee(public)
        if not caller.is_curator and (guarantee is None or guarantee.standing is not Standing.PROVED):
            raise Problem(403, "forbidden", "Analysts run proved methods.", remedy="Choose a proved method.")
        job, new = self.submit_spending(
            caller, "run", dataset, public, guarantee, {**request.to_json(), "dataset": dataset.id}, idempotency
        )
        self.supervisor.wake()
        return job, new

    def submit_spending(
        self,
        caller: Caller,
        kind: str,
        dataset: Row[Any],
        public: Any,
        guarantee: Guarantee | None,
        request: dict[str, Any],
        idempotency: str,
        *,
        refuse: Callable[[Connection], None] = lambda connection: None,
    ) -> tuple[Row[Any], bool]:
        """Submit a job that spends what its guarantee says. What does not fit now is refused now.

        Parameters
        ----------
        refuse
            Refuses a new job for another reason; a repeated request finds its job all the same.
        """
        cost = found = None
        if guarantee is not None:
            delta = RunRequest.from_json(request).delta
            ledger = self.populations.ledger(caller, dataset.population, delta=delta)
            found = ledger.estimate(
                dataset.population,
                guarantee,
                allow_refuted=request.get("allow_refuted", False),
                window=getattr(public, "window", None),
            )
            cost = cost_of(guarantee, found.requested, delta)

        def reserve(connection: Connection) -> None:
            refuse(connection)
            self.releases.require_name(connection, caller, request.get("name", ""))
            if found is not None and not found.fits:
                raise Problem(
                    409,
                    "budget",
                    f"This does not fit into the budget of {dataset.population!r}: {found.left} is left.",
                    remedy="Ask for less, or wait for the next period of the account.",
                    left=found.left.to_json(),
                )
            if cost is not None:
                self.populations.reserve(connection, caller, dataset.population, cost)

        return self.jobs.submit(
            caller,
            kind,
            request,
            idempotency=idempotency,
            population=dataset.population,
            spends=guarantee is not None,
            cost=None if cost is None else cost.to_json(),
            reserve=reserve,
        )

    def report(self, caller: Caller, kind: str, request: dict[str, Any]) -> Row[Any]:
        """Measure something on the records, for curators: an audit, an attack, the risk, the frontier.

        With ``release`` it is about that release: its data, its method and its settings.
        """
        caller.require("run reports")
        if (release := request.get("release")) is not None:
            row = self.releases.get(caller, release)
            run = self.jobs.find(row.job).request
            known = {"dataset": row.dataset, "method": row.method, "settings": run.get("settings", {})}
            request = {**request, "release": row.id, **known}
        if not request.get("dataset"):
            raise Problem(422, "request", "Neither a dataset nor a release is named.", remedy="Name one of them.")
        dataset = self.datasets.get(caller, request["dataset"])
        job, _ = self.jobs.submit(caller, kind, {**request, "dataset": dataset.id}, population=dataset.population)
        self.supervisor.wake()
        return job

    def _dataset(self, caller: Caller, request: RunRequest) -> Row[Any]:
        """The dataset of a request, of a population that the caller may know of."""
        if ID.fullmatch(request.name):
            raise Problem(422, "request", "This name looks like an id of the service.", remedy="Choose another name.")
        row = self.datasets.get(caller, request.dataset)
        if not self.populations.may_know(caller, row.population):
            raise not_found("dataset", request.dataset)
        return row

    # Limits

    def requests_of(self, tenant: str) -> int:
        """How many requests of a tenant were answered since the start."""
        return self._counted[tenant]

    def count_request(self, caller: Caller) -> None:
        """Count a request; refuse a key that asks too often."""
        limit, moment = self.store.settings.rate_limit * WINDOW, time.monotonic()
        with self._lock:
            self._counted[caller.tenant] += 1
            times = self._requests[caller.key]
            while times and times[0] < moment - WINDOW:
                times.popleft()
            if len(times) >= limit:
                wait = int(WINDOW - (moment - times[0])) + 1
                raise Problem(
                    429,
                    "rate",
                    "This key asks too often.",
                    remedy=f"Wait {wait} seconds.",
                    headers={"Retry-After": str(wait)},
                )
            times.append(moment)


def _left_after(found: Estimate) -> dict[str, str] | None:
    """What a run would leave of the limit; None where it does not fit, or where there is no limit."""
    if not found.fits or found.after is None or found.limit is None:
        return None
    return (found.limit - found.after).to_json()
