"""The help of every command, at 80 columns."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from discreet.cli.app import app, main
from discreet.cli.commands import examples


def commands(group: typer.Typer, *before: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The words that call every command, and its help."""
    for one in group.registered_commands:
        yield (*before, str(one.name)), str(one.help)
    for part in group.registered_groups:
        assert part.typer_instance is not None
        yield from commands(part.typer_instance, *before, str(part.name))


ALL = list(commands(app))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What `discreet … --help` prints on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["discreet", *words, "--help"])
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(("words", "text"), ALL, ids=[" ".join(words) for words, _ in ALL])
def test_help_fits_80_columns(words: tuple[str, ...], text: str, shown: Callable[..., str]) -> None:
    page = shown(*words)
    assert max(map(len, page.splitlines())) <= 80
    assert "<bool>" not in page
    printed = re.sub(r" *\\ *\n +", " ", page)
    listed = re.sub(r" *\\\n +", " ", re.sub(r"\[/?none\]", "", text)).splitlines()
    wanted = [line.strip() for line in listed if line.startswith("    discreet ")]
    assert wanted, "no example"
    assert [line.strip() for line in printed.splitlines() if line.startswith("     discreet ")] == wanted


@pytest.mark.parametrize("words", [(), ("series",), ("tags",), ("data",), ("ledger",), ("release",)])
def test_help_of_groups(words: tuple[str, ...], shown: Callable[..., str]) -> None:
    page = shown(*words)
    assert max(map(len, page.splitlines())) <= 80
    assert "<bool>" not in page


def test_help_asks_no_questions() -> None:
    def texts(group: typer.Typer) -> Iterator[str]:
        for one in group.registered_commands:
            yield str(one.help)
            notes: dict[str, Any] = getattr(one.callback, "__annotations__", {})
            yield from (str(hint.__metadata__[0].help) for hint in notes.values() if hasattr(hint, "__metadata__"))
        for part in group.registered_groups:
            assert part.typer_instance is not None
            yield from texts(part.typer_instance)

    assert not [text for text in texts(app) if "?" in text]


def test_long_examples_are_broken_as_a_shell_takes_them() -> None:
    from discreet.cli.count import count

    (page,) = (text for words, text in ALL if words == ("count",))
    assert len(examples(count)) == 4
    assert " \\\n        --ledger budget.db\n" in page
