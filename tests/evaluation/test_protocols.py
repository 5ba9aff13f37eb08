"""Whole evaluations: what is fitted, what is asked, what is measured, what is printed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.parted import Parted
from discreet.errors import EvaluationError, PrivacyError, ReleaseError, UsageError
from discreet.evaluation import Evaluation, evaluate
from discreet.evaluation.protocols import RATING_PROTOCOLS
from discreet.factors import ALS, EASE, Biases, Popularity, PrivateRatings, PrivateRecommender
from discreet.neighbors import KNN, PPNS
from discreet.privacy.charging import in_sandbox


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=300, items=60, seed=3)


class Watched(Popularity):
    """Popularity that remembers how it was used."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def fit(self, data: dc.Interactions, **options: Any) -> Watched:
        Watched.seen.append({"data": data, "sandbox": in_sandbox(), "self": self, **options})
        return super().fit(data, **options)

    def attach(self, data: dc.Interactions | Parted) -> Watched:
        Watched.seen[-1]["told"] = data
        return super().attach(data)


@pytest.fixture
def watched() -> type[Watched]:
    Watched.seen = []
    return Watched


# Strong generalization


def test_nothing_of_the_held_out_users_is_learned(films: dc.Interactions, watched: type[Watched]) -> None:
    evaluate(watched(), films, test_users=40, splits=2, k=5)
    for use in watched.seen:
        train, told = use["data"], use["told"]
        assert not set(train.users.ids()) & set(told.users.ids())
        assert told.n_users == 40
        assert (train.rating >= 4).all()
        assert (told.rating >= 4).all()
        assert train.records_per_user.min() >= 5
    first, second = watched.seen
    assert set(first["told"].users.ids()) != set(second["told"].users.ids())


def test_models_are_patterns_fitted_afresh_in_a_sandbox(films: dc.Interactions, watched: type[Watched]) -> None:
    pattern = watched(positive=3)
    evaluate(pattern, films, splits=2, k=5)
    assert not hasattr(pattern, "items_")
    assert all(use["self"] is not pattern and use["self"].positive == 3 for use in watched.seen)
    assert all(use["sandbox"] and use.get("ledger") is None for use in watched.seen)
    assert not in_sandbox()


def test_a_fitted_model_is_measured_like_a_pattern(films: dc.Interactions) -> None:
    fitted = EASE().fit(films)
    options: dict[str, Any] = {"splits": 2, "k": 5}
    assert evaluate(fitted, films, **options)["recall@5"] == evaluate(EASE(), films, **options)["recall@5"]


def test_recall_is_over_what_could_be_found() -> None:
    """Everybody likes the same ten items: popularity finds all that was held out, in the first places."""
    rows = [(user, item, 5) for user in range(20) for item in range(10)]
    rows += [(user, 10 + user % 5, 1) for user in range(20)]
    data = dc.Interactions(rows, items=list(range(30)), scale="1:5")
    found = evaluate(Popularity(), data, k=[1, 2, 20], splits=2, test_users=4)
    assert found["recall@1"] == found["recall@2"] == found["recall@20"] == 1
    assert found["ndcg@2"] == 1
    assert found["popularity@1"] == pytest.approx(0.55)  # ten items share the ranks from 1 to 10


def test_figures_agree_with_the_metrics_one_by_one(films: dc.Interactions) -> None:
    likes = films.filter(np.asarray(films.rating) >= 4, independent=True)
    likes = likes.filter((likes.records_per_user >= 5)[likes.user], independent=True)
    cut = dc.splits.strong_generalization(likes, held_out_users=30, fold_in=0.8, seed=11)
    model = ALS(factors=4).fit(cut.train).attach(cut.fold_in)
    lists = model.recommend(cut.fold_in.users.ids(), n=10)
    expected = dc.evaluation.evaluate_ranking(lists, held_out=cut.target, k=10)
    shown = dc.evaluation.evaluate_catalog(lists, trained_on=cut.train, k=10)
    found = evaluate(ALS(factors=4), films, k=10, splits=1, seed=11, test_users=30)
    assert found["recall@10"] == expected["truncated_recall@10"]
    assert found["ndcg@10"] == expected["ndcg@10"]
    assert found["catalog@10"] == shown["catalog_coverage@10"]
    assert found["popularity@10"] == shown["popularity_percentile@10"]


