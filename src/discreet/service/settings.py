"""What an operator decides when a service starts."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.models.registry import imported, register

__all__ = ["ServiceSettings", "is_loopback"]

MEGABYTE = 1024**2


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _absolute(place: str) -> str:
    """A place in a file, wherever a process of the service runs."""
    file, _, name = place.rpartition(":")
    return f"{Path(file).expanduser().resolve()}:{name}" if file.endswith(".py") else place


@dataclass(frozen=True)
class ServiceSettings:
    """Where a service keeps its things, and its limits.

    Parameters
    ----------
    folder
        Where uploads, releases and, without a database, everything else is kept. Made with mode 0700.
    database
        The URL of a PostgreSQL database for keys, jobs and ledgers; None keeps them in SQLite files in the folder.
    roots
        Folders below which a curator may register files by their path, where there is one tenant.
    tenant_roots
        The same for one tenant each: the name of the tenant and a folder.
    workers
        How many jobs run at the same time.
    upload_limit, body_limit
        The most bytes of an upload, and of any other request.
    memory_limit
        The most bytes of memory of one job; None for no limit.
    queue_limit, key_queue_limit
        The most jobs that wait, of one tenant and of one key.
    rate_limit
        The most requests of one key in a second, on average over ten seconds.
    models_in_memory, records_in_memory
        How many models and releases are kept loaded for asking, and how many datasets for asking for a user.
    secure_cookies
        Whether cookies are for HTTPS alone. Off only where the service is reached without TLS.
    insecure_local
        Whether everybody who reaches the service is a curator. Accepted on loopback addresses alone.
    public_url
        Under which address people reach it, for links.
    models
        Recommenders of the operator's own, "package.module:Class" or "file.py:Class": imported when the service starts,
        and known by their ``name`` from then on. Requests name what is known, and never code.
    """

    folder: Path
    database: str | None = None
    roots: tuple[Path, ...] = ()
    tenant_roots: tuple[tuple[str, Path], ...] = ()
    workers: int = 1
    upload_limit: int = 2048 * MEGABYTE
    body_limit: int = 8 * MEGABYTE
    memory_limit: int | None = None
    queue_limit: int = 100
    key_queue_limit: int = 20
    rate_limit: int = 1000
    models_in_memory: int = 8
    records_in_memory: int = 2
    secure_cookies: bool = False
    insecure_local: bool = False
    public_url: str = "http://127.0.0.1:8000"
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder).expanduser().resolve())
        object.__setattr__(self, "roots", tuple(Path(root).expanduser().resolve() for root in self.roots))
        named = tuple((name, Path(root).expanduser().resolve()) for name, root in self.tenant_roots)
        object.__setattr__(self, "tenant_roots", named)
        object.__setattr__(self, "models", tuple(map(_absolute, self.models)))
        for name in ("workers", "upload_limit", "body_limit", "queue_limit", "key_queue_limit", "rate_limit"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < (0 if name == "workers" else 1):
                raise UsageError(f"{name} must be a whole number above 0, got {value!r}.")
        if self.database is not None and not self.database.startswith(("postgresql://", "postgresql+psycopg://")):
            raise UsageError(
                "the database of a service is PostgreSQL.",
                remedy='Give a URL such as "postgresql://user@host/database", or none for files in the folder.',
            )

    def load_models(self) -> None:
        """Import the operator's own recommenders and give them their names, in every process of the service."""
        for place in self.models:
            kind = imported(place)
            if not issubclass(kind, Recommender) or not isinstance(getattr(kind, "name", None), str):
                raise UsageError(f"{place} is not a recommender with a name.", remedy="See docs/own-method.md.")
            register(kind)

    def prepare(self) -> None:
        """Make the folder, readable by its owner alone."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.chmod(self.folder, 0o700)

    def to_json(self) -> dict[str, Any]:
        """For the processes of jobs; has the password of the database."""
        return {
            **asdict(self),
            "folder": str(self.folder),
            "roots": [str(root) for root in self.roots],
            "tenant_roots": [[name, str(root)] for name, root in self.tenant_roots],
            "models": list(self.models),
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Self:
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in given.items() if name in known})
