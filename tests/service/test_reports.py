"""Audits, attacks, risk and frontier: measured on the records, for curators, and named at the release."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.conftest import COUNTS, Running

FAST: list[tuple[str, dict[str, Any]]] = [
    ("attack", {"dataset": "films", "attack": "sybil", "against": ["knn"], "targets": 2}),
    (
        "risk",
        {
            "dataset": "films",
            "method": "published-slope-one",
            "settings": {"least_ratings": 5, "minimum_overlap": 2},
            "options": {"epsilons": [1, 100], "users": 20},
        },
    ),
    ("frontier", {"dataset": "films", "settings": {"delta": "1e-6"}, "epsilons": [1]}),
]


@pytest.mark.parametrize(("kind", "body"), FAST)
def test_reports_are_kept(shared: Running, kind: str, body: dict[str, Any]) -> None:
    before = shared.get("/populations/viewers")["n_entries"]
    answer = shared.call("POST", f"/reports/{kind}", json=body)
    assert answer.status_code == 202, answer.text
    job = shared.work(answer.json()["id"])
    assert job["state"] == "done", job["problem"]
    report = shared.get(f"/reports/{job['result']['report']}")
    assert report["kind"] == kind
    assert report["summary"]
    assert shared.get("/populations/viewers")["n_entries"] == before
    _, analyst = shared.issue("analyst")
    assert shared.call("POST", f"/reports/{kind}", key=analyst, json=body).status_code == 403
    assert shared.call("GET", f"/reports/{report['id']}", key=analyst).status_code == 403


def test_the_frontier_has_the_model_without_privacy_beside_it(shared: Running) -> None:
    answer = shared.call("POST", "/reports/frontier", json=FAST[2][1])
    job = shared.work(answer.json()["id"])
    rows = shared.get(f"/reports/{job['result']['report']}")["report"]["rows"]
    assert [(row["model"], row["epsilon"]) for row in rows] == [("private-recommender", 1.0), ("ease", None)]
    assert all("recall@20" in row["values"] for row in rows)


def test_an_audit_is_named_at_the_release_it_is_about(service: Running) -> None:
    release = service.run(COUNTS, under="a")["result"]["release"]
    answer = service.call("POST", "/reports/audit", json={"release": release, "options": {"seconds": 2, "runs": 50}})
    job = service.work(answer.json()["id"])
    assert job["state"] == "done", job["problem"]
    reports = service.get(f"/releases/{release}")["reports"]
    assert [one["id"] for one in reports] == [job["result"]["report"]]
    _, application = service.issue("application")
    assert service.get(f"/releases/{release}", key=application)["reports"] == []
