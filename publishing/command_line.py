"""Pages of the command line, from the program itself: usage, text, examples and every option of every command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

__all__ = ["FOLDER", "names", "pages"]

FOLDER = "reference/command-line"


def pages() -> dict[str, str]:
    """The pages by their paths below ``docs``: one for each command or group, and an overview."""
    from discreet.cli.app import app

    root: Any = typer.main.get_command(app)
    found = {f"{FOLDER}/{name}.md": "\n".join(_page(command, f"discreet {name}")) for name, command in _of(root)}
    return {f"{FOLDER}/index.md": "\n".join(_overview(root)), **found}


def names() -> list[str]:
    """Commands and groups, in the order of the help."""
    from discreet.cli.app import app

    return [name for name, _ in _of(typer.main.get_command(app))]


def _of(group: Any) -> Iterator[tuple[str, Any]]:
    """The commands of a group that are not hidden, in the order of its help."""
    return ((name, command) for name, command in group.commands.items() if not command.hidden)


def _overview(root: Any) -> Iterator[str]:
    yield "# The command line\n"
    yield f"{root.help}\n"
    yield "These pages are made from the program when the site is built. `discreet COMMAND --help` shows the same.\n"
    yield "| command | |"
    yield "| --- | --- |"
    for name, command in _of(root):
        yield f"| [`{name}`]({name}.md) | {_first_sentence(command)} |"
        for below, one in _of(command) if hasattr(command, "commands") else ():
            yield f"| [`{name} {below}`]({name}.md#discreet-{name}-{below}) | {_first_sentence(one)} |"
    yield EXITS


EXITS = """
## Exit codes

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | refused, failed, or interrupted |
| 2 | wrong use: an argument is missing or not of its kind |
| 3 | not enough budget is left; nothing was spent |

Answers go to stdout and everything else to stderr. `--json` gives the answer of a command as one JSON value.
`discreet --install-completion` sets up your shell.
"""


def _page(command: Any, path: str) -> Iterator[str]:
    yield f"# {path}\n"
    if not hasattr(command, "commands"):
        yield from _described(command, path, "##")
        return
    yield f"{_markdown(command.help)}\n"
    for name, one in _of(command):
        yield f"## {path} {name}\n"
        yield from _described(one, f"{path} {name}", "###")


def _described(command: Any, path: str, mark: str) -> Iterator[str]:
    context = command.make_context(path, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{path} {usage}\n```\n"
    yield f"{_markdown(command.help)}\n"
    panels: dict[str, list[Any]] = {"Arguments": []}
    for parameter in command.get_params(context):
        argument = parameter.param_type_name == "argument"
        panel = getattr(parameter, "rich_help_panel", None) or ("Arguments" if argument else "Options")
        if not getattr(parameter, "hidden", False) and parameter.name != "help":
            panels.setdefault(panel, []).append(parameter)
    for panel, parameters in panels.items():
        if not parameters:
            continue
        yield f"{mark} {panel} {{ #{_slug(path)}-{_slug(panel)} }}\n"
        for parameter in parameters:
            yield from _parameter(parameter, context)


def _parameter(parameter: Any, context: Any) -> Iterator[str]:
    """A term and its definition: a table of options would not fit on a phone."""
    term, text = parameter.get_help_record(context)
    text, *notes = re.split(r"  \[(?=required|default|env var)", text)
    told = [note for part in notes for note in part.rstrip("]").split("; ")]
    repeatable = getattr(parameter, "multiple", False) and "repeatable" not in text
    several = ["May be given several times."] if repeatable else []
    yield ", ".join(f"`{name.strip()}`" for name in term.split(", "))
    yield f":   {' '.join([_inline(text), *several, *map(_note, told)]).strip()}\n"


def _note(text: str) -> str:
    """What the help says in brackets."""
    kind, _, value = text.partition(": ")
    return {"default": f"Default: `{value}`.", "env var": f"From the environment: `{value}`."}.get(kind, "Required.")


def _first_sentence(command: Any) -> str:
    text = _inline((command.help or "").strip().split("\n\n")[0].replace("\n", " "))
    return re.split(r"(?<=[.:]) (?=[A-Z])", text)[0]


def _markdown(text: str | None) -> str:
    """The help of a command: paragraphs, and examples as blocks of code."""
    blocks = []
    for paragraph in (text or "").split("\n\n"):
        if (code := re.fullmatch(r"\s*\[none\](.*?)\[/none\]\s*", paragraph, re.S)) is not None:
            lines = re.sub(r"\\\n\s*", "", code[1]).splitlines()
            blocks.append("\n".join(["```console", *(line.strip() for line in lines), "```"]))
        else:
            blocks.append(_inline("\n".join(line.strip() for line in paragraph.splitlines())))
    return "\n\n".join(blocks)


def _inline(text: str) -> str:
    """Rich markup as Markdown; what would be HTML or an option is shown as it is."""
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"**\1**", text).replace("\\[", "[").replace("\b", "")
    text = text.replace("<", "&lt;").replace("|", "\\|")
    return re.sub(r"(?<![\w`-])(--[a-z][\w-]*)", r"`\1`", text)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
