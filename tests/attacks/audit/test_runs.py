"""Runs are kept, resumed, and shared by processes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.attacks.audit import audit
from discreet.attacks.audit.membership import CANARY
from discreet.attacks.audit.runs import Job, Journal, as_line, from_line, perform
from discreet.attacks.audit.targets import Target
from discreet.attacks.audit.workers import Crew
from discreet.counting import ItemCounts
from discreet.errors import EvaluationError


def job(films, **options) -> Job:
    return Job(Target.of(ItemCounts.of(epsilon=1, cap=3, **options), films), (CANARY,), films, 0)


def ignore(share: float) -> None:
    pass


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
    without, _ = perform(first, 6, seconds=None, folder=tmp_path, tick=ignore)
    file = next(tmp_path.glob("canary-*.jsonl"))
    # As if it had been killed while writing.
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:8]) + lines[8][:20])
    done = Journal(tmp_path, first).read()
    assert len(done) == 8
    again, _ = perform(first, 6, seconds=None, folder=tmp_path, tick=ignore)
    for old, new in list(zip(without, again, strict=True))[:4]:
        assert old[0].tolist() == new[0].tolist()
    assert without[5][0].tolist() != again[5][0].tolist()


def test_finished_runs_are_not_played_again(films, tmp_path, monkeypatch) -> None:
    perform(job(films), 5, seconds=None, folder=tmp_path, tick=ignore)
    monkeypatch.setattr(Target, "fit", lambda self, data: pytest.fail("it was fitted again"))
    assert len(perform(job(films), 5, seconds=None, folder=tmp_path, tick=ignore)[0]) == 5


def test_runs_of_other_settings_do_not_count(films) -> None:
    same, other = job(films), Job(Target.of(ItemCounts.of(epsilon=2, cap=3), films), (CANARY,), films, 0)
    assert same.key == job(films).key != other.key


def test_processes_do_the_same_as_one(films) -> None:
    """Two processes, two jobs, the first of them given up: every run comes back once, and of the right job."""
    with Crew(2) as crew:
        assert not crew.started
        wide = Job(Target.of(ItemCounts.of(epsilon=1, cap=5), films), (CANARY,), films, 0)
        packed = wide.pickled()
        assert packed is not None
        early = crew.play(packed, [(number, True) for number in range(200)], pace=0.3)
        assert next(early)[1][0].size == 20
        early.close()
        without, with_ = perform(job(films), 20, seconds=None, folder=None, tick=ignore, crew=crew, pace=0.1)
    assert len(without) == len(with_) == 20
    assert {seen[0].size for seen in [*without, *with_]} == {12}
    assert len({seen[0].tobytes() for seen in [*without, *with_]}) == 40


def test_an_error_of_a_process_is_told(films) -> None:
    broken = Job(Target.of(ItemCounts.of(epsilon=1, cap=3), films), (CANARY,), films, -1)  # no generator has this seed
    with Crew(1) as crew, pytest.raises(EvaluationError, match="died: ValueError"):
        perform(broken, 4, seconds=None, folder=None, tick=ignore, crew=crew)


def test_models_of_a_script_stay_in_its_process(films, noisy_users) -> None:
    local = Job(Target.of(lambda: noisy_users(), films), (CANARY,), films, 0)
    assert local.pickled() is None
    with Crew(2) as crew:
        assert len(perform(local, 3, seconds=None, folder=None, tick=ignore, crew=crew)[0]) == 3
        assert not crew.started


def test_games_that_share_their_worlds_share_their_fits(films, monkeypatch) -> None:
    from discreet.neighbors import KNN

    fits = []
    fit = Target.fit
    monkeypatch.setattr(Target, "fit", lambda self, data: fits.append(1) or fit(self, data))
    audit(KNN(k=3), films, attacks="canary-predictions,canary-similar-items", runs=2, processes=1)
    assert len(fits) == 2 * 2 + 2 * 16  # two trials each, then 16 runs in each world for both


def test_progress_is_told(films) -> None:
    told: list[tuple[float, str]] = []
    audit(
        ItemCounts.of(epsilon=1, cap=3),
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
