"""Lists for everybody in one file: the same as asked one by one, whatever the size of a batch."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import discreet as dc
from discreet.errors import UnknownItemsWarning, UsageError
from discreet.models import export

READERS = {".parquet": pl.read_parquet, ".arrow": pl.read_ipc, ".csv": pl.read_csv}


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=90, items=40, seed=7)


@pytest.fixture(scope="module")
def model(films: dc.Interactions) -> dc.PrivateRecommender:
    return dc.PrivateRecommender(epsilon=8, delta="1e-6").fit(films)


@pytest.mark.parametrize("ending", export.ENDINGS)
def test_everybody_gets_what_they_get_alone(
    model: dc.PrivateRecommender, films: dc.Interactions, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "AT_ONCE", 7)
    told: list[float] = []
    path = model.recommend_all(tmp_path / f"lists{ending}", n=5, progress=lambda share, doing: told.append(share))
    asked = model.recommend(films.users.ids(), n=5)
    assert_frame_equal(READERS[ending](path), asked, check_dtypes=False)
    assert told == sorted(told)
    assert told[-1] == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nobody_is_a_neighbor_of_oneself(films: dc.Interactions, tmp_path: Path) -> None:
    """Published models know whose history they look at; lists for everybody must tell them, too."""
    model = dc.neighbors.KNN(k=5, axis="user").fit(films)
    lists = pl.read_parquet(model.recommend_all(tmp_path / "lists.parquet", n=4))
    assert_frame_equal(lists, model.recommend(films.users.ids(), n=4), check_dtypes=False)


def test_some_users_and_somebody_new(model: dc.PrivateRecommender, tmp_path: Path) -> None:
    lists = pl.read_parquet(model.recommend_all(tmp_path / "lists.parquet", n=3, users=["u5", "nobody", "u2", "u5"]))
    assert lists["user_id"].unique(maintain_order=True).to_list() == ["u5", "nobody", "u2"]
    new = lists.filter(user_id="nobody").drop("user_id")
    assert_frame_equal(new, model.recommend(history=[], n=3), check_dtypes=False)
    assert_frame_equal(lists.filter(user_id="u2"), model.recommend(["u2"], n=3), check_dtypes=False)


def test_nobody_at_all(tmp_path: Path) -> None:
    nobody = dc.Interactions([("ann", "tea", 5)], items=["tea", "rum"], scale="1:5").filter(np.array([False]))
    empty = dc.counting.ContextPopularity(epsilon=1, cap=2).fit(nobody)
    assert pl.read_parquet(empty.recommend_all(tmp_path / "lists.parquet")).is_empty()


def test_no_item_comes_back_empty(films: dc.Interactions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows a head of ten items: the others are filled up from public features, then by popularity."""
    monkeypatch.setattr(export, "CELLS_AT_ONCE", 200)
    model = dc.neighbors.PrivateItemKNN(epsilon=8, delta="1e-6", head=10).fit(films)
    assert films.item_table is not None
    path = model.similar_all(tmp_path / "similar.parquet", n=6, catalog=films, features=["genres"])
    lists = pl.read_parquet(path)
    assert lists.group_by("item_id").len()["len"].to_list() == [6] * films.n_items
    assert (lists["item_id"] != lists["similar_id"]).all()
    assert not lists.select("item_id", "similar_id").is_duplicated().any()
    assert set(lists["source"]) == {"model", "features", "popular"}
    # What the model knows comes first, as it says it, and features before popularity.
    rank = {"model": 0, "features": 1, "popular": 2}
    order = lists.sort("item_id", "rank").with_columns(pl.col("source").replace_strict(rank))
    assert order.group_by("item_id").agg((pl.col("source").diff().drop_nulls() >= 0).all())["source"].all()
    known = lists.filter(source="model").drop("source")
    for item in known["item_id"].unique():
        asked = model.similar_items([item], n=6)
        assert_frame_equal(known.filter(item_id=item), asked, check_dtypes=False)
    genres = dict(zip(films.items.ids(), films.item_table["genres"], strict=True))
    for row in lists.filter(source="features").iter_rows(named=True):
        assert set(str(genres[row["item_id"]]).split("|")) & set(str(genres[row["similar_id"]]).split("|"))


def test_a_catalog_smaller_than_the_list(tmp_path: Path) -> None:
    drinks = dc.Interactions([("ann", "tea"), ("bob", "rum")], items=["tea", "rum", "gin"])
    model = dc.counting.ContextPopularity(epsilon=1, cap=2).fit(drinks)
    lists = pl.read_csv(model.similar_all(tmp_path / "similar.csv", n=9))
    assert lists.group_by("item_id").len()["len"].to_list() == [2, 2, 2]
    assert np.unique(lists["rank"]).tolist() == [1, 2]


def test_files_of_others_are_not_replaced(model: dc.PrivateRecommender, tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    pl.DataFrame({"mine": [1]}).write_parquet(path)
    with pytest.raises(UsageError, match="discreet did not write it"):
        model.recommend_all(path, overwrite=True)
    assert pl.read_parquet(path).columns == ["mine"]
    again = model.recommend_all(tmp_path / "ours.parquet", n=1)
    with pytest.raises(UsageError):
        model.recommend_all(again, n=2)
    assert pl.read_parquet(model.recommend_all(again, n=2, overwrite=True))["rank"].max() == 2


@pytest.mark.parametrize("name", ["lists", "lists.xlsx"])
def test_other_endings_are_refused(model: dc.PrivateRecommender, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="must end in"):
        model.recommend_all(tmp_path / name)
    with pytest.raises(UsageError, match="at least 1"):
        model.recommend_all(tmp_path / "lists.csv", n=0)
    assert not list(tmp_path.iterdir())


def test_items_that_a_model_does_not_know_are_ignored_and_named(model: dc.PrivateRecommender) -> None:
    with pytest.warns(UnknownItemsWarning, match=r"2 of 3 items .*: 'SKU-1', 'SKU-2'\."):
        best = model.recommend(history=["SKU-1", "film-3", "SKU-2"], n=4)
    assert_frame_equal(best, model.recommend(history=["film-3"], n=4))
    assert_frame_equal(best, model.recommend(history="film-3", n=4))  # one id as text is one item
    with pytest.warns(UnknownItemsWarning, match="1 of 1"):
        assert_frame_equal(model.recommend(history="SKU-1", n=4), model.recommend(history=[], n=4))
