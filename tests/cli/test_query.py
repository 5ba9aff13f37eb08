"""`discreet query`: what a person types, and what becomes of mistakes."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data import synthetic
from discreet.data.readers import write

WORKLOAD = [{"age": [18, 29], "gender": "F"}, {"income": {"in": ["low", "high"]}}]


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey with an account for groups of up to six, made once."""
    folder = tmp_path_factory.mktemp("homes")
    survey = synthetic.survey(households=120, seed=3)
    write(survey, folder / "survey.parquet")
    dc.Ledger(folder / "b.db").open(dc.read(folder / "survey.parquet"), epsilon=4, unit="group/replace:6")
    (folder / "workload.json").write_text(json.dumps(WORKLOAD))
    return folder


@pytest.fixture
def survey(homes: Path, tmp_path: Path) -> Path:
    shutil.copytree(homes, tmp_path, dirs_exist_ok=True)
    return tmp_path / "survey.parquet"


@dataclass(frozen=True)
class Done:
    """What a run of the program left."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The program in this process: it answers as a new process would, without the time that one takes."""
    from discreet.cli import main

    monkeypatch.chdir(tmp_path)

    def answer(line: str, stdin: str = "", command: str = "query") -> Done:
        monkeypatch.setattr(sys, "argv", ["discreet", command, *line.split()])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    return answer


def spent(folder: Path) -> str:
    return str(dc.Ledger(folder / "b.db").statement("survey").spent.epsilon)


def test_as_the_issue_types_it(run, survey: Path, tmp_path: Path) -> None:
    asked = "query survey.parquet --queries workload.json --method pmw --epsilon 1 --coupling household --out answers/"
    done = run(*asked.split(), "--ledger", "b.db")
    assert done.returncode == 0, done.stderr
    assert "age = 18–29 and gender = F" in done.stdout
    assert "one group of at most 6 records" in done.stdout
    assert "ε = 1. Even odds" in done.stdout
    assert "Traceback" not in done.stderr
    release = dc.Release.load(tmp_path / "answers")
    assert release.kind == "query-answers"
    assert release.table("answers").height == 2
    assert spent(tmp_path) == "1"


def test_random_queries_without_a_folder(call, survey: Path, tmp_path: Path) -> None:
    done = call(
        "survey.parquet --random 50 --method mwem --epsilon 1 --coupling household --ledger b.db --show 3 "
        "--synthetic rows.parquet"
    )
    assert done.returncode == 0, done.stderr
    assert "random subset 2" in done.stdout
    assert "random subset 3" not in done.stdout
    assert "not kept" in done.stderr
    rows = dc.read(tmp_path / "rows.parquet")
    assert isinstance(rows, dc.Table)
    original = dc.read(survey)
    assert isinstance(original, dc.Table)
    assert len(rows) == len(original)
    assert rows.domains == original.domains


def test_an_estimate_spends_nothing(call, survey: Path, tmp_path: Path) -> None:
    done = call("survey.parquet --random 50 --epsilon 1 --coupling household --estimate --json --ledger b.db")
    expected = json.loads(done.stdout)
    assert expected["unit"] == "group/replace:6"
    assert expected["loss"] == "ε = 1"
    said = call("survey.parquet --prefix age --epsilon 1 --method strategy --estimate")
    assert "nothing was spent" in said.stdout
    assert spent(tmp_path) == "0"


