"""People who do not exist: what they keep of the data, how they are saved and read, and that nothing is charged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.engines.sources import opened
from discreet.errors import BudgetError, DataError, PrivacyError, ReleaseError, UsageError
from discreet.factors import EASE, SyntheticInteractions, draw_interactions, synthetic_drawing, synthetic_people
from discreet.factors.synthetic_people import People, Tastes, fitted, quantile_lengths
from discreet.factors.synthetic_sums import Levels, activity_edges
from discreet.privacy import entropy

GENEROUS = 10**5
"""With a budget like this the noise is below what any test looks at."""


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=800, items=60, seed=3)


class Replayed:
    """The same bytes for everybody who asks for as many in the same order: nothing below depends on chance."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, n: int) -> np.ndarray:
        self.asked += 1
        return np.frombuffer(hashlib.shake_256(b"%d" % self.asked).digest(n), dtype=np.uint8)


@pytest.fixture(scope="module")
def exact(films: dc.Interactions) -> dc.Release:
    with (
        mock.patch.object(entropy, "random_bytes", Replayed()),
        mock.patch.object(entropy, "public_bytes", Replayed()),
    ):
        return SyntheticInteractions(epsilon=GENEROUS, people=4000).release(films)


@pytest.fixture(scope="module")
def people(exact: dc.Release) -> dc.Interactions:
    return draw_interactions(exact)


# What is kept


def test_popularity_is_kept(films: dc.Interactions, people: dc.Interactions) -> None:
    real, drawn = films.records_per_item / films.n_users, people.records_per_item / people.n_users
    assert np.corrcoef(real, drawn)[0, 1] > 0.95
    assert np.abs(real - drawn).mean() < 0.25 * real.mean()


def test_activity_is_kept(films: dc.Interactions, people: dc.Interactions) -> None:
    shares = np.linspace(0.1, 0.9, 9)
    real, drawn = (np.quantile(one.records_per_user, shares) for one in (films, people))
    assert np.abs(np.log(drawn / real)).max() < 0.25


