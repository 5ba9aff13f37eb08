"""Synthetic datasets: the sizes asked for, the same for the same seed, and the truth that they were made of."""

from __future__ import annotations

import inspect
import time

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, Table, TagAssignments, splits, synthetic
from discreet.data.synthetic.city import HABIT
from discreet.data.synthetic.names import GENRES
from discreet.data.values import WEEKDAYS
from discreet.errors import UsageError


@pytest.fixture(scope="module")
def films() -> tuple[Interactions, synthetic.FilmTruth]:
    return synthetic.film_world(seed=7)


@pytest.fixture(scope="module")
def checkins() -> tuple[Interactions, synthetic.CheckinTruth]:
    return synthetic.checkin_world(seed=7)


@pytest.fixture(scope="module")
def tags() -> tuple[TagAssignments, synthetic.TagTruth]:
    return synthetic.tag_world(seed=7)


# What all datasets have in common

DATASETS = {
    "films": (synthetic.films, synthetic.film_world, {"users": 50, "items": 40}),
    "checkins": (synthetic.checkins, synthetic.checkin_world, {"users": 50, "items": 40}),
    "tags": (synthetic.tags, synthetic.tag_world, {"users": 50, "resources": 40}),
    "survey": (synthetic.survey, synthetic.survey_world, {"households": 50}),
}


@pytest.mark.parametrize(("make", "make_dataset", "sizes"), DATASETS.values(), ids=DATASETS)
def test_a_seed_makes_a_dataset(make, make_dataset, sizes):
    assert make(**sizes, seed=3).fingerprint == make_dataset(**sizes, seed=3)[0].fingerprint
    assert make(**sizes, seed=3).fingerprint != make(**sizes, seed=4).fingerprint
    assert make(**sizes, seed=3).to_frame().equals(make(**sizes, seed=3).to_frame())


@pytest.mark.parametrize(("make", "make_dataset", "sizes"), DATASETS.values(), ids=DATASETS)
def test_a_seed_is_required(make, make_dataset, sizes):
    for function in (make, make_dataset):
        with pytest.raises(TypeError, match="seed"):
            function(**sizes)
        with pytest.raises(UsageError, match="seed"):
            function(**sizes, seed=-1)
        assert all(
            parameter.kind is inspect.Parameter.KEYWORD_ONLY
            for parameter in inspect.signature(function).parameters.values()
        )


@pytest.mark.parametrize(("make", "make_dataset", "sizes"), DATASETS.values(), ids=DATASETS)
def test_sizes_that_cannot_be(make, make_dataset, sizes):
    for name in inspect.signature(make).parameters:
        if name != "seed":
            for wrong in (0, -3, 2.5, "many", True):
                with pytest.raises(UsageError, match=name):
                    make(**(sizes | {name: wrong}), seed=1)


def test_the_demo_is_there_at_once():
    begin = time.process_time()
    synthetic.films(seed=8)
    # Half a second of its own time, whatever else the machine does.
    assert time.process_time() - begin < 2.5


# Films


@pytest.mark.parametrize(
    ("users", "items", "records"),
    [(1, 2, 1), (3, 4, 9), (20, 30, 100), (10, 10, 75), (200, 80, 2_000), (40, 5_000, 9_000), (2_000, 30, 20_000)],
)
def test_films_of_any_size(users, items, records):
    data = synthetic.films(users=users, items=items, records=records, seed=1)
    assert (len(data), data.n_users, data.n_items) == (records, users, items)
    assert data.catalog_is_public
    assert not data.may_repeat


def test_large_datasets_are_made_in_chunks(monkeypatch):
    monkeypatch.setattr("discreet.data.synthetic.cinema.CHUNK", 100)
    data, truth = synthetic.film_world(users=60, items=40, records=1_234, seed=1)
    assert (len(data), data.n_users) == (1_234, 60)
    # The ratings of every chunk are those of its own users.
    assert data.rating is not None
    error = data.rating - truth.expected_rating(data.user, data.item)
    assert np.sqrt(np.mean(error**2)) < 0.85
    assert len(data) == len(np.unique(data.user * 40 + data.item))


def test_more_ratings_than_there_is_room_for():
    for records in (19, 20 * 30):
        with pytest.raises(UsageError, match="records"):
            synthetic.films(users=20, items=30, records=records, seed=1)


