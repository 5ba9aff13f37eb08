"""A request names what the operator installed, and never code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import Running

PLACES = ("subprocess:Popen", "json:JSONDecoder", "shop.py:MostUsers", "discreet.factors:Popularity", "lenskit:ItemKNN")


def asked(service: Running, path: str, body: dict[str, Any]) -> Any:
    answer = service.call("POST", path, json=body, headers={"Idempotency-Key": f"{path} {body}"[:190]})
    if answer.status_code != 202:
        return answer
    done = service.work(answer.json()["id"])
    assert done["state"] == "failed", done
    return done


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("path", ["/runs", "/runs/estimate", "/runs/rehearse"])
def test_a_run_takes_no_code(service: Running, tmp_path: Path, place: str, path: str) -> None:
    made = tmp_path / "made"
    settings = {"args": ["touch", str(made)]} if place == "subprocess:Popen" else {}
    told = asked(service, path, {"dataset": "films", "method": place, "settings": settings})
    assert "there is no" in str(getattr(told, "text", told)).lower()
    assert not made.exists()


@pytest.mark.parametrize("place", PLACES)
def test_reports_take_no_code(service: Running, place: str) -> None:
    for path, body in (
        ("/reports/audit", {"method": place, "settings": {"args": ["true"]}}),
        ("/reports/attack", {"against": [place], "targets": 1}),
        ("/reports/attack", {"against": [place], "attack": "lia", "targets": 1}),
        ("/reports/risk", {"method": place}),
        ("/reports/frontier", {"method": place, "epsilons": [1]}),
    ):
        told = asked(service, path, {"dataset": "films", **body})
        assert "there is no" in str(getattr(told, "text", told)).lower(), path
