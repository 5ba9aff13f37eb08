"""Runs are kept, resumed, and shared by processes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import audit
from discreet.attacks.engine.runs import Job, Journal, as_line, from_line, perform
from discreet.attacks.engine.targets import Target
from discreet.attacks.engine.workers import WorkerPool
from discreet.attacks.games.given import Member
from discreet.attacks.games.registry import ATTACKS
from discreet.counting import ItemCounts
from discreet.errors import EvaluationError

CANARY: Any = ATTACKS["canary"]
CANARY_RECOMMENDATIONS: Any = ATTACKS["canary-recommendations"]


def job(films, **options) -> Job:
    return Job(Target.of(ItemCounts(epsilon=1, cap=3, **options), films), (CANARY,), films, 0)


def test_lines_keep_what_was_seen() -> None:
    seen = [np.array([1.5, np.nan, np.inf]), np.zeros(0)]
    line = json.loads(json.dumps(as_line((3, True), seen), allow_nan=False))
    run, back = from_line(line)
    assert run == (3, True)
    assert back[0][:2].tolist() == pytest.approx([1.5, np.nan], nan_ok=True)
    assert back[0][2] > 1e300
    assert back[1].size == 0


def test_an_interrupted_audit_goes_on(films, tmp_path) -> None:
    first = job(films)
    without = perform(first, 6, folder=tmp_path).without
    file = next(tmp_path.glob("canary-*.jsonl"))
    # As if it had been killed while writing.
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:8]) + lines[8][:20])
    done = Journal(tmp_path, first).read()
    assert len(done) == 8
    again = perform(first, 6, folder=tmp_path).without
    for old, new in list(zip(without, again, strict=True))[:4]:
        assert old[0].tolist() == new[0].tolist()
    assert without[5][0].tolist() != again[5][0].tolist()


def test_finished_runs_are_not_played_again(films, tmp_path, monkeypatch) -> None:
    first, again = job(films), job(films)
    perform(first, 5, folder=tmp_path)
    monkeypatch.setattr(Target, "fit", lambda self, data: pytest.fail("it was fitted again"))
    assert len(perform(again, 5, folder=tmp_path).without) == 5


def test_runs_of_other_settings_do_not_count(films) -> None:
    same, other = job(films), Job(Target.of(ItemCounts(epsilon=2, cap=3), films), (CANARY,), films, 0)
    assert same.key == job(films).key != other.key


def test_processes_do_the_same_as_one(films) -> None:
    """Two processes, two jobs, the first of them given up: every run comes back once, and of the right job."""
    with WorkerPool(2) as crew:
        assert not crew.started
        wide = Job(Target.of(ItemCounts(epsilon=1, cap=5), films), (CANARY,), films, 0)
        packed = wide.pickled()
        assert packed is not None
        early = crew.play(packed, [(number, True) for number in range(200)], pace=0.3)
        arrived = next(run for run in early if run is not None)
        assert arrived[1][0].size == 20
        early.close()
        played = perform(job(films), 20, crew=crew, pace=0.1)
    without, with_ = played.without, played.with_
    assert len(without) == len(with_) == 20
    assert {seen[0].size for seen in [*without, *with_]} == {12}
    assert len({seen[0].tobytes() for seen in [*without, *with_]}) == 40


def test_an_error_of_a_process_is_told(films) -> None:
    broken = Job(Target.of(ItemCounts(epsilon=1, cap=3), films), (CANARY,), films, -1)  # no generator has this seed
    with WorkerPool(1) as crew, pytest.raises(EvaluationError, match="died: ValueError"):
        perform(broken, 4, crew=crew)


def test_models_of_a_script_stay_in_its_process(films, noisy_users) -> None:
    local = Job(Target.of(lambda: noisy_users(), films), (CANARY,), films, 0)
    assert local.pickled() is None
    with WorkerPool(2) as crew:
        assert len(perform(local, 3, crew=crew).without) == 3
        assert not crew.started


def test_games_that_share_their_datasets_share_their_fits(films, monkeypatch) -> None:
    from discreet.neighbors import KNN

    fits = []
    fit = Target.fit
    monkeypatch.setattr(Target, "fit", lambda self, data: fits.append(1) or fit(self, data))
    audit(KNN(k=3), films, attacks="canary-predictions,canary-similar-items", runs=2, processes=1)
    assert len(fits) == 1 + 2 + 2 * 16  # what it shows, one trial in each dataset, then 16 runs in each, for both


def test_progress_is_told(films) -> None:
    told: list[tuple[float, str]] = []
    audit(
        ItemCounts(epsilon=1, cap=3),
        films,
        attacks="canary",
        runs=2,
        processes=1,
        progress=lambda *said: told.append(said),
    )
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert told[0] == (0.0, "canary")
    assert told[-1] == (1.0, "done")


# Time and Ctrl-C


class Slow:
    """A fit that takes long on the caller's records, and a little elsewhere."""

    def __init__(self, small: float, large: float) -> None:
        self.small, self.large = small, large

    def fit(self, data: dc.Interactions) -> None:
        time.sleep(self.large if data.name != "a small dataset" else self.small)
        self.items = data.items.ids()

    def recommend(self, users: list[Any], n: int = 10) -> list[Any]:
        return self.items[:n]


