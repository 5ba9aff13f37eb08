"""A ledger that was damaged, cut short or rolled back says so: it never has more budget than true."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from discreet.errors import DiscreetWarning, LedgerError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import Ledger, heads, restore_ledger
from discreet.privacy.ledger import store as ledger_store
from discreet.privacy.losses import Pure
from discreet.privacy.units import Unit

OLD = Path(__file__).parent / "old_ledgers"


def guarantee(epsilon: str | Fraction = "1/2") -> Guarantee:
    return Guarantee(Pure(Fraction(epsilon)), Unit("user"), Standing.PROVED, "a theorem", "noisy counts")


def spend(ledger: Ledger, epsilon: str | Fraction = "1/2", data: str = "films") -> None:
    with ledger.charge(data, guarantee(epsilon), mechanism="test"):
        pass


def left(place: str | Path) -> dict[str, Fraction]:
    """What each account has left, found out without the slow totals of a statement."""
    ledger = Ledger(place)
    return {account.name: ledger.estimate(account.name, guarantee("1/9")).left.epsilon for account in ledger.datasets()}


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of two accounts with twenty charges."""
    path = tmp_path_factory.mktemp("filled") / "budget.db"
    ledger = Ledger(path)
    ledger.open("films", epsilon=10)
    ledger.open("games", epsilon=3)
    for number in range(2, 20):
        spend(ledger, Fraction(1, number))
    ledger.charge("films", guarantee("1/7"), mechanism="never settled")
    spend(ledger, "1/3", "games")
    return path


@pytest.fixture
def filled(filled_once: Path, tmp_path: Path) -> Path:
    """A copy of that ledger, with its head."""
    for file in filled_once.parent.iterdir():
        shutil.copy(file, tmp_path / file.name)
    return tmp_path / filled_once.name


def _no_more_than(true: dict[str, Fraction], path: Path) -> str:
    """Open a damaged ledger: "refused", or "harmless" where it has no more budget than true."""
    try:
        found = left(path)
    except LedgerError:
        return "refused"
    assert found.keys() == true.keys(), "an account is gone without an error"
    assert all(found[name] <= true[name] for name in true), f"more budget than true: {found}"
    return "harmless"


