"""What version 0.2 wrote still opens, and answers as it did: models, releases, a series and a ledger.

``tests/fixtures/make_0_2.py`` wrote the files with the last commit of version 0.2.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.models.recommender import load_model

OLD = Path(__file__).parent / "fixtures" / "0.2"
WAS = json.loads((OLD / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WAS["models"])
def test_models_open_and_answer_as_they_did(name: str) -> None:
    was, model = WAS["models"][name], load_model(OLD / "models" / name)
    assert model.name == name
    assert (None if model.guarantee is None else str(model.guarantee)) == was["guarantee"]
    told = model.recommend(history=was["history"], n=5).to_dict(as_series=False)
    assert list(told) == list(was["recommend"])
    for column, values in was["recommend"].items():
        assert told[column] == (pytest.approx(values, rel=1e-9) if column == "score" else values)


@pytest.mark.parametrize("name", WAS["releases"])
def test_releases_open_with_their_guarantee(name: str) -> None:
    release, was = dc.Release.load(OLD / "releases" / name), WAS["releases"][name]
    assert release.version == "0.2.0"
    assert (release.kind, str(release.guarantee)) == (was["kind"], was["guarantee"])
    assert sorted(release.parts) == sorted(was["parts"])
    assert all(len(part) for part in release.parts.values())


def test_the_ledger_opens_and_can_be_charged(tmp_path: Path) -> None:
    for file in OLD.glob("ledger.sqlite*"):
        shutil.copy(file, tmp_path / file.name)
    ledger, films = dc.Ledger(tmp_path / "ledger.sqlite"), dc.read(OLD / "films.parquet")
    assert isinstance(films, dc.Interactions)
    statement = ledger.statement(films)
    assert str(statement.left.epsilon) == WAS["ledger"]["left"]
    assert [entry.mechanism for entry in statement.entries] == WAS["ledger"]["entries"]
    dc.counting.ItemCounts(epsilon="1/4", cap=5).release(films.with_catalog("observed"), ledger=ledger)
    assert ledger.statement(films).left.epsilon == Fraction(WAS["ledger"]["left"]) - Fraction(1, 4)


def test_a_series_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "series"
    shutil.copytree(OLD / "series", folder)
    films = dc.read(OLD / "films.parquet")
    assert isinstance(films, dc.Interactions)
    films = films.with_catalog("observed")
    series = dc.Series(dc.counting.ItemCounts, steps=3, epsilon=4, delta="1e-6", folder=folder)
    release = series.advance(films.filter(films.timestamp % 2 == 1, independent="record"))  # type: ignore[operator]
    assert release is not None
    assert release.parameters["series"]["step"] == 1
    assert release.table("counts").height == 16
