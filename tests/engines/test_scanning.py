"""Records in parts give the release of records in memory, and leave nothing behind."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.engines.spilling import PREFIX
from discreet.errors import DataError, UsageError
from discreet.models.registry import REGISTRY, create, settings_of
from discreet.privacy import Release, entropy
from discreet.privacy.ledger.families import by_person
from discreet.privacy.method import Method

FILMS = dc.synthetic.films(users=120, items=30, seed=7)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    FILMS.to_frame().write_parquet(tmp_path / "films.parquet")
    return tmp_path / "films.parquet"


def scanned(file: Path, parts: Any = 4, **given: Any) -> Any:
    options = {"rating": "rating", "timestamp": "timestamp", "scale": "1:5", "folder": file.parent, **given}
    return dc.scan(file, items=FILMS.items.series, parts=parts, **options)


class Replayed:
    """The same random bytes for everybody who asks for as many in the same order."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, n: int) -> np.ndarray:
        self.asked += 1
        return np.frombuffer(hashlib.shake_256(b"%d" % self.asked).digest(n), dtype=np.uint8)


def drawn(made: Any, data: Any) -> Release:
    """What a method releases with fixed randomness."""
    with (
        mock.patch.object(entropy, "random_bytes", Replayed()),
        mock.patch.object(entropy, "public_bytes", Replayed()),
        mock.patch.object(entropy, "bounding_key", return_value=(1, 2)),
        mock.patch.object(entropy, "public_bytes", Replayed()),  # of people who are drawn from the release
    ):
        return made.release(data)


def methods_of_sums() -> Iterator[str]:
    for entry in REGISTRY.values():
        kind = entry.load()
        ours = kind.__module__.startswith("discreet.")  # other tests register models of their own
        if ours and entry.takes == "interactions" and issubclass(kind, Method) and kind.reads == "sums":
            yield entry.name


def settings(name: str) -> dict[str, Any]:
    known = settings_of(REGISTRY[name].load())
    given: dict[str, Any] = {"epsilon": 8, "k": 5, "cap": 10, "head": 12}
    return {setting: given[setting] for setting, required in known.items() if required}


def test_other_methods_say_that_they_need_memory(file: Path) -> None:
    with pytest.raises(UsageError, match="needs the data in memory"):
        dc.neighbors.KNN().fit(scanned(file))
    with pytest.raises(UsageError, match="needs the data in memory"):
        create("ppns", epsilon=1).fit(scanned(file), allow_refuted=True)


def test_the_ledger_knows_the_same_records_in_memory_and_in_parts(file: Path, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "a.db")
    whole = dc.read(file, scale="1:5", catalog=FILMS.items.series.to_list())
    assert isinstance(whole, dc.Interactions)
    ledger.open(whole, population="viewers", epsilon=2)
    dc.counting.ItemCounts(epsilon=1, cap=10).release(scanned(file), ledger=ledger)
    assert len(ledger.statement("viewers").entries) == 1
    other = dc.Ledger(tmp_path / "b.db")
    other.open(scanned(file, parts=2), population="viewers", epsilon=2)
    dc.counting.ItemCounts(epsilon=1, cap=10).release(whole, ledger=other)
    assert scanned(file, parts=2).fingerprint == scanned(file, parts=7).fingerprint
    fewer = whole.filter(whole.user != 0, independent=True)
    assert fewer.hash_by_person != whole.hash_by_person


@pytest.mark.parametrize(
    "values", [[1.5, None, -0.0, 0.0], [1, None, 2**53, 2**53 + 1], ["a", None, "", "b"], [True, None, False, True]]
)
def test_the_fingerprint_does_not_depend_on_the_number_of_parts(values: list[Any], tmp_path: Path) -> None:
    rows = [(f"u{n}", f"i{n % 3}", values[n % 4]) for n in range(40)]
    frame = pl.DataFrame(rows, schema=["user_id", "item_id", "age"], orient="row")
    items = ["i0", "i1", "i2"]
    scans = [
        dc.scan(frame.lazy(), items=items, context=["age"], parts=parts, folder=tmp_path) for parts in (1, 2, 3, 7)
    ]
    whole = dc.Interactions(frame, items=items, context=["age"])
    assert {scan.fingerprint for scan in scans} == {by_person(whole)[0]}
    plain = dc.Interactions(frame, items=items)
    assert {scan.fingerprint_without_context for scan in scans} == {by_person(plain)[0]}
    ledger = dc.Ledger(tmp_path / "a.db")
    ledger.open(plain, population="p", epsilon=1)
    dc.counting.ItemCounts(epsilon=1, cap=3).release(scans[2], ledger=ledger)
    other = dc.Ledger(tmp_path / "b.db")
    other.open(dc.scan(frame.lazy(), items=items, parts=2, folder=tmp_path), population="p", epsilon=1)
    dc.counting.ItemCounts(epsilon=1, cap=3).release(whole, ledger=other)


