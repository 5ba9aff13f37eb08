"""The worked example of docs/own-method.md: it runs, and it has everything that it says it has."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import discreet as dc
from discreet.models.recommender import load_model
from discreet.models.registry import REGISTRY
from discreet.testing import coupled_run, require_sums_add_up

PAGE = Path(__file__).parents[2] / "docs" / "own-method.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The first block of the page as a module in the current folder; afterwards nobody knows it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "shop.py").write_text(blocks()[0], encoding="utf-8")
    known = dict(REGISTRY)
    try:
        import shop  # type: ignore[import-not-found]

        yield shop
    finally:
        sys.modules.pop("shop", None)
        REGISTRY.clear()
        REGISTRY.update(known)


def test_the_example_is_short() -> None:
    method = blocks()[0]
    assert len(method[method.index("@register") :].splitlines()) <= 40


def test_the_page_runs(own: ModuleType) -> None:
    asked = "MostUsers(epsilon=1), films, seconds=10)"
    assert asked in blocks()[1]
    quick = blocks()[1].replace(asked, "MostUsers(epsilon=1), films, runs=2, seconds=None)")
    exec(quick, {"MostUsers": own.MostUsers})
    assert dc.Ledger("budget.db").statement(dc.synthetic.films(users=200, items=40, seed=7)).entries
    assert load_model("most-users").name == "most-users"


def test_it_passes_the_checks(own: ModuleType) -> None:
    rows = [("ann", "tea"), ("ann", "rum"), ("bob", "tea")]
    first, second = (dc.Interactions(part, items=["tea", "rum"]) for part in (rows, rows[:2]))
    method = own.MostUsers(epsilon=1, cap=1)
    coupled_run(lambda data, ledger: method.release(data, ledger=ledger), first, second)
    films = dc.synthetic.films(users=30, items=10, seed=7)
    odd = films.user % 2 == 1
    parts = [films.filter(mask, independent=True) for mask in (odd, ~odd)]
    assert require_sums_add_up(own.MostUsers(epsilon=1, cap=3), films, parts) == 1


def test_the_checks_of_the_page_pass_as_it_shows(own: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"```text\n(most-users.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert shown is not None
    known = vars(own) | {"MostUsers": own.MostUsers}
    exec(blocks()[2], known)
    assert capsys.readouterr().out == shown[1]
    exec(blocks()[3], known | {"__name__": "own_page"})


def test_the_command_line_takes_it(own: ModuleType, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.cli import main
    from discreet.data.readers import write

    write(dc.synthetic.films(users=60, items=20, seed=7), "films.parquet")
    arguments = "fit films.parquet --model shop.py:MostUsers --epsilon 1 --items-public --no-ledger --out model"
    monkeypatch.setattr(sys, "argv", ["discreet", *arguments.split()])
    with suppress(SystemExit):
        main()
    assert Path("model").is_dir(), capsys.readouterr().err
    assert load_model("model").recommend(history=["film-3"], n=3)["score"].is_finite().all()
