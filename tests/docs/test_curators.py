"""The worked example of docs/curators.md: three shops type its commands, and its Python runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import main
from discreet.data import synthetic
from discreet.data.readers import write
from discreet.tagging import PTRJ

PAGE = (Path(__file__).parents[2] / "docs" / "curators.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """The commands of the page in order; those that one shop types are typed by all three."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.S):
        for line in block.splitlines():
            shops = "abc" if "--round" in line else "a"
            found += [
                re.sub(r"\ba(?=\.parquet|\.db|1/ |1/$|2/ |2/$)", shop, line) if shops == "abc" else line
                for shop in shops
            ]
    return found


def test_three_shops_type_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    films, tags = (
        synthetic.films(users=300, items=30, seed=7),
        synthetic.tags(users=240, resources=20, seed=7).cleaned(),
    )
    for number, shop in enumerate("abc"):
        write(films.filter(films.user % 3 == number, independent=True), tmp_path / f"{shop}.parquet")
        data = dc.read(tmp_path / f"{shop}.parquet")
        ledger = dc.Ledger(tmp_path / f"{shop}.db")
        ledger.open(data, epsilon=6, delta="1e-6", population="customers")
        write(tags.filter(tags.user % 3 == number, independent=True), tmp_path / f"posts-{shop}.parquet")
        posts = dc.read(tmp_path / f"posts-{shop}.parquet")
        ledger.open(posts, epsilon=2, delta="1e-6", population="posts", view="pld")
        write(synthetic.survey(households=60, seed=number), tmp_path / f"survey-{shop}.parquet")
        rows = dc.read(tmp_path / f"survey-{shop}.parquet")
        ledger.open(rows, epsilon=1, population="rows", unit="group/replace:8")
    for name, ids in (("tags", tags.tags), ("pages", tags.resources)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{one}\n" for one in ids.ids()))
    (tmp_path / "history.json").write_text(json.dumps({"film-1": 5}))
    typed = commands()
    assert sum("--round 2" in command for command in typed) == 6
    for command in typed:
        program, *arguments = shlex.split(command)
        assert program == "discreet"
        monkeypatch.setattr("sys.argv", ["discreet", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code in (0, None), command
    counts, model = dc.Release.load(tmp_path / "abc"), dc.Release.load(tmp_path / "model")
    assert str(counts.guarantee.loss) == "ε = 1"
    assert model.guarantee.loss == dc.PrivateRecommender(epsilon=4, delta="1e-6").plan(films).loss
    for shop in "abc":
        spent = dc.Ledger(tmp_path / f"{shop}.db").statement(dc.read(tmp_path / f"{shop}.parquet")).entries
        assert [entry.mechanism for entry in spent] == [
            "weighted",
            "round 1 of private-recommender",
            "round 2 of private-recommender",
        ]
    about_tags, answers = dc.Release.load(tmp_path / "tags"), dc.Release.load(tmp_path / "survey")
    posts = synthetic.tags(users=9, resources=2, seed=1).with_vocabulary("observed").with_resources("observed")
    assert about_tags.guarantee.loss == PTRJ(epsilon=2, delta="1e-6").plan(posts).loss
    assert str(answers.guarantee.loss) == "ε = 1"
    assert answers.guarantee.unit == dc.Unit("group", "replace", 8)


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(compile(block, "docs/curators.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "combined from 3 curators" in shown
    assert "it was declared that nobody is in two of 3 parts" in shown


def test_the_figures_are_those_of_the_studies() -> None:
    rows = re.findall(r"^\| (?:in one hand|one curator alone|combined).*$", PAGE, re.M)
    studies = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    assert len(rows) == 7
    for row in rows:
        assert row.partition(" | ")[2] in studies