@pytest.mark.parametrize(
    ("asked", "queries"),
    [
        ("--marginals 2", 352),
        ("--ranges age,city=7", 7),
        ("--prefix age", 6),
        ("--random 20 --kind weighted --seed 5", 20),
        ("--random 20 --attributes gender,housing", 20),
    ],
)
def test_other_ways_to_ask(call, survey: Path, asked: str, queries: int) -> None:
    done = call(f"survey.parquet {asked} --epsilon 1 --no-ledger --json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["answers"]) == queries


def test_fewer_attributes_are_charged_to_the_same_account(call, survey: Path, tmp_path: Path) -> None:
    done = call("survey.parquet --random 9 --attributes age,gender --epsilon 1/2 --coupling household --ledger b.db")
    assert done.returncode == 0, done.stderr
    assert spent(tmp_path) == "1/2"


def test_couplings(call, survey: Path, tmp_path: Path) -> None:
    pl.DataFrame({"row": [0, 1], "other": [1, 2]}).write_csv(tmp_path / "edges.csv")
    found = {}
    for name in ("household", "housing", "edges.csv", "edges.csv --components"):
        done = call(f"survey.parquet --random 9 --epsilon 1 --coupling {name} --estimate --json")
        assert done.returncode == 0, done.stderr
        found[name] = json.loads(done.stdout)["unit"]
    assert found["household"] == "group/replace:6"
    assert found["edges.csv"] == found["edges.csv --components"] == "group/replace:3"
    owners = int(found["housing"].partition(":")[2])
    assert owners > len(dc.read(survey)) / 2  # type: ignore[arg-type]


def test_one_question_after_the_other(call, survey: Path, tmp_path: Path) -> None:
    lines = '{"age": [18, 29]}\nnonsense\n{"nothing": 1}\n\n{"gender": "F"}\n'
    asked = "survey.parquet --ask --method pmw --epsilon 1 --coupling household --ledger b.db --out session"
    done = call(asked, stdin=lines)
    assert done.returncode == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["age = 18–29", "gender = F"]
    assert "not JSON" in done.stderr
    assert "no attribute 'nothing'" in done.stderr
    assert dc.Release.load(tmp_path / "session").table("answers").height == 2
    assert spent(tmp_path) == "1"


def test_mistakes_cost_nothing(call, survey: Path, tmp_path: Path) -> None:
    for name, text in (
        ("unknown", '[{"agee": 1}]'),
        ("outside", '[{"gender": "F"}, {"gender": "X"}]'),
        ("empty", "[]"),
        ("broken", '[{"age": [18'),
    ):
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "wide.json").write_text('{"age": {"low": 0, "high": 9999999}}')
    (tmp_path / "taken").mkdir()
    for line, code, words in (
        ("--queries unknown.json", 2, "query 0: there is no attribute 'agee'"),
        ("--queries outside.json", 2, "query 1, attribute 'gender': 'X' is outside the declared domain"),
        ("--queries empty.json", 2, "at least one query"),
        ("--queries broken.json", 1, "not JSON"),
        ("--queries nowhere.json", 1, "nowhere.json"),
        ("--random 0", 2, "Ask at least 1"),
        ("--random 9 --domains wide.json", 2, "weighs each cell"),
        ("", 2, "no queries were given"),
        ("--random 9 --prefix age", 2, "exclude each other"),
        ("--random 9 --ask", 2, "exclude each other"),
        ("--ask --method mwem", 2, "--method pmw"),
        ("--ranges age=many", 2, "not understood"),
        ("--random 9 --method magic", 2, "no method for answers called 'magic'"),
        ("--random 9 --option speed=3", 2, "no setting speed"),
        ("--random 9 --coupling nobody", 2, "neither a column"),
        ("--random 9 --components", 2, "goes with --coupling"),
        ("--random 9 --coupling pearson", 1, "computed from the secret rows"),
        ("--random 9 --method cim", 1, "--allow-refuted"),
        ("--random 9 --method lm-gs --synthetic rows.parquet", 2, "no histogram"),
        ("--random 9 --synthetic survey.parquet", 1, "nothing was spent"),
        ("--random 9 --out taken", 1, "nothing was spent"),
        ("--random 9 --attributes age,nobody", 2, "no attribute 'nobody'"),
    ):
        done = call(f"survey.parquet --epsilon 1 --ledger b.db {line}")
        assert done.returncode == code, (line, done.stderr)
        assert words in done.stderr, (line, done.stderr)
        assert not done.stdout
    assert spent(tmp_path) == "0"


def test_which_ledger(call, survey: Path) -> None:
    assert call("survey.parquet --random 9 --epsilon 1").returncode == 2
    refused = call("survey.parquet --random 9 --epsilon 9 --coupling household --ledger b.db")
    assert refused.returncode == 3
    assert "9" in refused.stderr


