"""The quick way to an answer: the same answers and refusals as the route, and permissions that end at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import MODEL, Running, start
from tests.service.test_asking import RATINGS

from discreet.service.api import quick
from discreet.service.keys import Keys
from discreet.service.remembering import Recent

QUICK = {"Content-Type": "application/json"}
ROUTE = {"Content-Type": "application/json; charset=utf-8"}
"""What the quick way leaves to the route."""

LONG = "x" * 1001


def posted(service: Running, body: bytes | str, headers: dict[str, str], **given: Any) -> tuple[int, Any]:
    content = body if isinstance(body, bytes) else body.encode()
    answer = service.call("POST", f"/releases/{given.pop('release', 'nightly')}", content=content, headers=headers)
    return answer.status_code, answer.json()


def is_quick(service: Running, body: bytes | str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether an answer comes without a route."""
    stack: Any = service.web.app
    posted(service, '{"history": ["film-1"]}', ROUTE, release="nightly/recommend")  # loads everything
    asked: list[str] = []

    async def route(*_: Any) -> None:
        asked.append("route")
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(stack.middleware_stack.app, "app", route)
        content = body if isinstance(body, bytes) else body.encode()
        service.call("POST", "/releases/nightly/recommend", content=content, headers=QUICK)
    return not asked


QUESTIONS = [
    ('{"history": ["film-3", "film-9"]}', True),
    ('{"history": ["film-3", "film-9", "film-3"], "n": 4}', True),
    ('{"history": {"film-3": 5, "film-9": 1.5}, "n": 1000}', True),
    ('{"history": []}', True),
    ('{"history": {}}', True),
    ('{"history": ["film-3", "no such film", 7]}', True),
    ('{"history": ["\\u00e9 \\ud83d\\ude00"]}', True),
    ('{"history": [1], "history": ["film-3"]}', True),
    (f'{{"history": ["{LONG[:1000]}"]}}', True),
    (f'{{"history": ["{LONG}"]}}', False),
    (f'{{"history": {{"{LONG}": 1}}}}', False),
    ('{"history": ["film-3"], "n": 0}', False),
    ('{"history": ["film-3"], "n": 1001}', False),
    ('{"history": ["film-3"], "n": true}', False),
    ('{"history": ["film-3"], "n": 2.0}', False),
    ('{"history": ["film-3"], "n": null}', False),
    ('{"history": ["film-3"], "items": ["film-4"]}', False),
    ('{"history": ["film-3"], "exclude_seen": false}', False),
    ('{"history": ["film-3"], "unknown": 1}', False),
    ('{"history": [true]}', False),
    ('{"history": [1.0]}', False),
    ('{"history": [null]}', False),
    ('{"history": [["film-3"]]}', False),
    ('{"history": {"film-3": "5"}}', False),
    ('{"history": {"film-3": true}}', False),
    ('{"history": {"film-3": NaN}}', False),
    ('{"history": {"film-3": 1e999}}', False),
    ('{"history": "film-3"}', False),
    ('{"history": null}', False),
    ('{"history": ["a\\u0000b"]}', False),
    ('{"history": ["\\ud800"]}', False),
    ('{"history": [' + "9" * 30 + "]}", False),
    ('{"history": [' + ",".join(["1"] * 10_001) + "]}", False),
    ('{"history": ' + "[" * 2000 + "}", False),
    ("[]", False),
    ("{}", False),
    ("", False),
    (b'{"history": ["\xff"]}', False),
]


