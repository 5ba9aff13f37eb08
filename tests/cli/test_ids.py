"""Types of ids on the command line: text unless they are declared."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
ROWS = [f"{user},{item},{1 + (user * item) % 5}" for user in range(1, 9) for item in range(10, 16) if (user + item) % 3]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.csv").write_text("\n".join(["user,item,rating", *ROWS]) + "\n")
    return tmp_path


@pytest.mark.parametrize("ids", [[], ["--ids", "number"]])
def test_users_and_histories_are_typed_as_the_data(shop: Path, run: Run, ids: list[str]) -> None:
    reading = ["--items-public", "--scale", "1:5", *ids]
    made = run("fit", "shop.csv", "--model", "popularity", "--no-ledger", "--out", "model", *reading)
    assert made.returncode == 0, made.stderr
    expected = int if ids else str
    answer = run("recommend", "model", "--user", "7", "-n", "1", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)[0]["user_id"] == expected(7)
    for history in ([10, 11], ["10", "11"], {"10": 5}):
        (shop / "mine.json").write_text(json.dumps(history))
        answer = run("recommend", "model", "--history", "mine.json", "-n", "2", "--json")
        assert answer.returncode == 0, answer.stderr
        assert {type(row["item_id"]) for row in json.loads(answer.stdout)} == {expected}


def test_a_wrong_declaration_is_said_in_the_words_of_the_command_line(shop: Path, run: Run) -> None:
    wrong = run("data", "describe", "shop.csv", "--ids", "digits")
    assert wrong.returncode == 2
    assert "--ids" in wrong.stderr
    known = run("data", "describe", "shop.csv", "--ids", "number", "--json")
    assert known.returncode == 0, known.stderr


def test_a_model_of_the_first_version_finds_its_records(shop: Path, run: Run) -> None:
    """Its ids were inferred to be whole numbers, and its source.json does not say so."""
    reading = ["--items-public", "--scale", "1:5", "--ids", "number"]
    run("fit", "shop.csv", "--model", "popularity", "--no-ledger", "--out", "model", *reading)
    source = json.loads((shop / "model" / "source.json").read_text())
    del source["ids"]
    (shop / "model" / "source.json").write_text(json.dumps(source))
    answer = run("recommend", "model", "--user", "7", "-n", "1", "--json")
    assert answer.returncode == 0, answer.stderr
