"""What others may not infer: on neighboring datasets, whoever is not a curator sees the same.

Everything that an analyst, an application and an auditor can read is read on two datasets and compared. Ids, hashes and
released noise are masked; what is left must be equal byte for byte. No time is masked: the clock of the test stands
still, but for the time that a job takes, which differs from dataset to dataset.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tests.service.conftest as conftest
from tests.service.conftest import COUNTS, MODEL, Running, start
from tests.service.test_asking import register

from discreet.data import Interactions, Table, synthetic
from discreet.privacy import release as releases
from discreet.service import sessions, store

FILMS = synthetic.films(users=60, items=60, seed=7)
SURVEY = synthetic.survey(households=40, seed=3)
BEGIN = datetime(2026, 3, 4, 12, tzinfo=UTC)
SERIES = {
    "dataset": "films",
    "method": "weighted",
    "settings": {"epsilon": "1/4", "delta": "1e-7", "cap": 9},
    "steps": 2,
}
SESSION = {"dataset": "survey", "settings": {"epsilon": "1/4", "updates": 3}, "name": "talk"}
QUESTIONS = [{"gender": "F"}, {"age": [18, 29]}, {"shoe size": 3}]


@dataclass
class Clock:
    """Stands still, but for jobs."""

    job_seconds: int
    at: datetime = BEGIN
    begun: int = field(default=0)

    def __call__(self) -> datetime:
        return self.at

    def working(self, work: Callable[[], Any]) -> Any:
        """Let a job take its time; the next request is made an hour after the one before, whatever it was."""
        self.begun += 1
        self.at = BEGIN + timedelta(hours=self.begun - 1, seconds=self.job_seconds)
        try:
            return work()
        finally:
            self.at = BEGIN + timedelta(hours=self.begun)


def neighbors() -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """Ratings and the answers of a survey: with one user more and one row replaced, and with much that is different."""
    base, asked = FILMS.to_frame(), SURVEY.to_frame()
    more = base.head(1).with_columns(user_id=pl.lit("somebody else"))
    copies = [base.with_columns(user_id=pl.col("user_id") + f"-{number}") for number in range(9)]
    first = asked.with_row_index("row").filter(pl.col("row") > 0).drop("row")
    replaced = pl.concat([first.tail(1), first])
    one = asked.tail(1)
    return {
        "base": (base, asked),
        "one user more, one row replaced": (pl.concat([base, more]), replaced),
        "ten times as many, all rows the same": (pl.concat([base, *copies]), pl.concat([one] * asked.height)),
    }


def seen(
    folder: Path,
    frames: tuple[pl.DataFrame, pl.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    *,
    seconds: int = 7,
    spoil: bool = False,
) -> dict[str, Any]:
    """Everything that others than curators see of a service with these data, whose jobs take so many seconds."""
    clock = Clock(seconds)
    monkeypatch.setattr(store, "clock", clock)
    monkeypatch.setattr(releases, "datetime", type("At", (datetime,), {"now": classmethod(lambda *_: clock())}))
    catalog = pl.DataFrame({"item_id": FILMS.items.ids()})
    data = Interactions(frames[0], scale="1:5", items=catalog, name="films")
    monkeypatch.setattr(conftest, "FILMS", data)
    perform = conftest.perform
    monkeypatch.setattr(conftest, "perform", lambda *given: clock.working(lambda: perform(*given)))
    service = start(folder)
    group = next(name for name in SURVEY.to_frame().columns if name not in SURVEY.attributes)
    survey = Table(frames[1].drop(group), domains=SURVEY.domains, name="survey")
    register(service, "survey", survey, terms={"unit": "record/replace", "open_to_analysts": True})
    name, key = service.issue("analyst")
    for population in ("viewers", "survey"):
        allowance = {"epsilon": 2, "delta": "1e-6"}
        service.call("PUT", f"/populations/{population}/allowances/{name}", json=allowance)
    keys = {"analyst": key, "application": service.issue("application")[1], "auditor": service.issue("auditor")[1]}
    shown: dict[str, Any] = {}
    for path in ("/runs/estimate", "/runs/rehearse"):
        shown[path] = service.call("POST", path, key=key, json=MODEL).json()
    if spoil:
        (folder / "films.parquet").write_bytes(b"not a table, with the secret line 17 of somebody")
    for number, run in enumerate((COUNTS, MODEL)):
        headers = {"Idempotency-Key": f"n{number}"}
        job = service.call("POST", "/runs", key=key, json=run, headers=headers).json()["id"]
        shown[f"events {number}, waiting"] = _first_event(service, key, job)
        service.work(job)
        shown[f"job {number}"] = service.get(f"/jobs/{job}", key=key)
        shown[f"events {number}"] = service.call("GET", f"/jobs/{job}/events", key=key).text
    if not spoil:
        shown["session"] = _session(service, key)
        _series(service)
    for role, secret in keys.items():
        shown[role] = _read(service, secret)
    return shown


def _first_event(service: Running, key: str, job: str) -> dict[str, Any]:
    """What a stream of events begins with; a stream ends with its job, so it is not followed here."""
    from discreet.service.jobs import job_for

    return job_for(service.hub.jobs.find(job), service.hub.keys.caller(key))


def _session(service: Running, key: str) -> list[Any]:
    """All views of a session, from its opening to its end."""
    opened = service.call("POST", "/sessions", key=key, json=SESSION, headers={"Idempotency-Key": "s"}).json()
    path = f"/sessions/{opened['id']}"
    views = [opened, service.get(path, key=key)]
    for question in QUESTIONS:
        answer = service.call("POST", f"{path}/ask", key=key, json={"question": question}).json()
        views.append(_without(answer, "answer", "source", "updates_left"))
    views.append(_without(service.get(path, key=key), "updates_left"))
    views.append(service.call("POST", f"{path}/close", key=key).json())
    views.append(service.get(path, key=key))
    assert views[-1]["state"] == "done", views[-1]
    return views


def _series(service: Running) -> None:
    """A series with one step: curators make it, auditors see it."""
    series = service.call("POST", "/series", json=SERIES, headers={"Idempotency-Key": "series"}).json()["id"]
    assert service.work(series)["state"] == "done"
    step = service.call("POST", f"/series/{series}/advance", json={"dataset": "films", "step": 0}).json()["id"]
    assert service.work(step)["state"] == "done"


def _without(answer: dict[str, Any], *released: str) -> dict[str, Any]:
    """Without the values that were drawn with noise: those are covered by the guarantee."""
    return {name: value if name not in released else "RELEASED" for name, value in answer.items()}


def _read(service: Running, key: str) -> dict[str, Any]:
    """What one key can read."""
    found: dict[str, Any] = {}

    def get(path: str, **given: Any) -> Any:
        answer = service.call(given.pop("method", "GET"), path, key=key, **given)
        text = "json" in answer.headers["content-type"]
        found[path] = {"status": answer.status_code, "headers": _headers(answer), "body": answer.json() if text else ""}
        return answer

    for path in ("/me", "/populations", "/populations/viewers", "/populations/viewers/statement", "/datasets"):
        get(path)
    for path in ("/populations/survey", "/populations/survey/statement", "/keys", "/releases/nightly/similar/film-3"):
        get(path)
    for path in ("/jobs", "/releases", "/reports", "/log", "/methods", "/jobs/missing"):
        get(path)
    listed = get("/series")
    for one in listed.json()["entries"] if listed.status_code == 200 else ():
        found["one series"] = service.get(f"/series/{one['id']}", key=key)
    for release in ("counts", "nightly", "talk", "weighted"):
        get(f"/releases/{release}")
        get(f"/releases/{release}/verify")
        table = get(f"/releases/{release}/table")
        if table.status_code == 200:
            rows = [dict.fromkeys(row, "RELEASED") for row in table.json()["rows"]]
            found[f"/releases/{release}/table"]["body"] = {**table.json(), "rows": rows}
        packed = get(f"/releases/{release}/download")
        if packed.status_code == 200:
            found[f"/releases/{release}/download"] = _unpacked(packed.content)
    get("/releases/nightly/recommend", method="POST", json={"user": "somebody else", "n": 3})
    for path in ("/releases/nightly/similar/film-3",):
        found[path]["body"] = "RELEASED"
    figures = service.web.get("/metrics", headers=service.headers(key))
    found["/metrics"] = figures.text if figures.status_code == 200 else figures.json()
    return found


def _headers(answer: Any) -> dict[str, str]:
    """All headers; the length of what has released values in it is as long as they are."""
    return {name: value for name, value in answer.headers.items() if name != "content-length"}


def _unpacked(content: bytes) -> dict[str, Any]:
    """Names, times and manifest of the files in an archive; the files themselves are what was released."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        files = {one.filename.rpartition("/")[2]: (one.date_time, one.external_attr) for one in packed.infolist()}
        assert {one.date_time for one in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}  # the clock of the disk is real
        named = next(one for one in packed.namelist() if one.endswith((".json", "manifest")))
        manifest = json.loads(packed.read(named))
    for part in manifest["parts"].values():
        for name in set(part) & {"sha256", "bytes", "size"}:
            part[name] = "RELEASED"
    manifest["nonce"] = "RANDOM"
    return {"files": files, "manifest": manifest}