def test_films_look_like_ratings(films):
    data, _ = films
    assert str(data.scale) == "1:5:1"
    assert data.rating is not None
    assert 3.4 < data.rating.mean() < 3.7
    shares = np.bincount(data.rating.astype(int), minlength=6)[1:] / len(data)
    assert shares.argmax() == 3
    assert shares.min() > 0.02


def test_films_have_long_tails(films):
    data, _ = films
    per_user, per_item = np.sort(data.records_per_user)[::-1], np.sort(data.records_per_item)[::-1]
    assert per_user[0] > 5 * np.median(per_user)
    assert per_user[: len(per_user) // 10].sum() > 0.25 * len(data)
    assert per_item[0] > 5 * np.median(per_item)
    assert per_item[: len(per_item) // 10].sum() > 0.25 * len(data)
    # A top ten that noise of the usual size leaves standing.
    assert 0.4 * data.n_users < per_item[0] < 0.7 * data.n_users


def test_films_have_side_tables(films):
    data, _ = films
    assert data.item_table.columns == ["title", "year", "genres"]
    assert data.item_table["title"].n_unique() == data.n_items
    assert data.item_table["year"].is_between(1930, 2019).all()
    for genres in data.item_table["genres"]:
        assert 1 <= len(genres.split("|")) <= 3
        assert set(genres.split("|")) <= set(GENRES)
    assert data.user_table.columns == ["gender", "age"]
    assert data.user_table["gender"].unique().sort().to_list() == ["F", "M"]
    assert data.user_table["age"].is_between(16, 90).all()
    assert data.public_user_columns == frozenset()
    assert "u17" in data.users
    assert "film-3" in data.items


def test_films_have_times(films):
    data, _ = films
    years = pl.from_epoch(pl.Series(data.timestamp)).dt.year()
    assert set(years.unique()) <= {2020, 2021, 2022, 2023}
    # People rate in sittings: most ratings have another of the same user within the hour.
    time_, user = data.timestamp, data.user
    order = np.lexsort((time_, user))
    close = (np.diff(time_[order]) < 3_600) & (np.diff(user[order]) == 0)
    assert close.mean() > 0.5


def test_expected_ratings_are_the_mean_of_the_ratings(films):
    data, truth = films
    expected = truth.expected_rating(data.user, data.item)
    assert expected.min() >= 1
    assert expected.max() <= 5
    error = data.rating - expected
    # Unbiased overall, and in every band of what was expected; the best that a model can do.
    assert abs(error.mean()) < 5 * error.std() / np.sqrt(error.size)
    for low in np.arange(1.5, 4.5, 0.5):
        band = (expected >= low) & (expected < low + 0.5)
        assert abs(error[band].mean()) < 5 * error[band].std() / np.sqrt(band.sum())
    assert 0.7 < np.sqrt(np.mean(error**2)) < 0.85


def test_choices_follow_the_truth():
    data, truth = synthetic.film_world(users=30_000, items=12, records=30_000, seed=2)
    # Everybody chooses once, so the first choices are all there are, and their law is known.
    expected = truth.choice(np.arange(data.n_users)).sum(axis=0)
    spread = np.sqrt(expected)
    assert np.abs(data.records_per_item - expected).max() < 5 * spread.max()
    assert (np.abs(data.records_per_item - expected) < 5 * spread).all()
    assert truth.popularity.sum() == pytest.approx(1)


def test_gender_and_age_show_in_the_taste(films):
    data, truth = films
    woman = (data.user_table["gender"] == "F").to_numpy()
    gap = truth.user_factors[woman].mean(axis=0) - truth.user_factors[~woman].mean(axis=0)
    noise = truth.user_factors.std(axis=0) * np.sqrt(4 / data.n_users)
    assert (np.abs(gap) > 5 * noise).sum() >= 3


def test_personal_recommendations_beat_popularity(films):
    data, truth = films
    split = splits.all_but_one(data, seed=1)
    seen = (split.train.csr.toarray() > 0).astype(np.float32)
    length = np.sqrt(seen.sum(axis=0))
    cosine = seen.T @ seen / np.outer(length, length)
    np.fill_diagonal(cosine, 0)
    user = split.train.users.encode(split.test.users.series)[split.test.user]

    def hits(scores):
        scores = np.where(seen[user] > 0, -1, scores)
        held = scores[np.arange(user.size), split.test.item]
        return ((scores > held[:, None]).sum(axis=1) < 10).mean()

    popular, neighbors, best = (
        hits(np.tile(seen.sum(axis=0), (user.size, 1))),
        hits(seen[user] @ cosine),
        hits(truth.choice(user)),
    )
    assert neighbors > 1.15 * popular
    assert best > neighbors


# Check-ins


@pytest.mark.parametrize(("users", "items", "records"), [(1, 1, 3), (20, 3, 100), (100, 50, 100), (500, 5_000, 12_345)])
def test_checkins_of_any_size(users, items, records):
    data = synthetic.checkins(users=users, items=items, records=records, seed=1)
    assert (len(data), data.n_users, data.n_items) == (records, users, items)
    assert data.may_repeat


@pytest.mark.parametrize(
    ("users", "records", "busiest"), [(700, 14_000, 900), (100, 100, 1), (100, 1000, 10), (100, 1000, 901), (1, 5, 5)]
)
def test_a_city_with_a_busiest_person_and_a_tail(users, records, busiest):
    data, truth = synthetic.checkin_world(users=users, items=300, records=records, busiest=busiest, seed=1)
    held = np.sort(data.records_per_user)[::-1]
    assert (data.n_users, len(data), held[0]) == (users, records, busiest)
    assert held[-1] >= 1
    assert sorted(data.records_per_user[truth.heavy], reverse=True) == held[: truth.heavy.size].tolist()
    if busiest == 900:  # a straight line in logarithms of rank and visits, down from the busiest
        slope = np.polyfit(np.log(np.arange(1, 301)), np.log(held[:300]), 1)
        assert -1 < slope[0] < -0.4
        assert abs(np.polyval(slope, 0) - np.log(900)) < 0.2


@pytest.mark.parametrize("busiest", [9, 902, 0, True, 10.0])
def test_a_busiest_person_who_cannot_be(busiest):
    with pytest.raises(UsageError, match="busiest"):
        synthetic.checkins(users=100, items=30, records=1000, busiest=busiest, seed=1)


def test_weekdays_are_those_of_the_times(checkins):
    data, _ = checkins
    days = pl.from_epoch(pl.Series(data.timestamp)).dt.strftime("%A")
    assert days.equals(data.context["weekday"].cast(pl.String).rename(""))
    assert set(days) == set(WEEKDAYS)


def test_people_return_to_their_places(checkins):
    data, truth = checkins
    light = np.setdiff1d(np.arange(data.n_users), truth.heavy)
    known = (truth.favorites[data.user] == data.item[:, None]).any(axis=1)
    assert known[np.isin(data.user, light)].mean() > HABIT - 0.01
    pairs = np.unique(data.user.astype(np.int64) * data.n_items + data.item).size
    assert pairs < 0.5 * len(data)


def test_a_few_never_stop(checkins):
    data, truth = checkins
    counts = data.records_per_user
    assert set(np.argsort(-counts)[:2]) <= set(truth.heavy)
    median = np.median(counts)
    assert 150 * median < counts.max() < 250 * median
    assert counts.max() <= len(data) // 5
    small = synthetic.checkins(users=100, items=30, seed=1)
    assert small.records_per_user.max() <= len(small) // 5


def test_visits_follow_the_truth():
    data, truth = synthetic.checkin_world(users=40, items=20, records=40_000, seed=3)
    visits = np.zeros((data.n_users, data.n_items))
    np.add.at(visits, (data.user, data.item), 1)
    expected = truth.visit(np.arange(data.n_users)) * data.records_per_user[:, None]
    assert truth.visit(np.arange(3)).sum(axis=1) == pytest.approx(np.ones(3))
    assert (np.abs(visits - expected) <= 6 * np.sqrt(expected) + 3).all()
    days = np.zeros((data.n_items, 7))
    np.add.at(days, (data.item, data.context["weekday"].to_physical().to_numpy().astype(int)), 1)
    expected = truth.weekday * days.sum(axis=1, keepdims=True)
    assert (np.abs(days - expected) <= 6 * np.sqrt(expected) + 3).all()


def test_places_have_names_and_kinds(checkins):
    data, _ = checkins
    assert data.item_table.columns == ["title", "kind", "district"]
    assert data.item_table["title"].n_unique() == data.n_items
    sunday = data.context["weekday"] == "Sunday"
    kind = data.item_table["kind"].gather(data.item)
    church, office = sunday.filter(kind == "Church").mean(), sunday.filter(kind == "Office").mean()
    assert church > 0.6  # type: ignore[operator]
    assert office < 0.05  # type: ignore[operator]
    assert data.user_table.columns == ["home"]


# Tags


@pytest.mark.parametrize(
    ("users", "resources", "vocabulary", "records"), [(1, 1, 22, 1), (30, 20, 100, 600), (200, 300, 3_000, 5_000)]
)
def test_tags_of_any_size(users, resources, vocabulary, records):
    data = synthetic.tags(users=users, resources=resources, vocabulary=vocabulary, records=records, seed=1)
    assert len(data) == records
    assert data.n_users <= users
    assert data.n_resources <= resources


def test_cleaning_leaves_the_words_of_the_dataset(tags):
    data, truth = tags
    assert len(data) == 20_000
    clean = data.cleaned()
    assert set(clean.tags.ids()) <= set(truth.words.ids())
    assert len(truth.words) == 300
    assert clean.cleaning[0].dropped > 300
    assert clean.cleaning[0].collapsed > 50


def test_topics_are_laws(tags):
    _, truth = tags
    for rows in (truth.topics, truth.resource_topics, truth.user_topics):
        assert rows.sum(axis=1) == pytest.approx(np.ones(len(rows)))
        assert rows.min() >= 0
    assert len(truth.names) == len(truth.topics)
    # A topic is made of its own words, beside those that everybody uses.
    assert truth.topics[truth.names.index("cooking"), truth.words.code("recipe")] > 0
    assert truth.topics[truth.names.index("cooking"), truth.words.code("guitar")] == 0


def test_tags_follow_the_topics_of_the_page(tags):
    data, truth = tags
    clean = data.cleaned()
    word = truth.words.encode(clean.tags.series)[clean.tag]
    page = truth.resources.encode(clean.resources.series)[clean.resource]
    right = np.einsum("rt,tw->rw", truth.resource_topics, truth.topics)[page, word]
    wrong = np.einsum("rt,tw->rw", truth.resource_topics, truth.topics)[(page + 1) % len(truth.resources), word]
    assert (right > wrong).mean() > 0.7


def test_large_vocabularies_have_different_words():
    _, truth = synthetic.tag_world(users=5, resources=5, vocabulary=4_000, records=5, seed=1)
    assert len(truth.words) == 4_000
    assert all(word == word.lower() for word in truth.words.ids())


# The survey


def test_households_agree_where_they_should():
    data, truth = synthetic.survey_world(seed=7)
    frame = data.to_frame()
    alike = frame.group_by("household").agg(pl.col(name).n_unique() for name in truth.shared)
    assert all((alike[name] == 1).all() for name in truth.shared)
    sizes = frame.group_by("household").len()["len"]
    assert sizes.max() <= truth.largest_household  # type: ignore[operator]
    assert data.groups is not None
    assert len(data.groups) == 1_500
    assert isinstance(data, Table)
    assert 2.0 < len(data) / 1_500 < 2.6


def test_partners_are_of_similar_age():
    data = synthetic.survey(households=3_000, seed=7)
    couples = (
        data.to_frame().group_by("household", maintain_order=True).agg("age").filter(pl.col("age").list.len() == 2)
    )
    gap = (couples["age"].list.get(0) - couples["age"].list.get(1)).abs()
    assert gap.max() <= 6  # type: ignore[operator]


def test_cells_are_as_likely_as_the_truth_says():
    data, truth = synthetic.survey_world(households=60_000, seed=3)
    assert truth.probabilities.shape == data.shape
    assert truth.probabilities.sum() == pytest.approx(1)
    n, largest = len(data), truth.largest_household
    for axes in ((0, 1), (2,), (3,), (4,), (3, 5), (0, 3, 6)):
        others = tuple(axis for axis in range(7) if axis not in axes)
        found = data.histogram().sum(axis=others)
        expected = n * truth.probabilities.sum(axis=others)
        # Members of a household are drawn together, so the spread is up to √largest times that of lone people.
        assert (np.abs(found - expected) <= 5 * np.sqrt(largest * expected) + 1e-9).all()
    assert data.histogram()[truth.probabilities == 0].sum() == 0


@pytest.mark.parametrize("households", [1, 40, 1_000])
def test_surveys_of_any_size(households):
    data = synthetic.survey(households=households, seed=1)
    assert data.groups is not None
    assert len(data.groups) == households
    assert households <= len(data) <= 6 * households
