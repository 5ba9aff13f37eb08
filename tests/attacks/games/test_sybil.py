"""The kNN attack: it reads the ratings of plain neighbors, and learns nothing from the proved model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.attacks import AttackReport, BetaSybilAttack, SybilAttack
from discreet.attacks.games.sybil_targets import guessed_right, one_step_off
from discreet.data import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import BudgetError, DataError, UsageError
from discreet.neighbors import PrivateItemKNN
from discreet.neighbors.knn import KNN, PPNS
from discreet.neighbors.similarity import Similarity


class NearestUsers:
    """User neighbors by cosine over whole vectors; the mean rating of those who rated. Nothing else is known of it."""

    name = "nearest-users"

    def __init__(self, k: int = 10) -> None:
        self.k = k

    def fit(self, data: Interactions) -> None:
        self.data, self.table = data, data.csr.toarray().astype(np.float64)

    def predict(self, pairs: list[tuple[int, str]]) -> pl.DataFrame:
        scores = []
        for user, item in pairs:
            ratings = self._nearest(user)[:, self.data.items.code(item)]
            scores.append(float(ratings[ratings > 0].mean()) if ratings.any() else None)
        return pl.DataFrame({"score": pl.Series(scores, dtype=pl.Float64)})

    def _nearest(self, user: int) -> np.ndarray:
        own = self.data.users.code(user)
        likeness = (self.table @ self.table[own]) / np.linalg.norm(self.table, axis=1)
        likeness[own] = -1
        return self.table[np.argsort(-likeness, kind="stable")[: self.k]]


class ListsOnly(NearestUsers):
    """The same neighbors, but a client sees only which items they have touched most."""

    name = "lists-only"
    predict = None  # type: ignore[assignment]

    def recommend(self, users: list[int], n: int = 10) -> pl.DataFrame:
        (user,) = users
        own = self.table[self.data.users.code(user)]
        votes = np.where(own > 0, -1, (self._nearest(user) > 0).sum(axis=0))
        best = np.argsort(-votes, kind="stable")[:n]
        return pl.DataFrame({"item_id": self.data.items.decode(best[votes[best] > 0])})


class Recording(NearestUsers):
    """Keeps the datasets that it was fitted on, and the questions."""

    datasets: list[Interactions]
    questions: list[list[tuple[int, str]]]

    def fit(self, data: Interactions) -> None:
        self.datasets.append(data)
        super().fit(data)

    def predict(self, pairs: list[tuple[int, str]]) -> pl.DataFrame:
        self.questions.append(pairs)
        return super().predict(pairs)


@pytest.fixture(scope="module")
def films() -> Interactions:
    return dc.synthetic.films(users=150, items=80, seed=7)


@pytest.fixture
def recording() -> type[Recording]:
    return type("Fresh", (Recording,), {"datasets": [], "questions": []})


def rich_users(data: Interactions, n: int, records: int) -> list[str]:
    return data.users.decode(np.flatnonzero(data.records_per_user >= records)[:n])


# What the attack finds


def test_plain_neighbors_leak(films: Interactions) -> None:
    row = SybilAttack(k=10, known=8, choose="rarest").run(NearestUsers, films, targets=25, seed=1).rows[0]
    assert row.exact_present > 0.7
    assert row.exact_absent < 0.4
    assert row.epsilon_lower > 0.2
    assert row.mae_present is not None
    assert row.mae_present < 0.2
    assert row.promise is None
    assert row.hits_present > row.hits_absent


def test_the_proved_model_does_not_tell_present_from_absent(
    films: Interactions, fixed_bits: Callable[[int], None]
) -> None:
    report = SybilAttack(k=10, known=8, choose="rarest").run(
        lambda: PrivateItemKNN(epsilon=1), films, targets=30, seed=1
    )
    row = report["private-item-knn"]
    assert abs(row.exact_present - row.exact_absent) < 0.12
    assert row.epsilon_lower == 0
    assert row.promise is not None
    assert row.standing == "proved"
    assert row.unanswered_present == 0


def test_lists_leak_too(films: Interactions) -> None:
    row = SybilAttack(k=10, known=8, choose="rarest", length=15).run(ListsOnly, films, targets=15, seed=1).rows[0]
    assert row.sees == "list"
    assert row.mae_present is None
    assert row.exact_present > 2 * row.exact_absent


def test_records_without_ratings_are_attacked_through_lists(films: Interactions) -> None:
    bought = Interactions(films.to_frame().select("user_id", "item_id"), items=films.items)
    attack = SybilAttack(k=10, known=8, choose="rarest", length=15)
    row = attack.run(ListsOnly, bought, targets=5, seed=1).rows[0]
    assert row.exact_present > row.exact_absent
    report = SybilAttack(sees="ratings").run(ListsOnly, bought, targets=5)
    assert report.rows[0].obstacle == "the model shows no ratings to a client; attack its list (--sees list)"
    assert report.to_frame()["exact_present"].to_list() == [None]
    assert "does not apply" in str(report)


def test_ratings_are_not_asked_for_where_only_lists_are_wanted(films: Interactions) -> None:
    class Both(ListsOnly):
        predict = NearestUsers.predict

    assert SybilAttack(known=8, sees="list").run(Both, films, targets=2).rows[0].sees == "list"
    assert SybilAttack(known=8).run(Both, films, targets=2).rows[0].sees == "ratings"


def test_more_sybils_than_neighbors_push_the_target_out(films: Interactions) -> None:
    """With 2k sybils all k places of the observer are taken by sybils, and nothing is answered."""
    report = BetaSybilAttack(k=5, known=8, choose="rarest", beta=1).run(
        lambda: NearestUsers(5), films, targets=4, seed=1
    )
    assert [row.sybils for row in report.rows] == [5, 10]
    assert report.rows[0].exact_present > 0.5
    assert report.rows[1].unanswered_present == 1
    assert report.rows[1].exact_present == 0
    assert report.rows[1].mae_present is None
    assert report.attack == "beta-sybil"
    assert report.settings["beta"] == 1


# The published models


@pytest.fixture(scope="module")
def published(films: Interactions) -> dict[str, Callable[[], Any]]:
    """User neighbors as the published attacks have them: all users are candidates, ratings count as they are."""
    alike = Similarity("cosine", shrinkage=5)
    setting: dict[str, Any] = {"axis": "user", "candidates": "all", "centering": None, "fallback": None, "k": 5}
    return {
        "knn": lambda: KNN(similarity=alike, **setting),
        "ppns": lambda: PPNS(1, similarity=alike, beta=4, **setting),
        "ties": lambda: KNN(similarity="cosine", ties="id", **setting),
    }


def test_partitions_do_not_cost_the_attacker_more_sybils(
    films: Interactions, published: dict[str, Callable[[], Any]], fixed_bits: Callable[[int], None]
) -> None:
    """k sybils read PPNS with four partitions almost as well as they read kNN."""
    report = SybilAttack(k=5, known=8).run({n: published[n] for n in ("knn", "ppns")}, films, targets=20, seed=1)
    assert report["knn"].exact_present > 0.95
    assert report["knn"].standing is None
    assert report["ppns"].exact_present > 0.7
    assert report["ppns"].exact_present > report["ppns"].exact_absent + 0.3
    assert report["ppns"].standing == "refuted"


def test_ties_for_the_attacker_give_everything_away(
    films: Interactions, published: dict[str, Callable[[], Any]]
) -> None:
    """With the co-rated cosine many users agree fully with the observer; the target is heard only if ties say so."""
    attack = SybilAttack(k=5, known=3, fillers="copies", target_first=True)
    row = attack.run(published["ties"], films, targets=10, seed=1).rows[0]
    assert row.exact_present == 1
    assert row.mae_present == pytest.approx(0, abs=1e-6)


# The rules of the game


def test_both_datasets_have_the_same_sybils_and_differ_in_the_target_alone(
    films: Interactions, recording: type[Recording]
) -> None:
    (target,) = rich_users(films, 1, 20)
    SybilAttack(k=4, known=6).run(recording, films, targets=[target], seed=2)
    present, absent = (dataset.to_frame() for dataset in recording.datasets)
    code = films.users.code(target)
    assert present.filter(pl.col("user_id") != code).equals(absent)
    assert present.filter(pl.col("user_id") == code).height == films.records_per_user[code]
    assert recording.datasets[0].items == recording.datasets[1].items == films.items
    real = present.filter(pl.col("user_id") < films.n_users)
    assert real["rating"].to_list() == films.to_frame()["rating"].to_list()
    assert present["user_id"].n_unique() == films.n_users + 4


def test_the_observer_copies_and_fillers_are_one_step_off_once(films: Interactions, recording: type[Recording]) -> None:
    (target,) = rich_users(films, 1, 20)
    SybilAttack(k=4, known=6).run(recording, films, targets=[target], seed=2)
    dataset = recording.datasets[0]
    rows = dataset.csr.toarray()
    own, observer, fillers = rows[films.users.code(target)], rows[films.n_users], rows[films.n_users + 1 :]
    assert (observer > 0).sum() == 6
    assert (observer[observer > 0] == own[observer > 0]).all()
    assert len(fillers) == 3
    for filler in fillers:
        assert ((filler > 0) == (observer > 0)).all()
        assert sorted(np.abs(filler - observer)[observer > 0]) == [0] * 5 + [1]
    assert len({tuple(filler) for filler in fillers}) == 3


def test_exact_copies(films: Interactions, recording: type[Recording]) -> None:
    SybilAttack(k=4, known=6, fillers="copies").run(recording, films, targets=1, seed=2)
    sybils = recording.datasets[0].csr.toarray()[films.n_users :]
    assert (sybils == sybils[0]).all()


def test_every_hidden_rating_is_asked_for_with_the_observers_own_id(
    films: Interactions, recording: type[Recording]
) -> None:
    (target,) = rich_users(films, 1, 20)
    row = SybilAttack(k=4, known=6).run(recording, films, targets=[target], seed=2).rows[0]
    asked = recording.questions[0]
    assert {user for user, _ in asked} == {films.n_users}
    code = films.users.code(target)
    own = set(films.to_frame().filter(pl.col("user_id") == target)["item_id"])
    known = set(recording.datasets[0].to_frame().filter(pl.col("user_id") == films.n_users)["item_id"])
    assert {item for _, item in asked} == own - known
    assert row.hidden == films.records_per_user[code] - 6
    assert recording.questions[1] == asked


@pytest.mark.parametrize(("choose", "sign"), [("rarest", 1), ("popular", -1)])
def test_known_items_are_the_rarest_or_the_most_popular(
    films: Interactions, recording: type[Recording], choose, sign: int
) -> None:
    (target,) = rich_users(films, 1, 20)
    SybilAttack(k=2, known=6, choose=choose).run(recording, films, targets=[target], seed=2)
    hidden = films.items.encode([item for _, item in recording.questions[0]])
    own = films.item[films.user == films.users.code(target)]
    known = np.setdiff1d(own, hidden)
    counts = sign * films.records_per_item
    assert counts[known].max() <= counts[hidden].min()


def test_the_target_and_the_sybils_can_have_the_lowest_ids(films: Interactions, recording: type[Recording]) -> None:
    (target,) = rich_users(films, 1, 20)
    SybilAttack(k=4, known=6, target_first=True).run(recording, films, targets=[target])
    present, absent = recording.datasets
    mine = films.item[films.user == films.users.code(target)]
    assert present.item[present.user == 0].tolist() == mine.tolist()
    assert all(np.isin(present.item[present.user == code], mine).all() for code in range(1, 5))
    assert absent.n_users == present.n_users - 1
    assert (present.users.series[:5] < 0).all()
    assert (present.users.series[5:] >= 0).all()


def test_half_steps_are_rounded_up_and_answers_clipped() -> None:
    """Fixed answers against known ratings on a scale of half stars."""
    rows = [("ann", f"i{n}", rating) for n, rating in enumerate([1, 2, 3, 4.5, 5, 0.5])] + [("bob", "i0", 1.0)]
    data = Interactions(rows, scale="0.5:5:0.5")
    answers = {"i1": 2.2, "i2": 2.75, "i3": 4.3, "i4": 9.0, "i5": None}

    class Fixed:
        def fit(self, data: Interactions) -> None: ...

        def predict(self, pairs: list[tuple[int, str]]) -> pl.DataFrame:
            return pl.DataFrame({"score": [answers[item] for _, item in pairs]})

    # i0 is the most popular, so it is the known one.
    row = SybilAttack(k=2, known=1, choose="popular").run(Fixed, data, targets=["ann"]).rows[0]
    assert row.hidden == 5
    assert row.exact_present == row.exact_absent == pytest.approx(4 / 5)
    assert row.unanswered_present == pytest.approx(1 / 5)
    assert row.mae_present == pytest.approx((0.2 + 0.25 + 0.2 + 0) / 4)
    assert row.model == "Fixed"


def test_on_a_scale_without_steps_near_enough_is_right() -> None:
    scale = RatingScale.of("0:10:none")
    assert guessed_right(np.array([5.04, 5.06]), np.array([5.0, 5.0]), scale).tolist() == [True, False]
    assert one_step_off(np.array([5.0, 10.0]), scale).tolist() == [6.0, 9.0]


def test_a_model_that_allows_few_questions_is_asked_until_it_refuses(films: Interactions) -> None:
    class Limited(NearestUsers):
        left = 3

        def predict(self, pairs: list[tuple[int, str]]) -> pl.DataFrame:
            if len(pairs) > self.left:
                raise BudgetError("too many questions.")
            self.left -= len(pairs)
            return super().predict(pairs)

    (target,) = rich_users(films, 1, 20)
    attack = SybilAttack(k=10, known=8, choose="rarest")
    free, limited = (attack.run(kind, films, targets=[target], seed=1).rows[0] for kind in (NearestUsers, Limited))
    assert limited.unanswered_present == pytest.approx(1 - 3 / free.hidden)
    # The rating that was drawn beforehand is asked for first, so that the bound is the same.
    assert (limited.hits_present, limited.hits_absent) == (free.hits_present, free.hits_absent)


# Reports


def test_the_same_seed_gives_the_same_report(films: Interactions) -> None:
    attack = SybilAttack(k=5, known=6)
    first, again, other = (attack.run(NearestUsers, films, targets=4, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.rows != other.rows


def test_what_is_drawn_for_a_target_does_not_depend_on_the_others(
    films: Interactions, recording: type[Recording]
) -> None:
    one, two = rich_users(films, 2, 20)
    attack = SybilAttack(k=3, known=6)
    attack.run(recording, films, targets=[one, two], seed=3)
    attack.run(recording, films, targets=[two], seed=3)
    assert recording.questions[2] == recording.questions[4]


def test_report_shapes(films: Interactions) -> None:
    steps = []
    report = SybilAttack(k=5, known=6).run(
        {"a": NearestUsers, "b": lambda: NearestUsers(3)},
        films,
        targets=2,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert report.to_frame()["model"].to_list() == ["a", "b"]
    assert json.loads(json.dumps(report.to_json()))["rows"][1]["model"] == "b"
    assert len(str(report).splitlines()) == 4  # with three neighbors, all of them sybils, b has no answers
    assert report["b"].obstacle is not None
    assert "exact, absent" in str(report)
    assert steps == [(n, 8) for n in range(1, 9)]
    assert report["b"].targets == 2
    with pytest.raises(KeyError):
        _ = report["c"]
    assert AttackReport({}, (), "none").to_frame().height == 0


def test_a_target_named_twice_is_attacked_once(films: Interactions) -> None:
    (target,) = rich_users(films, 1, 20)
    assert SybilAttack(k=2).run(NearestUsers, films, targets=[target, target]).rows[0].targets == 1
    assert SybilAttack(k=2).run(NearestUsers, films, targets=target).rows[0].targets == 1


def test_fewer_targets_where_fewer_have_enough_ratings(films: Interactions) -> None:
    known = int(np.sort(films.records_per_user)[-3]) - 1
    row = SybilAttack(k=2, known=known).run(NearestUsers, films, targets=20).rows[0]
    assert row.targets == (films.records_per_user > known).sum() < 20


# Wrong use


def test_unknown_target(films: Interactions) -> None:
    with pytest.raises(DataError, match="nobody-of-that-name"):
        SybilAttack(k=2).run(NearestUsers, films, targets=["nobody-of-that-name"])


def test_too_few_ratings_to_know(films: Interactions) -> None:
    poorest = films.users.decode([int(np.argmin(films.records_per_user))])
    with pytest.raises(UsageError, match="know fewer"):
        SybilAttack(known=int(films.records_per_user.min())).run(NearestUsers, films, targets=poorest)
    with pytest.raises(UsageError, match="no user has"):
        SybilAttack(known=1000).run(NearestUsers, films)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"known": 0},
        {"beta": 0},
        {"length": 0},
        {"k": 2.5},
        {"choose": "best"},
        {"fillers": "x"},
        {"sees": "x"},
    ],
)
def test_wrong_settings(wrong: dict) -> None:
    with pytest.raises(UsageError):
        SybilAttack(**wrong)


def test_wrong_calls(films: Interactions) -> None:
    with pytest.raises(UsageError, match="targets must be a whole number from 1"):
        SybilAttack().run(NearestUsers, films, targets=0)
    with pytest.raises(UsageError, match="no target"):
        SybilAttack().run(NearestUsers, films, targets=[])
    with pytest.raises(UsageError, match="seed"):
        SybilAttack().run(NearestUsers, films, seed=-1)
    with pytest.raises(UsageError, match="no model"):
        SybilAttack().run({}, films)
    with pytest.raises(UsageError, match="may repeat"):
        SybilAttack().run(NearestUsers, Interactions([("a", "b", 1)], scale="1:5", duplicates="keep"))
    with pytest.raises(UsageError, match="scale"):
        SybilAttack().run(NearestUsers, Interactions([("a", "b", 1)]))


def test_a_model_that_answers_something_else(films: Interactions) -> None:
    class Short(NearestUsers):
        def predict(self, pairs: list[tuple[int, str]]) -> pl.DataFrame:
            return super().predict(pairs)[:1]

    with pytest.raises(DataError, match="1 answers"):
        SybilAttack().run(Short, films, targets=1)
