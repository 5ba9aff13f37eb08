"""Data of a tenant: files on the curator's side, and what is public about them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Row

from discreet.data import Interactions, Table, TagAssignments, read
from discreet.data.domains import CategoricalDomain, domains_from_json
from discreet.data.readers import write
from discreet.errors import DiscreetError
from discreet.service.access import Caller
from discreet.service.problems import Problem, not_found
from discreet.service.schema import DATASETS
from discreet.service.store import Store, fresh_id, now

__all__ = ["READING", "Data", "Datasets"]

Data = Interactions | TagAssignments | Table

READING = (
    "format", "user", "item", "rating", "timestamp", "context", "resource", "tag", "ids", "scale", "duplicates",
    "missing", "encoding", "items_public", "window", "time_zone", "domains", "group", "separator",
    "header", "what",
)  # fmt: skip
"""How a file may be declared to be read; the options of ``discreet.read``."""

PUBLIC = "public.parquet"
"""What is public about a dataset: its catalog, scale, domains, and not one record."""


class Datasets:
    """Data of tenants."""

    def __init__(self, store: Store, *, changed: Callable[[], None] = lambda: None) -> None:
        self.store, self.changed = store, changed  # whoever remembers something about data is told of a change

    @contextmanager
    def receiving(self, caller: Caller) -> Iterator[Path]:
        """A folder for an upload. It is removed unless the block ends well, by the next start where this one dies."""
        caller.require("manage data")
        name = fresh_id("up")
        with self.store.marked(name):
            folder = self.store.folder(caller.tenant, "data", name)
            try:
                yield folder
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise

    def add(
        self,
        caller: Caller,
        *,
        name: str,
        population: str,
        file: Path,
        reading: Mapping[str, Any],
        catalog: Path | None = None,
        declared: Mapping[str, int] | None = None,
    ) -> str:
        """Note a dataset before its file is looked at; ``check`` reads it."""
        caller.require("manage data")
        if unknown := sorted(set(reading) - set(READING)):
            raise Problem(
                422, "request", f"Data cannot be read with {unknown[0]!r}.", remedy=f"Use {', '.join(READING)}."
            )
        if "domains" in reading:
            domains_from_json(reading["domains"])  # what is wrong is told at once
        dataset = fresh_id("ds")
        options = dict(reading) | ({} if catalog is None else {"catalog": str(catalog)})
        with self.store.write("datasets") as connection:
            same = sql.select(DATASETS.c.id).where(DATASETS.c.tenant == caller.tenant, DATASETS.c.name == name)
            if connection.execute(same).first():
                raise Problem(409, "exists", f"There is a dataset called {name!r}.", remedy="Choose another name.")
            connection.execute(
                sql.insert(DATASETS).values(
                    id=dataset,
                    tenant=caller.tenant,
                    name=name,
                    population=population,
                    kind="",
                    file=str(file),
                    reading=options,
                    declared=dict(declared or {}),
                    asks_users=False,
                    created=now(),
                    who=caller.who,
                )
            )
            self.store.log(connection, caller.tenant, caller.who, "add dataset", dataset, name)
        return dataset

    def check(self, tenant: str, dataset: str, who: str) -> dict[str, Any]:
        """Read a dataset for the first time: its problems, or a description; it is attached to its population."""
        row = self._row(tenant, dataset)
        try:
            data = self._read(row)
            self.store.ledger(tenant, who).attach(data, row.population)
        except DiscreetError:
            self.drop(tenant, dataset)
            raise
        folder = self.store.folder(tenant, "data", dataset)
        write(public_side(data), folder / PUBLIC, overwrite=True)
        with self.store.write("datasets") as connection:
            kind = {Interactions: "interactions", TagAssignments: "tags", Table: "table"}[type(data)]
            connection.execute(sql.update(DATASETS).where(DATASETS.c.id == dataset).values(kind=kind))
        return {name: value for name, value in data.describe().items() if name != "fingerprint"}

    def drop(self, tenant: str, dataset: str) -> None:
        """Forget a dataset, and delete what was uploaded for it. A file that was registered by its path stays."""
        with self.store.write("datasets") as connection:
            files = self.forget(connection, tenant, dataset)
        self.delete(files)

    def forget(self, connection: Connection, tenant: str, dataset: str) -> list[Path]:
        """Take a dataset out of the list; the folders that are to be deleted when that is written."""
        same = (DATASETS.c.id == dataset, DATASETS.c.tenant == tenant)
        row = connection.execute(sql.select(DATASETS).where(*same)).first()
        connection.execute(sql.delete(DATASETS).where(*same))
        uploads, folders = self.store.folder(tenant, "data"), [self.store.folder(tenant, "data", dataset)]
        if row is not None and Path(row.file).parent.parent == uploads:
            folders.append(Path(row.file).parent)
        return folders

    def delete(self, folders: Iterable[Path]) -> None:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    def remove(self, caller: Caller, dataset: str) -> None:
        """Delete a dataset; releases that were made from it stay."""
        caller.require("manage data")
        self.get(caller, dataset)
        self.drop(caller.tenant, dataset)
        with self.store.write() as connection:
            self.store.log(connection, caller.tenant, caller.who, "remove dataset", dataset)
        self.changed()

    def allow_users(self, caller: Caller, dataset: str, allowed: bool) -> None:
        """Whether recommendations for a user of these data, from that user's own records, may be asked for."""
        caller.require("manage data")
        self.get(caller, dataset)
        with self.store.write("datasets") as connection:
            connection.execute(sql.update(DATASETS).where(DATASETS.c.id == dataset).values(asks_users=allowed))
            outcome = "allowed" if allowed else "not allowed"
            self.store.log(connection, caller.tenant, caller.who, "asking for users", dataset, outcome)
        self.changed()

    # Reading

    def listed(self, caller: Caller) -> list[dict[str, Any]]:
        """The datasets of the tenant: for a curator all, for an analyst those of open populations, by name."""
        rows = self.store.all(
            sql.select(DATASETS).where(DATASETS.c.tenant == caller.tenant).order_by(DATASETS.c.created)
        )
        return [shown(row, caller) for row in rows if row.kind]

    def get(self, caller: Caller, dataset: str) -> Row[Any]:
        """The row of a dataset, by its id or name."""
        row = self._find(caller.tenant, dataset)
        if row is None or not row.kind:
            raise not_found("dataset", dataset)
        return row

    def load(self, tenant: str, dataset: str) -> Data:
        """The records."""
        return self._read(self._row(tenant, dataset))

    def public(self, tenant: str, dataset: str) -> Data:
        """The data without a record."""
        # The declared window is public, and not part of a file of records.
        reading = self._row(tenant, dataset).reading
        window = {name: reading[name] for name in ("window", "time_zone") if name in reading}
        return read(self.store.folder(tenant, "data", dataset) / PUBLIC, **window)

    def _read(self, row: Row[Any]) -> Data:
        options = dict(row.reading)
        if "domains" in options:
            options["domains"] = domains_from_json(options["domains"])
        return read(row.file, name=row.name, **options)

    def _row(self, tenant: str, dataset: str) -> Row[Any]:
        row = self._find(tenant, dataset)
        if row is None:
            raise not_found("dataset", dataset)
        return row

    def _find(self, tenant: str, dataset: str) -> Row[Any] | None:
        named = sql.or_(DATASETS.c.id == dataset, DATASETS.c.name == dataset)
        return self.store.one(sql.select(DATASETS).where(DATASETS.c.tenant == tenant, named))


