"""`--overwrite` as a newcomer types it: a clear error, nothing lost, nothing charged."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from discreet.cli import main
from discreet.data.readers import read
from discreet.privacy import Ledger, Release

Typed = Callable[..., tuple[int, str]]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Run `discreet …` in this process: its exit code and what it says on stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*line: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, line)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as left:
            main()
        return int(str(left.value.code or 0)), capsys.readouterr().err

    return run


@pytest.fixture
def ledger(films: Path, tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "budget.db")
    ledger.open(read(films), epsilon=10, delta="1e-6", unit="user", name="films")
    return ledger


def spent(ledger: Ledger) -> object:
    return ledger.statement("films").to_json()["spent"]


def contents(folder: Path) -> dict[str, bytes | None]:
    files = (path for path in sorted(folder.rglob("*")) if "budget.db" not in path.name)
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in files}


OUTS = [
    "films.parquet", "soft.parquet", "hard.parquet", "mine/../films.parquet", "mine", "link", ".", "..", "/",
    "budget.db", "budget.db-wal", "films.parquet/inside", "model", "dataset", "pipe", "x" * 300,
    "/proc/nothing/here", "public.txt",
]  # fmt: skip


@pytest.mark.parametrize("out", OUTS)
def test_nothing_of_yours_is_replaced_or_charged(
    out: str, typed: Typed, ledger: Ledger, films: Path, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    (tmp_path / "public.txt").write_text("film-1\n")
    (tmp_path / "soft.parquet").symlink_to(films)
    os.link(films, tmp_path / "hard.parquet")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    os.mkfifo(tmp_path / "pipe")
    typed("data", "convert", films, "dataset")
    before, paid = contents(tmp_path), spent(ledger)
    count = ("count", "films.parquet", "--epsilon", 1, "--ledger", "budget.db", "--overwrite", "--out", out)
    code, said = typed(*count)
    assert code == 1
    assert "nothing was spent" in said
    assert "Traceback" not in said
    assert "defect" not in said
    assert contents(tmp_path) == before
    assert spent(ledger) == paid


@pytest.mark.parametrize(
    "line",
    [
        ("data", "convert", "films.parquet", "films.parquet", "--overwrite"),
        ("data", "convert", "hard.parquet", "films.parquet", "--overwrite"),
        ("data", "convert", "dataset", "dataset/interactions.parquet", "--overwrite"),
        ("data", "convert", "films.parquet", "mine", "--overwrite"),
        ("data", "convert", "films.parquet", "foreign.parquet", "--overwrite"),
        ("data", "generate", "films", "--seed", "1", "--out", "foreign.parquet", "--overwrite"),
        ("data", "generate", "films", "--seed", "1", "--out", ".", "--overwrite"),
        ("data", "split", "films.parquet", "--out", "films.parquet"),
        ("fit", "films.parquet", "--model", "knn", "--no-ledger", "--out", "dataset", "--overwrite"),
        ("fit", "films.parquet", "--model", "knn", "--no-ledger", "--out", "films.parquet", "--overwrite"),
        ("study", "twins", "--out", "mine", "--overwrite"),
        ("risk", "films.parquet", "--model", "slope-one", "--out", "dataset", "--overwrite"),
        ("audit", "films.parquet", "--model", "knn", "--out", "page.html"),
        ("audit", "films.parquet", "--model", "knn", "--out", "page.html", "--overwrite"),
        ("audit", "films.parquet", "--model", "knn", "--out", "films.parquet", "--overwrite"),
        ("demo", "--out", "mine"),
        ("demo", "--out", "."),
    ],
)
def test_the_same_everywhere(line: tuple[str, ...], typed: Typed, films: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    (tmp_path / "page.html").write_text("<html>mine</html>")
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "foreign.parquet")
    os.link(films, tmp_path / "hard.parquet")
    typed("data", "convert", films, "dataset")
    before = contents(tmp_path)
    code, said = typed(*line)
    assert code == 1, said
    assert "place" in said, said
    assert contents(tmp_path) == before


def test_what_discreet_wrote_is_replaced(typed: Typed, ledger: Ledger, films: Path, tmp_path: Path) -> None:
    count = ("count", films, "--epsilon", "1/2", "--ledger", "budget.db", "--out", "counts")
    assert typed(*count)[0] == 0
    first = Release.load(tmp_path / "counts").id
    assert typed(*count) == (1, typed(*count)[1])
    assert Release.load(tmp_path / "counts").id == first
    assert typed(*count, "--overwrite")[0] == 0
    assert Release.load(tmp_path / "counts").id != first
    fit = ("fit", films, "--model", "popularity", "--no-ledger", "--out", "model", "--overwrite")
    assert [typed(*fit)[0] for _ in range(2)] == [0, 0]
    assert json.loads((tmp_path / "model" / "source.json").read_text())["data"] == str(films)
    for out in ("copy.parquet", "copy.arrow", "copy"):
        convert = ("data", "convert", films, out, "--overwrite")
        assert [typed(*convert)[0] for _ in range(2)] == [0, 0]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".discreet")]


def test_a_csv_that_was_there_is_kept(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("user,item\nann,tea\n")
    (tmp_path / "out.csv").write_text("my own table\n")
    code, said = typed("data", "convert", "in.csv", "out.csv", "--overwrite")
    assert code == 0
    (kept,) = (path for path in tmp_path.glob("out-*.csv"))
    assert kept.name in said
    assert kept.read_text() == "my own table\n"


def test_an_earlier_demo_with_files_of_yours_is_kept(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "made-by-discreet-demo").touch()
    (tmp_path / "demo" / "thesis.txt").write_text("mine")
    code, said = typed("demo", "--out", "demo")
    assert (code, "thesis.txt" in said) == (1, True)
    assert (tmp_path / "demo" / "thesis.txt").read_text() == "mine"


NUMBERS = [
    ("count", "films.parquet", "--no-ledger", "--out", "x", "--epsilon", "1e999999999"),
    ("count", "films.parquet", "--no-ledger", "--out", "x", "--epsilon", "1_0"),
    ("count", "films.parquet", "--no-ledger", "--out", "x", "--epsilon", "1", "--cap", "1_0"),
    ("count", "films.parquet", "--no-ledger", "--out", "x", "--epsilon", "1", "--top", "0"),
    ("count", "films.parquet", "--no-ledger", "--out", "x", "--epsilon", "1", "--scale", "1:1e999999999"),
    ("count", "films.parquet", "--estimate", "--epsilon", "1", "--assume", "users=1_0"),
    ("count", "films.parquet", "--estimate", "--epsilon", "1", "--option", "cap=1e999"),
    ("risk", "films.parquet", "--epsilons", "1_0"),
    ("risk", "films.parquet", "--risk-below", "nan"),
    ("audit", "films.parquet", "--model", "knn", "--seconds", "nan"),
    ("audit", "films.parquet", "--model", "knn", "--confidence", "1e999999999"),
    ("data", "generate", "films", "--out", "y.parquet", "--seed", "٣"),
    ("query", "films.parquet", "--epsilon", "1", "--estimate", "--ranges", "age=1_0"),
]


@pytest.mark.parametrize("line", NUMBERS)
@pytest.mark.usefixtures("films")
def test_numbers_have_a_grammar(line: tuple[str, ...], typed: Typed, tmp_path: Path) -> None:
    code, said = typed(*line)
    assert code == 2, said
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ("[null]", "entry 1"),
        ('["film-1", ["film-2"]]', "entry 2"),
        ('{"film-1": null}', "'film-1' is not a number"),
        ('{"film-1": [5]}', "is not a number"),
        ('{"film-1": true}', "is not a number"),
        ('{"film-1": NaN}', "is not a number"),
        ('{"film-1": 1e999}', "not JSON"),
        ('{"film-1": 1, "film-1": 5}', "occurs twice"),
        ("[" * 5000, "nested"),
        ("9" * 5000, "digits"),
        ("[1.5]", "entry 1"),
        ('"film-1"', "a list of items"),
        ("[true]", "entry 1"),
    ],
)
def test_histories(history: str, words: str, typed: Typed, model: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(history)
    code, said = typed("recommend", model, "--history", "mine.json")
    assert (code, words in said) == (1, True), said


def test_repeated_items_of_a_history_are_told(typed: Typed, model: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('["film-1", "film-1", "film-2"]')
    code, said = typed("recommend", model, "--history", "mine.json", "--json")
    assert (code, "1 of the items in the history" in said) == (0, True)


def test_repeated_rows_are_told_on_stderr(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("user,item,rating\nann,tea,1\nann,tea,2\nbob,tea,3\n")
    code, said = typed("data", "describe", "in.csv", "--duplicates", "last", "--json")
    assert (code, "in.csv: 1 row repeats the user and item of another" in said) == (0, True)
    (tmp_path / "tags.csv").write_text("user,resource,tag\nann,tea,x\nann,tea,x\nann,tea,x\n")
    code, said = typed("data", "describe", "tags.csv", "--json")
    assert (code, "2 rows repeat a triple" in said) == (0, True), said


def test_a_panic_of_a_library_is_told_in_words(typed: Typed, films: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panics(*_: object, **__: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setattr("discreet.cli.reading.Reading.read", panics)
    code, said = typed("data", "describe", films)
    assert (code, "index out of bounds" in said) == (1, True)


def test_a_list_of_length_zero_and_text_that_is_no_unicode(typed: Typed, model: Path) -> None:
    assert typed("similar", model, "film-1", "-n", 0)[0] in (0, 2)
    code, said = typed("similar", model, "film\ud800")
    assert (code, "not valid Unicode" in said) == (2, True), said
