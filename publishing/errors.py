"""Pages of errors: every message in the source with its remedy, by kind and package."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import discreet
from discreet import errors
from discreet.common import remedies

__all__ = ["Message", "messages", "pages"]

SOURCE = Path(discreet.__file__).parent
FOLDER = "reference/errors"

KINDS: dict[str, tuple[str, str]] = {
    "UsageError": ("Wrong use", "2"),
    "DataError": ("Data", "1"),
    "PrivacyError": ("Privacy", "1"),
    "BudgetError": ("Budget", "1; 3 where not enough is left (`OverLimitError`)"),
    "LedgerError": ("Ledger", "1"),
    "ReleaseError": ("Releases and models", "1"),
    "EvaluationError": ("Evaluation", "1"),
}
"""Kinds of errors that have a page: its title, and the exit code."""

SAME_PAGE = {"RecordsError": "DataError", "Problem": "DataError", "OverLimitError": "BudgetError"}


@dataclass(frozen=True, order=True)
class Message:
    """One error in the source: where it is raised, and its texts with ‹…› for what is filled in."""

    kind: str
    package: str
    what: str
    remedy: str
    cli: str


def pages() -> dict[str, str]:
    """The pages by their paths below ``docs``."""
    found = sorted(set(messages()))
    made = {f"{FOLDER}/index.md": "\n".join(_overview(found))}
    for kind in KINDS:
        made[f"{FOLDER}/{_file(kind)}"] = "\n".join(_page(kind, [one for one in found if one.kind == kind]))
    return made


def messages() -> Iterator[Message]:
    """Every error of the tree that is made in the source with a message that can be read there."""
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (kind := _kind(node.func)) is not None and node.args:
                what = _text(node.args[0], constants)
                if len(re.sub(r"‹[^›]*›|\W", "", what)) < 6:
                    continue  # the text comes from elsewhere
                given = next((word.value for word in node.keywords if word.arg == "remedy"), None)
                remedy, cli = _remedy(given, constants)
                yield Message(kind, package, what, remedy, cli)


def _kind(function: ast.expr) -> str | None:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    name = SAME_PAGE.get(name, name)
    return name if name in KINDS else None


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Names of a module that stand for one expression."""
    assigned = (node for node in tree.body if isinstance(node, ast.Assign) and len(node.targets) == 1)
    return {node.targets[0].id: node.value for node in assigned if isinstance(node.targets[0], ast.Name)}


def _remedy(node: ast.expr | None, constants: dict[str, ast.expr]) -> tuple[str, str]:
    """The remedy in Python and on the command line."""
    if isinstance(node, ast.Name):
        if isinstance(shared := getattr(remedies, node.id, None), errors.Remedy):
            return str(shared), shared.cli
        node = constants.get(node.id, node)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remedy":
        python = _text(node.args[0], constants) if node.args else ""
        cli = next((word.value for word in node.keywords if word.arg == "cli"), None)
        return python, _text(cli, constants) if cli is not None else python
    text = "" if node is None else _text(node, constants)
    text = text if re.sub(r"‹[^›]*›|\W", "", text) else ""
    return text, text


def _text(node: ast.expr, constants: dict[str, ast.expr]) -> str:
    """A text as it is written, with ‹name› where something is filled in."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, constants) for part in parts)
        case ast.FormattedValue(value=value):
            return f"‹{_named(value)}›"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, constants) + _text(right, constants)
        case ast.IfExp(body=body, orelse=other):
            return " / ".join(filter(None, (_text(body, constants), _text(other, constants))))
        case ast.Name(id=name) if name in constants and not isinstance(constants[name], ast.Name):
            return _text(constants[name], {})
    return f"‹{_named(node)}›"


def _named(node: ast.expr) -> str:
    """A word for an expression: the last name in it that tells what it is."""
    if isinstance(node, ast.Name):
        return node.id.strip("_").replace("_", " ")
    if isinstance(node, ast.Attribute):
        own = node.attr.strip("_").replace("_", " ")
        return _named(node.value) if own in ("name", "value") and isinstance(node.value, ast.Name) else own
    return "…"


def _overview(found: list[Message]) -> Iterator[str]:
    yield "# Errors\n"
    yield f"""Everything that a caller can do something about is a `DiscreetError`. The message says what was
wrong, where, and what to do. `error.what` and `error.remedy` hold the parts, and
`error.cli_message` the words for the command line.
These pages list the {len(found):,} messages that stand in the source, with their remedies, as of this build.
‹…› stands for what is filled in. Search this site for a few words of a message.\n"""
    yield "| error | meaning | exit code | messages |"
    yield "| --- | --- | --- | --- |"
    for kind, (title, code) in KINDS.items():
        number = sum(one.kind == kind for one in found)
        yield f"| [{title}]({_file(kind)}): `{kind}` | {_meaning(kind)} | {code} | {number} |"
    yield (
        "| `MissingExtraError` | "
        + _meaning("MissingExtraError")
        + " It says which: `pip install 'discreet[…]'` | 1 | |"
    )
    yield "\n## The tree\n"
    yield "```text"
    yield from _tree(errors.DiscreetError, "")
    yield "```\n"
    yield "## Warnings\n"
    yield "| warning | meaning |"
    yield "| --- | --- |"
    for kind in (errors.DiscreetWarning, *errors.DiscreetWarning.__subclasses__()):
        yield f"| `{kind.__name__}` | {(inspect.getdoc(kind) or '').splitlines()[0]} |"
    yield "\nAn exception that is none of these, raised from within discreet, is a defect: please report it."


def _tree(kind: type, indent: str) -> Iterator[str]:
    yield f"{indent}{kind.__name__}"
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _tree(below, indent + "    ")


def _page(kind: str, found: list[Message]) -> Iterator[str]:
    yield f"# {KINDS[kind][0]}: `{kind}`\n"
    yield f"{_meaning(kind)} Exit code of the command line: {KINDS[kind][1]}.\n"
    for package in sorted({one.package for one in found}):
        yield f"## {package} {{ #{kind.lower()}-{package.replace('_', '-')} }}\n"
        for one in (one for one in found if one.package == package):
            yield _shown(one.what) or "…"
            remedy = _shown(one.remedy)
            if one.cli != one.remedy:
                remedy += f" On the command line: {_shown(one.cli)}"
            yield f":   {remedy or '–'}\n"


def _shown(text: str) -> str:
    """A message as Markdown that shows it as it is."""
    text = " ".join(text.split())
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", text).replace("\\<", "&lt;").replace("\\>", "&gt;")


def _meaning(kind: str) -> str:
    return (inspect.getdoc(getattr(errors, kind)) or "").split("\n\n")[0].replace("\n", " ")


def _file(kind: str) -> str:
    return f"{kind.removesuffix('Error').lower()}.md"