def test_the_time_is_kept(films, slow_time, monkeypatch) -> None:
    """Fits that take longer than half of the time are given up, and the other attacks have the rest."""

    def never_ready(self: WorkerPool, *job: Any, **options: Any) -> Iterator[None]:
        while True:
            slow_time.sleep(0.1)
            yield None

    monkeypatch.setattr(WorkerPool, "play", never_ready)
    monkeypatch.setattr(time, "sleep", slow_time.sleep)
    started = slow_time.now
    attacks = "canary-recommendations,member"
    report = audit(Slow(0.001, 120.0), films, attacks=attacks, runs=40, seconds=12, processes=2)
    assert slow_time.now - started < 12
    assert report["canary-recommendations"].runs_present == 160
    assert report.skipped == {"member": "there is no time for it: two fits take more than 6 seconds."}


def test_a_run_that_takes_too_long_is_ended(films) -> None:
    target = Target.of(Slow(0.0, 3600.0), films)
    long = Job(target, (Member(),), films, 0)
    short = Job(target, (CANARY_RECOMMENDATIONS,), films, 0)
    with WorkerPool(1) as crew:
        assert len(perform(short, 2, crew=crew).without) == 2
        (first,) = crew._workers.values()
        assert perform(long, 2, latest=time.monotonic() + 2, crew=crew).without == []
        assert first.process.returncode is not None
        assert len(perform(short, 2, crew=crew).without) == 2  # by another process


def stopped_after(runs: int, monkeypatch) -> None:
    """As if somebody pressed Ctrl-C when so many fits were done."""
    fit, done = Target.fit, []

    def counted(self: Target, data: Any) -> Any:
        done.append(1)
        if len(done) == runs + 1:
            raise KeyboardInterrupt
        return fit(self, data)

    monkeypatch.setattr(Target, "fit", counted)


def test_what_was_played_before_an_interruption_is_reported(films, noisy_users, monkeypatch, tmp_path) -> None:
    options: dict[str, Any] = {"attacks": "canary,traces", "runs": 30, "processes": 1, "folder": tmp_path}
    stopped_after(100, monkeypatch)
    report = audit(noisy_users(spent=Fraction(20)), films, **options)
    assert report.interrupted
    assert 10 < report.scores[0].runs_present < 60
    assert report.notes == ("the audit was interrupted: it reports what was played until then",)
    assert "it was interrupted" in report.scores[0].how
    (skipped,) = report.skipped.values()
    assert skipped == "the audit was interrupted."
    monkeypatch.undo()
    assert len(next(tmp_path.glob("*.jsonl")).read_text().splitlines()) > 50
    assert len(audit(noisy_users(spent=Fraction(20)), films, **options).scores) == 2


def test_an_interruption_before_anything_was_played_is_one(films, noisy_users, monkeypatch) -> None:
    stopped_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        audit(noisy_users(), films, attacks="canary", runs=10, processes=1)
