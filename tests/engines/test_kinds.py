"""Tags and tables in parts, on this machine and on a cluster, give the releases of data in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.engines.test_scanning import drawn
from tests.engines.test_spark import require_equal

import discreet as dc
from discreet.coupled import marginals
from discreet.data import IntegerDomain, Table, TagAssignments, synthetic
from discreet.engines.spilling import PREFIX
from discreet.errors import DataError, UsageError
from discreet.models.registry import REGISTRY, create
from discreet.privacy import Release
from discreet.privacy.method import Method

TAGS = synthetic.tags(users=60, resources=20, vocabulary=24, seed=3)
DOMAINS = {"smokes": ["no", "yes"], "age": IntegerDomain(18, 77, bins=3), "sex": ["F", "M"]}
ROWS = pl.DataFrame(
    [("yes" if n % 3 else "no", 18 + n * 7 % 60, "FM"[n % 2]) for n in range(300)], schema=[*DOMAINS], orient="row"
)


def methods(takes: str) -> list[str]:
    kinds = {entry.name: entry.load() for entry in REGISTRY.values() if entry.takes == takes}
    return sorted(n for n, kind in kinds.items() if issubclass(kind, Method) and kind.reads == "sums")


def whole_tags() -> TagAssignments:
    return TAGS.with_vocabulary(TAGS.tags.series).with_resources(TAGS.resources.series)


def scanned_tags(source: Any, folder: Path, **given: Any) -> Any:
    options = {"tags": TAGS.tags.series, "resources": TAGS.resources.series, "folder": folder, "parts": 3, **given}
    return dc.scan(source, what="tags", **options)


def scanned_table(source: Any, folder: Path, **given: Any) -> Any:
    return dc.scan(source, what="table", domains=DOMAINS, folder=folder, **{"parts": 3, **given})


def answered(name: str, data: Any) -> Release:
    workload = marginals(Table(ROWS, domains=DOMAINS), [["smokes", "age"], ["sex"]])
    made = create(name, epsilon=1)

    class Asked:
        def release(self, data: Any) -> Release:
            return made.release(data, workload)

    return drawn(Asked(), data)


@pytest.mark.parametrize("name", methods("tags"))
def test_tags_in_parts_give_the_same_release(name: str, tmp_path: Path) -> None:
    made = create(name, epsilon=4)
    scan = scanned_tags(TAGS.to_frame().lazy(), tmp_path)
    if getattr(made, "posts_are_public", False):
        with pytest.raises(UsageError, match="needs the data in memory"):
            made.release(scan)
        return
    require_equal(drawn(made, scan), drawn(made, whole_tags()))


@pytest.mark.parametrize("name", methods("table"))
def test_tables_in_parts_give_the_same_release(name: str, tmp_path: Path) -> None:
    ROWS.write_csv(tmp_path / "rows.csv")
    require_equal(
        answered(name, scanned_table(tmp_path / "rows.csv", tmp_path)), answered(name, Table(ROWS, domains=DOMAINS))
    )


def test_on_a_cluster(spark: Any, tmp_path: Path) -> None:
    TAGS.to_frame().write_parquet(tmp_path / "tags.parquet")
    ROWS.write_parquet(tmp_path / "rows.parquet")
    with scanned_tags(tmp_path / "tags.parquet", tmp_path, engine=spark) as data:
        assert data.fingerprint == scanned_tags(TAGS.to_frame().lazy(), tmp_path).fingerprint
        made = create("ptr-j", epsilon=4)
        require_equal(drawn(made, data), drawn(made, whole_tags()))
    with scanned_table(spark.read.parquet(str(tmp_path / "rows.parquet")), tmp_path) as data:
        assert data.fingerprint == scanned_table(ROWS.lazy(), tmp_path).fingerprint
        for name in ("histogram", "marginals"):
            require_equal(answered(name, data), answered(name, Table(ROWS, domains=DOMAINS)))


def test_the_ledger_knows_them_in_memory_and_in_parts(tmp_path: Path) -> None:
    table, workload = Table(ROWS, domains=DOMAINS), marginals(Table(ROWS, domains=DOMAINS), [["smokes"]])
    ledger = dc.Ledger(tmp_path / "a.db")
    ledger.open(table, population="patients", epsilon=2, unit="record/replace")
    create("histogram", epsilon=1).release(scanned_table(ROWS.lazy(), tmp_path), workload, ledger=ledger)
    ledger.open(whole_tags(), population="taggers", epsilon=2)
    create("ptr-j", epsilon=1).release(scanned_tags(TAGS.to_frame().lazy(), tmp_path), ledger=ledger)
    assert [len(ledger.statement(name).entries) for name in ("patients", "taggers")] == [1, 1]
    fewer = scanned_table(ROWS.head(299).lazy(), tmp_path)
    assert fewer.fingerprint != scanned_table(ROWS.lazy(), tmp_path).fingerprint


def test_how_often_a_row_is_there_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    one, other = (pl.DataFrame({"sex": list(text)}) for text in ("FFFM", "FMMM"))
    scans = [dc.scan(rows.lazy(), what="table", domains={"sex": ["F", "M"]}, folder=tmp_path) for rows in (one, other)]
    assert scans[0].fingerprint != scans[1].fingerprint


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="public list of tags"):
        dc.scan(TAGS.to_frame().lazy(), what="tags", resources=["a"])
    with pytest.raises(DataError, match="no such column"):
        dc.scan(ROWS.lazy(), what="table", domains={"height": range(3)}, folder=tmp_path)
    data = scanned_table(ROWS.with_columns(sex=pl.lit("?")).lazy(), tmp_path)
    with pytest.raises(DataError, match="outside"):
        _ = data.fingerprint
    data.close()
    with pytest.raises(DataError, match="closed"):
        create("histogram", epsilon=1).release(data, marginals(Table(ROWS, domains=DOMAINS), [["sex"]]))
    assert not list(tmp_path.glob(f"{PREFIX}*"))