def test_the_same_seed_gives_the_same_figures(films: dc.Interactions) -> None:
    one, two = (evaluate(EASE(), films, splits=2, seed=4).to_frame() for _ in range(2))
    assert one.equals(two)
    assert not one.equals(evaluate(EASE(), films, splits=2, seed=9).to_frame())


def test_a_tenth_is_held_out_unless_told(films: dc.Interactions, watched: type[Watched]) -> None:
    evaluate(watched(), films, splits=1, k=5)
    use = watched.seen[0]
    whole = use["data"].n_users + use["told"].n_users
    assert use["told"].n_users == -(-whole // 10)


def test_models_that_keep_their_records_serve_strangers_one_by_one(films: dc.Interactions) -> None:
    found = evaluate([KNN(k=10), PPNS(1, k=10)], films, splits=1, k=5, test_users=10)
    assert 0 <= found["recall@5"] <= 1
    assert "refuted" in str(found)


# Ratings


@pytest.mark.parametrize("protocol", ["holdout", "all-but-one", "leave-one-out"])
def test_ratings_are_predicted(protocol: str, films: dc.Interactions) -> None:
    found = evaluate(Biases(), films, protocol=protocol, splits=1, k=10)
    assert found.metrics == ["rmse", "mae", "coverage", "catalog@10", "popularity@10"]
    assert found["mae"] < found["rmse"] < 1.5
    assert found["coverage"] > 0.98


def test_a_tenth_of_the_records_is_predicted_and_a_tenth_is_left_out(films: dc.Interactions) -> None:
    questions = RATING_PROTOCOLS["holdout"](films, 3)
    tenth = len(films) // 10
    assert len(questions.held_out) == tenth
    assert len(questions.train) == len(films) - 2 * tenth
    learned = set(questions.train.to_frame().select("user_id", "item_id").iter_rows())
    assert not learned & set(questions.held_out.to_frame().select("user_id", "item_id").iter_rows())


def test_strangers_are_unanswered_and_counted() -> None:
    rows = [(user, item, 1 + (user + item) % 5) for user in range(12) for item in range(6)]
    rows += [(100 + user, 0, 3) for user in range(30)]  # people with one rating, of which a tenth is held out
    found = evaluate(Biases(), dc.Interactions(rows, scale="1:5"), protocol="holdout", splits=1, k=2)
    assert found["coverage"] < 1
    assert found.runs["biases"][0].scores.counts["unanswered"] > 0


def test_a_model_that_ranks_predicts_no_ratings(films: dc.Interactions) -> None:
    with pytest.raises(EvaluationError, match="predicts no ratings"):
        evaluate(EASE(), films, protocol="holdout", splits=1)


# Beside a reference


def test_private_models_stand_beside_a_reference(films: dc.Interactions) -> None:
    found = evaluate(PrivateRecommender(epsilon=8), films, splits=2, k=10)
    assert found.models == ["private-recommender ε = 8", "ease"]
    assert found.reference == "ease"
    assert found.share("recall@10") == found.value("recall@10") / found.value("recall@10", "ease")
    assert found.share("recall@10", "ease") == 1
    text = str(found)
    assert "ease (not private)" in text
    assert f"{found.share('recall@10'):.0%}" in text
    assert "not private" in text.splitlines()[-1]
    assert len({len(line) for line in text.splitlines()[1:4]}) == 1


def test_the_reference_is_not_fitted_twice_and_can_be_chosen(films: dc.Interactions) -> None:
    private = PrivateRecommender(epsilon=8)
    assert evaluate([private, EASE()], films, splits=1).models == ["private-recommender ε = 8", "ease"]
    assert evaluate(private, films, splits=1, reference=Popularity()).reference == "popularity"
    assert evaluate(private, films, splits=1, reference=None).models == ["private-recommender ε = 8"]
    assert evaluate(EASE(), films, splits=1).reference is None
    assert evaluate(PrivateRatings(epsilon=8), films, protocol="holdout", splits=1, k=5).reference == "biases"
    with pytest.raises(EvaluationError, match="no reference"):
        evaluate(EASE(), films, splits=1).share("recall@20")


def test_many_models_have_names_of_their_own(films: dc.Interactions) -> None:
    found = evaluate([EASE(ridge=1.0), EASE(ridge=50.0)], films, splits=1, k=5)
    assert found.models == ["ease", "ease #2"]
    found = evaluate({"weak": EASE(ridge=1.0), "strong": EASE(ridge=50.0)}, films, splits=1, k=5)
    assert found.models == ["weak", "strong"]
    assert found.value("recall@5", "weak") != found.value("recall@5", "strong")
    with pytest.raises(EvaluationError, match="no model 'best'"):
        found.value("recall@5", "best")


def test_results_go_to_tables_and_json(films: dc.Interactions) -> None:
    import json

    found = evaluate(Popularity(), films, splits=3, k=5)
    assert isinstance(found, Evaluation)
    assert found.to_frame().height == 3 * len(found.metrics)
    values = found.to_frame().filter(pl.col("metric") == "recall@5")["value"]
    assert found["recall@5"] == pytest.approx(values.mean())
    assert found.deviation("recall@5") == pytest.approx(values.std())
    assert json.loads(json.dumps(found.to_dict()))["models"]["popularity"]["metrics"]["recall@5"] == found["recall@5"]
    alone = evaluate(Popularity(), films, splits=1, k=5).to_dict()
    assert alone["models"]["popularity"]["deviations"]["recall@5"] is None


def test_what_is_fitted_for_an_evaluation_cannot_be_released(films: dc.Interactions, tmp_path: Any) -> None:
    kept: list[PrivateRecommender] = []

    class Leaking(PrivateRecommender):
        def fit(self, data: dc.Interactions, **options: Any) -> Leaking:
            kept.append(self)
            return super().fit(data, **options)

    evaluate(Leaking(epsilon=1), films, splits=1, reference=None)
    with pytest.raises(ReleaseError, match="sandbox"):
        kept[0].save(tmp_path / "model")

    class Charging(PrivateRecommender):
        def fit(self, data: dc.Interactions, **options: Any) -> Charging:
            return super().fit(data, **{**options, "ledger": dc.Ledger(tmp_path / "ledger.db")})

    with pytest.raises(PrivacyError, match="sandbox"):
        evaluate(Charging(epsilon=1), films, splits=1)


# Mistakes


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"protocol": "guess"}, "protocol"),
        ({"k": 0}, "list length"),
        ({"splits": 0}, "splits"),
        ({"test_users": 10_000}, "cannot be held out"),
        ({"least_likes": 10_000}, "no user has 10000 likes"),
        ({"test_users": 0}, "cannot be held out"),
        ({"protocol": "holdout", "test_users": 5}, "test_users"),
        ({"least_likes": 0}, "least_likes"),
        ({"reference": "best"}, "reference"),
        ({"fold_in": 1.5}, "fold_in"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], said: str, films: dc.Interactions) -> None:
    with pytest.raises((EvaluationError, UsageError), match=said):
        evaluate(Popularity(), films, **wrong)


