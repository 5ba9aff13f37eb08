"""`discreet risk` and `discreet attack --attack lia` as processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.reading import RecordsReading
from discreet.cli.risk import risk
from discreet.cli.risk_page import save_risk
from discreet.data import synthetic
from discreet.errors import ReleaseError, UsageError

FEW = ("--option", "least_ratings=5", "--option", "minimum_overlap=2", "--length", "5", "--epsilons", "0.5,5,50,500")


def test_the_curve_is_printed_and_kept(run, films: Path, tmp_path: Path, check_page) -> None:
    weights = ("--value-of-utility", "1", "--cost-of-risk", "3")
    asked = ("--risk-below", "5%", "--at-epsilon", "1", "--out", "kept")
    done = run("risk", "films.parquet", "--model", "slope-one", *weights, *asked, *FEW)
    assert done.returncode == 0, done.stderr
    assert "Risk and utility of published-slope-one" in done.stdout
    assert "Recommended against an attacker who uses all answers" in done.stdout
    assert "who uses one answer, as published" in done.stdout
    assert "a blind guess is right in 20.0%" in done.stdout
    assert "At ε = 1," in done.stdout
    assert "There is no guarantee here" in done.stdout
    assert "private-slope-one" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 104
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        f"risk.{kind}" for kind in ("html", "svg", "png", "csv", "json")
    }
    page = (tmp_path / "kept" / "risk.html").read_text()
    assert "<svg" in page
    assert "<script" not in page
    assert (tmp_path / "kept" / "risk.png").read_bytes().startswith(b"\x89PNG")
    assert (
        len((tmp_path / "kept" / "risk.csv").read_text().splitlines()) == 1 + 2 * 5
    )  # four, and the one that was asked for
    assert page.index("Recommended: ε = ") < page.index("<svg") < page.index("Every ε that was tried")
    refused = run("risk", "films.parquet", *asked, *FEW)
    assert refused.returncode == 1
    assert "--overwrite" in refused.stderr
    check_page(tmp_path / "kept" / "risk.html")


def test_a_proved_model_has_a_limit(run, films: Path) -> None:
    few = ("--epsilons", "1,8", "--targets", "3", "--fits", "1", "--users", "20", "--length", "5")
    done = run("risk", "films.parquet", "--model", "private-slope-one", *few)
    assert done.returncode == 0, done.stderr
    assert "any attacker at most" in done.stdout
    assert "27.3%" in done.stdout
    assert "Recommended against every attacker" in done.stdout
    assert "whoever reads them learns" in done.stdout


def test_risk_for_machines(run, films: Path) -> None:
    done = run("risk", "films.parquet", *FEW, "--risk-below", "0.3", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [len(curve["points"]) for curve in report["curves"]] == [4, 4]
    assert len(report["recommended"]) == len(report["answers"]) == 2
    assert report["recommended"][0]["epsilon"] in (0.5, 5, 50, 500)
    assert report["saved"] is None


def test_wrong_use_of_risk(run, films: Path) -> None:
    for arguments, words in (
        (["--model", "magic"], "no model called 'magic'"),
        (["--model", "knn"], "no epsilon to choose"),
        (["--option", "least_ratings=1000"], "Lower least_ratings"),
    ):
        done = run("risk", "films.parquet", *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert words in done.stderr
        assert not done.stdout
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"option": ["magic=1"]}, "has no setting magic"),
        ({"risk_below": "lots"}, "must be a share"),
        ({"risk_below": "500%"}, "must be a share"),
        ({"at_epsilon": -1.0}, "must be above 0"),
        ({"epsilons": "a,b"}, "not understood"),
        ({"cost_of_risk": -1.0}, "must be a number, at least 0"),
        ({"value_of_utility": float("nan")}, "must be a number, at least 0"),
    ],
)
def test_wrong_options_are_found_before_the_data_are_read(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        risk(Path("nowhere.parquet"), RecordsReading(), **arguments)


def test_the_linear_attack(run, films: Path) -> None:
    done = run(
        "attack", "films.parquet", "--attack", "lia", "--against", "slope-one,private-slope-one", "--targets", "4"
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    plain = [line for line in lines if line[:1] == ["slope-one"]]
    assert len(plain) == 4
    assert all("1.00" in line for line in plain)
    assert sum(line[:1] == ["private-slope-one"] for line in lines) == 4
    refused = run("attack", "films.parquet", "--attack", "lia", "--against", "slope-one", "--target", "u1")
    assert refused.returncode == 2
    assert "draws its targets" in refused.stderr


def test_help_has_an_example(run) -> None:
    assert "--cost-of-risk 3" in run("risk", "--help").stdout


def test_only_a_report_is_replaced(tmp_path: Path) -> None:
    from discreet.attacks import risk_report
    from discreet.pairs import PublishedSlopeOne

    films = synthetic.films(users=60, items=30, seed=7)
    model = PublishedSlopeOne(1, least_ratings=5, minimum_overlap=2)
    report = risk_report(model, films, epsilons=[1, 10], more_epsilons=[3], length=5)
    assert [point.epsilon for point in report.curve.points] == [1, 3, 10]
    best = (report.curve.operating_point(value_of_utility=1, cost_of_risk=1),)
    save_risk(report, best, ["first"], tmp_path / "kept", overwrite=False)
    with pytest.raises(ReleaseError, match="there already"):
        save_risk(report, best, ["second"], tmp_path / "kept", overwrite=False)
    save_risk(report, best, ["second"], tmp_path / "kept", overwrite=True)
    assert "second" in (tmp_path / "kept" / "risk.html").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").touch()
    with pytest.raises(ReleaseError, match="risk report"):
        save_risk(report, best, ["third"], tmp_path / "mine", overwrite=True)
