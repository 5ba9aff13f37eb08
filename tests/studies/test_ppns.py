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
from discreet.studies import StudyReport, ppns, published
from discreet.studies.ppns import Attacks, PPNSStudy, mean_score, sized, strategy
from discreet.studies.ppns_panel import Panel, Question, RatingPool, attack_questions, left_out, turned, whole

Judge = Callable[..., list[str]]
K = 6
FIRST = "co-rated, target first"
(FULL,) = (one for one in PPNSStudy().layout["readings"] if one["name"] == "full cosine")


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=120, items=60, records=2_400, seed=7)


@pytest.fixture(scope="module")
def report() -> StudyReport:
    steps: list[float] = []
    dataset = synthetic.films(users=150, items=60, records=3_000, seed=7)
    stream = np.random.default_rng(20240607)
    with pytest.MonkeyPatch.context() as patch:  # the fixture for fixed bits is of one test, and this is of all
        patch.setattr(entropy, "random_bytes", lambda n: np.frombuffer(stream.bytes(n), dtype=np.uint8))
        found = PPNSStudy().run(dataset, seed=1, quick=True, progress=lambda share, what: steps.append(share))
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
    panel = Panel(RatingPool(films), asked, Similarity(kind))  # type: ignore[arg-type]
    fillers = beta * K - 1
    present, absent = (
        panel.ask(selection.Nearest(K, ties="id"), fillers=fillers, present=there) for there in (True, False)
    )
    assert present["right"] == pytest.approx(told.exact_present)
    assert absent["right"] == pytest.approx(told.exact_absent)
    assert present["unanswered"] == pytest.approx(told.unanswered_present)
    assert absent["unanswered"] == pytest.approx(told.unanswered_absent)
    for score, error in ((present, told.mae_present), (absent, told.mae_absent)):
        assert np.isnan(score["MAE"]) if error is None else score["MAE"] == pytest.approx(error)


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
        score = Panel(RatingPool(records), [question], Similarity("cosine_full")).ask(
            selection.Nearest(K, ties="id"), present=False
        )
        if told is None or np.isnan(told):
            assert score["unanswered"] == 1
        else:
            assert score["MAE"] == pytest.approx(abs(told - question.truth[0]), abs=1e-6)


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
    panel = Panel(RatingPool(films), observers(films), Similarity("cosine"))
    for fillers in (K - 1, 3 * K - 1):
        score = panel.ask(selection.Nearest(K, ties="id"), fillers=fillers, favored=True)
        assert (score["exact"], score["right"], score["unanswered"]) == (1.0, 1.0, 0.0)
        assert score["MAE"] == pytest.approx(0, abs=1e-9)
    absent = panel.ask(selection.Nearest(K, ties="id"), fillers=K - 1, present=False, favored=True)
    assert absent["exact"] < 0.5


@pytest.mark.parametrize("favored", [True, False])
def test_ppns_with_one_partition_is_knn(films: Interactions, favored: bool) -> None:
    panel = Panel(RatingPool(films), observers(films), Similarity("cosine"))
    for present in (True, False):
        plain = panel.ask(selection.Nearest(K, ties="id"), fillers=K - 1, present=present, favored=favored)
        ours = panel.ask(strategy("PPNS", k=K, beta=1, ties="id"), fillers=K - 1, present=present, favored=favored)
        assert ours == plain


def test_ppns_leaks_most_of_what_knn_leaks(films: Interactions, fixed_bits: Callable[[int], None]) -> None:
    """The target stays with probability (k − 1)/k, and the one stranger has rated few of the hidden items."""
    panel = Panel(RatingPool(films), observers(films), Similarity("cosine"))
    chooses = strategy("PPNS", k=K, beta=7, ties="id")
    present = panel.ask(chooses, draws=50, fillers=K - 1, favored=True)
    absent = panel.ask(chooses, draws=50, fillers=K - 1, present=False, favored=True)
    assert present["unanswered"] < 1 / K + 0.05
    assert present["exact"] > 0.4 > 2 * absent["exact"]


def test_more_sybils_hide_the_target_where_they_are_more_similar(films: Interactions) -> None:
    panel = Panel(RatingPool(films), observers(films), Similarity("cosine_full"))
    assert panel.ask(selection.Nearest(K), fillers=2 * K - 1)["unanswered"] == 1


def test_attacks_ignore_what_a_model_does_not_have(films: Interactions) -> None:
    attacks = Attacks(films, sized(PPNSStudy().settings(quick=True), films.n_users), seed=0)
    assert attacks.score(FULL, "kNN", beta=3, epsilon=0.1) is attacks.score(FULL, "kNN", beta=7, epsilon=9.0)
    assert attacks.score(FULL, "PPNS", beta=3) is not attacks.score(FULL, "PPNS", beta=7)
    assert attacks.score(FULL, "kNN", known=films.n_items) is None