def test_a_refuted_method_runs_when_allowed(call, survey: Path) -> None:
    done = call("survey.parquet --random 20 --method cim --epsilon 1 --no-ledger --allow-refuted --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["guarantee"]["standing"] == "REFUTED"


def test_a_bare_file_with_declared_domains(call, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age,sex\n" + "3,F\n40,M\n" * 20)
    (tmp_path / "domains.json").write_text('{"age": {"low": 0, "high": 99, "bins": 2}, "sex": ["F", "M"]}')
    done = call("rows.csv --marginals 1 --domains domains.json --epsilon 1 --method strategy --no-ledger --json")
    assert done.returncode == 0, done.stderr
    assert [row["label"] for row in json.loads(done.stdout)["answers"]] == [
        "age = 0–49",
        "age = 50–99",
        "sex = F",
        "sex = M",
    ]
    (tmp_path / "domains.json").write_text('{"age": "all"}')
    assert "not a domain" in call("rows.csv --marginals 1 --domains domains.json --epsilon 1 --no-ledger").stderr


def test_a_wide_table_is_answered_without_a_method_being_named(call, tmp_path: Path) -> None:
    """Discretized, called like Adult, with more cells than can be numbered."""
    names = [f"a{place}" for place in range(40)]
    codes = np.random.default_rng(1).integers(4, size=(300, 40))
    rows = [",".join(names), *(",".join(map(str, row)) for row in codes.tolist())]
    (tmp_path / "adult.csv").write_text("\n".join(rows))
    (tmp_path / "domains.json").write_text(json.dumps(dict.fromkeys(names, 4)))
    table = "adult.csv --domains domains.json --epsilon 1"
    for asked, method in (
        ("--marginals 2", "marginals"),
        ("--prefix a1", "strategy"),
        ("--ranges a1,a7=80", "strategy"),
    ):
        told = call(f"{table} {asked} --estimate --json")
        assert json.loads(told.stdout)["method"] == method, told.stderr
    done = call(f"{table} --marginals 1 --no-ledger --json --synthetic drawn.csv")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["answers"]) == 160
    assert len((tmp_path / "drawn.csv").read_text().splitlines()) == 301
    for method in ("strategy", "marginals --option nonnegative=false"):
        refused = call(f"{table} --marginals 1 --method {method} --no-ledger --synthetic other.csv")
        assert refused.returncode == 2
        assert "nonnegative=true" in refused.stderr
    # Counts of a part of the attributes: known before anything is charged.
    opened = call(
        "open adult.csv --domains domains.json --epsilon 9 --unit record/replace --ledger b.db", command="ledger"
    )
    assert opened.returncode == 0, opened.stderr
    some = "--prefix a1 --method strategy --option nonnegative=true"
    refused = call(f"{table} {some} --ledger b.db --synthetic other.csv --out answers")
    assert refused.returncode == 2, refused.stderr
    assert "--attributes" in refused.stderr
    assert not dc.Ledger(tmp_path / "b.db").statement("adult").entries
    assert not (tmp_path / "other.csv").exists()
    assert not (tmp_path / "answers").exists()
    done = call(f"{table} {some} --attributes a1 --no-ledger --synthetic one.csv")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "one.csv").read_text().splitlines()) == 301
    refused = call(f"{table} --marginals 2 --method tree --no-ledger")
    assert refused.returncode == 2
    assert "--method marginals" in refused.stderr


def test_the_study_of_a_table(call, survey: Path, tmp_path: Path) -> None:
    done = call("cim --data survey.parquet --quick --json", command="study")
    assert done.returncode == 0, done.stderr
    assert "MSE at ε, survey" in json.loads(done.stdout)["tables"]
    write(synthetic.films(users=20, items=10, seed=1), tmp_path / "films.parquet")
    refused = call("cim --data films.parquet --quick", command="study")
    assert refused.returncode == 2
    assert "holds Interactions" in refused.stderr


def test_help_has_an_example_that_begins_with_nothing(call) -> None:
    done = call("--help")
    assert "discreet data generate survey" in done.stdout


def test_few_queries_are_measured_and_many_are_read_off_one_histogram(call, survey: Path, tmp_path: Path) -> None:
    for asked, method in (("--queries workload.json", "strategy"), ("--random 60", "shrunk-histogram")):
        done = call(f"survey.parquet {asked} --epsilon 1/2 --coupling household --ledger b.db --out r --overwrite")
        assert done.returncode == 0, done.stderr
        assert dc.Release.load(tmp_path / "r").mechanism == method


def test_a_refuted_way_says_so_before_it_is_run(call, survey: Path, tmp_path: Path) -> None:
    done = call("survey.parquet --random 9 --method cim --epsilon 1 --estimate")
    assert "which is refuted" in done.stdout
    done = call("survey.parquet --random 9 --epsilon 1 --estimate")
    assert "refuted" not in done.stdout
    assert spent(tmp_path) == "0"


def test_a_table_of_ones_own_has_a_book(call, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("flu,home\nyes,1\nno,1\nno,2\n")
    (tmp_path / "domains.json").write_text('{"flu": ["yes", "no"]}')
    opened = call(
        "open own.csv --domains domains.json --epsilon 1 --unit record/replace --ledger own.db", command="ledger"
    )
    assert opened.returncode == 0, opened.stderr
    done = call("own.csv --domains domains.json --marginals 1 --epsilon 1/2 --ledger own.db --out r")
    assert done.returncode == 0, done.stderr
    assert dc.Ledger(tmp_path / "own.db").statement("own").spent.epsilon == Fraction(1, 2)


def test_what_is_typed_goes_before_what_is_set(call, survey: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DISCREET_LEDGER", "b.db")
    done = call("survey.parquet --random 9 --epsilon 1 --no-ledger")
    assert done.returncode == 0, done.stderr
    assert spent(tmp_path) == "0"
