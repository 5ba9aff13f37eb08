"""Several models and budgets in one evaluation: compared user by user, drawn, saved, with a reference that fits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import discreet as dc
from discreet.errors import EvaluationError, ReleaseError, UsageError
from discreet.evaluation import evaluate, protocols, reference
from discreet.evaluation.contestants import contestants_of
from discreet.factors import EASE, Popularity
from discreet.reports.progress import bar_html, shown_progress


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=300, items=60, seed=7)


@pytest.fixture(scope="module")
def found(films: dc.Interactions) -> dc.evaluation.Evaluation:
    return evaluate(["private-recommender", Popularity], films, epsilons=[1, 20], k=10, splits=2)


def test_models_are_named_by_objects_classes_and_names() -> None:
    made = contestants_of({"mine": "private-recommender", "theirs": EASE}, epsilons=[1, "1/2"])
    assert list(made) == ["mine ε = 1", "mine ε = 1/2", "theirs"]
    assert made["mine ε = 1/2"].parameters["epsilon"] == "1/2"
    assert list(contestants_of([EASE(), EASE()])) == ["ease", "ease #2"]
    for wrong in (3, dict, "nobody", [], "json:JSONDecoder"):
        with pytest.raises(UsageError):
            contestants_of(wrong)
    with pytest.raises(UsageError, match="epsilon"):
        contestants_of("private-recommender")


def test_a_comparison_is_a_paired_t_test_over_users(found: dc.evaluation.Evaluation) -> None:
    """The table is worked out again here from the values of single users."""
    assert found.models == [*(f"private-recommender ε = {e}" for e in (1, 20)), "popularity", "ease"]
    table, name = found.compare("recall@10"), "private-recommender ε = 20"
    values = {}
    for model in (name, "ease"):
        parts = [run.scores.per_user for run in found.runs[model]]
        together = pl.concat([part for part in parts if part is not None])
        values[model] = together.group_by("user_id").agg(pl.col("recall@10").mean()).sort("user_id")
    assert values[name]["user_id"].to_list() == values["ease"]["user_id"].to_list()
    ours, theirs = (values[model]["recall@10"].to_numpy() for model in (name, "ease"))
    row = table.filter(model=name).to_dicts()[0]
    assert row["p"] == pytest.approx(float(stats.ttest_rel(ours, theirs).pvalue), rel=1e-9)
    assert row["difference"] == pytest.approx(float((ours - theirs).mean()), abs=1e-12)
    half = stats.t.ppf(0.975, ours.size - 1) * ours.std(ddof=1) / math.sqrt(ours.size)
    assert (row["low"], row["high"]) == pytest.approx((ours.mean() - half, ours.mean() + half))
    assert row["users"] == ours.size
    assert found.interval("recall@10", name) == pytest.approx((row["low"], row["high"]))
    assert table.filter(model="ease")["p"].item() is None


def test_the_printed_table_says_which_test(found: dc.evaluation.Evaluation) -> None:
    assert "recall@10 minus that of ease, paired t-test over users, 95 %:" in str(found)


def test_other_tests_and_wrong_ones(found: dc.evaluation.Evaluation) -> None:
    assert found.compare(test="wilcoxon", against="popularity")["p"].null_count() == 1
    for wrong in ({"metric": "catalog@10"}, {"against": "nobody"}, {"test": "guess"}, {"confidence": 2}):
        with pytest.raises(EvaluationError):
            found.compare(**wrong)  # type: ignore[arg-type]


def test_charts_go_over_epsilon_where_there_are_several(found: dc.evaluation.Evaluation, films: Any) -> None:
    drawn = found.plot().to_dict()
    assert [layer["mark"]["type"] for layer in drawn["layer"]] == ["rule", "line", "point", "rule"]
    levels = [row["name"] for row in drawn["layer"][3]["data"]["values"]]
    assert levels == ["popularity", "ease"]
    alone = evaluate([Popularity(), EASE()], films, k=10, splits=1).plot("ndcg@10").to_dict()
    assert [layer["mark"]["type"] for layer in alone["layer"]] == ["rule", "point"]
    with pytest.raises(EvaluationError):
        found.plot("catalog@10")


def test_names_are_escaped_in_cards_and_pages(films: dc.Interactions, tmp_path: Path) -> None:
    found = evaluate({"<script>alert(1)</script>": Popularity(), "b": EASE()}, films, k=10, splits=1)
    for html in (found._repr_html_(), found.html()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
    path = found.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(ReleaseError):
        found.save(path)
    found.save(path, overwrite=True)


# The reference


def test_the_reference_follows_from_the_size(monkeypatch: pytest.MonkeyPatch, films: dc.Interactions) -> None:
    monkeypatch.setattr(reference, "EASE_ITEMS", 59)
    found = evaluate("private-recommender", films, epsilons=[20], k=10, splits=1)
    assert found.reference == "als"


def test_the_reference_is_fitted_once_for_the_same_data(
    monkeypatch: pytest.MonkeyPatch, films: dc.Interactions
) -> None:
    reference._KEPT.clear()
    fitted: list[str] = []
    measure = protocols.run_model

    def counted(name: str, *given: Any) -> Any:
        fitted.append(name)
        return measure(name, *given)

    monkeypatch.setattr(protocols, "run_model", counted)
    first = evaluate("private-recommender", films, epsilons=[20], k=10, splits=2)
    again = evaluate("private-recommender", films, epsilons=[8], k=10, splits=2)
    assert fitted.count("ease") == 2
    assert again.value("recall@10", "ease") == first.value("recall@10", "ease")
    # Other data, other questions and other settings are measured anew.
    evaluate("private-recommender", films, epsilons=[8], k=5, splits=1)
    evaluate("private-recommender", films, epsilons=[8], k=10, splits=1, reference=EASE(ridge=7))
    fewer = films.filter(np.arange(len(films)) % 9 > 0)
    evaluate("private-recommender", fewer, epsilons=[8], k=10, splits=1)
    assert fitted.count("ease") == 5


def test_what_is_kept_is_limited(monkeypatch: pytest.MonkeyPatch, films: dc.Interactions) -> None:
    reference._KEPT.clear()
    monkeypatch.setattr(reference, "MOST_KEPT", 2)
    evaluate("private-recommender", films, epsilons=[8], k=10, splits=3)
    assert len(reference._KEPT) == 2


# Models of others


class Latest:
    """A model of somebody else: recommends to users that it was fitted on."""

    name = "latest"

    def fit(self, data: dc.Interactions) -> None:
        self.popular = Popularity().fit(data)

    def recommend(self, users: list[Any], n: int = 10) -> pl.DataFrame:
        return self.popular.recommend(users, n=n)


def test_a_model_of_somebody_else_is_fitted_with_what_it_may_know() -> None:
    films = dc.synthetic.films(users=2_000, items=60, seed=7)
    found = evaluate([Latest(), Popularity()], films, k=10, splits=1)
    # The told records of 86 users beside those of 772 change hardly anything about what is popular.
    assert found.value("recall@10", "latest") == pytest.approx(found.value("recall@10", "popularity"), abs=0.02)
    assert "latest learned from the told records of the test users, too." in str(found)
    with pytest.raises(EvaluationError, match="predicts no ratings"):
        evaluate(Latest(), films, protocol="holdout", splits=1)


# Progress


def test_progress_goes_from_nothing_to_done(films: dc.Interactions) -> None:
    told: list[tuple[float, str]] = []
    evaluate("private-recommender", films, epsilons=[8], k=10, splits=2, progress=lambda *given: told.append(given))
    shares = [share for share, _ in told]
    assert shares[0] == 0
    assert shares[-1] == 1
    assert "split 2 of 2, ease" in [doing for _, doing in told]


def test_a_bar_is_escaped() -> None:
    assert "<b>" not in bar_html("<b>", 0.5, "<b>", "")
    with shown_progress("work", False) as progress:
        progress(0.5, "half")