class TestFlippedBits:
    def test_in_the_database(self, filled: Path) -> None:
        self._flip(filled, filled, flips=1500)

    def test_in_the_head(self, filled: Path) -> None:
        head = filled.with_name("budget.db.head")
        outcomes = self._flip(filled, head, flips=head.stat().st_size * 8)
        assert outcomes["harmless"] == 0

    @pytest.mark.parametrize("ending", ["-journal", "-wal"])
    def test_in_what_a_crash_left(self, filled: Path, ending: str) -> None:
        """A hot journal with any bit flipped, and a log that does not belong there, forget nothing."""
        true = left(filled)
        self._crash_within_a_commit(filled)
        journal = filled.with_name(f"budget.db{ending}")
        if ending == "-wal":
            filled.with_name("budget.db-journal").rename(journal)
        outcomes = self._flip(filled, journal, flips=400, true=true)
        assert sum(outcomes.values()) == 400

    @staticmethod
    def _crash_within_a_commit(path: Path) -> None:
        """Leave a hot journal: pages of a transaction in the database, and the way back in the journal."""
        code = (
            "import os, sqlite3, sys\n"
            "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
            "connection.execute('PRAGMA cache_size = 1')\n"
            "connection.execute('PRAGMA cache_spill = 1')\n"
            "connection.execute('BEGIN IMMEDIATE')\n"
            "connection.execute('UPDATE discreet_spends SET parameters = hex(zeroblob(3000))')\n"
            "os._exit(0)\n"
        )
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        assert path.with_name("budget.db-journal").stat().st_size > 1000

    @staticmethod
    def _flip(path: Path, where: Path, *, flips: int, true: dict[str, Fraction] | None = None) -> dict[str, int]:
        true = true or left(path)
        files = {file: file.read_bytes() for file in sorted(path.parent.iterdir())}
        content = files[where]
        # Every bit where there are few; otherwise a sample of positions that covers the whole file.
        positions = random.Random(3).sample(range(len(content) * 8), flips)
        outcomes = {"refused": 0, "harmless": 0}
        for bit in positions:
            for file in path.parent.iterdir():
                file.unlink()
            for file, data in files.items():
                file.write_bytes(data)
            changed = bytearray(content)
            changed[bit // 8] ^= 1 << bit % 8
            where.write_bytes(changed)
            outcomes[_no_more_than(true, path)] += 1
        assert outcomes["refused"] > 0 or where.name.endswith(("-journal", "-wal"))
        return outcomes


class TestLosses:
    def test_cut_short_anywhere(self, filled: Path) -> None:
        true, content = left(filled), filled.read_bytes()
        for size in range(0, len(content), 1000):
            filled.write_bytes(content[:size])
            assert _no_more_than(true, filled) == "refused"

    @pytest.mark.parametrize("size", [0, 1, 50, 100])
    def test_a_head_that_is_cut_short(self, filled: Path, size: int) -> None:
        head = filled.with_name("budget.db.head")
        head.write_bytes(head.read_bytes()[:size])
        with pytest.raises(LedgerError, match=r"budget\.db\.head is damaged.*restore"):
            Ledger(filled)

    def test_a_head_that_is_gone(self, filled: Path) -> None:
        open_already = Ledger(filled)
        filled.with_name("budget.db.head").unlink()
        with pytest.raises(LedgerError, match=r"budget\.db\.head is missing"):
            Ledger(filled)
        with pytest.raises(LedgerError, match=r"budget\.db\.head is missing"):
            spend(open_already)

    def test_a_database_that_is_gone_is_not_made_anew(self, filled: Path) -> None:
        filled.unlink()
        with pytest.raises(LedgerError, match=r"is gone, and .*budget\.db\.head knows of"):
            Ledger(filled).open("films", epsilon=10)
        assert not filled.exists()

    def test_an_older_copy_of_the_database(self, filled: Path) -> None:
        open_already = Ledger(filled)
        older = filled.read_bytes()
        spend(open_already)
        filled.write_bytes(older)
        with pytest.raises(LedgerError, match="has lost entries"):
            Ledger(filled)
        with pytest.raises(LedgerError, match="has lost entries"):
            spend(open_already)

    def test_another_ledger_of_the_same_length(self, filled: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.db"
        shutil.copy(filled, other)
        shutil.copy(filled.with_name("budget.db.head"), tmp_path / "other.db.head")
        spend(Ledger(filled), "1")
        spend(Ledger(other), "1/1000")
        shutil.copy(other, filled)
        with pytest.raises(LedgerError, match="is not the ledger that"):
            Ledger(filled)

    @pytest.mark.parametrize(
        "change",
        [
            'UPDATE discreet_spends SET loss = \'{"epsilon": "1/100", "kind": "pure"}\' WHERE id = 3',
            "UPDATE discreet_spends SET counted = 0 WHERE id = 3",
            "UPDATE discreet_spends SET account = 2 WHERE id = 3",
            "UPDATE discreet_spends SET state = 'reserved' WHERE id = 3",
            "UPDATE discreet_accounts SET epsilon = '100'",
            "UPDATE discreet_fingerprints SET account = 2",
            "DELETE FROM discreet_spends WHERE id = 3",
            "DELETE FROM discreet_spends WHERE id = (SELECT max(id) FROM discreet_spends)",
            "DELETE FROM discreet_chain WHERE number = (SELECT max(number) FROM discreet_chain)",
            "INSERT INTO discreet_spends SELECT 99, account, counted, state, loss, mechanism, parameters, guarantee,"
            " release, reserved_at, settled_at, who, saved_at, periods, whole_loss, key, request, drawing_at, saved_in"
            " FROM discreet_spends WHERE id = 3",
            "UPDATE discreet_accounts SET lifetime_epsilon = '100' WHERE id = 1",
            "UPDATE discreet_spends SET periods = '[\"2020\"]' WHERE id = 3",
            "UPDATE discreet_spends SET key = 'mine' WHERE id = 3",
            "UPDATE discreet_spends SET saved_in = '/elsewhere' WHERE id = 3",
        ],
    )
    def test_rows_that_were_changed(self, place: str, change: str) -> None:
        ledger = Ledger(place)
        ledger.open("films", epsilon=10)
        ledger.open("games", epsilon=3)
        for _ in range(5):
            spend(ledger)
        if place.startswith("postgresql"):
            change = change.replace("counted = 0", "counted = false")
        with ledger_store.store_at(place).write() as connection:
            connection.exec_driver_sql(change)
        with pytest.raises(LedgerError, match=r"was changed|is missing|not in its chain|its head says|has lost"):
            Ledger(place).statement("films")

    def test_a_truth_value_that_is_neither(self, filled: Path) -> None:
        """A 3 in the place of a 1 reads as true in Python, and is counted by no sum."""
        with sqlite3.connect(filled) as connection:
            connection.execute("UPDATE discreet_spends SET counted = 3 WHERE id = 2")
        with pytest.raises(LedgerError, match="entry 2"):
            Ledger(filled)


class TestCrashesBetweenThePlaces:
    def test_a_head_that_is_behind_is_no_alarm(self, filled: Path) -> None:
        ledger, head = Ledger(filled), filled.with_name("budget.db.head")
        before = head.read_bytes()
        spend(ledger)
        expected = left(filled)
        head.write_bytes(before)
        assert left(filled) == expected
        spend(Ledger(filled), "1/4")
        assert left(filled)["films"] == expected["films"] - Fraction(1, 4)
        assert head.read_bytes() != before

    @pytest.mark.parametrize("step", ["write", "fsync", "replace", "unlink"])
    def test_killed_while_the_head_is_written(
        self, filled: Path, step: str, in_child: Callable[[Callable[[], object]], int]
    ) -> None:
        true, ran = left(filled), filled.with_name("ran")

        def killed_in_a_charge() -> None:
            ledger = Ledger(filled)
            setattr(*((heads, "_spelled") if step == "write" else (heads.os, step)), lambda *_: os.kill(os.getpid(), 9))
            with ledger.charge("films", guarantee("1"), mechanism="killed"):
                ran.touch()

        assert in_child(killed_in_a_charge) == -9
        assert not ran.exists()
        found = left(filled)
        assert found["films"] in (true["films"], true["films"] - 1)
        spend(Ledger(filled), "1/4")
        assert left(filled)["films"] == found["films"] - Fraction(1, 4)

    def test_a_head_that_cannot_be_written_stops_the_run(self, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from discreet.privacy.ledger.heads import HeadFile

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        ledger, true, ran = Ledger(filled), left(filled), []
        with monkeypatch.context() as patched:
            patched.setattr(HeadFile, "write", full)
            with (
                pytest.raises(LedgerError, match=r"head cannot be written: No space.*stays charged"),
                ledger.charge("films", guarantee("1"), mechanism="test"),
            ):
                ran.append(1)
        assert not ran
        assert left(filled)["films"] == true["films"] - 1

    def test_nothing_lives_in_a_log_after_a_command(
        self, filled: Path, in_child: Callable[[Callable[[], object]], int]
    ) -> None:
        def killed_after_a_charge() -> None:
            Ledger(filled).charge("films", guarantee("1"), mechanism="killed")
            os.kill(os.getpid(), 9)

        true = left(filled)
        # A reader at the same time kept the log of the first version from being emptied.
        with sqlite3.connect(filled) as reader:
            reader.execute("BEGIN")
            assert in_child(killed_after_a_charge) == -9
        reader.close()
        assert sorted(path.name for path in filled.parent.iterdir()) == ["budget.db", "budget.db.head"]
        alone = filled.with_name("alone.db")
        shutil.copy(filled, alone)
        shutil.copy(filled.with_name("budget.db.head"), filled.with_name("alone.db.head"))
        assert left(alone)["films"] == true["films"] - 1

    def test_opening_a_ledger_keeps_the_lock_of_another_thread(self, filled: Path) -> None:
        """Closing any handle on a file drops all locks that the process has on it."""
        code = (
            "import sqlite3, sys\n"
            "connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
            "try:\n    connection.execute('BEGIN IMMEDIATE')\n"
            "except sqlite3.OperationalError:\n    sys.exit(3)\n"
        )
        with ledger_store.store_at(filled).write():
            Ledger(filled)
            assert subprocess.run([sys.executable, "-c", code, str(filled)], check=False).returncode == 3


def _migrate_and_spend(path: Path) -> None:
    warnings.simplefilter("ignore")
    spend(Ledger(path), "1/4")


class TestMigration:
    TOTAL = sum((Fraction(1, n + 1) for n in range(1, 9)), Fraction(1, 8))

    @pytest.mark.parametrize(("name", "more"), [("version-1", 0), ("version-1-killed", Fraction(1, 2))])
    def test_a_ledger_of_version_1(self, tmp_path: Path, name: str, more: Fraction) -> None:
        for ending in ("", "-wal"):
            if (OLD / f"{name}.sqlite{ending}").exists():
                shutil.copy(OLD / f"{name}.sqlite{ending}", tmp_path / f"budget.db{ending}")
        with pytest.warns(DiscreetWarning, match=r"copy from before is .*budget\.db\.version-1"):
            found = left(tmp_path / "budget.db")
        assert found == {"films": 10 - self.TOTAL - more, "games": Fraction(2)}
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "budget.db",
            "budget.db.head",
            "budget.db.version-1",
        ]
        statement = Ledger(tmp_path / "budget.db").statement("films of tomorrow")
        assert [entry.release for entry in statement.entries[:2]] == ["release-1", "release-2"]
        assert [entry.outcome for entry in statement.entries[7:9]] == ["settled", "reserved, never settled"]
        spend(Ledger(tmp_path / "budget.db"), "1/4")
        assert left(tmp_path / "budget.db")["films"] == found["films"] - Fraction(1, 4)
        # The copy is a whole ledger of version 1.
        shutil.copy(tmp_path / "budget.db.version-1", tmp_path / "again.db")
        with pytest.warns(DiscreetWarning, match="migrated"):
            assert left(tmp_path / "again.db") == found

    def test_a_ledger_of_version_2_keeps_its_chain(self, tmp_path: Path) -> None:
        path = tmp_path / "budget.db"
        for ending in ("", ".head"):
            shutil.copy(OLD / f"version-2.sqlite{ending}", f"{path}{ending}")
        head = (tmp_path / "budget.db.head").read_bytes()
        with pytest.warns(DiscreetWarning, match=r"copy from before is .*budget\.db\.version-2"):
            found = left(path)
        assert found == {"films": 10 - self.TOTAL, "games": Fraction(2)}
        assert (tmp_path / "budget.db.head").read_bytes() == head
        shutil.copy(tmp_path / "budget.db.version-2", tmp_path / "again.db")
        shutil.copy(tmp_path / "budget.db.head", tmp_path / "again.db.head")
        with pytest.warns(DiscreetWarning, match="migrated"):
            assert left(tmp_path / "again.db") == found
        assert Ledger(path).statement("films of tomorrow").entries[0].saved_at
        spend(Ledger(path), "1/4")
        assert left(path)["films"] == found["films"] - Fraction(1, 4)

    def test_a_version_2_that_lost_an_entry_is_not_migrated(self, tmp_path: Path) -> None:
        path = tmp_path / "budget.db"
        for ending in ("", ".head"):
            shutil.copy(OLD / f"version-2.sqlite{ending}", f"{path}{ending}")
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM discreet_spends WHERE id = 3")
        before = path.read_bytes()
        with pytest.raises(LedgerError, match="entry 3"):
            Ledger(path)
        assert path.read_bytes() == before
        assert sorted(file.name for file in tmp_path.iterdir()) == ["budget.db", "budget.db.head"]

    def test_a_version_1_in_the_place_of_a_version_2_is_a_loss(self, filled: Path) -> None:
        shutil.copy(OLD / "version-1.sqlite", filled)
        with pytest.raises(LedgerError, match=r"is of version 1, and .* knows of"):
            Ledger(filled)

    def test_by_several_processes_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "budget.db"
        shutil.copy(OLD / "version-1.sqlite", path)
        several = [
            multiprocessing.get_context("fork").Process(target=_migrate_and_spend, args=(path,)) for _ in range(3)
        ]
        for process in several:
            process.start()
        for process in several:
            process.join()
        assert [process.exitcode for process in several] == [0, 0, 0]
        assert left(path)["films"] == 10 - self.TOTAL - Fraction(3, 4)

    @pytest.mark.parametrize("stop", ["copy_database", "migrate", "HeadFile.write"])
    def test_a_crash_within_is_no_alarm(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: str) -> None:
        from discreet.privacy.ledger import sqlite_store

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        path = tmp_path / "budget.db"
        shutil.copy(OLD / "version-1.sqlite", path)
        target, _, name = stop.rpartition(".")
        with monkeypatch.context() as patched:
            patched.setattr(getattr(sqlite_store, target) if target else sqlite_store, name, crash)
            with pytest.raises(KeyboardInterrupt):
                Ledger(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            assert left(path)["films"] == 10 - self.TOTAL

    @pytest.mark.parametrize("version", [1, 2])
    def test_in_postgres(self, postgres_place: str, postgres_server: str, version: int) -> None:
        schema = postgres_place.rpartition("%3D")[2]
        script = (OLD / f"version-{version}-postgres.sql").read_text().replace("public.", f"{schema}.")
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(script)  # type: ignore[arg-type]
        assert left(postgres_place) == {"films": 10 - self.TOTAL, "games": Fraction(2)}
        spend(Ledger(postgres_place), "1/4")
        assert left(postgres_place)["films"] == 10 - self.TOTAL - Fraction(1, 4)
        with psycopg.connect(postgres_server) as connection:
            kept = connection.execute(f"SELECT count(*) FROM {schema}.discreet_spends_version_{version}")  # type: ignore[arg-type]
            assert kept.fetchone() == ({1: 11, 2: 9}[version],)


class TestCopies:
    def test_there_and_back(self, filled: Path, tmp_path: Path) -> None:
        true = left(filled)
        copy = Ledger(filled).backup(tmp_path / "monday.backup")
        assert copy.stat().st_mode & 0o777 == 0o600
        filled.write_bytes(b"damaged")
        forgotten = restore_ledger(copy, filled)
        assert forgotten.nothing
        assert left(filled) == true
        assert forgotten.kept[0].read_bytes() == b"damaged"

    def test_a_backup_overwrites_nothing(self, filled: Path, tmp_path: Path) -> None:
        (tmp_path / "mine").write_text("mine")
        with pytest.raises(LedgerError, match="is there already"):
            Ledger(filled).backup(tmp_path / "mine")
        assert (tmp_path / "mine").read_text() == "mine"

    def test_a_damaged_ledger_is_not_backed_up(self, filled: Path, tmp_path: Path) -> None:
        ledger = Ledger(filled)
        with sqlite3.connect(filled) as connection:
            connection.execute("DELETE FROM discreet_spends WHERE id = 3")
        with pytest.raises(LedgerError, match="entry 3"):
            ledger.backup(tmp_path / "monday.backup")
        assert not (tmp_path / "monday.backup").exists()

    def test_what_would_be_forgotten_is_said_and_needs_a_word(self, filled: Path, tmp_path: Path) -> None:
        copy = Ledger(filled).backup(tmp_path / "monday.backup")
        true = left(filled)
        spend(Ledger(filled), "3/4")
        Ledger(filled).open("books", epsilon=1)
        with pytest.raises(LedgerError) as refusal:
            restore_ledger(copy, filled)
        for said in ("1 entry", "films: ε = 0.75", "films #21", "account books", "Nothing was changed"):
            assert said in str(refusal.value)
        assert left(filled)["films"] == true["films"] - Fraction(3, 4)
        forgotten = restore_ledger(copy, filled, forget=True)
        assert forgotten.epsilon == (("films", Fraction(3, 4)),)
        assert left(filled) == true
        before = forgotten.kept[0]
        assert sorted(path.name for path in forgotten.kept) == [before.name, f"{before.name}.head"]
        assert left(before)["films"] == true["films"] - Fraction(3, 4)

    def test_losses_that_nobody_can_list(self, filled: Path, tmp_path: Path) -> None:
        copy = Ledger(filled).backup(tmp_path / "monday.backup")
        spend(Ledger(filled), "3/4")
        filled.unlink()
        with pytest.raises(LedgerError, match=r"knows of \d+ steps.*not known what the others charged"):
            restore_ledger(copy, filled)
        assert not restore_ledger(copy, filled, forget=True).nothing

    def test_a_head_is_made_again_from_the_ledger_itself(self, filled: Path) -> None:
        true = left(filled)
        filled.with_name("budget.db.head").unlink()
        with pytest.raises(LedgerError, match="is missing or damaged, so that it is not known"):
            restore_ledger(filled, filled)
        restore_ledger(filled, filled, forget=True)
        assert left(filled) == true

    @pytest.mark.parametrize("spoil", [lambda p: p.write_bytes(b"x" * 5000), lambda p: os.truncate(p, 9000)])
    def test_a_damaged_backup_changes_nothing(
        self, filled: Path, tmp_path: Path, spoil: Callable[[Path], object]
    ) -> None:
        true, copy = left(filled), Ledger(filled).backup(tmp_path / "monday.backup")
        spoil(copy)
        with pytest.raises(LedgerError, match=r"damaged|not a ledger"):
            restore_ledger(copy, filled, forget=True)
        assert left(filled) == true

    def test_a_backup_of_version_1(self, filled: Path) -> None:
        forgotten = restore_ledger(OLD / "version-1.sqlite", filled, forget=True)
        assert len(forgotten.entries) == 20
        assert left(filled)["films"] == 10 - TestMigration.TOTAL