def test_a_scan_that_was_closed_is_an_error_and_not_nobody(file: Path, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "a.db")
    data = scanned(file)
    ledger.open(data, population="p", epsilon=2)
    data.close()
    with pytest.raises(DataError, match="closed"):
        dc.counting.ItemCounts(epsilon=1, cap=3).release(data, ledger=ledger)
    assert not ledger.statement("p").entries
    other = scanned(file)
    next(file.parent.glob(f"{PREFIX}*/*.arrows")).unlink()
    with pytest.raises(DataError, match="is gone"):
        _ = other.fingerprint


def test_a_fork_leaves_the_files_alone(file: Path) -> None:
    data = scanned(file)
    if (child := os.fork()) == 0:
        data.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert sum(len(part) for part in data.each(lambda part: part)) == len(FILMS)


def test_nothing_is_removed_that_no_scan_wrote(file: Path, tmp_path: Path) -> None:
    foreign = tmp_path / f"{PREFIX}mine"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("years of work")
    (foreign / "discreet-scan.lock").symlink_to("/dev/null")
    orphan = tmp_path / f"{PREFIX}orphan"
    orphan.mkdir()
    (orphan / "discreet-scan.lock").touch()
    (orphan / "0.arrows").touch()
    (orphan / "notes.txt").write_text("mine")
    scanned(file)
    assert (foreign / "thesis.txt").exists()
    assert (orphan / "notes.txt").exists()
    assert not (orphan / "0.arrows").exists()


def test_plans_and_estimates_are_made_from_what_is_public(file: Path) -> None:
    data = scanned(file)
    assert dc.counting.ItemCounts(epsilon=1, cap=3).estimate(data)["loss"]
    assert dc.PrivateRecommender(epsilon=1).estimate(data, users=100)["loss"]


def test_data_without_records_are_released_like_any_other(tmp_path: Path) -> None:
    """Whether anybody is there is nobody's business."""
    frame = pl.DataFrame({"user_id": ["ann"], "item_id": ["tea"]}).clear()
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_csv(tmp_path / "a.csv")
    for source in (tmp_path / "a.parquet", tmp_path / "a.arrow", tmp_path / "a.csv", frame.lazy()):
        data = dc.scan(source, items=["tea", "rum"], folder=tmp_path)
        assert dc.counting.ItemCounts(epsilon=1, cap=3).release(data).table("counts").height == 2


def test_a_blank_id_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user_id,item_id\nann,tea\n ,tea\n")
    with pytest.raises(DataError, match="line 3, column 'user_id': the value is missing"):
        dc.scan(tmp_path / "a.csv", items=["tea"], folder=tmp_path)
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def test_a_fitted_model_recommends_to_people_of_the_parts(file: Path, tmp_path: Path) -> None:
    data = scanned(file)
    model = dc.PrivateRecommender(epsilon=8, delta="1e-6").fit(data)
    whole = FILMS.with_catalog(FILMS.items.series)
    alike = dc.PrivateRecommender.of_release(model.release_).attach(whole)
    users = [FILMS.users.ids()[place] for place in (3, 50, 7)]
    assert model.recommend(users, n=5).equals(alike.recommend(users, n=5))
    lists = pl.read_parquet(model.recommend_all(tmp_path / "all.parquet", n=5))
    expected = pl.read_parquet(alike.recommend_all(tmp_path / "whole.parquet", n=5))
    order = ["user_id", "rank"]
    assert lists.sort(order).equals(expected.sort(order))


def test_text_files_and_several_files(tmp_path: Path) -> None:
    frame = FILMS.to_frame().select("user_id", "item_id", "rating")
    for number in range(3):
        frame.filter(pl.int_range(pl.len()) % 3 == number).write_csv(tmp_path / f"{number}.csv")
    data = dc.scan(
        f"{tmp_path}/*.csv", items=FILMS.items.series, rating="rating", scale="1:5", parts=2, folder=tmp_path
    )
    together = pl.concat(list(data.each(lambda part: part.to_frame()))).select(frame.columns)
    assert together.sort(frame.columns).equals(frame.cast(together.schema).sort(frame.columns))  # type: ignore[arg-type]


def test_temporary_files_are_private_and_removed(file: Path) -> None:
    data = scanned(file)
    (folder,) = file.parent.glob(f"{PREFIX}*")
    assert folder.stat().st_mode & 0o777 == 0o700
    data.close()
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed_by_the_next_scan(file: Path) -> None:
    program = f"""
        import os, signal, discreet as dc
        data = dc.scan({str(file)!r}, items=["film-1"], parts=2, folder={str(file.parent)!r})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    # The catalog has one item, so making the parts would fail: the files are written before.
    program = program.replace('["film-1"]', repr(FILMS.items.ids()))
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = file.parent.glob(f"{PREFIX}*")
    scanned(file)
    assert not left.exists()


def test_clear_errors(file: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not there"):
        scanned(tmp_path / "missing.parquet")
    with pytest.raises(DataError, match="no file is called like"):
        dc.scan(f"{tmp_path}/*.csv", items=["a"])
    (tmp_path / "films.xlsx").write_bytes(b"x")
    with pytest.raises(DataError, match="not scanned"):
        scanned(tmp_path / "films.xlsx")
    with pytest.raises(UsageError, match="public list"):
        dc.scan(file, items=None)
    with pytest.raises(DataError):
        scanned(file, user="customer")
