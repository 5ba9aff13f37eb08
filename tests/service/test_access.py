"""Who may do what, cell by cell; keys that are expired, revoked, rotated, malformed, of another tenant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import sqlalchemy as sql
from fastapi.testclient import TestClient
from tests.service.access_table import DOCUMENT, ROLES, TABLE, Row, document, fresh
from tests.service.conftest import COUNTS, MODEL, Running, start
from typer.testing import CliRunner

from discreet.cli.app import app as command
from discreet.service import remembering
from discreet.service.app import create_app
from discreet.service.reports import keep
from discreet.service.schema import KEYS, REPORTS
from discreet.service.settings import ServiceSettings
from discreet.service.tasks import Task


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with a key of every role, a release, a report, and another tenant."""
    folder = tmp_path_factory.mktemp("access")
    running = start(folder, queue_limit=1000, key_queue_limit=1000, tenant_roots=(("shop", folder),))
    running.run(MODEL, under="model")
    for role in ROLES[1:]:
        key, secret = running.issue(role)
        running.keys[role] = secret
        if role == "analyst":
            running.call("PUT", f"/populations/viewers/allowances/{key}", json={"epsilon": 1})
    token = running.hub.keys.add_tenant("rival")[1]
    running.keys["rival"] = running.hub.keys.redeem(token, "rita")
    running.keys["curator"] = running.key
    job = running.call("POST", "/runs/rehearse", json=COUNTS).json()["id"]
    row = running.hub.jobs.find(job)
    keep(Task(running.hub.store, row), "nothing found", {})  # as an audit does; real ones take seconds
    for kind in ("audit", "risk"):
        with running.hub.store.write() as connection:
            values = {**row_of(connection, REPORTS), "id": f"rep_{kind}", "kind": kind}
            connection.execute(sql.insert(REPORTS).values(**values))
    with running.web:
        yield running


def row_of(connection: Any, table: Any) -> dict[str, Any]:
    """The first row of a table, without its number."""
    row = connection.execute(sql.select(table).order_by(table.c.number)).mappings().first()
    return {name: value for name, value in row.items() if name != "number"}


def test_an_auditor_sees_audits_and_no_other_report(service: Running) -> None:
    assert {one["kind"] for one in service.get("/reports")["entries"]} >= {"audit", "risk"}
    assert {one["kind"] for one in service.get("/reports", key=service.keys["auditor"])["entries"]} == {"audit"}
    assert service.call("GET", "/reports/rep_risk", key=service.keys["auditor"]).status_code == 404


def ask(service: Running, row: Row, key: str | None, role: str) -> httpx.Response:
    made = fresh(service)
    path = re.sub(r"{(\w+)}", lambda found: made[found[1]](role), row.path)
    headers = {"Idempotency-Key": f"{role}-{row.route}"} | ({} if key is None else {"Authorization": f"Bearer {key}"})
    given = dict(row.given)
    if "json" in given and given["json"].get("path"):
        given["json"] = {**given["json"], "path": str(service.folder / given["json"]["path"])}
    if role != "curator" and "json" in given and (row.status == 201 or row.path == "/v1/runs"):
        given["json"] = {**given["json"], "name": f"of {role}"}
    return service.web.request(row.method, path, headers=headers, **given)


def routes(service: Running) -> set[str]:
    """All routes that a program can use: those of the description, and the description itself."""
    described = service.web.get("/v1/openapi.json").json()["paths"]
    return {f"{method.upper()} {path}" for path, found in described.items() for method in found} | {
        "GET /v1/openapi.json"
    }


def test_every_route_is_in_the_table(service: Running) -> None:
    assert routes(service) == {row.route for row in TABLE}
    hidden = {path for one in service.web.app.routes if (path := getattr(one, "path", "")).startswith("/v1")}  # type: ignore[attr-defined]
    assert hidden <= {row.path for row in TABLE}


def test_the_page_of_the_documentation_is_this_table() -> None:
    assert DOCUMENT.read_text() == document(), "run python -m tests.service.access_table"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.route)
def test_each_role_may_what_the_table_says(service: Running, row: Row) -> None:
    for role in () if row.path.endswith("/events") else ROLES:  # these have a test of their own
        answer = ask(service, row, service.keys[role], role)
        expected = row.status if role in row.may else 403
        assert answer.status_code == expected, (role, answer.text)
    without = ask(service, row, None, "curator")
    assert without.status_code == (row.status if "no key" in row.may else 401)


@pytest.mark.parametrize("role", ROLES)
def test_events_are_for_those_who_see_the_job(service: Running, role: str) -> None:
    job = fresh(service)["job"](role)
    service.call("POST", f"/jobs/{job}/cancel", key=service.keys["analyst"] if role == "analyst" else None)
    answer = service.call("GET", f"/jobs/{job}/events", key=service.keys[role])
    assert answer.status_code == (200 if role in ("curator", "analyst") else 403)
    others = service.call("GET", f"/jobs/{fresh(service)['job']('curator')}", key=service.keys["analyst"])
    assert others.status_code == 404