def test_the_mean_of_scores_leaves_out_errors_that_nobody_made() -> None:
    some, none = {"MAE": 0.5, "unanswered": 0.2}, {"MAE": float("nan"), "unanswered": 1.0}
    assert mean_score([some, none]) == {"MAE": 0.5, "unanswered": pytest.approx(0.6)}
    assert np.isnan(mean_score([none])["MAE"])


def test_the_settings_of_the_thesis_at_the_size_of_its_data() -> None:
    settings = PPNSStudy().settings(quick=False)
    thesis = sized(settings, 943)
    assert (thesis.k, thesis.ks, thesis.accuracy_k) == (50, tuple(range(10, 101, 10)), 100)
    assert len([epsilon for epsilon in thesis.epsilons if epsilon <= 1]) == 10
    with pytest.raises(UsageError, match="too few"):
        sized(settings, 30)


def test_pncf_is_run_without_and_with_its_noise_on_weights(report: StudyReport) -> None:
    bare, noisy = (strategy(name, k=5, beta=None) for name in ("PNCF", "PNCF with noise"))  # type: ignore[arg-type]
    films = selection.Candidates(np.linspace(0.9, 0.1, 12), np.ones(12))
    assert not bare.noise_scale(films).any()
    assert (noisy.noise_scale(films) > 0).all()
    for heading, table in report.tables.items():
        if "model" in table.columns and "PNCF" in table["model"].to_list():
            assert "PNCF with noise" in table["model"].to_list(), heading
    assert any("noise on weights" in note for note in report.notes)


# Judgments


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
def test_judgments(
    judge: Judge, key: str, over: str, values: list[float], errors: dict[str, list[float]], holds: bool | None
) -> None:
    table = made_up(errors, over, values)
    verdict = "not judged here" if holds is None else "holds" if holds else "does not hold"
    assert judge("ppns", key, {key.rstrip("abcd"): table}) == [verdict]


def test_what_is_recovered_without_the_target_is_no_leak(judge: Judge) -> None:
    def table(present: float) -> pl.DataFrame:
        more = {"exact": present, "exact, absent": 0.3}
        return made_up({model: [0.5] for model in ("nPNS", "PNCF", "PPNS")}, "m", [8], **more)

    assert judge("ppns", "5.10c", {"5.10": table(0.32)}) == ["holds"]
    assert judge("ppns", "5.10c", {"5.10": table(0.9)}) == ["does not hold"]


def test_every_published_claim_is_judged_or_said_not_to_be_tested(report: StudyReport) -> None:
    found = report.verdicts
    assert found is not None
    assert set(found["where"]) == {claim["where"] for claim in published("ppns")["claims"]}
    ours = found.filter(pl.col("where").str.starts_with("not in"))
    assert set(ours["verdict"]) <= {"holds", "does not hold"}
    of_the_thesis = found.filter(~pl.col("where").str.starts_with("not in"))
    assert of_the_thesis["verdict"].str.starts_with("not judged here: ").all(), "sixty users are no test of it"
    assert of_the_thesis.filter(measured="").height <= 3


# The whole


def test_a_table_and_a_chart_for_every_figure(report: StudyReport) -> None:
    assert len(report.tables) == len(report.charts) + 1
    headings = " ".join(report.tables)
    for number in range(4, 16):
        assert f"5.{number}" in headings
    for chart in report.charts:
        assert chart.altair().to_dict()


def test_the_known_answers_are_in_the_report(report: StudyReport) -> None:
    (table,) = (table for heading, table in report.tables.items() if heading.startswith("Figure 5.7"))
    here = table.filter(reading=FIRST)
    assert (here.filter(model="kNN")["exact"] == 1).all()
    assert (here.filter(model="PPNS")["exact"] > 0.3).all()


def test_the_report_is_json(report: StudyReport) -> None:
    json.dumps(report.to_dict(), allow_nan=False)


def test_large_data_are_sampled(monkeypatch: pytest.MonkeyPatch, films: Interactions) -> None:
    monkeypatch.setattr(ppns, "MOST_USERS", 60)
    assert PPNSStudy().run(films, quick=True).setting["users"] == 60


def test_what_cannot_be_studied_is_refused(films: Interactions) -> None:
    with pytest.raises(UsageError, match="ratings"):
        PPNSStudy().run(Interactions({"user_id": films.user, "item_id": films.item}))
    repeated = Interactions([("a", "b", 3), ("a", "b", 4)], scale="1:5", duplicates="keep")
    with pytest.raises(UsageError, match="repeat"):
        PPNSStudy().run(repeated)
    apart = Interactions([(user, 10 * user + item, 3) for user in range(40) for item in range(10)], scale="1:5")
    with pytest.raises(UsageError, match="no item has two ratings"):
        PPNSStudy().run(apart, quick=True)
    few = Interactions([(f"u{n}", f"i{n % 7}", 3) for n in range(40)], scale="1:5")
    with pytest.raises(UsageError, match="9 ratings"):
        PPNSStudy().run(few, quick=True)
