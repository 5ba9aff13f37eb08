"""The main tasks, as a program does them: open, attach, estimate, rehearse, run, ask, read the statement."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.service.conftest import COUNTS, FILMS, MODEL, Running, wait

from discreet.data import Interactions, read


def test_an_estimate_reads_no_record_and_costs_nothing(shared: Running) -> None:
    before = shared.get("/populations/viewers")["spent"]
    answer = shared.call("POST", "/runs/estimate", json=COUNTS).json()
    assert answer["cost"] == {"epsilon": "1/2", "delta": "0"}
    assert answer["fits"] is True
    assert shared.get("/populations/viewers")["spent"] == before
    # What it reads has no record in it.
    dataset = shared.get("/datasets")["entries"][0]["id"]
    tenant = shared.hub.keys.caller(shared.key).tenant
    assert len(shared.hub.datasets.public(tenant, dataset)) == 0


def test_a_run_is_charged_once_under_its_key(service: Running) -> None:
    first = service.run(COUNTS, under="tonight")
    assert first["state"] == "done"
    assert first["entry"] == 1
    again = service.call("POST", "/runs", json=COUNTS, headers={"Idempotency-Key": "tonight"})
    assert again.status_code == 200
    assert again.json()["result"] == first["result"]
    other = service.call("POST", "/runs", json={**COUNTS, "name": "x"}, headers={"Idempotency-Key": "tonight"})
    assert other.status_code == 409
    assert service.get("/populations/viewers")["spent"]["epsilon"] == "1/2"


def test_what_does_not_fit_is_refused_before_anything_is_charged(service: Running) -> None:
    request = {**COUNTS, "settings": {"epsilon": 5, "cap": 30}}
    answer = service.call("POST", "/runs", json=request, headers={"Idempotency-Key": "a"})
    assert (answer.status_code, answer.json()["code"]) == (409, "budget")
    assert service.get("/populations/viewers")["n_entries"] == 0


def test_serving_goes_on_when_the_budget_is_used_up(service: Running) -> None:
    release = service.run({**MODEL, "settings": {"epsilon": 4, "delta": "1e-6"}}, under="all")["result"]["release"]
    refused = service.call("POST", "/runs", json=COUNTS, headers={"Idempotency-Key": "more"})
    assert refused.status_code == 409
    answer = service.call("POST", f"/releases/{release}/recommend", json={"history": ["film-3"], "n": 3})
    assert answer.status_code == 200
    assert len(answer.json()["items"]) == 3


def test_a_rehearsal_costs_nothing_and_says_what_it_is(service: Running) -> None:
    answer = service.call("POST", "/runs/rehearse", json=MODEL)
    job = service.work(answer.json()["id"])
    assert job["state"] == "done", job
    release = service.get(f"/releases/{job['result']['release']}")
    assert release["rehearsal"] is True
    assert "people who do not exist" in release["lines"]["not covered"]
    assert service.get("/populations/viewers")["n_entries"] == 0


def test_synthetic_people_are_estimated_rehearsed_made_and_downloaded(service: Running, tmp_path: Path) -> None:
    request = {
        "dataset": "films",
        "method": "synthetic-interactions",
        "settings": {"epsilon": "1", "delta": "1e-6", "people": 40},
        "name": "people",
    }
    assert service.call("POST", "/runs/estimate", json=request).json()["fits"] is True
    rehearsed = service.work(service.call("POST", "/runs/rehearse", json=request).json()["id"])
    assert rehearsed["state"] == "done", rehearsed
    assert service.get("/populations/viewers")["n_entries"] == 0
    made = service.run(request, under="people")
    assert made["state"] == "done", made
    assert service.get("/populations/viewers")["n_entries"] == 1
    packed = service.call("GET", f"/releases/{made['result']['release']}/download")
    (tmp_path / "people.zip").write_bytes(packed.content)
    shutil.unpack_archive(tmp_path / "people.zip", tmp_path / "people")
    (folder,) = (tmp_path / "people").iterdir()
    data = read(folder)
    assert isinstance(data, Interactions)
    assert data.n_users == 40
    assert data.released is not None


def test_unknown_items_are_ignored_and_named(shared: Running) -> None:
    asked = {"history": ["film-3", "no such film"], "n": 5}
    first = shared.call("POST", "/releases/nightly/recommend", json=asked).json()
    assert first["ignored"] == ["no such film"]
    assert len(first["items"]) == 5
    assert "film-3" not in [item["item_id"] for item in first["items"]]
    assert shared.call("POST", "/releases/nightly/recommend", json=asked).json() == first


def test_a_release_is_verified_against_its_files_and_the_ledger(service: Running) -> None:
    release = service.run(COUNTS, under="a")["result"]["release"]
    assert service.get(f"/releases/{release}/verify")["charged_to"] == "viewers"
    table = service.get(f"/releases/{release}/table")
    assert len(table["rows"]) == FILMS.n_items
    caller = service.hub.keys.caller(service.key)
    place = Path(service.hub.releases.get(caller, release).place)
    damaged = next(place.glob("*.arrow"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert service.call("GET", f"/releases/{release}/verify").status_code == 409


def test_analysts_spend_within_their_allowance(service: Running) -> None:
    ann, key = service.issue("analyst")
    assert service.get("/populations", key=key)["entries"] == []
    allowance = {"epsilon": "1/2", "delta": 0}
    assert service.call("PUT", f"/populations/viewers/allowances/{ann}", json=allowance).status_code == 204
    assert service.run(COUNTS, under="a", key=key)["state"] == "done"
    refused = service.call("POST", "/runs", key=key, json=COUNTS, headers={"Idempotency-Key": "b"})
    assert (refused.status_code, refused.json()["code"]) == (409, "allowance")
    assert service.get("/populations/viewers", key=key)["allowance"]["left"]["epsilon"] == "0"


def test_everything_is_charged_as_epsilon_and_delta_where_analysts_choose(service: Running) -> None:
    service.run(MODEL, under="a")
    entry = service.get("/populations/viewers/statement")["entries"][0]
    assert entry["loss"]["kind"] == "approximate"


def test_an_upload_is_checked_row_by_row(service: Running) -> None:
    query = {"name": "bad", "population": "viewers", "filename": "bad.csv", "reading": '{"scale": "1:5"}'}
    answer = service.call("POST", "/uploads", params=query, content=b"user,item,rating\nann,tea,5\nbob,tea,9\n")
    assert answer.status_code == 202, answer.text
    job = service.work(answer.json()["job"]["id"])
    assert job["state"] == "failed"
    assert job["problem"]["code"] == "data"
    assert [one["name"] for one in service.get("/datasets")["entries"]] == ["films"]


def test_jobs_run_in_processes_of_their_own(service: Running) -> None:
    object.__setattr__(service.hub.store.settings, "workers", 1)
    service.hub.supervisor.start()
    try:
        answer = service.call("POST", "/runs", json=COUNTS, headers={"Idempotency-Key": "a"})
        job = wait(lambda: service.get(f"/jobs/{answer.json()['id']}"))
        assert job["state"] == "done", job
    finally:
        service.hub.supervisor.stop(kill=True)