@pytest.mark.parametrize("row", [row for row in TABLE if row.names], ids=lambda row: row.route)
def test_what_belongs_to_another_tenant_is_not_there(service: Running, row: Row) -> None:
    answer = ask(service, row, service.keys["rival"], "curator")
    assert answer.status_code == 404, answer.text
    missing = service.web.request(
        row.method, re.sub(r"{\w+}", "missing", row.path), headers=service.headers(service.keys["rival"]), **row.given
    )
    assert missing.status_code == 404
    words = [set(re.sub(r"'[^']*'", "", one.json()["detail"]).split()) for one in (answer, missing)]
    assert words[0] == words[1]


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.method == "GET" and not row.names], ids=lambda row: row.route
)
def test_no_list_shows_anything_of_another_tenant(service: Running, row: Row) -> None:
    secrets = [one["id"] for one in service.get("/keys")["entries"]] + ["viewers", "films", "nightly", "carla", "shop"]
    secrets += [one["id"] for path in ("/jobs", "/releases", "/reports") for one in service.get(path)["entries"]]
    headers = service.headers(service.keys["rival"])
    answer = service.web.get(row.path.replace("{method}", "weighted"), headers=headers)
    shown = re.sub(r'"(examples?|description|summary)": *(\[[^\]]*\]|"[^"]*")', "", answer.text)
    if row.path != "/v1/openapi.json" and "methods" not in row.path:
        assert not [one for one in secrets if one in shown]


def test_another_tenant_cannot_name_our_things_in_a_body(service: Running) -> None:
    for path, body in {
        "/runs/estimate": COUNTS,
        "/runs/rehearse": COUNTS,
        "/runs": COUNTS,
        "/reports/audit": {"dataset": "films", "method": "ppns", "settings": {"epsilon": 1}},
        "/reports/risk": {"release": "nightly"},
        "/reports/attack": {"dataset": "films", "against": ["knn"]},
        "/series": {"dataset": "films", "method": "weighted", "settings": {"epsilon": 1, "cap": 3}, "steps": 2},
        "/sessions": {"dataset": "films", "settings": {"epsilon": 1}},
    }.items():
        headers = {"Idempotency-Key": "rival"}
        answer = service.call("POST", path, key=service.keys["rival"], json=body, headers=headers)
        assert answer.status_code == 404, answer.text
    made = service.call("POST", "/populations", key=service.keys["rival"], json={"name": "viewers", "epsilon": 1})
    assert made.status_code == 201  # the same name, and other people
    assert service.get("/populations/viewers")["account"]["limit"]["epsilon"] == "4"


def test_curators_of_several_tenants_register_no_file_of_each_other(service: Running) -> None:
    given = {"name": "stolen", "population": "viewers", "path": str(service.folder / "films.parquet")}
    service.call("POST", "/populations", key=service.keys["rival"], json={"name": "viewers", "epsilon": 1})
    answer = service.call("POST", "/datasets", key=service.keys["rival"], json=given)
    assert (answer.status_code, answer.json()["code"]) == (422, "path")
    assert str(service.folder) not in answer.json()["remedy"]


def test_files_of_the_service_itself_are_not_registered(service: Running) -> None:
    given = {"name": "itself", "population": "viewers", "path": str(service.folder / "service" / "service.db")}
    assert service.call("POST", "/datasets", json=given).json()["code"] == "path"


# Keys


def forget(service: Running) -> None:
    """As if a moment had passed: keys that were found good are looked up again."""
    service.hub.keys._good.clear()


@pytest.mark.parametrize(
    "given",
    [
        "",
        "x",
        "dk",
        "dk_",
        "dk__",
        "dk_zz_zz",
        "dk_{id}_",
        "dk_{id}_{other}",
        "{id}",
        "dk_{id}_\u00e9",
        "dk_%00_x",
        "x" * 9000,
    ],
)
def test_a_malformed_key_opens_nothing(service: Running, given: str) -> None:
    mine = service.key.split("_")
    text = given.format(id=mine[1], other=service.keys["rival"].split("_", 2)[2])
    answer = service.web.get("/v1/me", headers={"Authorization": f"Bearer {text}".encode()})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    for scheme in ("Basic", "", "bearer,"):
        assert service.web.get("/v1/me", headers={"Authorization": f"{scheme} {service.key}"}).status_code == 401


def test_two_headers_with_keys_are_not_one_key(service: Running) -> None:
    headers = [("Authorization", "Bearer x"), ("Authorization", f"Bearer {service.key}")]
    assert service.web.get("/v1/me", headers=headers).status_code == 401