def masked(shown: dict[str, Any]) -> str:
    """Without ids and hashes."""
    text = json.dumps(shown, sort_keys=True, indent=1)
    text = re.sub(r"\b(job|rel|ds|rep|t|up)_[0-9a-f]{24}\b", r"\1_", text)
    return re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{16}\b", "ID", text)


def test_others_see_the_same_on_neighboring_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for number, (name, frames) in enumerate(neighbors().items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        with monkeypatch.context() as patch:
            found[name] = masked(seen(folder, frames, patch, seconds=7 + 500 * number)).replace(str(folder), "FOLDER")
    assert '"/metrics": "# HELP' in found["base"]
    assert str(tmp_path) not in found["base"]
    for name, text in found.items():
        assert text.splitlines() == found["base"].splitlines(), name
    assert not sessions._HELD


def test_others_do_not_see_what_is_wrong_with_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = seen(tmp_path, neighbors()["base"], monkeypatch, spoil=True)
    assert shown["job 0"]["state"] == "failed"
    problem = {"code": "failed", "detail": "The job failed.", "remedy": "The curator can see why.", "retry": "free"}
    assert shown["job 0"]["problem"] == problem
    text = json.dumps(shown)
    for word in ("parquet", "secret line", "not a table", str(tmp_path)):
        assert word not in text
