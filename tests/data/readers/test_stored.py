from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from discreet.common import replacing
from discreet.data import CategoricalDomain, IntegerDomain, Interactions, Table, TagAssignments
from discreet.data.readers import detect, read, write
from discreet.errors import DataError, UsageError


@pytest.fixture
def films() -> Interactions:
    return Interactions(
        {
            "user_id": ["b", "a", "a"],
            "item_id": [2, 1, 2],
            "rating": [4.5, 3.0, 0.5],
            "timestamp": [5, 6, 7],
            "day": [1, 2, 3],
        },
        context=["day"],
        scale="0.5:5:0.5",
        items=pl.DataFrame({"item_id": [1, 2, 3], "title": ["One", "Two", "Thrée"]}),
        users=pl.DataFrame({"user_id": ["a", "b"], "age": [30, 40], "gender": ["F", "M"]}),
        public_user_columns=["gender"],
        name="films",
    )


@pytest.fixture
def visits() -> Interactions:
    return Interactions([("a", "x"), ("a", "x"), ("b", "y")], duplicates="keep", name="visits")


def test_a_folder_gives_everything_back(tmp_path: Path, films: Interactions) -> None:
    path = write(films, tmp_path / "films")
    assert sorted(os.listdir(path)) == ["dataset.json", "interactions.parquet", "items.parquet", "users.parquet"]
    assert detect(path).name == detect(path / "dataset.json").name == "discreet"
    again = read(path)
    assert isinstance(again, Interactions)
    assert again.fingerprint == films.fingerprint
    assert (again.scale, again.name, again.catalog_is_public) == (films.scale, "films", True)
    assert again.items == films.items
    assert again.public_user_columns == {"gender"}
    for ours, theirs in ((films.item_table, again.item_table), (films.user_table, again.user_table)):
        assert ours is not None
        assert theirs is not None
        assert_frame_equal(ours, theirs)
    assert_frame_equal(films.to_frame(), again.to_frame())


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_single_file_gives_everything_back(tmp_path: Path, visits: Interactions, suffix: str) -> None:
    path = write(visits, tmp_path / f"x.{suffix}")
    assert detect(path).name == "discreet"
    again = read(path)
    assert isinstance(again, Interactions)
    assert again.fingerprint == visits.fingerprint
    assert again.may_repeat
    assert (again.name, again.catalog_is_public) == ("visits", False)
    assert read(path, name="others").name == "others"
    public = read(write(visits.with_catalog("observed"), path, overwrite=True))
    assert isinstance(public, Interactions)
    assert public.catalog_is_public


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_text_keeps_the_records(tmp_path: Path, films: Interactions, suffix: str) -> None:
    path = write(films, tmp_path / f"x.{suffix}", tables=False)
    again = read(path, context=["day"], scale="0.5:5:0.5", ids="item=number")
    assert again.fingerprint == films.fingerprint
    as_text = read(path, context=["day"], scale="0.5:5:0.5")
    assert isinstance(as_text, Interactions)
    assert films.fingerprint in as_text.earlier_fingerprints


def test_parts_remember_where_they_came_from(tmp_path: Path, films: Interactions) -> None:
    part = films.filter(films.rating > 1)  # type: ignore[operator]
    again = read(write(part, tmp_path / "part"))
    assert part.lineage
    assert again.lineage == part.lineage


def test_one_file_does_not_swallow_the_tables(tmp_path: Path, films: Interactions) -> None:
    with pytest.raises(UsageError, match="a table of items and users too"):
        write(films, tmp_path / "films.csv")
    assert list(tmp_path.iterdir()) == []
    assert write(films, tmp_path / "films.csv", tables=False).is_file()


@pytest.mark.parametrize("name", ["films.parquet", "films.arrow"])
def test_one_file_carries_the_tables(tmp_path: Path, films: Interactions, name: str) -> None:
    again = read(write(films, tmp_path / name))
    assert isinstance(again, Interactions)
    assert again.fingerprint == films.fingerprint
    assert again.items == films.items
    assert again.item_table is not None
    assert films.item_table is not None
    assert again.item_table.equals(films.item_table)
    assert again.user_table is not None
    assert films.user_table is not None
    assert again.user_table.equals(films.user_table)


def test_tags(tmp_path: Path) -> None:
    tags = TagAssignments([(1, "a", "sea"), (2, "b", "sky")], name="t").with_vocabulary(["sea", "sky", "sun"])
    again = read(write(tags, tmp_path / "tags"))
    assert isinstance(again, TagAssignments)
    assert again.fingerprint == tags.fingerprint
    assert again.vocabulary_is_public
    assert not again.resources_are_public
    assert again.tags.ids() == ["sea", "sky", "sun"]


def test_a_list_that_is_left_out_does_not_become_what_occurs(tmp_path: Path, films: Interactions) -> None:
    tags = TagAssignments([(1, "a", "sea"), (2, "b", "sky")])
    observed = read(write(tags.with_vocabulary("observed"), tmp_path / "observed.arrow"))
    longer = read(write(tags.with_vocabulary(["sea", "sky", "sun"]), tmp_path / "longer.arrow", tables=False))
    assert isinstance(observed, TagAssignments)
    assert isinstance(longer, TagAssignments)
    assert (observed.vocabulary_is_public, longer.vocabulary_is_public) == (True, False)
    alone = read(write(films, tmp_path / "films.parquet", tables=False))
    assert isinstance(alone, Interactions)
    assert not alone.catalog_is_public


