"""Sessions: one question after another for one charge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.coupled import MWEM, PMW, Coupling, QuerySession, random_queries
from discreet.data import Table
from discreet.errors import BudgetError, PrivacyError, UsageError
from discreet.privacy import Ledger, Release
from discreet.privacy.losses import Pure

DOMAINS = {"age": range(100), "gender": ["F", "M"]}


def table(rows: int = 1000) -> Table:
    rng = np.random.default_rng(4)
    columns = {
        "age": np.clip(rng.normal(35, 12, rows).astype(int), 0, 99),
        "gender": rng.choice(["F", "M"], rows),
        "home": np.arange(rows) // 4,
    }
    return Table(columns, domains=DOMAINS, group="home", name="people")


def opened_ledger(tmp_path, data: Table, unit: str = "record/replace") -> Ledger:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(data, epsilon=1, unit=unit)
    return ledger


def spent(ledger: Ledger, data: Table) -> list:
    return list(ledger.statement(data).entries)


def test_a_session_is_charged_once_and_ends_in_a_release(tmp_path, fixed_bits) -> None:
    data = table()
    ledger = opened_ledger(tmp_path, data)
    with QuerySession.open(data, PMW(epsilon=1, updates=3), ledger=ledger) as session:
        for age in range(60):
            answer = session.ask({"age": [age, 99], "gender": "F"})
            assert answer.label == (f"age = {age} … 99 and gender = F" if age else "gender = F")
            assert 0 <= float(answer) <= len(data)
        assert len(session) == 60
        assert len(spent(ledger, data)) == 1
    release = session.close()
    assert isinstance(release, Release)
    assert release is session.close()
    assert ledger.account_of_release(release.id) is not None
    assert release.table("answers").height == 60
    assert release.array("histogram").sum() == pytest.approx(1000)
    assert release.guarantee.loss == Pure(Fraction(1))
    assert "any number of linear queries" in str(release.guarantee)
    with pytest.raises(UsageError, match="closed"):
        session.ask({"gender": "F"})
    with pytest.raises(BudgetError):
        QuerySession.open(data, PMW(epsilon="1/10"), ledger=ledger)


def test_a_session_stops_touching_data_at_the_cap_and_goes_on(fixed_bits) -> None:
    data = table()
    session = QuerySession.open(data, PMW(epsilon=20, updates=2, threshold=5))
    sources = [session.ask({"age": [0, age]}).source for age in range(20, 40)]
    assert session.updates_left == 0
    assert sources.count("measured") == 2
    assert session._run._truth is None
    assert session.ask({"gender": "M"}).source == "estimate"


def test_a_question_with_a_mistake_costs_nothing(tmp_path) -> None:
    data = table()
    ledger = opened_ledger(tmp_path, data)
    session = QuerySession.open(data, PMW(epsilon="1/2", updates=2), ledger=ledger)
    for question in ({"size": 1}, {"age": 200}, {"gender": ["F", "M"]}, [1]):
        with pytest.raises(UsageError, match="query 0"):
            session.ask(question)  # type: ignore[arg-type]
    assert len(spent(ledger, data)) == 1
    assert len(session) == 0
    assert session.updates_left == 2


def test_groups_are_the_unit_of_a_session(fixed_bits) -> None:
    data = table(400)
    homes = Coupling.by_group(data)
    session = QuerySession.open(data, PMW(epsilon=1, updates=2), coupling=homes)
    assert session.guarantee.unit.code == "group/replace:4"
    with pytest.raises(PrivacyError, match="secret rows"):
        QuerySession.open(data, PMW(epsilon=1), coupling=Coupling.by_attribute(data, "gender"))


def test_workloads_of_one_query_can_be_asked(fixed_bits) -> None:
    data = table()
    session = QuerySession.open(data, PMW(epsilon=1, updates=2))
    workload = random_queries(data, 3, seed=1)
    assert session.ask(workload[1:2]).label == "random subset 1"
    with pytest.raises(UsageError, match="one query at a time, got 3"):
        session.ask(workload)
    with pytest.raises(UsageError, match="attributes"):
        session.ask(random_queries({"x": range(3)}, 1, seed=1))


def test_an_open_session_that_fails_keeps_its_charge(tmp_path) -> None:
    data = table()
    ledger = opened_ledger(tmp_path, data)
    session = QuerySession.open(data, PMW(epsilon="1/2", updates=2), ledger=ledger)
    with pytest.raises(UsageError, match="no attribute"), session:
        session.ask({"shoes": 42})
    assert not session.closed
    assert len(spent(ledger, data)) == 1


def test_sessions_run_on_pmw() -> None:
    with pytest.raises(UsageError, match="runs on PMW, not on MWEM"):
        QuerySession.open(table(10), MWEM(epsilon=1))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="questions"):
        QuerySession.open(table(10), PMW(epsilon=1), questions=0)
    with pytest.raises(UsageError, match="about a Table"):
        QuerySession.open([1, 2], PMW(epsilon=1))  # type: ignore[arg-type]


def test_threads_that_share_a_session_share_its_cap() -> None:
    import sys
    from concurrent.futures import ThreadPoolExecutor

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        session = QuerySession.open(table(), PMW(epsilon=100, updates=5, threshold="1/4096"))
        with ThreadPoolExecutor(8) as threads:
            told = list(threads.map(lambda age: session.ask({"age": age}), [*range(20, 60)] * 3))
    finally:
        sys.setswitchinterval(before)
    assert sum(answer.source == "measured" for answer in told) <= 5
    assert session.updates_left >= 0


def test_a_session_of_a_sandbox_stays_in_it(tmp_path) -> None:
    from discreet.errors import ReleaseError
    from discreet.privacy.charging import sandbox

    with sandbox():
        session = QuerySession.open(table(), PMW(epsilon=1, updates=2))
    with pytest.raises(ReleaseError, match="sandbox"):
        session.close().save(tmp_path / "answers")
