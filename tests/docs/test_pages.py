"""The code on every page of the site, and in README, runs as it stands there (``publishing/running.py``)."""

from __future__ import annotations

from pathlib import Path

import pytest
from publishing.running import ROOT, CodeError, blocks, pages_with_code, run

from discreet.models.registry import REGISTRY

ELSEWHERE = {"own-method.md": "tests/docs/test_own_method.py", "curators.md": "tests/docs/test_curators.py"}
"""Pages whose code another test runs."""

PAGES = [page for page in pages_with_code() if page.name not in ELSEWHERE]


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
@pytest.mark.filterwarnings("default::discreet.errors.DiscreetWarning")
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = dict(REGISTRY)
    try:
        run(page)
    finally:
        REGISTRY.clear()
        REGISTRY.update(known)


def test_what_is_left_out_says_why() -> None:
    assert all((ROOT / path).is_file() for path in ELSEWHERE.values())
    reasons = {f"{page.name}:{block.line}": block.skipped for page in PAGES for block in blocks(page)}
    assert all(reason is None or len(reason) > 10 for reason in reasons.values()), reasons


def page_of(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_a_page_whose_code_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run(page_of(tmp_path, "```python\nx = 0\n```\n\ntext\n\n```python\n1 / x\n```\n"))
    with pytest.raises(CodeError, match="ended with 2, not 0"):
        run(page_of(tmp_path, "```console\ndiscreet recommend\n```\n"))
    with pytest.raises(CodeError, match="is not run"):
        run(page_of(tmp_path, "```console\nrm -r nothing\n```\n"))
    run(page_of(tmp_path, "<!-- exit 2 -->\n```console\ndiscreet recommend\n```\n"))


def test_comments_above_a_block_are_heeded(tmp_path: Path) -> None:
    text = "<!-- setup\nx = 2\n-->\n<!-- quick: 10 -> 3 -->\n```python\nassert x * 10 == 6\n```\n"
    (block,) = blocks(page_of(tmp_path, text))
    assert (block.text, block.setup) == ("assert x * 3 == 6\n", ["x = 2"])
    run(page_of(tmp_path, text))
    run(page_of(tmp_path, "<!-- not run: it takes a week -->\n```python\n1 / 0\n```\n"))
    with pytest.raises(CodeError, match="to be replaced"):
        list(blocks(page_of(tmp_path, "<!-- quick: 11 -> 3 -->\n```python\n10\n```\n")))