def test_tables(tmp_path: Path) -> None:
    domains = {
        "sex": CategoricalDomain(("F", "M")),
        "age": IntegerDomain(0, 99, bins=(0, 18)),
        "rooms": IntegerDomain(1, 9, bins=3),
        "rate": CategoricalDomain((0.5, 1.5)),
    }
    rows = {"sex": ["F", "M"], "age": [3, 30], "rooms": [1, 9], "rate": [0.5, 1.5], "home": ["x", "x"]}
    table = Table(rows, domains=domains, group="home", name="survey")
    for path in (tmp_path / "survey", tmp_path / "survey.parquet"):
        again = read(write(table, path))
        assert isinstance(again, Table)
        assert again.fingerprint == table.fingerprint
        assert dict(again.domains) == domains
        assert again.groups is not None
        assert again.histogram().tolist() == table.histogram().tolist()


def test_what_is_there_is_kept(tmp_path: Path, visits: Interactions, films: Interactions) -> None:
    path = write(visits, tmp_path / "x")
    with pytest.raises(UsageError, match="is there already"):
        write(films, path)
    assert len(read(path)) == 3
    write(films, path, overwrite=True)
    assert read(path).name == "films"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_a_failure_leaves_what_was_there(
    tmp_path: Path, visits: Interactions, films: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(visits, tmp_path / "x")

    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(DataError, match="No space left"):
        write(films, path, overwrite=True)
    assert read(path).name == "visits"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_odd_ids_and_odd_things(tmp_path: Path) -> None:
    odd = Interactions([((1, 2), "x")])
    with pytest.raises(UsageError, match="neither numbers nor text"):
        write(odd, tmp_path / "odd")
    with pytest.raises(UsageError, match="data must be Interactions"):
        write([1, 2], tmp_path / "list")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_what_text_and_json_cannot_hold(tmp_path: Path) -> None:
    nested = Interactions({"user_id": [1], "item_id": [2], "moods": pl.Series([["a", "b"]])}, context=["moods"])
    with pytest.raises(UsageError, match="cannot be written so"):
        write(nested, tmp_path / "x.csv")
    assert read(write(nested, tmp_path / "x.parquet")).fingerprint == nested.fingerprint
    table = Table({"a": pl.Series([(1, 2)], dtype=pl.Object)}, domains={"a": CategoricalDomain(((1, 2),))})
    with pytest.raises(UsageError, match="neither numbers nor text"):
        write(table, tmp_path / "table")


def test_when_the_last_step_fails_what_was_there_comes_back(
    tmp_path: Path, visits: Interactions, films: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(visits, tmp_path / "x")

    def refuse(source: Path, target: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(replacing, "exchange", refuse)
    with pytest.raises(DataError, match="Input/output error") as caught:
        write(films, path, overwrite=True)
    assert read(path).name == "visits"
    # What was written is complete, and the message names it.
    (kept,) = (entry for entry in tmp_path.iterdir() if entry != path)
    assert str(kept) in caught.value.remedy
    assert read(kept).fingerprint == films.fingerprint


@pytest.mark.parametrize("damage", ["{", "[]", '{"discreet": 1}', '{"discreet": 1, "kind": "table"}', "\udcff"])
def test_damaged_facts(tmp_path: Path, visits: Interactions, damage: str) -> None:
    path = write(visits, tmp_path / "x")
    (path / "dataset.json").write_bytes(damage.encode("utf-8", "surrogateescape"))
    if "table" in damage:
        (path / "interactions.parquet").rename(path / "rows.parquet")
    with pytest.raises(DataError, match="damaged"):
        read(path)


def test_a_newer_version_and_a_missing_part(tmp_path: Path, visits: Interactions) -> None:
    path = write(visits, tmp_path / "x")
    facts = json.loads((path / "dataset.json").read_text())
    (path / "interactions.parquet").unlink()
    with pytest.raises(DataError, match="no such file"):
        read(path)
    (path / "dataset.json").write_text(json.dumps(facts | {"discreet": 99}))
    with pytest.raises(DataError, match="newer"):
        read(path)


@settings(max_examples=25, deadline=None)
@given(
    records=st.lists(
        st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(min_size=1, max_size=4), st.integers(1, 5)), max_size=8
    ),
    suffix=st.sampled_from(["", ".parquet", ".arrow"]),
)
def test_any_records_come_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[int, str, int]], suffix: str
) -> None:
    data = Interactions(
        {
            "user_id": pl.Series([r[0] for r in records], dtype=pl.Int64),
            "item_id": pl.Series([r[1] for r in records], dtype=pl.String),
            "rating": [r[2] for r in records],
        },
        scale="1:5",
        duplicates="keep",
    )
    path = write(data, tmp_path_factory.getbasetemp() / f"any{suffix}", overwrite=True)
    again = read(path)
    assert again.fingerprint == data.fingerprint
    assert isinstance(again, Interactions)
    assert again.may_repeat
