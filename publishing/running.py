"""Runs the code of a page: Python and the command line, in order, in one folder.

Blocks marked ``python`` run in one namespace for the page. Of blocks marked ``console`` every line that begins with
``discreet`` runs, with its exit code compared. Other blocks are not code. A comment above a block says what is special:

``<!-- not run: REASON -->``
    The block is left out.
``<!-- quick: THIS -> THAT -->``
    Tests run it with THAT in the place of THIS, which takes longer.
``<!-- exit 1 -->``
    The commands of the block end with this code.
``<!-- setup … -->``
    Python that runs before the block and is not shown.

    python -m publishing.running docs/start/ten-minutes.md [--pictures docs/charts]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Block", "CodeError", "blocks", "command", "pages_with_code", "run"]

ROOT = Path(__file__).parents[1]

FENCE = re.compile(
    r"(?P<notes>(?:^ *<!--.*?-->\n+)*)^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```\s*$",
    re.S | re.M,
)
NOTE = re.compile(r"<!--\s*(.*?)\s*-->", re.S)

SETTING_UP = {"make", "pip", "cd", "git"}
"""Commands that are not run: they set up what is there already."""

BY_SHELL = {"printf", "cat", "head", "ls", "mkdir"}
"""Commands of the shell that are run."""


class CodeError(Exception):
    """A block that did not run as the page says."""


@dataclass
class Block:
    """A block of code on a page.

    Attributes
    ----------
    language
        ``python`` or ``console``.
    text
        The code, as it is run.
    line
        Where it begins in the page.
    setup
        Python that runs before it.
    exit
        The exit code that its commands have.
    skipped
        Why it is not run.
    """

    language: str
    text: str
    line: int
    setup: list[str] = field(default_factory=list)
    exit: int = 0
    skipped: str | None = None


def blocks(page: Path, *, quick: bool = True) -> Iterator[Block]:
    """The blocks of code of a page, with what the comments above them say."""
    content = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(content):
        language, indent = found["language"], len(found["indent"])
        if language not in ("python", "console", "bash", "sh"):
            continue
        text = "".join(line[indent:] for line in found["text"].splitlines(keepends=True))
        block = Block(language, text, content[: found.start("language")].count("\n") + 1)
        for note in NOTE.findall(found["notes"]):
            _heed(block, note, quick)
        yield block


def _heed(block: Block, note: str, quick: bool) -> None:
    """What a comment above a block asks for."""
    if note.startswith("not run:"):
        block.skipped = note.removeprefix("not run:").strip()
    elif note.startswith("quick:"):
        slow, _, short = (part.strip() for part in note.removeprefix("quick:").partition("->"))
        if slow not in block.text:
            raise CodeError(f"line {block.line}: there is no {slow!r} to be replaced")
        block.text = block.text.replace(slow, short) if quick else block.text
    elif note.startswith("exit "):
        block.exit = int(note.removeprefix("exit "))
    elif note.startswith("setup"):
        block.setup.append(note.removeprefix("setup").strip("\n"))


def pages_with_code(docs: Path = ROOT / "docs") -> list[Path]:
    """README and every page that has blocks of code."""
    pages = [docs.parent / "README.md", *sorted(docs.rglob("*.md"))]
    return [page for page in pages if any(True for _ in blocks(page))]


def run(page: Path, *, quick: bool = True) -> None:
    """Run the code of a page in the current folder; what takes long is shortened unless it is not to be ``quick``."""
    namespace: dict[str, Any] = {"__name__": "page"}
    with _house_charts(), _environment():
        for block in blocks(page, quick=quick):
            if block.skipped is not None:
                continue
            where = f"{page.name}, line {block.line}"
            for setup in block.setup:
                exec(compile(setup, f"{where}, setup", "exec"), namespace)
            if block.language == "python":
                exec(compile("\n" * (block.line) + block.text, str(page), "exec"), namespace)
            else:
                _commands(block, where)


def _commands(block: Block, where: str) -> None:
    """Run the commands of a block."""
    text = re.sub(r"\\\n\s*", "", block.text)
    for line in text.splitlines():
        command = line.removeprefix("$ ").strip()
        words = shlex.split(command, comments=True)
        if not words or words[0] in SETTING_UP:
            continue
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            os.environ[name] = os.path.expandvars(value)
        elif words[0] in BY_SHELL:
            subprocess.run(["bash", "-c", command], check=True, stdout=subprocess.DEVNULL)
        elif words[0] == "discreet":
            code, output = _discreet([os.path.expandvars(word) for word in words[1:]])
            if code != block.exit:
                raise CodeError(f"{where}: {command}\nended with {code}, not {block.exit}:\n{output}")
        else:
            raise CodeError(f"{where}: {command}\nis not run; say so above the block: <!-- not run: REASON -->")


def command(line: str) -> None:
    """Run ``discreet LINE``, for what a page sets up; an error where it does not end well."""
    code, output = _discreet(shlex.split(line))
    if code:
        raise CodeError(f"discreet {line}\nended with {code}:\n{output}")


def _discreet(arguments: list[str]) -> tuple[int, str]:
    """Run ``discreet …`` in this process: its exit code, and what it printed."""
    from discreet.cli import main

    before, output, shown = sys.argv, io.StringIO(), warnings.showwarning
    sys.argv = ["discreet", *arguments]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), warnings.catch_warnings():
            main()
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        sys.argv, warnings.showwarning = before, shown
    return (code if isinstance(code, int) else 1), output.getvalue()


@contextlib.contextmanager
def _house_charts() -> Iterator[None]:
    """Charts that a page saves have the colors of the reports, and words that can be read on a phone."""
    import altair as alt

    from discreet.reports.theme import CONFIG

    larger = {"labelFontSize": 16, "titleFontSize": 16}
    config = {
        **CONFIG,
        "axis": {**CONFIG["axis"], **larger},
        "legend": {
            **CONFIG["legend"],
            **larger,
            "orient": "bottom",
            "symbolOpacity": 1,
            "columns": 2,
            "labelLimit": 320,
        },
        "title": {**CONFIG["title"], "fontSize": 18},
        "bar": {"color": CONFIG["range"]["category"][0]},
        "line": {"color": CONFIG["range"]["category"][0]},
    }
    alt.theme.register("discreet", enable=True)(lambda: alt.theme.ThemeConfig(config=config))  # type: ignore[arg-type]
    try:
        yield
    finally:
        alt.theme.enable("default")


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """What a page exports is gone after it; its terminal has 100 columns."""
    before = dict(os.environ)
    os.environ["COLUMNS"] = "100"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def main() -> None:
    """Run pages; ``--pictures`` keeps the charts that they save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--pictures", type=Path, help="Run without shortcuts, and keep the .svg files here.")
    given = parser.parse_args()
    kept: Path | None = given.pictures
    for page in given.pages or pages_with_code():
        path = page.resolve()
        if not any(True for _ in blocks(path)):
            continue
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run(path, quick=kept is None)
            pictures = sorted(Path().glob("*.svg")) if kept is not None else []
            texts = {f"{path.stem}-{picture.name}": picture.read_text(encoding="utf-8") for picture in pictures}
        if kept is not None and texts:
            kept.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                (kept / name).write_text(text, encoding="utf-8")
        sys.stderr.write(f"{page}: done{', wrote ' + ', '.join(texts) if texts else ''}\n")


if __name__ == "__main__":
    main()
