"""Jobs: one table with row locks. What waits, what runs, what became of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Row

from discreet.privacy.ledger import Entry
from discreet.service.access import Caller
from discreet.service.datasets import Datasets
from discreet.service.problems import Problem, not_found
from discreet.service.schema import JOBS
from discreet.service.store import Store, fresh_id, now

__all__ = ["DIED", "ENDED", "HELD_BY_THE_SERVER", "MOST_ATTEMPTS", "Jobs", "job_for", "queue_of"]

ENDED = ("done", "failed", "cancelled")
MOST_ATTEMPTS = 3
"""How often a job is begun whose process dies before it was charged."""

DIED = "died-drawing"
"""The code of a job whose process died after noise may have been drawn: it may be tried again, and is charged again."""

RETRIES = ("free", "charged", "no")
"""What the same request under the same key does after a failure (``retry`` of a problem): the job is tried again at no
further cost, tried again and charged again, or returned as it is."""


HELD_BY_THE_SERVER = ("session",)
"""Kinds of jobs that run in a thread of the server, not in a process of their own: people talk with them."""


class Jobs:
    """The jobs of tenants.

    A job is ``queued``, ``running``, ``done``, ``failed`` or ``cancelled``. The process that runs it holds a lock that
    ends with the process, so a job that says it is running while nobody holds its lock has died.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def submit(
        self,
        caller: Caller,
        kind: str,
        request: Mapping[str, Any],
        *,
        idempotency: str | None = None,
        population: str | None = None,
        spends: bool = False,
        cost: Mapping[str, Any] | None = None,
        reserve: Callable[[Connection], None] = lambda connection: None,
    ) -> tuple[Row[Any], bool]:
        """Put a job into the queue; the job, and whether it is new.

        Parameters
        ----------
        idempotency
            The key of the request. A second request under it returns the first job; another body is refused. A job that
            failed before noise was drawn is tried again under it, at no further cost; one that died while drawing is
            tried again and charged again.
        reserve
            Refuses what does not fit in an allowance, within the transaction.
        """
        hashed = hashlib.sha256(json.dumps([kind, request], sort_keys=True, default=str).encode()).hexdigest()
        with self.store.write(queue_of(caller.tenant)) as connection:
            if idempotency is not None:
                earlier = connection.execute(
                    sql.select(JOBS).where(
                        JOBS.c.tenant == caller.tenant, JOBS.c.key == caller.key, JOBS.c.idempotency == idempotency
                    )
                ).first()
                if earlier is not None:
                    return self._again(connection, earlier, hashed, reserve), False
            self._require_room(connection, caller)
            reserve(connection)
            job = fresh_id("job")
            connection.execute(
                sql.insert(JOBS).values(
                    id=job,
                    tenant=caller.tenant,
                    key=caller.key,
                    who=caller.who,
                    kind=kind,
                    request=dict(request),
                    request_hash=hashed,
                    idempotency=idempotency,
                    population=population,
                    spends=spends,
                    cost=cost,
                    charges=1 if spends else 0,
                    state="queued",
                    phase="waiting",
                    progress=None,
                    rate="",
                    attempts=0,
                    cancel=False,
                    created=now(),
                )
            )
            self.store.log(connection, caller.tenant, caller.who, f"submit {kind}", job, str(request.get("method", "")))
            return self._row(connection, job), True

    def _again(
        self, connection: Connection, earlier: Row[Any], hashed: str, reserve: Callable[[Connection], None]
    ) -> Row[Any]:
        if earlier.request_hash != hashed:
            raise Problem(
                409,
                "idempotency",
                f"Another request was made under this Idempotency-Key: {earlier.id}.",
                remedy="Send another key, or repeat that request.",
            )
        retry = (earlier.problem or {}).get("retry", "no")
        if earlier.state == "failed" and retry != "no":
            # The charges that are reserved are those in the ledger (``fail`` saw to that). One that can still be used
            # is enough; otherwise one more is reserved.
            usable = retry == "free" and earlier.entry is not None
            more = int(earlier.spends and not usable)
            if more:
                reserve(connection)
            values = {"state": "queued", "phase": "waiting", "attempts": 0, "charges": earlier.charges + more}
            values |= {"cancel": False, "problem": None, "started": None, "finished": None}
            connection.execute(sql.update(JOBS).where(JOBS.c.id == earlier.id).values(**values))
            outcome = "charged again" if retry == "charged" else ""
            self.store.log(connection, earlier.tenant, earlier.who, "try again", earlier.id, outcome)
        return self._row(connection, earlier.id)

    def _require_room(self, connection: Connection, caller: Caller) -> None:
        waiting = sql.select(sql.func.count()).select_from(JOBS).where(JOBS.c.state == "queued")
        mine = waiting.where(JOBS.c.tenant == caller.tenant)
        settings = self.store.settings
        for query, limit in (
            (mine, settings.queue_limit),
            (mine.where(JOBS.c.key == caller.key), settings.key_queue_limit),
        ):
            if connection.execute(query).scalar_one() >= limit:
                raise Problem(
                    429,
                    "queue",
                    f"{limit} jobs are waiting already.",
                    remedy="Wait until some are done.",
                    headers={"Retry-After": "10"},
                )

    # Reading

    def get(self, caller: Caller, job: str) -> Row[Any]:
        """A job that the caller may see: their own, or for a curator any of the tenant."""
        row = self.store.one(sql.select(JOBS).where(JOBS.c.id == job, JOBS.c.tenant == caller.tenant))
        if row is None or not (caller.is_curator or row.key == caller.key):
            raise not_found("job", job)
        return row

    def listed(
        self, caller: Caller, *, before: int | None = None, limit: int = 50, kind: str | None = None
    ) -> list[Row[Any]]:
        """Jobs, of one kind or of all, the latest first."""
        query = sql.select(JOBS).where(JOBS.c.tenant == caller.tenant).order_by(JOBS.c.number.desc()).limit(limit)
        if not caller.is_curator:
            query = query.where(JOBS.c.key == caller.key)
        if kind is not None:
            query = query.where(JOBS.c.kind == kind)
        return self.store.all(query if before is None else query.where(JOBS.c.number < before))

    # Changing

    def cancel(self, caller: Caller, job: str) -> Row[Any]:
        """Cancel a job that waits; ask one that runs to stop before it is charged."""
        caller.require("cancel jobs")
        if self.get(caller, job).state not in ENDED:
            with self.store.write(f"job {job}") as connection:
                connection.execute(sql.update(JOBS).where(JOBS.c.id == job).values(cancel=True))
                self.store.log(connection, caller.tenant, caller.who, "cancel", job)
            self.cancel_waiting(job)
        return self.get(caller, job)

    def cancel_waiting(self, job: str) -> None:
        """End a job that is to be cancelled and that no process has begun; a process that begins it ends it itself."""
        with self.store.holding(job) as held:
            if held and (row := self.find(job)).state == "queued" and row.cancel:
                self.cancelled(row)

    def claim(self, job: str) -> Row[Any] | None:
        """Begin a queued job; None if somebody else was faster or it has ended. The caller holds its lock."""
        with self.store.write(f"job {job}") as connection:
            row = self._row(connection, job)
            if row.state != "queued":
                return None
            values = {"state": "running", "phase": "reading", "attempts": row.attempts + 1, "started": now()}
            connection.execute(sql.update(JOBS).where(JOBS.c.id == job).values(**values))
            return self._row(connection, job)

    def waiting(self, limit: int) -> list[str]:
        """The jobs that wait longest."""
        mine = (JOBS.c.state == "queued", JOBS.c.kind.not_in(HELD_BY_THE_SERVER))
        query = sql.select(JOBS.c.id).where(*mine).order_by(JOBS.c.number).limit(limit)
        return [row.id for row in self.store.all(query)]

    def unopened(self) -> list[str]:
        """Jobs that wait for the server that took them, and that no process may begin."""
        mine = (JOBS.c.state == "queued", JOBS.c.kind.in_(HELD_BY_THE_SERVER))
        return [row.id for row in self.store.all(sql.select(JOBS.c.id).where(*mine).order_by(JOBS.c.number))]

    def find(self, job: str) -> Row[Any]:
        """A job, whoever's it is."""
        with self.store.read() as connection:
            return self._row(connection, job)

    def running(self) -> list[Row[Any]]:
        return self.store.all(sql.select(JOBS).where(JOBS.c.state == "running"))

    def report(self, job: str, *, phase: str, progress: float | None = None, rate: str = "") -> bool:
        """Note how far a job is; whether it was asked to stop."""
        with self.store.write(f"job {job}") as connection:
            row = self._row(connection, job)
            values = {"phase": phase, "progress": progress, "rate": rate}
            connection.execute(sql.update(JOBS).where(JOBS.c.id == job).values(**values))
            return bool(row.cancel)

    # Ends. Whoever calls these holds the lock of the job.

    def charged(self, row: Row[Any]) -> tuple[Entry, ...]:
        """What the ledger was charged for a job."""
        return self.store.ledger(row.tenant, row.who).keyed(row.id).charged() if row.spends else ()

    def fail(self, row: Row[Any], problem: Mapping[str, Any], *, retry: str = "no") -> None:
        """Note that a job failed, with the entry that stays charged, and what a repeated request does."""
        # As text where JSON has no form for it: whatever went wrong, the job must be able to end.
        told = json.loads(json.dumps({**problem, "retry": retry}, default=str))
        self._end_without_result(row, "failed", told)

    def cancelled(self, row: Row[Any]) -> None:
        """Note that a job was cancelled."""
        self._end_without_result(row, "cancelled", None)

    def _end_without_result(self, row: Row[Any], state: str, problem: dict[str, Any] | None) -> None:
        """What was reserved and never charged is free again; a dataset that was not attached is forgotten."""
        entries, files = self.charged(row), []
        with self.store.write(f"job {row.id}") as connection:
            values = {"charges": len(entries), "entry": entries[-1].id if entries else None}
            self.end(connection, row.id, state, problem=problem, **values)
            self.store.log(connection, row.tenant, row.who, state, row.id, (problem or {}).get("code", ""))
            if row.kind == "register":
                files = Datasets(self.store).forget(connection, row.tenant, row.request["dataset"])
        Datasets(self.store).delete(files)

    def end(self, connection: Connection, job: str, state: str, **values: Any) -> None:
        """Note the end of a job."""
        ended = {
            "state": state,
            "phase": "",
            "progress": 1.0 if state == "done" else None,
            "rate": "",
            "finished": now(),
        }
        connection.execute(sql.update(JOBS).where(JOBS.c.id == job).values(**ended, **values))

    def requeue(self, connection: Connection, job: str) -> None:
        connection.execute(sql.update(JOBS).where(JOBS.c.id == job).values(state="queued", phase="waiting"))

    def _row(self, connection: Connection, job: str) -> Row[Any]:
        return connection.execute(sql.select(JOBS).where(JOBS.c.id == job)).one()


