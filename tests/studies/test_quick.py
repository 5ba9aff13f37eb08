"""Quick runs: what they take of large data, and what happens to methods that cannot run."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, Table, TagAssignments, synthetic
from discreet.errors import DiscreetError
from discreet.studies import STUDIES, study_named
from discreet.studies.frontier import FrontierStudy
from discreet.studies.quick import Most, reduced
from discreet.studies.study import Measurements, Steps

USERS, ITEMS, RECORDS = 100_000, 340_000, 800_000


@pytest.fixture(scope="module")
def books() -> Interactions:
    """Many readers of many books, of which most are read once; somebody has read 9,000."""
    generator = np.random.default_rng(0)
    item = np.concatenate([np.arange(ITEMS), (ITEMS * generator.random(RECORDS - ITEMS) ** 4).astype(np.int64)])
    user = (USERS * generator.random(RECORDS) ** 2).astype(np.int64)
    user[:9_000] = 0
    records = pl.DataFrame({"user_id": user, "item_id": item}).unique(maintain_order=True)
    return Interactions(records.with_columns(rating=pl.lit(4.0)), scale="1:5", name="books")


@pytest.mark.parametrize("name", [name for name in STUDIES if study_named(name).data_kind is Interactions])
def test_every_study_takes_a_part_of_large_data(
    name: str, books: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, given = study_named(name), []

    def measure(data: Any, settings: Any, *, seed: int, steps: Any) -> Measurements:
        given.append(data)
        return Measurements({}, {})

    monkeypatch.setattr(study, "measure", measure)
    monkeypatch.setattr(study, "report", lambda found: found)
    found: Any = study.run(books, quick=True)
    (part,) = given
    most = study.quick_most
    assert 500 <= part.n_users <= most.people <= 2_000
    assert part.n_items <= most.items <= 2_000
    assert 5_000 <= len(part) <= most.records <= 100_000
    assert found.sample.startswith(f"{part.n_users:,} of {books.n_users:,} people")
    assert f"{most.items:,} of 340,000 items" in found.sample
    assert f"{len(part):,} of {len(books):,} records" in found.sample
    assert (part.scale, part.name) == (books.scale, "books")
    study.run(books, quick=False)
    assert given[1] is books, "a full run takes everything"


def test_people_with_little_or_very_much_come_last(books: Interactions) -> None:
    part, _ = reduced(books, Most(people=300, items=2_000, records=20_000), seed=1)
    assert isinstance(part, Interactions)
    assert part.records_per_user.min() >= 5
    assert part.records_per_user.max() <= 1_000
    again, _ = reduced(books, Most(people=300, items=2_000, records=20_000), seed=1)
    assert again.fingerprint == part.fingerprint


def test_nobody_without_a_record_of_the_kept_items_is_counted() -> None:
    """Half of the people have rare items alone: the part has as many people as it says, and as many as it may."""
    rows = [(f"u{user}", f"i{user % 3}" if user < 40 else f"rare{user}") for user in range(80)]
    data = Interactions(rows)
    for most, people, how in ((30, 30, "drawn, those with 5 records first"), (60, 40, "all who have any")):
        part, told = reduced(data, Most(people=most, items=3), seed=0)
        assert isinstance(part, Interactions)
        assert part.n_users == people
        assert told == f"{people} of 80 people ({how}) and 3 of 43 items, those with the most; {people} of 80 records"


def test_a_public_catalog_is_cut_with_its_columns() -> None:
    films = synthetic.films(users=60, items=50, seed=3)
    part, told = reduced(films, Most(people=60, items=20, records=10**6), seed=0)
    assert isinstance(part, Interactions)
    assert part.item_table is not None
    assert (part.n_items, part.item_table.height, part.catalog_is_public) == (20, 20, True)
    assert set(part.item_table.columns) == set(films.item_table.columns)  # type: ignore[union-attr]
    assert part.titles([0]) == [films.titles(films.items.encode(part.items.series))[0]]
    assert (part.n_users, films.n_users) == (59, 60), "somebody has none of the kept items"
    assert told.startswith("59 of 60 people (all who have any) and 20 of 50 items")
    assert reduced(films, Most(), seed=0) == (films, "")


def test_tags_and_tables_are_cut_too() -> None:
    rows = [(f"u{user}", f"r{(user * place) % 97}", f"t{place % 7}") for user in range(200) for place in range(8)]
    tags, told = reduced(TagAssignments(list(dict.fromkeys(rows))), Most(people=50, items=40), seed=0)
    assert isinstance(tags, TagAssignments)
    assert tags.n_users <= 50
    assert tags.n_resources <= 40
    assert "40 of 97 resources" in told
    frame = pl.DataFrame({"home": np.arange(3_000) // 3, "sex": ["F", "M", "F"] * 1_000})
    table, told = reduced(Table(frame, domains={"sex": ["F", "M"]}, group="home"), Most(records=600), seed=0)
    assert isinstance(table, Table)
    assert table.group is not None
    assert set(np.bincount(table.group)) == {3}, "homes stay whole"
    assert (len(table), told) == (600, "600 of 3,000 rows")
    assert table.complete, "methods that treat the number of rows as public run on it"


def test_a_method_that_cannot_run_is_a_row_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    films = synthetic.films(users=80, items=40, seed=3)
    listed = [
        one
        for one in FrontierStudy().layout["methods"]["rankings"]
        if one["name"] in ("private popularity", "popularity")
    ]
    broken = {"name": "broken", "method": "knn", "protects": "", "with": {"k": 0}}
    small = {"name": "small", "method": "popularity", "protects": "", "items": 10}
    layout = FrontierStudy().layout | {"methods": {"rankings": [broken, small, *listed], "ratings": []}}
    monkeypatch.setattr(FrontierStudy, "layout", layout)
    report = FrontierStudy().run(films, quick=True)
    why = dict(report.tables["Not run"].iter_rows())
    assert why["small"] == "40 items; it takes 10 at most."
    assert "k" in why["broken"]
    ran = [table for table in report.tables.values() if "popularity" in table.to_series(0).cast(pl.String).to_list()]
    assert ran, "the others are in the tables"
    monkeypatch.setattr(FrontierStudy, "layout", layout | {"methods": {"rankings": [broken], "ratings": []}})
    with pytest.raises(DiscreetError, match="no model could be fitted"):
        FrontierStudy().run(films, quick=True)


def test_mistakes_of_ours_are_not_taken_for_data_that_do_not_fit() -> None:
    with pytest.raises(ZeroDivisionError):
        Steps().attempt("ours", lambda: 1 // 0)
