"""Health and figures for operators."""

from __future__ import annotations

from tests.service.conftest import Running


def figures(service: Running, key: str | None = None) -> dict[str, float]:
    answer = service.web.get("/metrics", headers=service.headers(key))
    assert answer.status_code == 200
    lines = [line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_budgets_are_figures(shared: Running) -> None:
    found = figures(shared)
    assert found['discreet_budget_limit{amount="epsilon",population="viewers"}'] == 4
    assert found['discreet_budget_charged{amount="epsilon",population="viewers"}'] == 1.5
    assert found['discreet_budget_left{amount="epsilon",population="viewers"}'] == 2.5
    assert found['discreet_ledger_entries{population="viewers"}'] == 2
    assert found['discreet_jobs{state="done"}'] >= 3
    assert figures(shared)["discreet_requests_total"] == found["discreet_requests_total"] + 1


def test_figures_need_a_key_of_a_curator_or_an_auditor(shared: Running) -> None:
    assert shared.web.get("/metrics").status_code == 401
    assert figures(shared, shared.issue("auditor")[1])
    assert shared.web.get("/metrics", headers=shared.headers(shared.issue("application")[1])).status_code == 403


def test_another_tenant_sees_its_own_figures(shared: Running) -> None:
    token = shared.hub.keys.add_tenant("other")[1]
    key = shared.web.post("/v1/setup", json={"token": token, "name": "otto"}).json()["key"]
    found = figures(shared, key)
    assert not [name for name in found if "viewers" in name]
    assert found["discreet_requests_total"] == 1
    assert found['discreet_jobs{state="done"}'] == 0


def test_health_needs_no_key(shared: Running) -> None:
    assert shared.web.get("/health/live").json() == {"status": "live"}
    assert shared.web.get("/health/ready").json() == {"status": "ready"}
