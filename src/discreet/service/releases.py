"""Releases and models that jobs made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sql
from sqlalchemy.engine import Connection, Row

from discreet.common.folders import MANIFEST
from discreet.errors import ReleaseError
from discreet.privacy import Guarantee, Release, Standing
from discreet.service.access import Caller
from discreet.service.problems import Problem, not_found
from discreet.service.remembering import Recent
from discreet.service.schema import JOBS, RELEASES
from discreet.service.store import Store

__all__ = ["Releases", "release_for"]

MOST_ROWS = 1000
"""Of a preview."""


class Releases:
    """The releases of tenants: files below the folder of the tenant, and a row for each."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._recent: Recent[Row[Any]] = Recent()

    def place(self, tenant: str, job: str) -> Path:
        """Where the release of a job goes; a repeated job has the same place."""
        return self.store.folder(tenant, "releases") / job

    def add(
        self, connection: Connection, job: Row[Any], place: Path, *, guarantee: Guarantee | None, **facts: Any
    ) -> str:
        """Note a release that was saved. Noting it again changes nothing.

        What guarantees nothing, or was saved with the records, is for curators alone.
        """
        release = f"rel_{job.id.partition('_')[2]}"
        if connection.execute(sql.select(RELEASES.c.id).where(RELEASES.c.id == release)).first():
            return release
        public = guarantee is not None and guarantee.standing is Standing.PROVED and (place / MANIFEST).is_file()
        connection.execute(
            sql.insert(RELEASES).values(
                id=release,
                tenant=job.tenant,
                job=job.id,
                name=job.request.get("name") or job.request.get("method", job.kind),
                population=job.population,
                dataset=job.request.get("dataset"),
                method=job.request.get("method", ""),
                guarantee=None if guarantee is None else guarantee.to_json(),
                secret=not public,
                place=str(place),
                created=job.created,  # when it ended tells how long it took, which depends on the records
                who=job.who,
                **facts,
            )
        )
        return release

    def require_name(self, connection: Connection, caller: Caller, name: str) -> None:
        """Refuse an analyst the name of somebody else's release: applications that ask for it would get another one."""
        if caller.is_curator or not name:
            return
        theirs = (RELEASES.c.tenant == caller.tenant, RELEASES.c.name == name, JOBS.c.key != caller.key)
        seen = (RELEASES.c.secret.is_(False), RELEASES.c.rehearsal.is_(False))
        joined = sql.select(RELEASES.c.id).join(JOBS, JOBS.c.id == RELEASES.c.job)
        # Whoever asked first has the name, also while the job waits or runs.
        unfinished = (JOBS.c.state.in_(("queued", "running")), JOBS.c.spends.is_(True))
        asked = (JOBS.c.tenant == caller.tenant, JOBS.c.key != caller.key, JOBS.c.request["name"].as_string() == name)
        coming = sql.select(JOBS.c.id).where(*unfinished, *asked)
        if any(connection.execute(query.limit(1)).first() for query in (joined.where(*theirs, *seen), coming)):
            raise Problem(409, "name", f"There is a release {name!r} of somebody else.", remedy="Choose another name.")

    def get(self, caller: Caller, release: str) -> Row[Any]:
        """A release that the caller may see, by its id or by its name.

        Of several with one name the latest counts, and a rehearsal only where there is nothing else.
        """
        named = sql.or_(RELEASES.c.id == release, RELEASES.c.name == release)
        order = (RELEASES.c.id != release, RELEASES.c.rehearsal, RELEASES.c.number.desc())
        row = self.store.one(self._rows(caller).where(named).order_by(None).order_by(*order).limit(1))
        if row is None:
            raise not_found("release", release)
        return row

    def known(self, caller: Caller, release: str) -> Row[Any] | None:
        """What ``recent`` found within the last moment."""
        return self._recent.get((caller.tenant, caller.key, release))

    def recent(self, caller: Caller, release: str) -> Row[Any]:
        """The same as ``get``, as it was found within the last moment: for questions, which come by the thousand."""
        return self._recent.of((caller.tenant, caller.key, release), lambda: self.get(caller, release))

    def listed(
        self, caller: Caller, *, before: int | None = None, limit: int = 50, population: str | None = None
    ) -> list[Row[Any]]:
        """Releases, the latest first."""
        query = self._rows(caller).limit(limit)
        if before is not None:
            query = query.where(RELEASES.c.number < before)
        if population is not None:
            query = query.where(RELEASES.c.population == population)
        return self.store.all(query)

    def _rows(self, caller: Caller) -> Any:
        caller.require("read releases")
        query = sql.select(RELEASES).where(RELEASES.c.tenant == caller.tenant).order_by(RELEASES.c.number.desc())
        if (listed := caller.scope.get("releases")) is not None:
            query = query.where(RELEASES.c.id.in_(listed))
        if caller.is_curator:
            return query
        query = query.where(RELEASES.c.secret.is_(False))
        return query if caller.role == "analyst" else query.where(RELEASES.c.rehearsal.is_(False))

    def load(self, row: Row[Any]) -> Release:
        """The release itself, checked against its hashes."""
        if not (Path(row.place) / MANIFEST).is_file():
            raise ReleaseError("this model was saved with records and is no release.", remedy="Ask it for items.")
        return Release.load(row.place)

    def preview(self, row: Row[Any], part: str | None = None, *, rows: int = 100) -> dict[str, Any]:
        """The first rows of a table of a release, and which parts there are."""
        release = self.load(row)
        parts = {
            name: {"rows": part.shape[0], "columns": part.columns if isinstance(part, pl.DataFrame) else None}
            for name, part in release.parts.items()
        }
        tables = [name for name, part in release.parts.items() if isinstance(part, pl.DataFrame)]
        chosen = part or next(iter(tables), None)
        if chosen is not None and chosen not in tables:
            raise not_found("table", chosen)
        table = [] if chosen is None else release.table(chosen).head(min(rows, MOST_ROWS)).to_dicts()
        return {"parts": parts, "table": chosen, "rows": table, "parameters": dict(release.parameters)}


def release_for(row: Row[Any], caller: Caller) -> dict[str, Any]:
    """What a caller sees of a release."""
    names = ("id", "name", "population", "method", "kind", "gives", "guarantee", "is_model", "rehearsal", "created")
    shown = {name: getattr(row, name) for name in names}
    shown["lines"] = None if row.guarantee is None else guarantee_lines(row.guarantee)
    if caller.role == "application":
        return shown
    return shown | {"release": row.release, "entry": row.entry, "who": row.who, "secret": row.secret, "job": row.job}


def guarantee_lines(guarantee: dict[str, Any]) -> dict[str, str]:
    """The labelled lines of a guarantee."""
    lines = Guarantee.from_json(guarantee).describe().splitlines()
    return {label.strip(): text.strip() for label, _, text in (line.partition(":") for line in lines)}
