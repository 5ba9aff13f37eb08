"""A client of the service, with the method names of the library."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from discreet.errors import DiscreetError, MissingExtraError, UsageError
from discreet.service.remote import RemoteJob, RemoteRelease, RemoteSeries, RemoteSession, error_of
from discreet.service.store import fresh_id

__all__ = ["Client"]

TRIES, PAGE = 4, 200
PAUSE = 0.5


class Client:
    """A service, asked in Python.

    Parameters
    ----------
    url
        Where it is, such as "https://discreet.example.org".
    key
        A key of the service.
    timeout
        Seconds for one request.
    transport
        A transport of httpx, for tests.

    Notes
    -----
    Requests are tried again where the connection fails or the service is busy. Whatever spends is sent with one
    Idempotency-Key for all tries, so it is charged once. Errors are those of the library, with what and remedy.

    Examples
    --------
    ``docs/service-api.md`` has an example that runs.
    """

    def __init__(self, url: str, key: str, *, timeout: float = 60.0, transport: Any = None) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("httpx", "client") from None
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/v1", headers=headers, timeout=timeout, transport=transport
        )
        self._lost = httpx.TransportError
        self._url = url

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    # Populations and data

    def populations(self) -> list[dict[str, Any]]:
        """The populations that the key may know of."""
        return self.call("GET", "/populations")["entries"]

    def open(self, population: str, *, epsilon: Any, delta: Any = 0, **terms: Any) -> dict[str, Any]:
        """Open the account of a population, as ``Ledger.open``; ``open_to_analysts=True`` lets analysts use it."""
        given = {"epsilon": _number(epsilon), "delta": _number(delta), **terms}
        return self.call("POST", "/populations", json={"name": population, **given})

    def statement(self, population: str) -> dict[str, Any]:
        """What was spent about a population, and what is left, entry by entry."""
        return self.call("GET", f"/populations/{population}/statement")

    def datasets(self) -> list[dict[str, Any]]:
        """The datasets."""
        return self.call("GET", "/datasets")["entries"]

    def attach(
        self,
        data: str | Path,
        population: str,
        *,
        name: str,
        declared: Mapping[str, int] | None = None,
        on_server: bool = False,
        **reading: Any,
    ) -> RemoteJob:
        """Give the service a file of records: it is uploaded, or with ``on_server=True`` read where it is.

        Parameters
        ----------
        declared
            Public figures for estimates and rehearsals, such as {"users": 10_000}.
        reading
            As for ``discreet.read``: names of columns, scale, …
        """
        facts = {"name": name, "population": population}
        if on_server:
            body = {**facts, "path": str(data), "reading": reading, "declared": dict(declared or {})}
            return RemoteJob(self, self.call("POST", "/datasets", json=body)["job"])
        texts = {"reading": json.dumps(reading), "declared": json.dumps(dict(declared or {}))}
        query = {**facts, "filename": Path(data).name, **texts}
        with open(data, "rb") as file:
            return RemoteJob(self, self.call("POST", "/uploads", params=query, content=file, tries=1)["job"])

    # Runs

    def estimate(self, method: str, data: str, **given: Any) -> dict[str, Any]:
        """What a run would cost, whether it fits, and what to expect. Nothing is spent."""
        return self.call("POST", "/runs/estimate", json=_run(method, data, given))

    def rehearse(self, method: str, data: str, **given: Any) -> RemoteJob:
        """The whole job on invented people."""
        return RemoteJob(self, self.call("POST", "/runs/rehearse", json=_run(method, data, given)))

    def release(self, method: str, data: str, *, key: str | None = None, **given: Any) -> RemoteJob:
        """Charge the population, draw the noise, keep the release.

        Parameters
        ----------
        method, data
            A name of the registry, and the name of a dataset.
        key
            The Idempotency-Key. Give one, such as "customers-2026-11-18", to get the same job and the same release
            when the whole program is run again; otherwise every call is a run of its own.
        given
            Settings of the method, and ``name``, ``contexts``, ``queries``, ``coupling``, ``allow_refuted``.
        """
        return self._spent("/runs", _run(method, data, given), key)

    def fit(self, method: str, data: str, *, key: str | None = None, **given: Any) -> RemoteJob:
        """The same, for a recommender."""
        return self.release(method, data, key=key, **given)

    def session(self, data: str, *, key: str | None = None, **settings: Any) -> RemoteSession:
        """Open a session of questions about a table; it is charged once."""
        given = {name: settings.pop(name) for name in ("name", "coupling", "questions") if name in settings}
        body = {"dataset": data, "settings": {name: _number(one) for name, one in settings.items()}, **given}
        return RemoteSession(self, self._spent("/sessions", body, key).id)

    def series(self, method: str, *, steps: int, **given: Any) -> RemoteSeries:
        """A series of releases at one price for all of them, as ``discreet.Series``; ``open`` charges it.

        Parameters
        ----------
        given
            Settings of the method, and ``name``, ``contexts``, ``records``, ``enter_after``, ``settle``, ``people``,
            ``window``, ``time_zone`` of the series.
        """
        own = {name: given.pop(name) for name in SERIES if name in given}
        settings = {name: _number(value) for name, value in given.items()}
        return RemoteSeries(self, {"method": method, "settings": settings, "steps": steps, **own})

    def resume(self, series: str) -> RemoteSeries:
        """A series that is open, by its id or its name; of several with one name the latest."""
        known = self.all_series()
        found = next((one for one in known if series in (one["id"], one["name"])), None)
        if found is None:
            raise UsageError(f"there is no series {series!r}.", remedy="Open one first.")
        terms = {name: found[name] for name in ("steps", *SERIES) if name in found}
        asked = {"method": found["method"], "settings": found["parameters"], **terms}
        return RemoteSeries(self, asked, found["id"])

    def all_series(self) -> list[dict[str, Any]]:
        """The series, the latest first."""
        return self.call("GET", "/series")["entries"]

    def job(self, job: str) -> RemoteJob:
        """A job."""
        return RemoteJob(self, self.call("GET", f"/jobs/{job}"))

    def _spent(self, path: str, body: dict[str, Any], key: str | None) -> RemoteJob:
        headers = {"Idempotency-Key": fresh_id("run") if key is None else key}
        return RemoteJob(self, self.call("POST", path, json=body, headers=headers))

    # Measured on the records, for curators

    def audit(
        self, method: str | None = None, data: str | None = None, *, release: str | None = None, **given: Any
    ) -> RemoteJob:
        """Attack a method on a dataset, or that of a release, as ``discreet.audit``.

        Parameters
        ----------
        given
            ``settings`` of the method as a dict, and options of the audit: seconds, runs, attacks, …
        """
        settings = given.pop("settings", {})
        return self._report("audit", method, data, release, settings=settings, options=given)

    def attack(self, attack: str, data: str, *, against: Sequence[str], **given: Any) -> RemoteJob:
        """Play an attack against several models: "sybil", "lia", …"""
        body = {"attack": attack, "dataset": data, "against": list(against), **given}
        return RemoteJob(self, self.call("POST", "/reports/attack", json=body))

    def risk(
        self, method: str | None = None, data: str | None = None, *, release: str | None = None, **given: Any
    ) -> RemoteJob:
        """What an attacker learns, and what is left of the lists, over epsilon."""
        return self._report("risk", method, data, release, **given)

    def frontier(
        self, method: str | None = None, data: str | None = None, *, release: str | None = None, **given: Any
    ) -> RemoteJob:
        """Accuracy over epsilon on held-out people, beside a model without privacy."""
        return self._report("frontier", method, data, release, **given)

    def reports(self) -> list[dict[str, Any]]:
        """All reports that were kept, the latest first, without their contents."""
        return self.pages("/reports")

    def report(self, report: str) -> dict[str, Any]:
        """A report."""
        return self.call("GET", f"/reports/{report}")

    def _report(self, kind: str, method: str | None, data: str | None, release: str | None, **given: Any) -> RemoteJob:
        named = {"method": method, "dataset": data, "release": release}
        body = {name: value for name, value in named.items() if value is not None} | given
        return RemoteJob(self, self.call("POST", f"/reports/{kind}", json=body))

    # Releases

    def releases(self, population: str | None = None) -> list[RemoteRelease]:
        """All releases that the key may see, the latest first."""
        query = {} if population is None else {"population": population}
        return [RemoteRelease(self, one) for one in self.pages("/releases", **query)]

    def load(self, release: str) -> RemoteRelease:
        """A release by its id, or the latest of a name."""
        return RemoteRelease(self, self.call("GET", f"/releases/{release}"))

    # Requests

    def pages(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """All entries of a list that comes in pages."""
        entries, cursor = [], None
        while True:
            asked = {"limit": PAGE, **query} | ({} if cursor is None else {"cursor": cursor})
            found = self.call("GET", path, params=asked)
            entries += found["entries"]
            if (cursor := found["next"]) is None:
                return entries

    def call(self, method: str, path: str, *, tries: int = TRIES, raw: bool = False, **given: Any) -> Any:
        """Send a request to a route below /v1; its answer, or the error of the library that it tells."""
        for left in reversed(range(tries)):
            try:
                answer = self._http.request(method, path, **given)
            except self._lost as error:
                if left:
                    time.sleep(PAUSE)
                    continue
                raise DiscreetError(
                    f"the service at {self._url} does not answer ({type(error).__name__}).",
                    remedy="Check the address, or try again; what was sent under a key is charged once.",
                ) from None
            if answer.status_code in (429, 503) and left:
                time.sleep(min(float(answer.headers.get("Retry-After", PAUSE)), 30.0))
                continue
            if answer.is_success:
                return answer.content if raw else answer.json() if answer.content else None
            raise error_of(_problem(answer))
        raise AssertionError("at least one try")


def _problem(answer: Any) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"detail": f"the service answered {answer.status_code}."}


SERIES = ("name", "contexts", "records", "enter_after", "settle", "people", "window", "time_zone")
"""What belongs to a series beside its method."""

RUN = ("name", "contexts", "queries", "coupling", "allow_refuted")


def _run(method: str, data: str, given: dict[str, Any]) -> dict[str, Any]:
    """The body of a run: what belongs to the run, and the rest as settings of the method."""
    own = {name: given[name] for name in RUN if name in given}
    settings = {name: _number(value) for name, value in given.items() if name not in RUN}
    return {"dataset": data, "method": method, "settings": settings, **own}


def _number(value: Any) -> Any:
    """Exact numbers as text; what JSON has as it is."""
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)