def queue_of(tenant: str) -> str:
    """What submissions of one tenant wait for: queue, allowances and keys of requests are looked at together."""
    return f"queue {tenant}"


PHASES = {"waiting": "waiting", "reading": "working", "open": "open", "": ""}


def job_for(row: Row[Any], caller: Caller) -> dict[str, Any]:
    """What a caller sees of a job.

    Whoever is not a curator sees phases: no rates, counts, times or messages about data, which depend on records.
    Refusals of the budget and wrong settings depend on none, and are shown.
    """
    shown: dict[str, Any] = {
        "id": row.id,
        "kind": row.kind,
        "state": row.state,
        "phase": row.phase if caller.is_curator else PHASES.get(row.phase, "working"),
        "population": row.population,
        "method": row.request.get("method"),
        "name": row.request.get("name", ""),
        "created": row.created,
        "result": row.result,
        "problem": row.problem,
        "entry": row.entry,
    }
    if caller.is_curator:
        more = ("progress", "rate", "attempts", "started", "finished", "who")
        return shown | {name: getattr(row, name) for name in more}
    if row.problem is not None and row.problem.get("about") == "data":
        entry = "" if row.entry is None else f" Entry {row.entry} of the ledger was charged, and stays charged."
        shown["problem"] = {
            "code": "failed",
            "detail": f"The job failed.{entry}",
            "remedy": "The curator can see why.",
            "retry": row.problem.get("retry", "no"),
        }
    return shown
