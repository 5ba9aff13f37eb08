"""A scan reads every record as ``read`` does, whatever the file, and says what it needs before it begins."""

from __future__ import annotations

import errno
import gzip
from collections import namedtuple
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.readers import write
from discreet.engines import spilling
from discreet.engines.scanning import collect
from discreet.engines.sources import files_of
from discreet.engines.spilling import PREFIX
from discreet.errors import DataError, DiscreetWarning, DuplicatesWarning, MissingWarning, RecordsError, UsageError
from discreet.privacy.ledger.families import by_person

SHOP = """customer;sku;stars;when;shop
ann;tea;5;2024-02-01;north
bob;tea;3;2024-02-01T10:00:00Z;south
cid;rum;1;2024-02-03 07:30:00;
ann;rum;2;1706832000;north
dan;"jam; red";4;2024-02-01T10:00:00+02:00;east
"""
NAMES: dict[str, Any] = {"user": "customer", "item": "sku", "rating": "stars", "timestamp": "when"}


def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.csv"
    path.write_text('item,title\nrum,Rum\n"jam; red",Jam\ntea,Tea\nsoap,Soap\n')
    return path


def text(tmp_path: Path, content: str = SHOP, name: str = "shop.csv") -> Path:
    path = tmp_path / "data" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return path


def require_alike(path: Path, items: Any, tmp_path: Path, **options: Any) -> None:
    """A scan in three parts holds the records of ``read``, with all that is declared about them."""
    whole = dc.read(path, **({} if items is None else {"catalog": items}), **options)
    assert isinstance(whole, dc.Interactions)
    parts = dc.scan(path, items=items, parts=3, folder=tmp_path, **options)
    together = pl.concat(list(parts.each(lambda part: part.to_frame())))
    order = together.columns
    assert together.sort(order).equals(whole.to_frame().sort(order), null_equal=True)
    assert parts.fingerprint == by_person(whole)[0]
    public = parts.public
    assert public.items == whole.items
    assert (public.lineage, public.typed_columns) == (whole.lineage, whole.typed_columns)
    assert (public.scale, public.may_repeat, public.window) == (whole.scale, whole.may_repeat, whole.window)
    if whole.item_table is not None:
        assert public.item_table is not None
        assert public.item_table.equals(whole.item_table)
    alone = collect(path, items=items, **options)
    assert alone.fingerprint == whole.fingerprint
    parts.close()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"scale": "1:5"},
        {"context": ["shop"]},
        {"window": "2024-02-01..2024-02-02", "time_zone": "Europe/Berlin"},
        {"duplicates": "sum"},
        {"duplicates": "last"},
        {"missing": "drop"},
    ],
)
def test_text_files_are_read_as_read_reads_them(more: dict[str, Any], tmp_path: Path) -> None:
    """Separator, quotes, ISO times with zones and without, dates, seconds."""
    require_alike(text(tmp_path), catalog(tmp_path), tmp_path, **NAMES, **more)


def test_usual_names_are_recognized_and_ids_may_be_numbers(tmp_path: Path) -> None:
    path = text(tmp_path, "userId,movieId,rating,timestamp\n7,10,4.5,900\n07,9,1,901\n8,10,2,902\n")
    require_alike(path, [9, 10], tmp_path, ids="number")
    # 7 and 07 are one person where ids are numbers, and must be in one part.
    parts = dc.scan(path, items=[9, 10], ids="number", parts=5, folder=tmp_path)
    assert sum(parts.each(lambda part: part.n_users)) == 2
    require_alike(text(tmp_path, "userId,movieId\n7,10\n07,9\n8,10\n", "other.csv"), ["9", "10"], tmp_path)


