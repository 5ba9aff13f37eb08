"""The study of PPNS: its shortcut is the attack itself, its known answers, its judgments."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from discreet.attacks import SybilAttack
from discreet.data import Interactions, synthetic
from discreet.errors import UsageError
from discreet.neighbors import KNN, selection
from discreet.neighbors.similarity import Similarity
from discreet.privacy import entropy
from discreet.studies import ppns
from discreet.studies.ppns_arena import FULL, LAYOUT, Arena, Plan, strategy
from discreet.studies.ppns_claims import JUDGES, claims_table, curve
from discreet.studies.ppns_figures import Figure
from discreet.studies.ppns_panel import Crowd, Panel, Score
from discreet.studies.ppns_questions import Question, attack_questions, left_out, turned, whole
from discreet.studies.published import published_table
from discreet.studies.report import Chart, StudyReport

K = 6


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=120, items=60, records=2_400, seed=7)


@pytest.fixture(scope="module")
def report() -> StudyReport:
    steps: list[float] = []
    world = synthetic.films(users=150, items=60, records=3_000, seed=7)
    stream = np.random.default_rng(20240607)
    with pytest.MonkeyPatch.context() as patch:  # the fixture for fixed bits is of one test, and this is of all
        patch.setattr(entropy, "random_bytes", lambda n: np.frombuffer(stream.bytes(n), dtype=np.uint8))
        found = ppns.run(world, seed=1, quick=True, progress=lambda share, what: steps.append(share))
    assert steps == sorted(steps)
    assert steps[-1] == 1.0
    return found


def observers(films: Interactions, *, known: int = 8, targets: int = 8) -> list[Question]:
    able = np.flatnonzero(films.records_per_user > known)[:targets]
    return attack_questions(films, known=known, choose="random", targets=films.users.decode(able), seed=3)


# The shortcut


@pytest.mark.parametrize("kind", ["cosine", "cosine_full"])
@pytest.mark.parametrize("beta", [1, 2])
def test_the_panel_answers_what_the_attack_is_told(films: Interactions, kind: str, beta: int) -> None:
    """One set of similarities for all strategies gives the same as one fit for each game."""
    asked = observers(films)
    ids = films.users.decode(np.array([question.person for question in asked]))
    attack = SybilAttack(k=K, known=8, fillers="copies", beta=beta)

    def model() -> KNN:
        return KNN(k=K, similarity=kind, axis="user", candidates="all", centering=None, fallback=None, ties="id")

    told = attack.run(model, films, targets=ids, seed=3).rows[0]
    panel = Panel(Crowd(films), asked, Similarity(kind))  # type: ignore[arg-type]
    fillers = beta * K - 1
    present, absent = (
        panel.ask(selection.Nearest(K, ties="id"), fillers=fillers, present=there) for there in (True, False)
    )
    assert present.right == pytest.approx(told.exact_present)
    assert absent.right == pytest.approx(told.exact_absent)
    assert present.unanswered == pytest.approx(told.unanswered_present)
    assert absent.unanswered == pytest.approx(told.unanswered_absent)
    for score, error in ((present, told.mae_present), (absent, told.mae_absent)):
        assert np.isnan(score.mae) if error is None else score.mae == pytest.approx(error)


@pytest.mark.parametrize("axis", ["user", "item"])
def test_a_rating_left_out_is_one_that_was_never_given(films: Interactions, axis: str) -> None:
    records = films if axis == "user" else turned(films)
    asked = left_out(records, np.arange(5), most=12, seed=2)
    assert len(asked) == 12
    for question in asked:
        user, item = (question.person, question.asked[0]) if axis == "user" else (question.asked[0], question.person)
        without = films.filter((films.user != user) | (films.item != item))
        model = KNN(k=K, similarity="cosine_full", axis=axis, candidates="all", centering=None, fallback=None)  # type: ignore[arg-type]
        told = model.fit(without).predict([(films.users.ids()[user], films.items.ids()[item])])["score"][0]
        score = Panel(Crowd(records), [question], Similarity("cosine_full")).ask(
            selection.Nearest(K, ties="id"), present=False
        )
        if told is None or np.isnan(told):
            assert score.unanswered == 1
        else:
            assert score.mae == pytest.approx(abs(told - question.truth[0]), abs=1e-6)


def test_left_out_profiles_lack_the_rating_and_whole_ones_have_it(films: Interactions) -> None:
    users = np.arange(3)
    for question in left_out(films, users, most=10**6, seed=0):
        assert question.asked.size == 1
        assert question.asked[0] not in question.items
    inside = whole(films, users)
    assert [question.person for question in inside] == [0, 1, 2]
    assert all(np.array_equal(question.items, question.asked) for question in inside)
    assert sum(question.asked.size for question in inside) == len(left_out(films, users, most=10**6, seed=0))


# Known answers


def test_knn_gives_everything_away_where_the_target_goes_first(films: Interactions) -> None:
    panel = Panel(Crowd(films), observers(films), Similarity("cosine"))
    for fillers in (K - 1, 3 * K - 1):
        score = panel.ask(selection.Nearest(K, ties="id"), fillers=fillers, favored=True)
        assert (score.exact, score.right, score.unanswered) == (1.0, 1.0, 0.0)
        assert score.mae == pytest.approx(0, abs=1e-9)
    absent = panel.ask(selection.Nearest(K, ties="id"), fillers=K - 1, present=False, favored=True)
    assert absent.exact < 0.5


@pytest.mark.parametrize("favored", [True, False])
def test_ppns_with_one_partition_is_knn(films: Interactions, favored: bool) -> None:
    panel = Panel(Crowd(films), observers(films), Similarity("cosine"))
    for present in (True, False):
        plain = panel.ask(selection.Nearest(K, ties="id"), fillers=K - 1, present=present, favored=favored)
        ours = panel.ask(strategy("PPNS", k=K, beta=1, ties="id"), fillers=K - 1, present=present, favored=favored)
        assert ours == plain


def test_ppns_leaks_most_of_what_knn_leaks(films: Interactions, fixed_bits: Callable[[int], None]) -> None:
    """The target stays with probability (k − 1)/k, and the one stranger has rated few of the hidden items."""
    panel = Panel(Crowd(films), observers(films), Similarity("cosine"))
    chooses = strategy("PPNS", k=K, beta=7, ties="id")
    present = panel.ask(chooses, draws=50, fillers=K - 1, favored=True)
    absent = panel.ask(chooses, draws=50, fillers=K - 1, present=False, favored=True)
    assert present.unanswered < 1 / K + 0.05
    assert present.exact > 0.4 > 2 * absent.exact


def test_more_sybils_hide_the_target_where_they_are_more_similar(films: Interactions) -> None:
    panel = Panel(Crowd(films), observers(films), Similarity("cosine_full"))
    assert panel.ask(selection.Nearest(K), fillers=2 * K - 1).unanswered == 1


def test_the_arena_ignores_what_a_model_does_not_have(films: Interactions) -> None:
    arena = Arena(films, Plan.of(films.n_users, quick=True), seed=0)
    assert arena.score(FULL, "kNN", beta=3, epsilon=0.1) is arena.score(FULL, "kNN", beta=7, epsilon=9.0)
    assert arena.score(FULL, "PPNS", beta=3) is not arena.score(FULL, "PPNS", beta=7)
    assert arena.score(FULL, "kNN", known=films.n_items) is None


def test_the_mean_of_scores_leaves_out_errors_that_nobody_made() -> None:
    some, none = Score(0.5, 0.1, 0.2, 0.4, 0.2), Score(float("nan"), 0.1, 0.0, 0.0, 1.0)
    assert Score.mean([some, none]).mae == 0.5
    assert Score.mean([some, none]).unanswered == pytest.approx(0.6)
    assert np.isnan(Score.mean([none]).mae)


def test_the_plan_of_the_thesis_at_the_size_of_its_data() -> None:
    plan = Plan.of(943, quick=False)
    assert (plan.k, plan.ks, plan.accuracy_k) == (50, (10, 25, 50, 75, 100), 100)
    with pytest.raises(UsageError, match="too few"):
        Plan.of(30, quick=False)


# Judgments


def figure_of(rows: list[dict[str, object]], number: str) -> Figure:
    table = pl.DataFrame(rows)
    return Figure(number, number, table, Chart("a", "a", table, x=table.columns[2], y="MAE"))


def made_up(errors: dict[str, list[float]], over: str, values: list[float], **more: float) -> pl.DataFrame:
    rows = [
        {"reading": "r", "model": model, over: value, "MAE": error} | more
        for model, each in errors.items()
        for value, error in zip(values, each, strict=True)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("key", "over", "values", "errors", "holds"),
    [
        ("5.8", "k", [10, 50], {"PPNS": [0.3, 0.1]}, True),
        ("5.8", "k", [10, 50], {"PPNS": [0.3, 0.3]}, False),
        ("5.8", "k", [10, 25, 50], {"PPNS": [0.3, 0.5, 0.1]}, False),
        ("5.9", "ε", [0.1, 100, 1000], {"PNCF": [0.8, 0.7, 0.1], "PPNS": [0.3, 0.2, 0.5]}, True),
        ("5.9", "ε", [0.1, 100, 1000], {"PNCF": [0.8, 0.7, 0.1], "PPNS": [0.3, 0.3, 0.0]}, False),
        ("5.10a", "m", [4, 8], {"kNN": [0.3, 0.0]}, True),
        ("5.10a", "m", [4, 8], {"kNN": [0.0, 0.0]}, False),
        ("5.10a", "m", [4, 8], {"kNN": [0.3, 0.1]}, False),
        ("5.7a", "β", [3, 7], {"nPNS": [0.8, 0.8], "PNCF": [0.8, 0.8], "PPNS": [0.1, 0.1]}, True),
        ("5.7a", "β", [3, 7], {"nPNS": [0.8, 0.8], "PNCF": [0.8, 0.1], "PPNS": [0.1, 0.1]}, False),
        ("5.7c", "β", [3, 7], {"PPNS": [0.1, 0.2]}, True),
        ("5.11c", "β₀", [3, 7], {"nPNS": [0.8, 0.9], "PNCF": [0.7, 0.9], "PPNS": [0.1, 0.1]}, True),
        ("5.13b", "m", [4, 8], {"nPNS": [0.8, 0.8], "PNCF": [0.8, 0.8], "PPNS": [0.1, 0.1]}, None),
        ("5.13b", "m", [2, 4], {"nPNS": [0.8, 0.8], "PNCF": [0.8, 0.8], "PPNS": [0.6, 0.1]}, True),
        ("5.14", "k", [10, 50], {"PPNS": [0.12, 0.1]}, True),
    ],
)
def test_judgments(key: str, over: str, values: list[float], errors: dict[str, list[float]], holds: bool) -> None:
    assert JUDGES[key](made_up(errors, over, values), over, "r")[1] is holds


def test_what_is_recovered_without_the_target_is_no_leak() -> None:
    def table(present: float) -> pl.DataFrame:
        more = {"exact": present, "exact, absent": 0.3}
        return made_up({model: [0.5] for model in ("nPNS", "PNCF", "PPNS")}, "m", [8], **more)

    assert JUDGES["5.10c"](table(0.32), "m", "r")[1] is True
    assert JUDGES["5.10c"](table(0.9), "m", "r")[1] is False


def test_every_published_claim_is_judged_or_said_not_to_be_run(report: StudyReport) -> None:
    claims = published_table("ppns")
    assert set(claims["key"]) - set(JUDGES) == {"5.6"}
    found = report.tables["Claims of the text"]
    assert set(found["figure"]) == set(claims["figure"])
    assert set(found["verdict"]) <= {"holds", "does not hold", "not run", "cannot tell"}
    assert found.filter(pl.col("verdict") == "not run")["figure"].to_list() == ["5.6"]


# The whole


def test_a_table_and_a_chart_for_every_figure(report: StudyReport) -> None:
    assert len(report.tables) == len(report.charts) + 1
    headings = " ".join(report.tables)
    for number in published_table("ppns")["figure"].unique():
        assert number in headings
    for chart in report.charts:
        assert chart.altair().to_dict()


def test_the_known_answers_are_in_the_report(report: StudyReport) -> None:
    (table,) = (table for heading, table in report.tables.items() if heading.startswith("Figure 5.7"))
    assert np.all(curve(table, "kNN", "exact", reading=LAYOUT.name) == 1)
    assert np.all(curve(table, "PPNS", "exact", reading=LAYOUT.name) > 0.3)
    claims = report.tables["Claims of the text"]
    leak = claims.filter(pl.col("claim").str.contains("k of them find nothing"), pl.col("reading") == LAYOUT.name)
    assert leak["verdict"].to_list() == ["does not hold"]


def test_the_report_is_json_and_its_findings_have_numbers(report: StudyReport) -> None:
    json.dumps(report.to_dict(), allow_nan=False)
    assert len(report.findings) == 6
    assert all(any(letter.isdigit() for letter in finding) for finding in report.findings)
    assert not any("nan" in finding for finding in report.findings)


def test_claims_follow_the_tables(report: StudyReport) -> None:
    numbers = {
        heading.split(":")[0].split()[1]: table for heading, table in report.tables.items() if "Figure" in heading
    }
    figures = {number: figure_of(table.to_dicts(), number) for number, table in numbers.items()}
    assert claims_table(figures).equals(report.tables["Claims of the text"])


def test_large_data_are_sampled(monkeypatch: pytest.MonkeyPatch, films: Interactions) -> None:
    monkeypatch.setattr(ppns, "MOST_USERS", 60)
    assert ppns.run(films, quick=True).setting["users"] == 60


def test_what_cannot_be_studied_is_refused(films: Interactions) -> None:
    with pytest.raises(UsageError, match="ratings"):
        ppns.run(Interactions({"user_id": films.user, "item_id": films.item}))
    repeated = Interactions([("a", "b", 3), ("a", "b", 4)], scale="1:5", duplicates="keep")
    with pytest.raises(UsageError, match="repeat"):
        ppns.run(repeated)
    apart = Interactions([(user, 10 * user + item, 3) for user in range(40) for item in range(10)], scale="1:5")
    with pytest.raises(UsageError, match="no item has two ratings"):
        ppns.run(apart, quick=True)
    few = Interactions([(f"u{n}", f"i{n % 7}", 3) for n in range(40)], scale="1:5")
    with pytest.raises(UsageError, match="9 ratings"):
        ppns.run(few, quick=True)
