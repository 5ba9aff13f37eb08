"""Jobs, releases and sessions of a service, as a client has them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from zipfile import ZipFile

import polars as pl

from discreet.errors import (
    BudgetError,
    DataError,
    DiscreetError,
    LedgerError,
    PrivacyError,
    ReleaseError,
    UsageError,
)
from discreet.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from discreet.service.client import Client

__all__ = ["RemoteJob", "RemoteRelease", "RemoteSeries", "RemoteSession", "error_of"]

ENDED = ("done", "failed", "cancelled")
POLL = 0.1

_ERRORS: dict[str, type[DiscreetError]] = {
    "budget": BudgetError,
    "allowance": BudgetError,
    "privacy": PrivacyError,
    "unauthorized": PrivacyError,
    "forbidden": PrivacyError,
    "users": PrivacyError,
    "data": DataError,
    "ledger": LedgerError,
    "release": ReleaseError,
    "request": UsageError,
    "not-found": UsageError,
}
"""What the service calls an error: the error of the library that it becomes. Others are a ``DiscreetError``."""

History = Mapping[Any, float] | Sequence[Any]


@dataclass
class RemoteJob:
    """A job of a service.

    Attributes
    ----------
    facts : dict
        Where it stood when it was last looked at.
    """

    client: Client = field(repr=False)
    facts: dict[str, Any]

    @property
    def id(self) -> str:
        return self.facts["id"]

    @property
    def state(self) -> str:
        """Queued, running, done, failed or cancelled."""
        return self.facts["state"]

    def refresh(self) -> Self:
        self.facts = self.client.call("GET", f"/jobs/{self.id}")
        return self

    def wait(self, seconds: float = 24 * 3600.0) -> Any:
        """Wait until it ends: the release, or what else it made. A job that failed is an error."""
        until, pause = time.monotonic() + seconds, POLL
        while self.refresh().state not in ENDED:
            if time.monotonic() > until:
                raise DiscreetError(f"job {self.id} has not ended within {seconds:g} seconds.", remedy="Wait longer.")
            time.sleep(pause)
            pause = min(1.5 * pause, 2.0)
        if self.state != "done":
            raise error_of(self.facts["problem"] or {"detail": f"job {self.id} was {self.state}."})
        result = self.facts["result"] or {}
        if result.get("report"):
            return self.client.report(result["report"])
        return self.client.load(result["release"]) if result.get("release") else result

    def cancel(self) -> Self:
        self.facts = self.client.call("POST", f"/jobs/{self.id}/cancel")
        return self


@dataclass
class RemoteRelease:
    """A release of a service, asked there: what it answers costs nothing."""

    client: Client = field(repr=False)
    facts: dict[str, Any]

    @property
    def id(self) -> str:
        return self.facts["id"]

    @property
    def name(self) -> str:
        return self.facts["name"]

    @property
    def guarantee(self) -> Guarantee | None:
        """What was promised; None for a model that protects nobody."""
        stated = self.facts["guarantee"]
        return None if stated is None else Guarantee.from_json(stated)

    def recommend(
        self,
        users: Sequence[Any] | None = None,
        n: int = 10,
        *,
        history: History | None = None,
        context: Mapping[str, str] | None = None,
        exclude_seen: bool = True,
        items: Sequence[Any] | None = None,
    ) -> pl.DataFrame:
        """The best ``n`` items for a history, or for users among the records, as ``Recommender.recommend``."""
        if users is not None:
            if context is not None or items is not None or not exclude_seen:
                raise UsageError("users are asked for without context, items and exclude_seen.")
            chosen = [users] if isinstance(users, str) else list(users)
            entries = self._post("recommend/batch", {"users": chosen, "n": n})["entries"]
            rows = [{"user_id": user, **row} for user, one in zip(chosen, entries, strict=True) for row in one["items"]]
            return pl.DataFrame(rows, infer_schema_length=None)
        given = {"context": context, "items": None if items is None else list(items)}
        body = {"history": _posted(history), "n": n, "exclude_seen": exclude_seen}
        found = self._post("recommend", body | {name: value for name, value in given.items() if value is not None})
        return pl.DataFrame(found["items"], infer_schema_length=None)

    def similar_items(self, items: Any, n: int = 10) -> pl.DataFrame:
        """The items most like each of these: item_id, similar_id, score, rank."""
        wanted = [items] if isinstance(items, str | int) else list(dict.fromkeys(items))
        entries = self._post("similar", {"items": wanted, "n": n})["entries"]
        rows = [
            {"item_id": item, "similar_id": row["item_id"], "score": row["score"], "rank": row["rank"]}
            for item, one in zip(wanted, entries, strict=True)
            for row in one["items"]
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def describe(self) -> str:
        """The guarantee in labelled lines."""
        return "This model protects nobody." if self.guarantee is None else self.guarantee.describe()

    def predict(self, items: Sequence[Any], *, history: History | None = None, user: Any = None) -> pl.DataFrame:
        """Predicted ratings of items for somebody with this history, or for a user: item_id, score."""
        whom = {"history": _posted(history)} if user is None else {"user": user}
        found = self._post("predict", {"items": list(items), **whom})["items"]
        rows = [{"item_id": one["item_id"], "score": one["score"]} for one in found]
        return pl.DataFrame(rows, infer_schema_length=None)

    def recommend_tags(
        self, resources: Sequence[Any], n: int = 10, *, own: Sequence[tuple[Any, str]] = (), user: Any = None
    ) -> pl.DataFrame:
        """Tags for resources, for somebody who has tagged before as ``own`` says, or for a user: resource_id, tag, …"""
        mine = [{"resource": resource, "tag": tag} for resource, tag in own]
        whom = {"own": mine} | ({} if user is None else {"user": user})
        entries = self._post("tags", {"resources": list(resources), "n": n, **whom})["entries"]
        rows = [{"resource_id": one["resource"], **tag} for one in entries for tag in one["tags"]]
        return pl.DataFrame(rows, infer_schema_length=None)

    def top(self, k: int = 10, **context: str) -> pl.DataFrame:
        """The most popular items of counts, in all or in a context such as weekday="Tuesday"."""
        where = [f"{name}={value}" for name, value in context.items()]
        found = self.client.call("GET", f"{self._path}/top", params={"k": k, "where": where})
        return pl.DataFrame(found["entries"], infer_schema_length=None)

    def answers(self, queries: Any = None) -> pl.DataFrame:
        """The answers of a release of answers; with ``queries`` to others, from its histogram or its tree."""
        if queries is not None:
            return pl.DataFrame(self._post("answers", {"queries": queries})["entries"], infer_schema_length=None)
        return pl.DataFrame(self.client.pages(f"{self._path}/answers"), infer_schema_length=None)

    def table(self, part: str | None = None, rows: int = 1000) -> pl.DataFrame:
        """The first rows of a table of the release."""
        query = {"rows": rows} | ({} if part is None else {"part": part})
        found = self.client.call("GET", f"{self._path}/table", params=query)
        return pl.DataFrame(found["rows"], infer_schema_length=None)

    def verify(self) -> dict[str, Any]:
        """Check every file against its hash, and the release against the ledger."""
        return self.client.call("GET", f"{self._path}/verify")

    def download(self, folder: str | Path) -> Path:
        """Save the release in a new folder: ``Release.load`` and ``load_model`` read it."""
        place = Path(folder)
        place.mkdir(parents=True)
        with ZipFile(BytesIO(self.client.call("GET", f"{self._path}/download", raw=True))) as packed:
            for one in packed.infolist():
                (place / Path(one.filename).name).write_bytes(packed.read(one))
        return place

    @property
    def _path(self) -> str:
        return f"/releases/{self.id}"

    def _post(self, what: str, body: dict[str, Any]) -> Any:
        return self.client.call("POST", f"{self._path}/{what}", json=body)


@dataclass
class RemoteSession:
    """A session of questions that a service holds."""

    client: Client = field(repr=False)
    id: str

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Label, answer and source of one question."""
        return self.client.call("POST", f"/sessions/{self.id}/ask", json={"question": dict(question)})

    def close(self) -> RemoteRelease:
        """End it: all answers as a release."""
        return RemoteJob(self.client, self.client.call("POST", f"/sessions/{self.id}/close")).wait()


