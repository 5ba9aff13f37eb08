"""The study of tagging releases: the figures of the thesis, and judgments on both sides."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, TagAssignments
from discreet.errors import DataError, EvaluationError, UsageError
from discreet.evaluation.scores import Scores
from discreet.studies import StudyReport, pritop, study
from discreet.studies.pritop_claims import KIND, PRITOP, Found, claims_table, paragraphs
from discreet.studies.pritop_measures import Measured, replacements
from discreet.studies.pritop_setting import Setting, builtin, setting_of
from discreet.studies.published import published_table
from discreet.tagging import PriTop


@pytest.fixture(scope="module")
def listeners() -> TagAssignments:
    return builtin(quick=True)


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def report(listeners: TagAssignments, told: list[float]) -> StudyReport:
    return pritop.run(listeners, seed=1, quick=True, progress=lambda done, what: told.append(done))


def test_tables_and_charts(report: StudyReport, listeners: TagAssignments) -> None:
    claims, data, losses, lengths, recall, precision, tests, contents, said = report.tables.values()
    assert claims["claim"].to_list() == published_table("pritop")["claim"].to_list()
    assert data.row(0)[1:] == (len(listeners), listeners.n_users, listeners.n_resources, listeners.n_tags)
    assert data.height == 5
    assert losses["K"].to_list() == [5, 20]
    at_ten = dict(lengths.select("way", "recall@10").iter_rows())
    assert at_ten["PriTop"] < at_ten["popular tags"] < at_ten["PTR-J"] < at_ten["FolkRank, no privacy"]
    assert (lengths["recall@10"] >= lengths["recall@1"]).all()
    assert recall["way"].to_list() == precision["way"].to_list()
    assert tests.filter(pl.col("against") == "published, Last.fm")["t over N"].to_list() == [
        10.7546,
        11.1514,
    ]
    assert contents.filter(way="tag suppression, σ = 0.8")["true share"].item() == 1
    assert contents.filter(way="PriTop")["true share"].item() < 0.2
    assert said.height == 12
    assert [chart.name for chart in report.charts] == [f"figure-4-{number}" for number in range(1, 6)]
    for chart in report.charts:
        assert chart.altair().to_dict()
    json.dumps(report.to_dict(), allow_nan=False)
    assert len(report.findings) == 5


def test_progress_is_told(report: StudyReport, told: list[float]) -> None:
    assert report.name == "pritop"
    assert told == sorted(told)
    assert told[-1] == 1


def test_what_stands_in_the_place_of_each_tag() -> None:
    data = TagAssignments([("ann", "a", "tea"), ("ann", "b", "rum"), ("bob", "a", "tea"), ("bob", "c", "cup")])
    method = PriTop.of(epsilon=4000, topics=1, iterations=5, candidates="profile", noisy_topics="own")
    rewriting = method.rewriting(data, method.fitted_counts(data))
    new = replacements(data, rewriting)
    # With one topic and no noise to speak of, a person's tags are those of before in another order.
    for user in range(2):
        theirs = data.user == user
        assert sorted(new[theirs]) == sorted(data.tag[theirs])


def test_system_tags_go_and_lists_are_declared(listeners: TagAssignments) -> None:
    frame = listeners.to_frame()
    more = frame.vstack(pl.DataFrame([("u1", "x", "imported")], schema=frame.schema, orient="row"))
    setting = setting_of(TagAssignments(more), seed=0, quick=False)
    assert "imported" not in setting.data.tags.ids()
    assert setting.data.vocabulary_is_public
    assert setting.topics == tuple(range(10, 101, 10))
    assert setting.lengths == tuple(range(1, 11))


# Judgments


def measured(
    name: str, kind: str, epsilon: Fraction | None, recall: float, *, steep: float = 0.3, true: float | None = None
) -> Measured:
    """A way whose recall among n tags is recall·(n/10)^steep."""
    lengths = np.arange(1, 11)
    values = {f"recall@{n}": float(recall * (n / 10) ** steep) for n in lengths}
    values |= {f"precision@{n}": float(recall / 4 * (n / 10) ** (steep / 2)) for n in lengths}
    users = {"user_id": ["ann", "bob", "eve"]} | {
        metric: [value * 0.9, value, value * 1.1] for metric, value in values.items()
    }
    return Measured(name, kind, epsilon, "nothing", Scores(values, {"users": 3}, pl.DataFrame(users)), 100, true)


def found(listeners: TagAssignments, plain: dict[float, float], loss: list[float]) -> Found:
    """A run in which PriTop has these recalls by ε, suppression 0.4 and 0.5, and nothing private 0.6."""
    setting = Setting(
        listeners.with_vocabulary("observed").with_resources("observed"),
        0,
        published=tuple(Fraction(str(epsilon)) for epsilon in plain),
        ours=(Fraction(1),),
    )
    ways = [
        measured("FolkRank, no privacy", "reference", None, 0.6),
        measured("own tags alone", "reference", None, 0.3),
        measured("popular tags", "reference", None, 0.1),
        measured("tag suppression, σ = 0.8", "paper", None, 0.5),
        measured("tag suppression, σ = 0.6", "paper", None, 0.4),
        measured("PriTop and own posts", "paper", Fraction(1), 0.2, true=0.1),
        measured("PTR-J", "ours", Fraction(1), 0.45),
    ]
    for epsilon, recall in plain.items():
        ways.append(measured(PRITOP, "paper", Fraction(str(epsilon)), recall, true=0.05))
        ways.append(measured(KIND, "paper", Fraction(str(epsilon)), 0.59, true=0.5))
    losses = pl.DataFrame(
        [
            {"K": topics, "epsilon": 1.0, "loss": value, "loss_of_replaced": value / 2, "deleted": 0.1}
            for topics, value in zip((10, 100), loss, strict=True)
        ]
    )
    return Found(setting, losses, tuple(ways))


def verdicts(run: Found) -> dict[str, tuple[str, str]]:
    table = claims_table(run)
    return dict(
        zip(published_table("pritop")["key"], table.select("verdict", "kindest reading").iter_rows(), strict=True)
    )


def test_claims_hold_where_the_numbers_do(listeners: TagAssignments) -> None:
    good = verdicts(found(listeners, {0.5: 0.58, 1.0: 0.59}, [0.15, 0.1]))
    assert {verdict for verdict, _ in good.values()} == {"holds"}
    assert good["epsilon"][1] == "does not hold"  # the kindest reading does not depend on ε here
    assert good["loss"][1] == ""


def test_claims_fail_where_the_numbers_do(listeners: TagAssignments) -> None:
    run = found(listeners, {0.5: 0.05, 1.0: 0.04}, [0.3, 0.35])
    bad = verdicts(run)
    assert {verdict for verdict, _ in bad.values()} == {"does not hold"}
    assert bad["near"][1] == "holds"
    said = paragraphs(run)
    assert "it finds 0.040" in said[0]
    assert "PTR-J (hides nothing) 0.450 at ε = 1" in said[3]


# Wrong use


def test_data_that_do_not_do() -> None:
    with pytest.raises(UsageError, match="runs on TagAssignments, not on Interactions"):
        study("pritop", Interactions([("ann", "tea")]), quick=True)
    with pytest.raises(UsageError, match="runs on Interactions, not on TagAssignments"):
        study("pncf", TagAssignments([("ann", "a", "tea")]), quick=True)
    with pytest.raises(DataError, match="no triples"):
        pritop.run(TagAssignments([("ann", "a", "imported")]), quick=True)
    with pytest.raises(EvaluationError, match="no user has two posts"):
        pritop.run(TagAssignments([("ann", "a", "tea"), ("bob", "a", "cup")]), quick=True)
