"""The ledger under kill -9, crashes after every statement, full disks and rivals in other processes."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from discreet.errors import BudgetError, LedgerError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import Ledger
from discreet.privacy.losses import Pure
from discreet.privacy.units import Unit

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="these tests fork")

_PROCESSES = multiprocessing.get_context("fork") if hasattr(os, "fork") else multiprocessing.get_context()
_CRASHED = 77

InChild = Callable[[Callable[[], object]], int]
"""Runs something in a fork of this process; gives its exit code (``conftest.py``)."""

_MOST_KILLS = 40
"""After that many the others finish: on a busy machine a worker would else be killed before it gets anywhere."""


def guarantee(epsilon: str = "1/2") -> Guarantee:
    return Guarantee(Pure(Fraction(epsilon)), Unit("user"), Standing.PROVED, "a theorem", "noisy counts")


# Random kill -9


def _spend_on(place: str, diary: Path, attempts: int) -> None:
    """Spend again and again; the diary gets a line for each attempt, each refusal and each block that ran."""
    ledger = Ledger(place)
    lines = os.open(diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for _ in range(attempts):
        os.write(lines, b"attempt\n")
        try:
            with ledger.charge("films", guarantee("1/1000"), mechanism="test") as spend:
                os.write(lines, f"ran {spend.id}\n".encode())
        except BudgetError:
            os.write(lines, b"refused\n")


def _read(diary: Path) -> tuple[int, list[int]]:
    lines = diary.read_text().splitlines() if diary.exists() else []
    return lines.count("attempt"), [int(line.split()[1]) for line in lines if line.startswith("ran ")]


def _kill_at_random(place: str, folder: Path, *, workers: int, attempts: int, pause: float) -> int:
    """Let workers make so many attempts each, killing one of them again and again; how many were killed."""
    dice = random.Random(5)
    diaries = [folder / f"diary-{number}" for number in range(workers)]

    def start(number: int) -> Any:
        left = attempts - _read(diaries[number])[0]
        worker = _PROCESSES.Process(target=_spend_on, args=(place, diaries[number], left))
        worker.start()
        return worker

    running = {number: start(number) for number in range(workers)}
    kills = 0
    while running:
        number = dice.choice(sorted(running))
        if kills < _MOST_KILLS:
            time.sleep(dice.uniform(0, 2 * pause))
        if kills < _MOST_KILLS and running[number].is_alive():
            os.kill(running[number].pid, signal.SIGKILL)
            kills += 1
        running[number].join()
        if _read(diaries[number])[0] < attempts:
            running[number] = start(number)
        else:
            del running[number]
    return kills


@pytest.mark.parametrize(("kind", "workers", "attempts", "pause"), [("sqlite", 8, 120, 0.05), ("postgres", 8, 20, 0.1)])
def test_killed_at_random_the_book_never_passes_its_limit_and_forgets_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, workers: int, attempts: int, pause: float
) -> None:
    place = str(tmp_path / "budget.db") if kind == "sqlite" else request.getfixturevalue("postgres_place")
    admitted = workers * attempts // 2
    limit = Fraction(admitted, 1000)
    Ledger(place).open("films", epsilon=limit)
    kills = _kill_at_random(place, tmp_path, workers=workers, attempts=attempts, pause=pause)
    assert kills >= 3

    statement = Ledger(place).statement("films")
    diaries = [_read(path) for path in sorted(tmp_path.glob("diary-*"))]
    assert [made for made, _ in diaries] == [attempts] * workers
    assert statement.spent.epsilon + statement.reserved.epsilon == Fraction(len(statement.entries), 1000) <= limit
    # All requests were of one size, so the first refusal means that the account is full to the last thousandth.
    if any("refused" in path.read_text() for path in tmp_path.glob("diary-*")):
        assert len(statement.entries) == admitted
    ran = [number for _, numbers in diaries for number in numbers]
    assert len(ran) == len(set(ran))
    assert set(ran) <= {entry.id for entry in statement.entries}
    # Only a kill leaves a reservation, and a kill at most one.
    assert sum(entry.state == "reserved" for entry in statement.entries) <= kills


# A crash after every statement


@pytest.fixture(params=["exit", "raise"])
def crash(request: pytest.FixtureRequest, in_child: InChild) -> InChild | None:
    """How a crash is made: as the end of a child process, or as an exception (None)."""
    return in_child if request.param == "exit" else None


class _Trap:
    """Does something terrible at the n-th step that SQLAlchemy takes: before and after statements, before commits."""

    _STEPS = ("before_cursor_execute", "after_cursor_execute", "commit")

    def __init__(self, at: int, crash: Callable[[], object]) -> None:
        self.at, self.crash, self.steps = at, crash, 0

    def __enter__(self) -> None:
        for step in self._STEPS:
            event.listen(Engine, step, self._step)

    def __exit__(self, *_: object) -> None:
        for step in self._STEPS:
            event.remove(Engine, step, self._step)

    def _step(self, *_: object) -> None:
        self.steps += 1
        if self.steps == self.at:
            self.crash()


def _fail() -> None:
    raise RuntimeError("crash")


def _crashes(action: Callable[[int], object], in_child: InChild | None) -> list[int]:
    """Run an action with a crash at its 1st, 2nd, … step until it gets through; the numbers of the crashed runs.

    With ``in_child`` the process ends there, and without it an exception is raised.
    """
    crashed = []
    for at in range(1, 200):
        if in_child is not None:
            trapped = _trapped(at, lambda: os._exit(_CRASHED))
            code = in_child(lambda at=at, trapped=trapped: trapped(action, at))
            assert code in (0, _CRASHED)
            done = code == 0
        else:
            try:
                _trapped(at, _fail)(action, at)
                done = True
            except RuntimeError:
                done = False
        if done:
            return crashed
        crashed.append(at)
    raise AssertionError("an action of two hundred steps")


def _trapped(at: int, crash: Callable[[], object]) -> Callable[[Callable[[int], object], int], None]:
    def run(action: Callable[[int], object], number: int) -> None:
        with _Trap(at, crash):
            action(number)

    return run


def test_a_crash_anywhere_in_a_spend_leaves_the_charge_or_the_block_never_ran(
    place: str, tmp_path: Path, crash: InChild | None
) -> None:
    ledger = Ledger(place)
    ledger.open("films", epsilon=1000)

    def charge(number: int) -> None:
        with ledger.charge("films", guarantee("1"), mechanism=f"run {number}") as spend:
            (tmp_path / f"ran {number}").touch()
            spend.settle("release")

    crashed = _crashes(charge, crash)
    entries = Ledger(place).statement("films").entries
    outcomes: Counter[tuple[bool, str]] = Counter()
    for number in crashed:
        ran = (tmp_path / f"ran {number}").exists()
        states = [entry.state for entry in entries if entry.mechanism == f"run {number}"]
        assert len(states) <= 1
        assert states or not ran
        outcomes[ran, states[0] if states else "nothing"] += 1
    # Crashes before the reservation and after it were both tried.
    assert {(False, "nothing"), (True, "reserved")} <= set(outcomes)
    assert set(outcomes) <= {(False, "nothing"), (False, "reserved"), (True, "reserved"), (True, "settled")}
    # The one that got through is settled, and the account works on with what is left.
    assert entries[-1].state == "settled"
    assert Ledger(place).statement("films").left.epsilon == 1000 - len(entries)


def test_a_crash_anywhere_in_opening_leaves_all_of_an_account_or_nothing(place: str, crash: InChild | None) -> None:
    ledger = Ledger(place)
    ledger.open("first", epsilon=1)
    for number in _crashes(lambda at: ledger.open(f"data {at}", epsilon=2, delta="1e-6"), crash):
        fresh = Ledger(place)
        if f"data {number}" not in {account.name for account in fresh.datasets()}:
            fresh.open(f"data {number}", epsilon=2, delta="1e-6")
        with fresh.charge(f"data {number}", guarantee(), mechanism="test"):
            pass
        assert fresh.statement(f"data {number}").left.epsilon == Fraction(3, 2)


def test_a_crash_anywhere_in_making_the_book_leaves_a_whole_book_or_none(tmp_path: Path, crash: InChild | None) -> None:
    def make(number: int) -> None:
        Ledger(tmp_path / f"{number}.db").open("films", epsilon=1)

    crashed = _crashes(make, crash)
    assert len(crashed) > 10
    for number in crashed:
        ledger = Ledger(tmp_path / f"{number}.db")
        if not ledger.datasets():
            ledger.open("films", epsilon=1)
        with ledger.charge("films", guarantee("1"), mechanism="test"):
            pass
        assert ledger.statement("films").left.epsilon == 0


def test_a_crash_anywhere_in_making_the_tables_of_postgres(postgres_place: str, in_child: InChild) -> None:
    # Each attempt meets what the crash before it left; half-made tables would end the series with an error.
    assert len(_crashes(lambda _: Ledger(postgres_place).open("films", epsilon=1), in_child)) > 10
    assert [account.name for account in Ledger(postgres_place).datasets()] == ["films"]


# A full disk


def _limit_file_size(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_refuses_the_charge_before_the_block_runs(tmp_path: Path, in_child: InChild) -> None:
    path, diary = tmp_path / "budget.db", tmp_path / "diary"
    Ledger(path).open("films", epsilon=1000)
    diary.touch()

    def spend_until_full() -> None:
        ledger = Ledger(path)
        _limit_file_size(path.stat().st_size + 20_000)
        try:
            for _ in range(1000):
                with ledger.charge("films", guarantee("1"), mechanism="test") as spend, diary.open("a") as lines:
                    lines.write(f"{spend.id}\n")
        except LedgerError as error:
            os._exit(0 if "disk" in str(error) else 2)
        os._exit(3)

    assert in_child(spend_until_full) == 0
    ran = {int(line) for line in diary.read_text().split()}
    ledger = Ledger(path)
    recorded = {entry.id for entry in ledger.statement("films").entries}
    assert ran <= recorded
    assert len(recorded) <= len(ran) + 1
    assert len(ran) > 5
    with ledger.charge("films", guarantee("1"), mechanism="after there was room"):
        pass
    assert len(ledger.statement("films").entries) == len(recorded) + 1


def test_a_disk_that_is_full_from_the_start_gets_no_book(tmp_path: Path, in_child: InChild) -> None:
    def open_it() -> None:
        _limit_file_size(1000)
        with pytest.raises(LedgerError, match="disk"):
            Ledger(tmp_path / "budget.db").open("films", epsilon=1)

    assert in_child(open_it) == 0
    assert list(tmp_path.iterdir()) == []


# Other processes


def _compete(place: str, start: Any, won: Any) -> None:
    ledger = Ledger(place)
    start.wait()
    try:
        with ledger.charge("films", guarantee("3/5"), mechanism="test"):
            won.value += 1
    except BudgetError:
        pass


def test_of_processes_whose_spends_fit_alone_one_wins(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("films", epsilon=1)
    start, won = _PROCESSES.Barrier(4), _PROCESSES.Value("i", 0)
    rivals = [_PROCESSES.Process(target=_compete, args=(place, start, won)) for _ in range(4)]
    for rival in rivals:
        rival.start()
    for rival in rivals:
        rival.join()
        assert rival.exitcode == 0
    assert won.value == 1
    assert ledger.statement("films").spent.epsilon == Fraction(3, 5)


def test_a_ledger_survives_a_fork_in_the_middle_of_a_spend(place: str, in_child: InChild) -> None:
    ledger = Ledger(place)
    ledger.open("films", epsilon=2)

    def charge() -> None:
        with ledger.charge("films", guarantee(), mechanism="in the child"):
            pass

    with ledger.charge("films", guarantee(), mechanism="in the parent"):
        assert in_child(charge) == 0
    statement = ledger.statement("films")
    assert [entry.mechanism for entry in statement.entries] == ["in the parent", "in the child"]
    assert statement.spent.epsilon == 1