def test_ratings_are_kept(films: dc.Interactions, people: dc.Interactions) -> None:
    assert people.rating is not None
    assert films.rating is not None
    real, drawn = (np.bincount(one.astype(int), minlength=6) / len(one) for one in (films.rating, people.rating))
    assert np.abs(real - drawn).max() < 0.05
    assert set(np.unique(people.rating)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    # Items that are rated better are rated better by people who do not exist, too.
    means = [
        np.bincount(one.item, weights=one.rating, minlength=60) / np.maximum(one.records_per_item, 1)
        for one in (films, people)
    ]
    often = films.records_per_item > 100
    assert np.corrcoef(means[0][often], means[1][often])[0, 1] > 0.8


def test_people_have_each_item_once_and_have_tastes(films: dc.Interactions, people: dc.Interactions) -> None:
    assert not people.may_repeat
    liked = [(one.csr.toarray() >= 4).astype(np.float64) for one in (films, people)]
    together = [np.corrcoef(one.T)[np.triu_indices(60, 1)] for one in liked]
    assert np.corrcoef(*together)[0, 1] > 0.6


def test_what_is_learned_from_them_serves_real_people(films: dc.Interactions, people: dc.Interactions) -> None:
    asked = ["u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"]
    real, learned = (model.fit(data).attach(films) for model, data in ((EASE(), films), (EASE(), people)))
    best = {tuple(row) for row in real.recommend(asked, n=10).select("user_id", "item_id").rows()}
    found = {tuple(row) for row in learned.recommend(asked, n=10).select("user_id", "item_id").rows()}
    assert len(best & found) > 0.35 * len(best)


def test_contexts_depend_on_the_item() -> None:
    rows = [
        (f"u{user}", f"i{item}", "phone" if (item < 4) == (user % 10 > 0) else "laptop" if user % 7 else "fax")
        for user in range(400)
        for item in range(8)
        if (user * 7 + item * 3) % 5 < 3
    ]
    data = dc.Interactions(
        pl.DataFrame(rows, schema=["user_id", "item_id", "on"], orient="row"),
        items=[f"i{item}" for item in range(8)],
        context=["on"],
    )
    release = SyntheticInteractions(epsilon=GENEROUS, people=2000, contexts=["on=phone,laptop"]).release(data)
    drawn = release.table("interactions")
    assert set(drawn["on"].unique()) == {"phone", "laptop", None}
    for item in data.items.ids():
        real, found = (
            np.mean([value == "phone" for value in table.filter(item_id=item)["on"]])
            for table in (data.to_frame(), drawn)
        )
        assert abs(real - found) < 0.1  # seven deviations


def test_without_people_to_learn_from_histories_follow_popularity(films: dc.Interactions) -> None:
    release = SyntheticInteractions(epsilon="1/10", people=20).release(films)
    assert "second" in release.parts
    assert "tastes" not in release.parts
    assert release.table("interactions")["user_id"].n_unique() == 20


def test_visits_without_ratings(films: dc.Interactions) -> None:
    visits = dc.Interactions(films.to_frame().select("user_id", "item_id"), items=films.items.series)
    release = SyntheticInteractions(epsilon=8, people=30).release(visits)
    assert release.table("interactions").columns == ["user_id", "item_id"]
    assert not {"others", "generosity", "ratings"} & set(release.parts)


def test_the_number_of_people_is_released_unless_given(films: dc.Interactions) -> None:
    release = SyntheticInteractions(epsilon=GENEROUS).release(films)
    assert release.parameters["drawn"] == films.n_users


def test_every_item_of_a_small_catalog_can_be_had() -> None:
    """Histories as long as the catalog are drawn to the end."""
    rows = [(f"u{user}", f"i{item}") for user in range(200) for item in range(5)]
    data = dc.Interactions(rows, items=[f"i{item}" for item in range(5)])
    release = SyntheticInteractions(epsilon=GENEROUS, people=100).release(data)
    lengths = release.table("interactions").group_by("user_id").len()["len"]
    assert lengths.max() == 5
    assert lengths.mean() > 4.2  # type: ignore[operator]


# The parts of the law


def test_items_are_drawn_by_their_weights() -> None:
    """The first of two items, over all people: a law that can be worked out. Everything follows from fixed words."""
    weights = np.array([0.5, 0.3, 0.15, 0.05])
    people = People.of(weights, weights, np.array([0, 2], dtype=np.int32))
    lengths = np.full(40_000, 2)
    first = people.histories(lengths, lengths, 7).reshape(-1, 2)
    assert np.abs(np.bincount(first[:, 0], minlength=4) / 40_000 - weights).max() < 0.01
    second = sum(
        weights[a] * np.where(np.arange(4) == a, 0, weights) / (1 - weights[a]) for a in range(4)
    )  # Plackett and Luce
    assert np.abs(np.bincount(first[:, 1], minlength=4) / 40_000 - second).max() < 0.01
    assert (first[:, 0] != first[:, 1]).all()


def test_the_fit_finds_the_tastes_of_people_with_known_ones() -> None:
    """People with one taste: after the fit the variance along it is the one that was asked for."""
    size, half = 30, np.repeat([1.0, -1.0], 15)
    popularity = np.full(size, 200.0)
    tastes = Tastes(np.ones(size), np.full(size, 1 / np.sqrt(size)), np.array([120.0]), half[:, None] / np.sqrt(size))
    lengths = np.full(4000, 6)
    start = People.of(popularity, popularity, np.arange(size, dtype=np.int32))
    made = fitted(start, tastes, popularity, 1000.0, lengths)
    drawn = made.histories(lengths, lengths, 99).reshape(-1, 6)
    along = (half[drawn].sum(axis=1) / np.sqrt(size)) / np.sqrt(6 - 36 / size)
    assert 1000 * np.mean(along**2) == pytest.approx(120, rel=0.15)
    assert np.bincount(drawn.ravel(), minlength=size).std() < 0.1 * drawn.size / size


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(300))
def test_laws_are_found_whatever_the_noise_made_of_the_counts(seed: int) -> None:
    """What was paid for must not be lost by an error afterwards: counts and noise of any size."""
    random = np.random.default_rng(seed)
    noise, size = 10 ** random.uniform(-9, 9), int(random.integers(1, 30))
    noisy = 10 ** random.uniform(-9, 9) * random.exponential(size=size) ** 3 + random.normal(0, noise, size)
    law = synthetic_people.smooth_law(noisy, noise)
    for found in (law, synthetic_people.nonnegative_law(noisy)):
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
    popularity = synthetic_people.likely_popularity(noisy, noise)
    assert np.isfinite(popularity).all()
    assert popularity.min() > 0
    edges = activity_edges(2 ** (size // 2))[:size]
    chances = synthetic_people.length_law(law[: edges.size] + 1e-12, edges, int(edges[-1]) + 3)
    assert quantile_lengths(chances, np.array([0.0, 0.5, 1.0])).max() <= edges[-1] + 3


def test_lengths_follow_their_classes() -> None:
    chances = synthetic_people.length_law(np.array([0.2, 0.0, 0.8]), np.array([1, 2, 4]), 9)
    lengths = quantile_lengths(chances, (np.arange(1000) + 0.5) / 1000)
    assert np.bincount(np.searchsorted([1, 2, 4], lengths, side="right") - 1).tolist() == [200, 0, 800]
    assert lengths.max() <= 9


@pytest.mark.parametrize(
    ("scale", "levels", "likes"),
    [("1:5", 5, 2), ("0.5:5:0.5", 10, 3), ("0:100:1", 20, 5), ("0:1:none", 20, 5), ("1:100:1", 20, 5)],
)
def test_levels_of_scales(scale: str, levels: int, likes: int) -> None:
    data = dc.Interactions([("ann", "i1", 1.0)], items=["i1", "i2"], scale=scale)
    found = Levels.of(data, None)
    assert found is not None
    assert (found.values.size, found.likes) == (levels, likes)
    assert found.codes(found.values).tolist() == list(range(levels))
    assert found.codes(np.array([-1e9, 1e9])).tolist() == [0, levels - 1]


def test_ratings_of_a_long_scale_are_on_it(tmp_path: Path) -> None:
    """The middles of twenty parts of a scale are not, and what was saved could not be read."""
    rows = [(f"u{user}", f"i{item}", 1 + (7 * user + 13 * item) % 100) for user in range(40) for item in range(5)]
    data = dc.Interactions(rows, items=[f"i{item}" for item in range(5)], scale="1:100:1")
    SyntheticInteractions(epsilon=8, people=30).release(data).save(tmp_path / "people")
    people = dc.read(tmp_path / "people")
    assert isinstance(people, dc.Interactions)
    assert people.n_users == 30


# A release that is a dataset


def test_a_saved_release_is_a_dataset(exact: dc.Release, tmp_path: Path) -> None:
    folder = exact.save(tmp_path / "people")
    data = dc.read(folder)
    assert isinstance(data, dc.Interactions)
    assert len(data) == exact.table("interactions").height
    assert data.catalog_is_public
    assert str(data.scale) == "1:5:1"
    assert data.released == {"id": exact.id, "guarantee": exact.guarantee.to_json()}
    assert pl.read_parquet(folder / "interactions.parquet").equals(exact.table("interactions"))
    again = dc.Release.load(folder)
    assert again.id == exact.id
    assert dc.read(again.save(tmp_path / "again")).fingerprint == data.fingerprint
    again.save(tmp_path / "again", overwrite=True)


def test_nothing_is_charged_for_what_is_made_of_it(exact: dc.Release, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")  # which knows none of these people
    data = dc.read(exact.save(tmp_path / "people"))
    assert isinstance(data, dc.Interactions)
    model = dc.PrivateRecommender(epsilon=1).fit(data, ledger=ledger)
    assert model.guarantee == exact.guarantee
    assert EASE().fit(data).guarantee == exact.guarantee
    assert EASE().fit(data.filter(data.user < 50)).guarantee == exact.guarantee
    counts = dc.counting.ItemCounts(epsilon=1, cap=3).release(data, ledger=ledger)
    assert counts.guarantee == exact.guarantee
    with pytest.raises(BudgetError, match="no account"):
        ledger.statement(data)


def test_a_scan_of_it_is_not_charged_either(exact: dc.Release, films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")  # which knows none of these people
    folder = exact.save(tmp_path / "people")
    with dc.scan(folder, parts=2, folder=tmp_path) as data:  # type: ignore[union-attr]
        assert data.released == {"id": exact.id, "guarantee": exact.guarantee.to_json()}
        counts = dc.counting.ItemCounts(epsilon=1, cap=3).release(data, ledger=ledger)
        assert counts.guarantee == exact.guarantee
        assert dc.PrivateRecommender(epsilon=1).fit(data, ledger=ledger).guarantee == exact.guarantee
    # Records of people, also beside released ones, and released ones whose manifest is gone, are charged.
    films.to_frame().select("user_id", "item_id", "rating").write_parquet(tmp_path / "films.parquet")
    alone = tmp_path / "alone"
    alone.mkdir()
    for name in ("dataset.json", "interactions.parquet", "items.parquet"):
        (alone / name).write_bytes((folder / name).read_bytes())
    assert opened(folder).released() is not None
    assert opened([folder, alone]).released() is None
    for source in (tmp_path / "films.parquet", alone):
        with dc.scan(source, items=films.items.series, parts=2, folder=tmp_path) as data:  # type: ignore[union-attr]
            assert data.released is None
            with pytest.raises(BudgetError, match="no account"):
                dc.counting.ItemCounts(epsilon=1, cap=3).release(data, ledger=ledger)


def test_records_of_people_are_charged_as_ever(films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    with pytest.raises(dc.DiscreetError):
        SyntheticInteractions(epsilon=1).release(films, ledger=ledger)
    assert films.released is None
    assert EASE().fit(films).guarantee is None


def test_a_guarantee_does_not_outlive_the_data_it_came_from(films: dc.Interactions, people: dc.Interactions) -> None:
    model = EASE().fit(people)
    assert model.guarantee is not None
    assert model.fit(films).guarantee is None


def test_the_mark_is_lost_with_other_ratings(people: dc.Interactions) -> None:
    assert people.released is not None
    assert people.rating is not None
    assert people.with_ratings(people.rating.copy(), people.scale).released is None


def test_a_refuted_method_stays_refused_on_released_records(people: dc.Interactions) -> None:
    with pytest.raises(PrivacyError, match="refuted"):
        dc.pairs.PublishedSlopeOne(epsilon=1).fit(people)


@pytest.mark.parametrize("what", ["records", "facts", "guarantee", "part"])
def test_what_was_changed_is_not_read(exact: dc.Release, tmp_path: Path, what: str) -> None:
    folder = exact.save(tmp_path / "people")
    file = {"records": "interactions.parquet", "facts": "dataset.json"}.get(what, "manifest.json")
    if what == "records":
        dc.synthetic.films(users=20, items=60, seed=5).to_frame().drop("timestamp").write_parquet(folder / file)
    else:
        found = json.loads((folder / file).read_text())
        if what == "facts":
            found["scale"] = "1:10"
        elif what == "guarantee":
            found["guarantee"]["subject"] = "nothing"
        else:
            del found["parts"]["interactions"]
        (folder / file).write_text(json.dumps(found))
    for read in (dc.read, dc.scan):
        with pytest.raises(DataError, match=r"changed|damaged"):
            read(folder)


def test_more_people_cost_nothing_and_keep_the_guarantee(exact: dc.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic_drawing, "fitted", None)  # what was fitted is in the release
    more = draw_interactions(exact, people=37)
    assert more.n_users == 37
    assert more.released is not None
    assert more.released["guarantee"] == exact.guarantee.to_json()
    assert more.released["id"] != exact.id
    with pytest.raises(ReleaseError, match="no people"):
        draw_interactions(dc.counting.ItemCounts(epsilon=1, cap=3).release(more))


# What is refused


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"delta": 0}, "delta"),
        ({"people": 0}, "people"),
        ({"people": 10**9}, "people"),
        ({"first_share": "3/4"}, "first_share"),
        ({"contexts": ["a=1"] * 9}, "contexts"),
        ({"head": 1}, "head"),
        ({"positive": 6}, "reaches"),
        ({"contexts": ["mood=good,bad"]}, "mood"),
    ],
)
def test_wrong_settings_cost_nothing(films: dc.Interactions, wrong: dict[str, Any], words: str, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=2, delta="1e-5")
    with pytest.raises(UsageError, match=words):
        SyntheticInteractions(**{"epsilon": 1, **wrong}).release(films, ledger=ledger)
    assert not ledger.statement(films).entries


def test_a_catalog_is_needed() -> None:
    with pytest.raises(PrivacyError, match="public list"):
        SyntheticInteractions(1).release(dc.Interactions([("a", "x"), ("b", "y")]))


def test_facts_about_people_are_no_contexts_of_records() -> None:
    users = pl.DataFrame({"user_id": ["ann"], "age": [30]})
    data = dc.Interactions([("ann", "i1")], items=["i1", "i2"], users=users)
    with pytest.raises(UsageError, match="fact about people"):
        SyntheticInteractions(1, contexts=["age=<25,25+"]).plan(data)
