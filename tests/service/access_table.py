"""Who may do what: every route and every role. A route that is not here fails a test.

``python -m tests.service.access_table`` writes the same table to docs/service-access.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.service.conftest import COUNTS, Running

DOCUMENT = Path(__file__).parents[2] / "docs/service-access.md"
ROLES = ("curator", "analyst", "application", "auditor")
EVERYBODY = frozenset(ROLES)
OPEN = frozenset((*ROLES, "no key"))
CURATOR, SPENDERS = frozenset(("curator",)), frozenset(("curator", "analyst"))
ASKERS, READERS = frozenset(("curator", "analyst", "application")), frozenset(("curator", "analyst", "auditor"))
AUDITORS = frozenset(("curator", "auditor"))


@dataclass(frozen=True, eq=False)
class Row:
    """One route.

    Attributes
    ----------
    may
        The roles that may use it.
    status
        What whoever may gets, with the service of the test.
    given
        What is sent with it.
    names
        What of the tenant stands in the path: for another tenant it is not there.
    """

    route: str
    may: frozenset[str]
    what: str
    status: int = 200
    given: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        return self.route.split()[0]

    @property
    def path(self) -> str:
        return self.route.split()[1]


def _json(**body: Any) -> dict[str, Any]:
    return {"json": body}


RUN = {"json": COUNTS}
UPLOAD = {
    "params": {"name": "more", "population": "viewers", "filename": "more.csv"},
    "content": b"user,item\nann,tea\n",
}

SESSION = _json(dataset="films", settings={"epsilon": "1/8", "updates": 2})
SERIES = _json(dataset="films", method="weighted", settings={"epsilon": "1/8", "delta": "1e-7", "cap": 5}, steps=2)

TABLE = (
    Row(
        "POST /v1/setup", OPEN, "get the first key, with the token of a one-time link", 401, _json(token="x", name="x")
    ),
    Row("GET /v1/me", EVERYBODY, "see what the own key may do"),
    Row("GET /v1/keys", CURATOR, "list keys"),
    Row("POST /v1/keys", CURATOR, "make a key", 201, _json(name="x", role="auditor")),
    Row("POST /v1/keys/{key}/rotate", CURATOR, "give a key a new secret", names=("key",)),
    Row("DELETE /v1/keys/{key}", CURATOR, "end a key", 204, names=("key",)),
    Row("GET /v1/populations", READERS, "list populations; an analyst those with an allowance"),
    Row("POST /v1/populations", CURATOR, "open the account of a population", 201, _json(name="new", epsilon=1)),
    Row("GET /v1/populations/{population}", READERS, "see limit, spent and left", names=("population",)),
    Row("GET /v1/populations/{population}/statement", AUDITORS, "see every charge", names=("population",)),
    Row(
        "PUT /v1/populations/{population}/allowances/{key}",
        CURATOR,
        "give an analyst an allowance",
        204,
        _json(epsilon=1),
        ("population", "key"),
    ),
    Row(
        "DELETE /v1/populations/{population}/allowances/{key}",
        CURATOR,
        "take an allowance away",
        204,
        names=("population", "key"),
    ),
    Row("GET /v1/datasets", READERS, "list datasets; others than the curator see what is public"),
    Row(
        "POST /v1/datasets",
        CURATOR,
        "register a file",
        202,
        _json(name="again", population="viewers", path="films.parquet"),
    ),
    Row("POST /v1/uploads", CURATOR, "upload records", 202, UPLOAD),
    Row(
        "PUT /v1/datasets/{dataset}/asking",
        CURATOR,
        "allow answers from people's own records",
        204,
        _json(allowed=False),
        ("dataset",),
    ),
    Row("DELETE /v1/datasets/{dataset}", CURATOR, "forget a dataset", 204, names=("dataset",)),
    Row("GET /v1/methods", EVERYBODY, "list methods and their settings"),
    Row("GET /v1/methods/{method}", EVERYBODY, "see one method"),
    Row("POST /v1/runs/estimate", SPENDERS, "see what a run would cost", 200, RUN),
    Row("POST /v1/runs/rehearse", SPENDERS, "run on invented people", 202, RUN),
    Row("POST /v1/runs", SPENDERS, "run; an analyst within the allowance", 202, RUN),
    Row("GET /v1/jobs", SPENDERS, "list jobs; an analyst their own"),
    Row("GET /v1/jobs/{job}", SPENDERS, "see a job; an analyst their own", names=("job",)),
    Row("POST /v1/jobs/{job}/cancel", SPENDERS, "cancel a job; an analyst their own", names=("job",)),
    Row("GET /v1/jobs/{job}/events", SPENDERS, "follow a job; an analyst their own", names=("job",)),
    Row("GET /v1/releases", EVERYBODY, "list releases; a key with a scope those that it names"),
    Row("GET /v1/releases/{release}", EVERYBODY, "see a release and its guarantee", names=("release",)),
    Row("GET /v1/releases/{release}/table", READERS, "see its table", names=("release",)),
    Row("GET /v1/releases/{release}/verify", READERS, "check it against its hashes and the ledger", names=("release",)),
    Row("GET /v1/releases/{release}/download", READERS, "get its files", names=("release",)),
    Row(
        "POST /v1/releases/{release}/recommend",
        ASKERS,
        "ask for recommendations",
        given=_json(history=["film-3"]),
        names=("release",),
    ),
    Row(
        "POST /v1/releases/{release}/recommend/batch",
        ASKERS,
        "the same for many",
        given=_json(histories=[["film-3"]]),
        names=("release",),
    ),
    Row("GET /v1/releases/{release}/similar/{item}", ASKERS, "ask for similar items", names=("release",)),
    Row(
        "POST /v1/releases/{release}/similar",
        ASKERS,
        "the same for many",
        given=_json(items=["film-3"]),
        names=("release",),
    ),
    Row(
        "POST /v1/releases/{release}/predict",
        ASKERS,
        "ask for ratings",
        given=_json(items=["film-3"], history={"film-4": 5}),
        names=("release",),
    ),
    Row("GET /v1/releases/{release}/items", ASKERS, "complete the name of an item", names=("release",)),
    Row("GET /v1/releases/{release}/top", ASKERS, "see the most popular items", 409, names=("release",)),
    Row("POST /v1/releases/{release}/tags", ASKERS, "ask for tags", 409, _json(resources=["x"]), names=("release",)),
    Row("GET /v1/releases/{release}/answers", ASKERS, "see answers to queries", 409, names=("release",)),
    Row(
        "POST /v1/releases/{release}/answers", ASKERS, "ask other queries", 409, _json(queries=[{}]), names=("release",)
    ),
    Row("POST /v1/sessions/estimate", SPENDERS, "see what a session would cost", 422, SESSION),
    Row("GET /v1/sessions", SPENDERS, "list sessions; an analyst their own"),
    Row("POST /v1/sessions", SPENDERS, "open a session of questions, charged once", 422, SESSION),
    Row("GET /v1/sessions/{session}", SPENDERS, "see a session; an analyst their own", 404),
    Row("POST /v1/sessions/{session}/ask", SPENDERS, "ask a question in it", 404, _json(question={})),
    Row("POST /v1/sessions/{session}/close", SPENDERS, "close it", 404),
    Row("POST /v1/series/estimate", CURATOR, "see what a series would cost", 200, SERIES),
    Row("POST /v1/series", CURATOR, "open a series, charged once", 202, SERIES),
    Row("GET /v1/series", AUDITORS, "list series"),
    Row("GET /v1/series/{series}", AUDITORS, "see a series", 404),
    Row("POST /v1/series/{series}/advance", CURATOR, "take the next step of a series", 404, _json(dataset="films")),
    Row(
        "POST /v1/reports/audit",
        CURATOR,
        "attack a method on the records",
        202,
        _json(dataset="films", method="ppns", settings={"epsilon": 1}),
    ),
    Row(
        "POST /v1/reports/attack",
        CURATOR,
        "play an attack on the records",
        202,
        _json(dataset="films", against=["knn"]),
    ),
    Row("POST /v1/reports/risk", CURATOR, "measure risk and utility over epsilon", 202, _json(dataset="films")),
    Row("POST /v1/reports/frontier", CURATOR, "measure accuracy over epsilon", 202, _json(dataset="films")),
    Row("GET /v1/reports", AUDITORS, "list reports; an auditor audits alone"),
    Row("GET /v1/reports/{report}", AUDITORS, "see a report; an auditor audits alone", names=("report",)),
    Row("GET /v1/log", AUDITORS, "see who did what"),
    Row("GET /metrics", AUDITORS, "figures for Prometheus"),
    Row("GET /health/live", OPEN, "whether the process answers"),
    Row("GET /health/ready", OPEN, "whether the database answers"),
    Row("GET /v1/openapi.json", OPEN, "the description of the API"),
)


def fresh(service: Running) -> dict[str, Callable[[str], str]]:
    """For every name in a path: something that is there, and that a request may end. Takes the role that asks."""

    def job(role: str) -> str:
        key = service.keys[role] if role in ("analyst",) else None
        return service.call("POST", "/runs/rehearse", key=key, json={**COUNTS, "name": f"of {role}"}).json()["id"]

    def dataset(role: str) -> str:
        from discreet.service.access import Caller

        curator: Caller = service.hub.keys.caller(service.key)
        name = f"films {len(service.hub.datasets.listed(curator))} {role}"
        file = service.folder / "films.parquet"
        made = service.hub.datasets.add(curator, name=name, population="viewers", file=file, reading={})
        service.hub.datasets.check(curator.tenant, made, curator.who)
        return made

    return {
        "key": lambda role: service.issue("analyst")[0],
        "population": lambda role: "viewers",
        "dataset": dataset,
        "method": lambda role: "weighted",
        "job": job,
        "release": lambda role: service.get("/releases/nightly")["id"],
        "item": lambda role: "film-3",
        "report": lambda role: "rep_audit",
        "session": lambda role: "missing",
        "series": lambda role: "missing",
    }


def document() -> str:
    """The page."""
    head = (
        "# Who may do what\n\n"
        "Every route of the [service](service-api.md) and every role. What belongs to another tenant is not there for"
        " anybody (404). The table is checked, cell by cell, and written, by `tests/service/access_table.py`.\n\n"
        f"| route | what it is for | {' | '.join(ROLES)} | no key |\n| --- | --- | {' | '.join(['---'] * 5)} |\n"
    )
    cells = {row: " | ".join("yes" if one in row.may else "" for one in (*ROLES, "no key")) for row in TABLE}
    return head + "".join(f"| `{row.route}` | {row.what} | {cells[row]} |\n" for row in TABLE)


if __name__ == "__main__":
    DOCUMENT.write_text(document())
