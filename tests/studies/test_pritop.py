"""The study of tagging releases: the figures of the thesis, and judgments on both sides."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, TagAssignments
from discreet.errors import DataError, EvaluationError, UsageError
from discreet.evaluation.scores import Scores
from discreet.studies import StudyReport, published, study
from discreet.studies.pritop import KIND, LENGTHS, PriTopStudy, TagRun, TagScores, measurements, replacements
from discreet.studies.pritop_bounds import BOUNDS, loss_bounds
from discreet.studies.study import Measurements
from discreet.tagging import PriTop
from discreet.tagging.pritop.topics import TopicCounts

Judge = Callable[..., list[str]]


@pytest.fixture(scope="module")
def listeners() -> TagAssignments:
    return PriTopStudy().builtin(quick=True)


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def report(listeners: TagAssignments, told: list[float]) -> StudyReport:
    return PriTopStudy().run(listeners, seed=1, quick=True, progress=lambda done, what: told.append(done))


def test_tables_and_charts(report: StudyReport, listeners: TagAssignments) -> None:
    claims, data, losses, _, bounds, lengths, recall, precision, tests, contents, said = report.tables.values()
    assert set(claims["claim"]) == {claim["claim"] for claim in published("pritop")["claims"]}
    assert data.row(0)[1:] == (len(listeners), listeners.n_users, listeners.n_resources, listeners.n_tags)
    assert data.height == 5
    assert losses["K"].to_list() == [5, 20]
    assert bounds.height == 2 * 4
    assert bounds.columns == ["statement", "K", "users", "measured", "bound", "within", "promised"]
    at_ten = dict(lengths.select("method", "recall@10").iter_rows())
    assert at_ten["PriTop"] < at_ten["popular tags"] < at_ten["PTR-J"] < at_ten["FolkRank, no privacy"]
    assert (lengths["recall@10"] >= lengths["recall@1"]).all()
    assert recall["method"].to_list() == precision["method"].to_list()
    assert tests.filter(pl.col("against") == "published, Last.fm")["t over N"].to_list() == [
        10.7546,
        11.1514,
    ]
    assert contents.filter(method="tag suppression, σ = 0.8")["true share"].item() == 1
    assert contents.filter(method="PriTop")["true share"].item() < 0.2
    assert said.height == 12
    assert [chart.name for chart in report.charts] == [f"figure-4-{number}" for number in range(1, 6)]
    for chart in report.charts:
        assert chart.altair().to_dict()
    json.dumps(report.to_dict(), allow_nan=False)


def test_progress_is_told(report: StudyReport, told: list[float]) -> None:
    assert report.name == "pritop"
    assert told == sorted(told)
    assert told[-1] == 1


def test_what_stands_in_the_place_of_each_tag() -> None:
    data = TagAssignments([("ann", "a", "tea"), ("ann", "b", "rum"), ("bob", "a", "tea"), ("bob", "c", "cup")])
    method = PriTop(epsilon=4000, topics=1, iterations=5, candidates="profile", noisy_topics="own")
    rewriting = method.rewriting(data, method.fitted_counts(data))
    new = replacements(data, rewriting)
    # With one topic and no noise to speak of, a person's tags are those of before in another order.
    for user in range(2):
        theirs = data.user == user
        assert sorted(new[theirs]) == sorted(data.tag[theirs])


def test_system_tags_go_and_lists_are_declared(listeners: TagAssignments) -> None:
    frame = listeners.to_frame()
    more = frame.vstack(pl.DataFrame([("u1", "x", "imported")], schema=frame.schema, orient="row"))
    run = TagRun.of(TagAssignments(more), PriTopStudy().settings(quick=False), seed=0)
    assert "imported" not in run.data.tags.ids()
    assert run.data.vocabulary_is_public
    assert run.settings.topics == tuple(range(10, 101, 10))
    assert tuple(range(1, 11)) == LENGTHS


# Judgments


def measured(
    name: str, kind: str, epsilon: Fraction | None, recall: float, *, steep: float = 0.3, true: float | None = None
) -> TagScores:
    """A method whose recall among n tags is recall·(n/10)^steep."""
    lengths = np.arange(1, 11)
    values = {f"recall@{n}": float(recall * (n / 10) ** steep) for n in lengths}
    values |= {f"precision@{n}": float(recall / 4 * (n / 10) ** (steep / 2)) for n in lengths}
    users = {"user_id": ["ann", "bob", "eve"]} | {
        metric: [value * 0.9, value, value * 1.1] for metric, value in values.items()
    }
    return TagScores(name, kind, epsilon, "nothing", Scores(values, {"users": 3}, pl.DataFrame(users)), 100, true)


def found(plain: dict[float, float], loss: list[float]) -> Measurements:
    """A run in which PriTop has these recalls by ε, suppression 0.4 and 0.5, and nothing private 0.6."""
    scores = [
        measured("FolkRank, no privacy", "reference", None, 0.6),
        measured("own tags alone", "reference", None, 0.3),
        measured("popular tags", "reference", None, 0.1),
        measured("tag suppression, σ = 0.8", "paper", None, 0.5),
        measured("tag suppression, σ = 0.6", "paper", None, 0.4),
        measured("PTR-J", "ours", Fraction(1), 0.45),
    ]
    for epsilon, recall in plain.items():
        scores.append(measured("PriTop", "paper", Fraction(str(epsilon)), recall, true=0.05))
        scores.append(measured(KIND, "paper", Fraction(str(epsilon)), 0.59, true=0.5))
    losses = pl.DataFrame(
        [
            {"K": topics, "epsilon": 1.0, "loss": value, "loss_of_replaced": value / 2, "deleted": 0.1}
            for topics, value in zip((10, 100), loss, strict=True)
        ]
    )
    here = {"data": "made up", "records": 1, "users": 1, "resources": 1, "tags": 1}
    return measurements({}, here, losses, tuple(scores), pl.DataFrame(schema=BOUNDS))


ABOUT_LISTS = ("one", "half", "near", "precision", "tests", "epsilon")


def test_claims_hold_where_the_numbers_do(judge: Judge) -> None:
    good = found({0.5: 0.58, 1.0: 0.59}, [0.15, 0.1])
    assert judge("pritop", "loss", good) == judge("pritop", "topics", good) == ["holds"]
    for key in ABOUT_LISTS:
        # The kindest reading does not depend on ε here.
        assert judge("pritop", key, good) == ["holds", "does not hold" if key == "epsilon" else "holds"], key
    assert judge("pritop", "popular", good) == judge("pritop", "own", good) == ["holds", "holds"]
    assert judge("pritop", "proved own", good) == ["holds"]
    assert judge("pritop", "proved PriTop", good) == ["does not hold"]


def test_claims_fail_where_the_numbers_do(judge: Judge) -> None:
    bad = found({0.5: 0.05, 1.0: 0.04}, [0.3, 0.35])
    assert judge("pritop", "loss", bad) == judge("pritop", "topics", bad) == ["does not hold"]
    for key in ABOUT_LISTS:
        assert judge("pritop", key, bad)[0] == "does not hold", key
    assert judge("pritop", "near", bad)[1] == "holds"
    assert judge("pritop", "popular", bad) == ["does not hold", "holds"]
    assert judge("pritop", "proved PriTop", bad) == ["holds"]


def test_a_budget_that_was_not_run_is_not_tested(judge: Judge) -> None:
    assert judge("pritop", "half", found({1.0: 0.5}, [0.3, 0.35])) == ["not judged here", "not judged here"]


# Wrong use


def test_data_that_do_not_do() -> None:
    with pytest.raises(UsageError, match="runs on TagAssignments, not on Interactions"):
        study("pritop", Interactions([("ann", "tea")]), quick=True)
    with pytest.raises(UsageError, match="runs on Interactions, not on TagAssignments"):
        study("pncf", TagAssignments([("ann", "a", "tea")]), quick=True)
    with pytest.raises(DataError, match="no triples"):
        PriTopStudy().run(TagAssignments([("ann", "a", "imported")]), quick=True)
    with pytest.raises(EvaluationError, match="no user has two posts"):
        PriTopStudy().run(TagAssignments([("ann", "a", "tea"), ("bob", "a", "cup")]), quick=True)


# Theorems 4.4.1 and 4.4.2


def test_figures_4_4_and_4_5_have_every_tenth_of_epsilon() -> None:
    budgets = PriTopStudy().settings(quick=False).published
    assert [Fraction(one) for one in budgets] == [Fraction(tenth, 10) for tenth in range(1, 11)]


def test_bounds_of_users_with_many_tags_and_of_small_topics(judge: Judge, fixed_bits) -> None:
    """A user with more than K/δ tags shall lose nothing, which noise does not keep; tags alone in a topic stay."""
    many = [("ann", f"r{place % 7}", f"t{place}") for place in range(60)]
    data = TagAssignments([*many, ("bob", "r1", "alone")]).with_vocabulary("observed").with_resources("observed")
    method = PriTop(epsilon="1/10", topics=2, iterations=5, inserted_links="none")
    counts = method.fitted_counts(data)
    unchanged = data.tag.astype(np.int64)
    rows = {row["statement"]: row for row in loss_bounds(method, data, counts, unchanged)}
    few, half = rows["Theorem 4.4.1, δ = 0.05"], rows["Theorem 4.4.1, δ = 0.5"]
    assert few["users"] == 1, "α of ann is below 1, that of bob is not"
    assert half["users"] == 1
    assert few["bound"] == 0
    assert half["measured"] > 0, "noise of scale 40 on two weights deletes some of 60 tags"
    assert (half["within"], half["promised"]) == (0, 0.5)
    kept = rows["Theorem 4.4.2, δ = 0.5"]
    assert kept["users"] == 0, "with 60 tags in two topics no α is below 1"
    table = pl.DataFrame(list(rows.values()), schema=BOUNDS)
    assert judge("pritop", "bounds", {"bounds": table.filter(statement=kept["statement"])}) == ["not judged here"]
    made_up = table.filter(statement=half["statement"]).with_columns(slack=pl.Series([-0.1]))
    assert judge("pritop", "bounds", {"bounds": made_up}) == ["does not hold"]
    assert judge("pritop", "bounds", {"bounds": made_up.with_columns(slack=pl.Series([0.2]))}) == ["holds"]


def test_a_tag_alone_in_its_topic_is_within_the_second_theorem() -> None:
    data = TagAssignments([("ann", "r", "a"), ("bob", "s", "b")]).with_vocabulary("observed").with_resources("observed")
    method = PriTop(epsilon=1, topics=2, iterations=5, inserted_links="none")
    apart = TopicCounts(np.eye(2) * 50, np.eye(2) * 50, method.alpha, method.beta)
    kept = loss_bounds(method, data, apart, data.tag.astype(np.int64))[2]
    assert (kept["users"], kept["measured"], kept["within"]) == (2, 0.0, 1.0)
    swapped = loss_bounds(method, data, apart, 1 - data.tag.astype(np.int64))[2]
    assert (swapped["measured"], swapped["within"]) == (1.0, 0.0)