@pytest.mark.parametrize(("body", "is_plain"), QUESTIONS, ids=lambda one: str(one)[:40])
def test_the_quick_way_and_the_route_say_the_same(
    shared: Running, body: str | bytes, is_plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = posted(shared, body, QUICK, release="nightly/recommend")
    shared.hub.asking._answers.clear()
    assert is_quick(shared, body, monkeypatch) is is_plain
    shared.hub.asking._answers.clear()
    assert posted(shared, body, ROUTE, release="nightly/recommend") == found
    shared.hub.asking._answers.clear()
    assert posted(shared, body, QUICK, release="nightly/recommend") == found


BATCHES = [
    '{"histories": [["film-3"], {"film-3": 5, "x": 2}, [], ["y", "film-4", "film-4"]], "n": 3}',
    '{"histories": []}',
    '{"histories": [["film-3"]], "n": 1000}',  # fewer exist
    '{"histories": [["film-3"], [true]]}',
    f'{{"histories": [["{LONG}"]]}}',
    '{"histories": [["film-3"]], "users": ["u3"]}',
    '{"histories": [["film-3"]], "n": 0}',
    '{"histories": {}}',
    '{"histories": null, "users": null}',
    '{"histories": [' + ",".join(["[]"] * 10_001) + "]}",
    '{"users": {"u3": 1}}',
    '{"users": [1.5]}',
    '{"users": [true]}',
    "{}",
]


@pytest.mark.parametrize("body", BATCHES, ids=lambda one: str(one)[:40])
def test_a_batch_without_a_mistake_is_read_quickly_and_says_the_same(shared: Running, body: str) -> None:
    found = posted(shared, body, QUICK, release="nightly/recommend/batch")
    assert posted(shared, body, ROUTE, release="nightly/recommend/batch") == found


def test_whole_numbers_are_not_truth_values() -> None:
    assert quick._plain(b'{"history": [1]}') == ([1], 10)
    assert quick._plain(b'{"history": [true]}') is None


def test_what_is_not_the_question_goes_to_its_route(shared: Running) -> None:
    for method, path, status in (
        ("GET", "/releases/nightly/recommend", 405),
        ("POST", "/releases/a/b/recommend", 404),
        ("POST", "/releases//recommend", 404),
        ("POST", "/releases/nothing/recommend", 404),
    ):
        answer = shared.call(method, path, content=b'{"history": []}', headers=QUICK)
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["x-frame-options"] == "DENY"


def test_roles_and_scopes_hold_on_the_quick_way(shared: Running) -> None:
    posted(shared, '{"history": []}', QUICK, release="nightly/recommend")
    for role, more, status in (("auditor", {}, 403), ("application", {"releases": []}, 404), ("application", {}, 200)):
        _, key = shared.issue(role, **more)
        for _ in range(2):  # looked up, and remembered
            answer = shared.call("POST", "/releases/nightly/recommend", key=key, json={"history": []})
            assert answer.status_code == status


def test_every_answer_is_counted_once_and_a_key_that_asks_too_often_waits(tmp_path: Path) -> None:
    running = start(tmp_path, rate_limit=2)
    running.run(MODEL, under="a")
    tenant = running.hub.keys.caller(running.key).tenant
    _, key = running.issue("application")
    before, path = running.hub.requests_of(tenant), "/releases/nightly/recommend"
    codes = [running.call("POST", path, key=key, json={"history": [], "n": n}).status_code for n in range(1, 21)]
    assert (codes, running.hub.requests_of(tenant) - before) == ([200] * 20, 20)
    refused = running.call("POST", path, key=key, json={"history": []})
    assert (refused.status_code, refused.json()["code"]) == (429, "rate")
    assert int(refused.headers["Retry-After"]) >= 1


def test_a_body_in_parts_is_one_question(shared: Running) -> None:
    answer = shared.call(
        "POST", "/releases/nightly/recommend", content=iter([b'{"history": ', b'["film-3"]}']), headers=QUICK
    )
    assert answer.json() == posted(shared, '{"history": ["film-3"]}', QUICK, release="nightly/recommend")[1]


# Permissions that end


def test_a_revoked_key_is_refused_at_once(service: Running) -> None:
    service.run(MODEL, under="a")
    key, secret = service.issue("application")
    for _ in range(3):
        assert service.call("POST", "/releases/nightly/recommend", key=secret, json={"history": []}).status_code == 200
    service.call("DELETE", f"/keys/{key}")
    assert service.call("POST", "/releases/nightly/recommend", key=secret, json={"history": []}).status_code == 401


def test_a_key_that_is_revoked_while_it_is_looked_up_is_not_remembered(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, secret = service.issue("auditor")
    keys, curator = service.hub.keys, service.hub.keys.caller(service.key)

    def late(self: Keys, row: Any) -> None:  # between the look and what is remembered of it
        keys.revoke(curator, key)

    monkeypatch.setattr(Keys, "_note_use", late)
    keys.caller(secret)
    assert keys.recent(secret) is None
    assert service.call("GET", "/me", key=secret).status_code == 401


def test_a_key_is_not_remembered_beyond_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    at = 100.0
    monkeypatch.setattr("discreet.service.remembering.time.monotonic", lambda: at)
    recent: Recent[str] = Recent(2.0)
    recent.put("key", "caller", since=recent.cleared, seconds=0.5)
    assert recent.get("key") == "caller"
    at = 100.6
    assert recent.get("key") is None


def test_asking_for_users_ends_at_once_and_records_are_forgotten(service: Running) -> None:
    release = service.run(RATINGS, under="a")["result"]["release"]
    path, user = f"/releases/{release}/recommend", {"user": "u3"}
    _, key = service.issue("application", users="all")
    service.call("PUT", "/datasets/films/asking", json={"allowed": True})
    assert service.call("POST", path, key=key, json=user).status_code == 200
    assert len(service.hub.asking.own._kept) == 1
    service.call("PUT", "/datasets/films/asking", json={"allowed": False})
    assert service.call("POST", path, key=key, json=user).status_code == 409
    assert len(service.hub.asking.own._kept) == 0


def test_records_that_are_gone_are_no_defect(service: Running) -> None:
    release = service.run(RATINGS, under="a")["result"]["release"]
    service.call("PUT", "/datasets/films/asking", json={"allowed": True})
    (service.folder / "films.parquet").unlink()
    answer = service.call("POST", f"/releases/{release}/recommend", json={"user": "u3"})
    assert (answer.status_code, answer.json()["code"]) == (409, "users")