class Silent:
    """Answers nothing."""

    def fit(self, data: dc.Interactions) -> None:
        pass

    def recommend(self, users: list[Any], n: int) -> None:
        return None


def test_a_model_without_lists_is_named(films: dc.Interactions) -> None:
    with pytest.raises(EvaluationError, match=r"^Silent recommends nothing to anybody\."):
        evaluate(["popularity", Silent()], films, k=5, splits=1)


def test_lists_of_the_whole_catalog_are_called_so(films: dc.Interactions) -> None:
    found = evaluate(Popularity(), films, k=[5, films.n_items], splits=1)
    assert found[f"recall@{films.n_items}"] == 1
    assert f"No model can miss at recall@{films.n_items}: there are {films.n_items:,} items in all." in found.notes()
    assert not any("No model" in line for line in evaluate(Popularity(), films, k=5, splits=1).notes())


def test_budgets_are_numbers_whatever_the_models(films: dc.Interactions) -> None:
    with pytest.raises(UsageError, match="epsilon = 'abc' is not a number"):
        evaluate(Popularity(), films, epsilons=["abc"])


@pytest.mark.parametrize("model", [[], [3], {"a": "b"}])
def test_only_recommenders_are_evaluated(model: Any, films: dc.Interactions) -> None:
    with pytest.raises(UsageError):
        evaluate(model, films)