def test_encodings_and_packed_files(tmp_path: Path) -> None:
    path = tmp_path / "cafe.csv"
    path.write_bytes("user,item\nzoé,thé\nmax,thé\n".encode("cp1252"))
    require_alike(path, ["thé", "rhum"], tmp_path, encoding="cp1252")
    packed = tmp_path / "shop.csv.gz"
    packed.write_bytes(gzip.compress(b"user,item\nann,tea\nbob,tea\n"))
    require_alike(packed, ["tea"], tmp_path)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_files_with_types(ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "user": pl.Series([3, 1, 2, None], dtype=pl.Int32),
            "item": pl.Series(["a", "b", "a", "b"]),
            "time": pl.Series(["2024-02-01", "2024-02-01 07:00:00", "5", "6"]),
            "plays": [1.0, 2.0, None, 3.0],
        }
    )
    path = tmp_path / f"plays.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    with pytest.warns(MissingWarning, match="2 rows with missing values left out"):
        require_alike(path, ["a", "b", "c"], tmp_path, missing="drop")
    with pytest.raises(RecordsError, match="the value is missing") as raised:
        dc.scan(path, items=["a", "b"], folder=tmp_path)
    assert {problem.column for problem in raised.value.problems} == {"user", "plays"}
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def test_numbers_and_a_catalog_of_text_meet_as_text(tmp_path: Path) -> None:
    pl.DataFrame({"user": [1, 2], "item": [10, 9]}).write_parquet(tmp_path / "a.parquet")
    require_alike(tmp_path / "a.parquet", ["10", "9", "x"], tmp_path)


def test_what_discreet_wrote_declares_its_catalog_scale_and_lineage(tmp_path: Path) -> None:
    films = dc.synthetic.films(users=60, items=25, seed=7)
    part = films.filter(lambda frame: frame["timestamp"] % 2 == 0, independent="record")
    for data, name in ((films, "films.parquet"), (part, "part.arrow"), (films, "folder")):
        write(data, tmp_path / name)
        require_alike(tmp_path / name, None, tmp_path)
    scanned = dc.scan(tmp_path / "films.parquet", folder=tmp_path, parts=2)
    whole = dc.read(tmp_path / "films.parquet")
    assert isinstance(whole, dc.Interactions)
    assert scanned.public.user_table is None or scanned.public.user_table.columns == whole.user_table.columns  # type: ignore[union-attr]


def test_observed_items_are_a_declaration(tmp_path: Path) -> None:
    path = text(tmp_path)
    whole = dc.read(path, items_public=True, **NAMES)
    scanned = dc.scan(path, items="observed", parts=2, folder=tmp_path, **NAMES)
    assert isinstance(whole, dc.Interactions)
    assert scanned.public.items == whole.items
    scanned.close()
    with pytest.raises(UsageError, match="needs the public list of items") as raised:
        dc.scan(path, folder=tmp_path, **NAMES)
    assert "--catalog" in raised.value.cli_message
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def test_quantities_are_added_up_and_missing_rows_left_out(tmp_path: Path) -> None:
    path = text(tmp_path, "user,item,plays\nann,tea,2\nann,tea,3\nbob,tea,NA\nbob,rum,1\n ,rum,1\n")
    with pytest.warns(MissingWarning):
        data = dc.scan(
            path, items=["tea", "rum"], duplicates="sum", missing="drop", rating="plays", parts=2, folder=tmp_path
        )
    with pytest.warns(DuplicatesWarning, match="1 row repeats the user and item of another; their quantities"):
        found = pl.concat(list(data.each(lambda part: part.to_frame()))).sort("user_id")
    assert found["rating"].to_list() == [5.0, 1.0]
    with pytest.warns(MissingWarning), pytest.warns(DuplicatesWarning):
        require_alike(
            path, ["tea", "rum"], tmp_path, duplicates="sum", missing="drop", rating="plays", user="user", item="item"
        )


def test_everything_that_is_wrong_is_one_error(tmp_path: Path) -> None:
    path = text(tmp_path, "user,item,rating,time\nann,tea,five,9\nbob,tea,3,noon\n,tea,1,1\nbob,rum,2,2\n")
    with pytest.raises(RecordsError) as raised:
        dc.scan(path, items=["tea", "rum"], folder=tmp_path)
    places = {(problem.column, problem.examples[0].line) for problem in raised.value.problems}
    assert places == {("rating", 2), ("time", 3), ("user", 4)}