def public_side(data: Data) -> Data:
    """What is public about data: the lists, scales and domains, and no record.

    Of a table also how many rows it has and which of them belong to one group, which its guarantees do not cover; every
    row is the same one.
    """
    if not isinstance(data, Table):
        return data.emptied()
    columns: dict[str, Any] = {
        name: [domain.values[0] if isinstance(domain, CategoricalDomain) else int(domain._firsts()[0])] * len(data)
        for name, domain in data.domains.items()
    }
    group = next((name for name in data.to_frame().columns if name not in data.attributes), None)
    if group is not None:
        columns[group] = data.group
    return Table(columns, domains=data.domains, group=group, name=data.name)


def shown(row: Row[Any], caller: Caller) -> dict[str, Any]:
    """What a caller may see of a dataset: whoever is not a curator sees what is public or declared."""
    public = {name: getattr(row, name) for name in ("id", "name", "population", "kind", "declared")}
    if not caller.is_curator:
        return public
    return public | {name: getattr(row, name) for name in ("file", "reading", "asks_users", "created", "who")}


def path_below(roots: tuple[Path, ...], path: str, *, apart_from: Path) -> Path:
    """A file that a curator names, which must lie below one of these folders and not in the other one."""
    try:
        found = Path(path).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        found = None
    if found is None or found.is_relative_to(apart_from) or not any(found.is_relative_to(root) for root in roots):
        configured = ", ".join(map(str, roots)) or "none"
        raise Problem(
            422,
            "path",
            "This is not a file below a folder that the service may read.",
            remedy=f"Upload it, or start the service with --root FOLDER. Configured for you: {configured}.",
        )
    return found