def test_an_expired_a_revoked_and_a_rotated_key_open_nothing(service: Running) -> None:
    key, secret = service.issue("auditor", days=1)
    assert service.get("/me", key=secret)["role"] == "auditor"
    with service.hub.store.write() as connection:
        connection.execute(sql.update(KEYS).where(KEYS.c.id == key).values(expires="2020-01-01T00:00:00Z"))
    forget(service)
    assert service.call("GET", "/me", key=secret).status_code == 401
    key, secret = service.issue("auditor")
    rotated = service.call("POST", f"/keys/{key}/rotate").json()["key"]
    assert service.call("GET", "/me", key=secret).status_code == 401
    assert service.get("/me", key=rotated)["key"] == key
    assert service.call("DELETE", f"/keys/{key}").status_code == 204
    assert service.call("GET", "/me", key=rotated).status_code == 401


def test_keys_are_in_no_answer_and_no_log(service: Running) -> None:
    _, secret = service.issue("auditor")
    hidden = secret.split("_", 2)[2]
    for path in ("/keys", "/log", "/me"):
        assert hidden not in service.call("GET", path).text
    assert hidden not in (service.folder / "service/service.db").read_bytes().decode("latin-1")


def test_a_revoked_key_stops_what_it_asked_for_and_was_not_charged(service: Running) -> None:
    key, secret = service.issue("analyst")
    service.call("PUT", f"/populations/viewers/allowances/{key}", json={"epsilon": "1/2"})
    body = {**COUNTS, "name": "of a revoked key"}
    job = service.call("POST", "/runs", key=secret, json=body, headers={"Idempotency-Key": "a"}).json()["id"]
    service.call("DELETE", f"/keys/{key}")
    assert service.work(job)["state"] == "cancelled"


def test_a_key_sees_and_asks_the_releases_of_its_scope(service: Running) -> None:
    nightly = service.get("/releases/nightly")["id"]
    other = service.run({**COUNTS, "settings": {"epsilon": "1/8", "cap": 30}}, under="other")["result"]["release"]
    _, secret = service.issue("application", releases=[nightly])
    assert [one["id"] for one in service.get("/releases?limit=1", key=secret)["entries"]] == [nightly]
    assert service.call("GET", f"/releases/{other}", key=secret).status_code == 404
    assert service.call("GET", f"/releases/{other}/top", key=secret).status_code == 404
    _, none = service.issue("application", releases=[])
    assert service.get("/releases", key=none)["entries"] == []
    assert service.call("POST", f"/releases/{nightly}/recommend", key=none, json={"history": []}).status_code == 404


def test_a_key_asks_for_the_users_of_its_scope(service: Running) -> None:
    assert service.call("PUT", "/datasets/films/asking", json={"allowed": True}).status_code == 204
    keys: dict[str, Any] = {"none": None, "one": ["user-3"], "all": "all"}
    users = {
        name: service.issue("application", **({} if scope is None else {"users": scope}))[1]
        for name, scope in keys.items()
    }
    for name, expected in {"none": (403, 403), "one": (200, 403), "all": (200, 200)}.items():
        for user, status in zip(("user-3", "user-4"), expected, strict=True):
            asked = {"user": user, "n": 3}
            answer = service.call("POST", "/releases/nightly/recommend", key=users[name], json=asked)
            assert answer.status_code == status, (name, user, answer.text)
    analyst = service.call("POST", "/releases/nightly/recommend", key=service.keys["analyst"], json={"user": "user-3"})
    assert analyst.status_code == 403


def test_allowances_are_for_analysts(service: Running) -> None:
    key, _ = service.issue("auditor")
    answer = service.call("PUT", f"/populations/viewers/allowances/{key}", json={"epsilon": 1})
    assert (answer.status_code, answer.json()["code"]) == (409, "role")


# Without keys


def test_without_keys_it_listens_on_this_machine_alone(tmp_path: Any) -> None:
    answer = CliRunner().invoke(command, ["serve", "--insecure-local", "--host", "0.0.0.0", "--folder", str(tmp_path)])
    assert answer.exit_code != 0
    assert "would let everybody in" in answer.output + answer.stderr + str(answer.exception)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_without_keys_no_page_of_another_site_gets_in(tmp_path: Any, headers: dict[str, str], status: int) -> None:
    app = create_app(ServiceSettings(folder=tmp_path, insecure_local=True), jobs=False)
    web = TestClient(app, base_url="http://127.0.0.1:8000")
    assert web.get("/v1/me", headers=headers).status_code == status


def test_a_key_that_was_found_good_is_looked_up_again_after_a_moment() -> None:
    assert remembering.MOMENT <= 2