def test_several_files_folders_and_patterns(tmp_path: Path) -> None:
    for number, day in enumerate(("a,1", "b,2", "c,3")):
        text(tmp_path, f"user,item\n{day}\n", f"{number}.csv")
    folder = tmp_path / "data"
    (folder / "notes.md").write_text("not data")
    (folder / ".hidden.csv").write_text("x")
    assert files_of(folder) == files_of(f"{folder}/*.csv") == [folder / f"{number}.csv" for number in range(3)]
    assert collect(folder, items=["1", "2", "3"]).n_users == 3
    text(tmp_path, "user,item,rating\nd,1,2\n", "4.csv")
    with pytest.raises(DataError, match="different columns"):
        dc.scan(folder, items=["1"], folder=tmp_path)
    with pytest.raises(DataError, match="can be scanned"):
        files_of(tmp_path / "data" / "..")


Usage = namedtuple("Usage", "total used free")


def test_a_folder_without_room_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = text(tmp_path)
    with (
        mock.patch.object(spilling.shutil, "disk_usage", return_value=Usage(100, 99, 1)),
        pytest.raises(DataError, match=r"temporary files are needed, and 0\.0 MB are free") as raised,
    ):
        dc.scan(path, items=catalog(tmp_path), folder=tmp_path, **NAMES)
    assert "--temporary FOLDER" in raised.value.cli_message
    with (
        mock.patch.object(spilling, "_split", side_effect=OSError(errno.ENOSPC, "full")),
        pytest.raises(DataError, match="the folder for temporary files is full"),
    ):
        dc.scan(path, items=catalog(tmp_path), folder=tmp_path, **NAMES)
    assert not list(tmp_path.glob(f"{PREFIX}*"))
    with pytest.raises(DataError, match="is not there"):
        dc.scan(path, items=catalog(tmp_path), folder=tmp_path / "no", **NAMES)


def test_a_folder_in_memory_is_warned_of(tmp_path: Path) -> None:
    path = text(tmp_path)
    with (
        mock.patch.object(spilling, "available_memory", return_value=10),
        mock.patch.object(spilling, "is_in_memory", return_value=True),
        pytest.warns(DiscreetWarning, match="which is in memory"),
    ):
        dc.scan(path, items=catalog(tmp_path), folder=tmp_path, **NAMES)


def test_the_estimated_size_of_temporary_files_is_near_the_truth(tmp_path: Path) -> None:
    """Rows are many enough that what every file has beside them does not matter."""
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {"user": rng.integers(0, 9999, 50_000), "item": rng.integers(0, 99, 50_000), "time": np.arange(50_000)}
    )
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    frame.write_ipc(tmp_path / "a.arrow")
    for ending in ("parquet", "csv", "arrow"):
        with mock.patch.object(spilling, "_require_room") as asked:
            data = dc.scan(
                tmp_path / f"a.{ending}",
                items=list(range(99)) if ending != "csv" else [str(n) for n in range(99)],
                duplicates="keep",
                parts=1,
                folder=tmp_path,
            )
        written = sum(path.stat().st_size for path in tmp_path.glob(f"{PREFIX}*/*.arrows"))
        assert 0.9 * written < asked.call_args.args[1] < 2.5 * written
        data.close()


def test_files_are_not_more_than_a_program_may_open(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="parts must be at most 500, got 501"):
        dc.scan(text(tmp_path), items=catalog(tmp_path), parts=501, folder=tmp_path, **NAMES)
    data = dc.scan(text(tmp_path), items=catalog(tmp_path), parts=500, folder=tmp_path, **NAMES)
    assert sum(data.each(len)) == 5


def test_rows_of_a_frame_that_lack_a_value_are_left_out(tmp_path: Path) -> None:
    """They come from no file, so that there is no line to be told."""
    rows = pl.DataFrame({"user_id": ["a", None, "b", "a"], "item_id": ["tea", "tea", "rum", None]})
    with pytest.warns(MissingWarning, match=r"2 rows with missing values left out \(user_id 1, item_id 1\)"):
        scanned = dc.scan(rows.lazy(), items=["tea", "rum"], missing="drop", parts=2, folder=tmp_path)
    kept = dc.scan(rows.drop_nulls().lazy(), items=["tea", "rum"], parts=2, folder=tmp_path)
    assert scanned.fingerprint == kept.fingerprint
