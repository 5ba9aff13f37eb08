"""Private catalogs: nothing of an item that did not pass is in what is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.counting import discover_items
from discreet.errors import UsageError

SECRET = "the house at 12 Elm Street"


def visits(extra) -> dc.Interactions:
    rows = [(user, f"a place that everybody knows, number {n}") for user in range(300) for n in range(40)]
    return dc.Interactions([*rows, *extra])


def test_ids_that_did_not_pass_are_in_no_byte_of_the_release(tmp_path: Path, fixed_bits) -> None:
    """A column that shares its memory with a longer one would be written with all of it."""
    rows = [(user, f"a place that everybody knows, number {n}") for user in range(600) for n in range(200)]
    secrets = [("eve", f"{SECRET}, room {n}") for n in range(20)]
    release = discover_items(dc.Interactions([*rows, *secrets]), epsilon=8, delta="1e-6", cap=50)
    assert release.table("items").height > 190
    folder = release.save(tmp_path / "catalog")
    with pa.OSFile(str(folder / "items.arrow")) as file:
        written = pa.ipc.open_file(file).read_all()
    buffers = [b.to_pybytes() for chunk in written["item_id"].chunks for b in chunk.buffers() if b is not None]
    assert any(b"everybody knows" in buffer for buffer in buffers)
    assert not any(b"Elm Street" in buffer for buffer in buffers)


@pytest.mark.parametrize("odd", [(1, 2), "a text", 7])
def test_the_type_of_ids_does_not_follow_one_record(odd, fixed_bits) -> None:
    kinds: list[tuple[Literal["text", "number"], Any]] = [("text", pl.String), ("number", pl.Int64)]
    rows = [(user, place) for user in range(300) for place in (1, 2)]
    for kind, expected in kinds:
        for data in (dc.Interactions(rows), dc.Interactions([*rows, ("eve", odd)])):
            table = discover_items(data, epsilon=4, delta="1e-6", cap=3, ids=kind).table("items")
            assert table["item_id"].dtype == expected
            assert table["item_id"].to_list() == (["1", "2"] if kind == "text" else [1, 2])


def test_a_found_catalog_is_ready_for_use(fixed_bits) -> None:
    data = visits([("eve", SECRET)])
    release = discover_items(data, epsilon=8, delta="1e-6", cap=40)
    public = data.with_item_ids("text").with_catalog(release.table("items"), unknown="drop")
    assert public.catalog_is_public
    assert SECRET not in public.items
    assert (
        dc.counting.ItemCounts(epsilon=1, cap=10).release(public).table("counts").height
        == release.table("items").height
    )


def test_item_ids_of_a_declared_type() -> None:
    mixed = dc.Interactions([("u", 1), ("u", "2"), ("u", "two"), ("u", (3,))])
    assert mixed.with_item_ids("text").items.ids() == ["1", "2", "two"]
    assert mixed.with_item_ids("number").items.ids() == [1, 2]
    merged = dc.Interactions([("u", 1), ("u", "1"), ("v", "1")]).with_item_ids("text")
    assert merged.to_frame().rows() == [("u", "1"), ("v", "1")]
    with pytest.raises(UsageError):
        mixed.with_item_ids("color")  # type: ignore[arg-type]


def test_one_odd_id_does_not_decide_about_the_others() -> None:
    """Ids are compared with the catalog one by one: the type of the column is a fact about everybody."""
    rows = [(f"u{n}", n % 3) for n in range(30)]
    for odd in ([], [("odd", "abc")], [("odd", 1.5)], [("odd", "1")]):
        part = dc.Interactions([*rows, *odd]).with_catalog([0, 1, 2], unknown="drop")
        assert part.records_per_item.tolist() == [10, 10 + (odd == [("odd", "1")]), 10]
        assert not any(cut.startswith("~") for cut in part.lineage)