@dataclass
class RemoteSeries:
    """A series of releases that a service makes, one step after the other, as ``discreet.Series``.

    Attributes
    ----------
    asked : dict
        Method, settings and terms, as they are sent when the series is opened.
    id : str
        Of the series; empty until it is open.
    """

    client: Client = field(repr=False)
    asked: dict[str, Any]
    id: str = ""

    def estimate(self, data: str) -> dict[str, Any]:
        """What to expect: noise of the first and the last step. Nothing is spent."""
        return self.client.call("POST", "/series/estimate", json={**self.asked, "dataset": data})

    def open(self, data: str, *, key: str | None = None) -> Self:
        """Charge the whole series. The same ``key`` finds the series that was opened under it."""
        job = self.client._spent("/series", {**self.asked, "dataset": data}, key)
        job.wait()
        self.id = job.id
        return self

    def advance(self, data: str, *, step: int | None = None) -> RemoteJob:
        """Take the records of a step, the next one unless given; ``wait`` of the job gives the release.

        A step that was taken is given out again, so a program that names its step can be run twice.
        """
        return RemoteJob(self.client, self.client.call("POST", f"{self._path}/advance", json=_step(data, step)))

    def release(self, step: int | None = None) -> RemoteRelease | None:
        """The release of a step that was taken, the latest unless given; None for one that released nothing."""
        shown = self.show()
        number = shown["last"] if step is None else step
        if not 0 <= number <= shown["last"]:
            raise UsageError(f"step {number} was not taken; the latest is {shown['last']}.")
        found = next((one["id"] for one in shown["releases"] if one["step"] == number and one["id"]), None)
        return None if found is None else self.client.load(found)

    def show(self) -> dict[str, Any]:
        """Where the series stands."""
        return self.client.call("GET", self._path)

    @property
    def last(self) -> int:
        """The step that was taken last; −1 before the first."""
        return self.show()["last"]

    @property
    def missed(self) -> tuple[int, ...]:
        """Steps that were left out."""
        return tuple(self.show()["missed"])

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about all steps together."""
        return Guarantee.from_json(self.show()["guarantee"])

    @property
    def _path(self) -> str:
        if not self.id:
            raise UsageError("this series is not open.", remedy="Call open(data) first.")
        return f"/series/{self.id}"


def _step(data: str, step: int | None) -> dict[str, Any]:
    return {"dataset": data} if step is None else {"dataset": data, "step": step}


def error_of(problem: Mapping[str, Any]) -> DiscreetError:
    """A problem of the service as the error of the library."""
    kind = _ERRORS.get(problem.get("code", ""), DiscreetError)
    what, remedy = problem.get("detail", "the service refused."), problem.get("remedy", "")
    if kind is DataError:
        where = {name: value for name, value in (problem.get("where") or {}).items() if name in _PLACES}
        return DataError(what, remedy=remedy, **where)
    return kind(what, remedy=remedy)


_PLACES = ("file", "line", "row", "column", "value")


def _posted(history: History | None) -> Any:
    if history is None:
        raise UsageError("say either whom to recommend to or which history to go by.")
    if isinstance(history, str):
        return [history]
    return {str(item): value for item, value in history.items()} if isinstance(history, Mapping) else list(history)
