"""Asking: histories, users, tags, answers. What is asked is not kept, and who is not there is nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import FILMS, Running, start

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.models.recommender import load_model
from discreet.service.remembering import Bounded

CONTEXTS = {
    "dataset": "films",
    "method": "context-popularity",
    "settings": {"epsilon": "1/2", "cap": 30, "contexts": ["weekday"]},
    "name": "by weekday",
}
RATINGS = {
    "dataset": "films",
    "method": "private-ratings",
    "settings": {"epsilon": 1, "delta": "1e-7"},
    "name": "ratings",
}


def register(running: Running, name: str, data: Any, **reading: Any) -> str:
    """Add data of a population of their own."""
    running.call(
        "POST", "/populations", json={"name": name, "epsilon": 10, "delta": "1e-5", **reading.pop("terms", {})}
    )
    write(data, running.folder / f"{name}.parquet")
    body = {"name": name, "population": name, "path": str(running.folder / f"{name}.parquet"), "reading": reading}
    job = running.work(running.call("POST", "/datasets", json=body).json()["job"]["id"])
    assert job["state"] == "done", job
    return job["result"]["dataset"]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = start(tmp_path_factory.mktemp("asking"))
    with running.web:
        for request in (CONTEXTS, RATINGS):
            job = running.run(request, under=request["name"])
            assert job["state"] == "done", job
        tags = synthetic.tags(users=60, seed=3).with_vocabulary("observed").with_resources("observed")
        register(running, "bookmarks", tags)
        settings = {"epsilon": 4, "delta": "1e-6"}
        job = running.run({"dataset": "bookmarks", "method": "ptr-j", "settings": settings, "name": "tags"}, under="t")
        assert job["state"] == "done", job
        survey = synthetic.survey(households=60, seed=3)
        register(running, "survey", survey, terms={"unit": "record/replace"})
        queries = {"dataset": "survey", "method": "histogram", "settings": {"epsilon": 2}, "name": "histogram"}
        job = running.run({**queries, "queries": {"all_marginals": 1}}, under="q")
        assert job["state"] == "done", job
        yield running


def ask(running: Running, release: str, path: str, body: dict[str, Any], **given: Any) -> Any:
    answer = running.call("POST", f"/releases/{release}/{path}", json=body, **given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(answer: dict[str, Any]) -> list[Any]:
    return [item["item_id"] for item in answer["items"]]


def test_many_histories_get_the_lists_that_each_gets_alone(asked: Running) -> None:
    histories = [["film-3", "film-9"], {"film-5": 5, "unknown": 1}, []]
    entries = ask(asked, "ratings", "recommend/batch", {"histories": histories, "n": 4})["entries"]
    assert entries == [ask(asked, "ratings", "recommend", {"history": one, "n": 4}) for one in histories]
    assert entries[1]["ignored"] == ["unknown"]


def test_the_list_is_that_of_the_library(asked: Running) -> None:
    caller = asked.hub.keys.caller(asked.key)
    model = load_model(asked.hub.releases.get(caller, "ratings").place)
    expected = model.recommend(history={"film-5": 5, "film-7": 1}, n=5)
    found = ask(asked, "ratings", "recommend", {"history": {"film-5": 5, "film-7": 1}, "n": 5})
    assert ids(found) == expected["item_id"].to_list()
    rated = ask(asked, "ratings", "predict", {"items": ["film-3", "x"], "history": {"film-5": 5}})
    assert rated["ignored"] == ["x"]
    assert rated["items"][0]["score"] == model.predict(["film-3"], history={"film-5": 5})["score"][0]


def test_items_to_choose_from_and_what_was_seen(asked: Running) -> None:
    body = {"history": ["film-3"], "n": 3, "items": ["film-3", "film-4", "nothing"], "exclude_seen": False}
    answer = ask(asked, "ratings", "recommend", body)
    assert sorted(ids(answer)) == ["film-3", "film-4"]
    assert answer["ignored"] == ["nothing"]
    assert ids(ask(asked, "ratings", "recommend", {**body, "exclude_seen": True})) == ["film-4"]


def test_contexts(asked: Running) -> None:
    body = {"history": [], "context": {"weekday": "Tuesday"}, "n": 3}
    found = ids(ask(asked, "by weekday", "recommend", body))
    top = asked.get("/releases/by weekday/top", params={"k": 3, "where": "weekday=Tuesday"})["entries"]
    assert found == [item["item_id"] for item in top]
    refused = asked.call("POST", "/releases/ratings/recommend", json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "request")


def test_similar_items(asked: Running) -> None:
    one = asked.get("/releases/ratings/similar/film-3")
    assert ask(asked, "ratings", "similar", {"items": ["film-3", "no film"]})["entries"] == [
        one,
        {"items": [], "ignored": ["no film"]},
    ]
    assert "film-3" not in ids(one)


def test_a_question_is_either_about_a_history_or_about_a_user(asked: Running) -> None:
    for body in (
        {},
        {"history": [], "user": "u3"},
        {"history": [True]},
        {"history": {"a": "x"}},
        {"history": [], "n": 0},
    ):
        answer = asked.call("POST", "/releases/ratings/recommend", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "request"), body
    answer = asked.call("POST", "/releases/ratings/recommend", content=b"{}", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415


# For users


def test_users_are_asked_for_where_the_curator_allowed_it_and_the_key_may(service: Running) -> None:
    release = service.run(RATINGS, under="a")["result"]["release"]
    _, key = service.issue("application", users=["u3", "nobody"])
    user = {"user": "u3", "n": 5}
    path = f"/releases/{release}/recommend"
    refused = service.call("POST", path, json=user)
    assert (refused.status_code, refused.json()["code"]) == (409, "users")  # the curator has not allowed it
    assert service.call("PUT", "/datasets/films/asking", json={"allowed": True}).status_code == 204
    code = FILMS.users.code("u3")
    row = FILMS.csr[[code]]
    history = dict(zip(FILMS.items.decode(row.indices), row.data.tolist(), strict=True))
    assert ask(service, release, "recommend", user, key=key) == ask(
        service, release, "recommend", {"history": history, "n": 5}
    )
    other = service.call("POST", path, key=key, json={"user": "u4"})
    assert (other.status_code, other.json()["code"]) == (403, "users")
    batch = service.call("POST", f"{path}/batch", key=key, json={"users": ["u3", "u4"]})
    assert batch.status_code == 403
    _, plain = service.issue("application")
    assert service.call("POST", path, key=plain, json=user).status_code == 403
    _, analyst = service.issue("analyst")
    assert service.call("POST", path, key=analyst, json=user).status_code == 403


def test_an_unknown_user_is_answered_like_an_empty_history(service: Running) -> None:
    release = service.run(RATINGS, under="a")["result"]["release"]
    service.call("PUT", "/datasets/films/asking", json={"allowed": True})
    _, key = service.issue("application", users="all")
    path = f"/releases/{release}/recommend"
    unknown = service.call("POST", path, key=key, json={"user": "nobody"})
    empty = service.call("POST", path, key=key, json={"history": []})
    assert (unknown.status_code, unknown.content, dict(unknown.headers)) == (200, empty.content, dict(empty.headers))
    batch = ask(service, release, "recommend/batch", {"users": ["nobody", "u3"]}, key=key)["entries"]
    assert batch[0] == empty.json()
    rated = ask(service, release, "predict", {"items": ["film-3"], "user": "nobody"}, key=key)
    assert rated == ask(service, release, "predict", {"items": ["film-3"], "history": []}, key=key)


def test_a_key_for_all_users_is_on_the_curators_side(asked: Running) -> None:
    key, itself = asked.issue("application", users="all")
    sides = {one["id"]: one["side"] for one in asked.get("/keys")["entries"]}
    assert sides[key] == "curator"
    assert asked.get("/me", key=itself)["side"] == "curator"
    key, _ = asked.issue("application", users=["u3"])
    assert {one["id"]: one["side"] for one in asked.get("/keys")["entries"]}[key] == "public"


# Tags and answers


def test_tags_from_a_release_and_from_ones_own(asked: Running) -> None:
    question = {"resources": ["page-9", "page-2"], "n": 3}
    plain = ask(asked, "tags", "tags", question)["entries"]
    assert [one["resource"] for one in plain] == ["page-9", "page-2"]
    own = [{"resource": "page-2", "tag": "my very own word"}]
    mine = ask(asked, "tags", "tags", {**question, "own": own})["entries"]
    assert "my very own word" in [tag["tag"] for tag in mine[1]["tags"]]
    assert ask(asked, "tags", "tags", question)["entries"] == plain
    refused = asked.call("POST", "/releases/ratings/tags", json=question)
    assert (refused.status_code, refused.json()["code"]) == (409, "not-tags")


def test_tags_of_a_user(asked: Running) -> None:
    question = {"resources": ["page-9"], "n": 5}
    assert asked.call("PUT", "/datasets/bookmarks/asking", json={"allowed": True}).status_code == 204
    unknown = ask(asked, "tags", "tags", {**question, "user": "nobody"})
    assert unknown == ask(asked, "tags", "tags", question)
    known = ask(asked, "tags", "tags", {**question, "user": "u3"})
    assert known != unknown


def test_answers_are_listed_and_new_questions_cost_nothing(asked: Running) -> None:
    before = asked.get("/populations/survey")["n_entries"]
    page = asked.get("/releases/histogram/answers", params={"limit": 2})
    assert len(page["entries"]) == 2
    after = asked.get("/releases/histogram/answers", params={"limit": 2, "cursor": page["next"]})["entries"]
    assert [one["query"] for one in after] == [2, 3]
    found = ask(asked, "histogram", "answers", {"queries": [{"gender": "F", "age": [18, 29]}]})["entries"]
    assert found[0]["source"] == "histogram"
    assert found[0]["label"] == "age = 18–29 and gender = F"
    assert asked.get("/populations/survey")["n_entries"] == before
    wrong = asked.call("POST", "/releases/histogram/answers", json={"queries": [{"shoe size": 3}]})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "request")


# What is kept


def test_questions_are_not_kept_and_answers_within_bounds(asked: Running, capfd: pytest.CaptureFixture[str]) -> None:
    secret = "a-film-that-tells-everything"
    ask(asked, "ratings", "recommend", {"history": ["film-3", secret]})
    asking = asked.hub.asking
    assert all(isinstance(name, bytes) and len(name) == 16 for name in asking._answers._known)
    assert secret not in str(capfd.readouterr())
    for file in Path(asked.folder).rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes()
    few: Bounded[bytes] = Bounded(100)
    for number in range(50):
        few.put(number, b"x", 10)
        assert few.weight <= 100
    assert few.get(49) == b"x"
    assert few.get(0) is None
    few.put("large", b"", 1000)
    assert (len(few), few.weight) == (0, 0)


def test_a_body_that_does_not_say_how_long_it_is_has_a_limit(asked: Running) -> None:
    limit = asked.hub.store.settings.body_limit

    def chunks() -> Iterator[bytes]:
        for _ in range(limit // 2**20 + 2):
            yield b" " * 2**20

    headers = {"Content-Type": "application/json"}
    for path in ("/releases/ratings/recommend", "/releases/ratings/predict"):
        answer = asked.call("POST", path, content=chunks(), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
