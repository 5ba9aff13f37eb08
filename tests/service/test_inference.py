"""What others may not infer: on neighboring datasets, whoever is not a curator sees the same.

Everything that an analyst, an application and an auditor can read is read on two datasets and compared, with ids,
times and released noise masked. What is left must be equal byte for byte.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tests.service.conftest as conftest
from tests.service.conftest import COUNTS, MODEL, start

from discreet.data import Interactions, synthetic

FILMS = synthetic.films(users=60, items=60, seed=7)


def neighbors() -> dict[str, pl.DataFrame]:
    base = FILMS.to_frame()
    more = base.head(1).with_columns(user_id=pl.lit("somebody else"))
    copies = [base.with_columns(user_id=pl.col("user_id") + f"-{number}") for number in range(9)]
    return {"base": base, "one user more": pl.concat([base, more]), "ten times as many": pl.concat([base, *copies])}


def seen(folder: Path, frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, *, spoil: bool = False) -> dict[str, Any]:
    """Everything that others than curators see of a service with these data."""
    catalog = pl.DataFrame({"item_id": FILMS.items.ids()})
    data = Interactions(frame, scale="1:5", items=catalog, name="films")
    monkeypatch.setattr(conftest, "FILMS", data)
    service = start(folder)
    name, key = service.issue("analyst")
    service.call("PUT", f"/populations/viewers/allowances/{name}", json={"epsilon": 4, "delta": "1e-6"})
    keys = {"analyst": key, "application": service.issue("application")[1], "auditor": service.issue("auditor")[1]}
    shown: dict[str, Any] = {}
    for path in ("/runs/estimate", "/runs/rehearse"):
        shown[path] = service.call("POST", path, key=key, json=MODEL).json()
    if spoil:
        (folder / "films.parquet").write_bytes(b"not a table, with the secret line 17 of somebody")
    for number, run in enumerate((COUNTS, MODEL)):
        headers = {"Idempotency-Key": f"n{number}"}
        job = service.call("POST", "/runs", key=key, json=run, headers=headers).json()["id"]
        service.work(job)
        shown[f"job {number}"] = service.get(f"/jobs/{job}", key=key)
    for role, secret in keys.items():
        for path in ("/me", "/populations", "/populations/viewers", "/populations/viewers/statement", "/datasets"):
            shown[f"{role} {path}"] = service.call("GET", path, key=secret).json()
        for path in ("/jobs", "/releases", "/reports", "/log", "/methods"):
            shown[f"{role} {path}"] = service.call("GET", path, key=secret).json()
        for path in ("/releases/counts", "/releases/nightly", "/releases/counts/verify", "/jobs/missing"):
            shown[f"{role} {path}"] = service.call("GET", path, key=secret).json()
        asked = {"user": "somebody else", "n": 3}
        shown[f"{role} user"] = service.call("POST", "/releases/nightly/recommend", key=secret, json=asked).json()
    return shown


def masked(shown: dict[str, Any]) -> str:
    """Without ids, times and hashes."""
    text = json.dumps(shown, sort_keys=True, indent=1)
    text = re.sub(r"\b(job|rel|ds|rep|t|up)_[0-9a-f]{24}\b", r"\1_", text)
    text = re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b", "ID", text)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)


def test_others_see_the_same_on_neighboring_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for number, (name, frame) in enumerate(neighbors().items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        found[name] = masked(seen(folder, frame, monkeypatch))
    for name, text in found.items():
        assert text == found["base"], name


def test_others_do_not_see_what_is_wrong_with_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = seen(tmp_path, neighbors()["base"], monkeypatch, spoil=True)
    assert shown["job 0"]["state"] == "failed"
    problem = {"code": "failed", "detail": "The job failed.", "remedy": "The curator can see why.", "retry": "free"}
    assert shown["job 0"]["problem"] == problem
    text = json.dumps(shown)
    for word in ("parquet", "secret line", "not a table", str(tmp_path)):
        assert word not in text
