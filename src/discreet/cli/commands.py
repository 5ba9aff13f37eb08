"""Commands from functions: bundles of options become options, and help is laid out for 80 columns.

A parameter of a command whose type is a dataclass stands for all of its fields: each field is an option, and the
command receives the filled-in object. ``PANEL`` of the dataclass is the heading of its options in the help. Commands
that read data share ``discreet.cli.reading``, commands that spend budget share ``discreet.cli.spending``. Settings of
models and methods have options of their own, or are typed as ``--option NAME=VALUE``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.common.numerals import parse_real, parse_whole
from discreet.common.plain_json import parse_json
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.models.recommender import Recommender

__all__ = ["Settings", "chosen_from", "command", "examples", "group", "model_of", "settings_of", "split_pair"]

WIDTH = 78
"""What a terminal of 80 columns leaves to the text of a help page."""

Function = TypeVar("Function", bound=Callable[..., None])


class _Flags:
    """Shows flags without a type: they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class _Command(_Flags, TyperCommand):
    """A command whose flags show no type."""


class _Group(_Flags, TyperGroup):
    """A group of commands whose flags show no type."""


def group(help: str, **settings: Any) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(help=help, no_args_is_help=True, rich_markup_mode="rich", cls=_Group, **settings)


def command(app: typer.Typer, name: str | None = None) -> Callable[[Function], Function]:
    """Register a function as a command of a group; the function itself stays as it is."""

    def register(function: Function) -> Function:
        text = "\n\n".join(_paragraphs(function.__doc__ or ""))
        app.command(name=name or function.__name__, cls=_Command, help=text)(_expanded(function))
        return function

    return register


def examples(function: Callable[..., Any]) -> list[str]:
    """The example commands in the help of a command."""
    lines = inspect.cleandoc(function.__doc__ or "").splitlines()
    return [line.strip() for line in lines if line.startswith("    discreet ")]


# Signatures


def _expanded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with an option for each field of its bundles."""
    hints = get_type_hints(function, include_extras=True)
    bundles: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            bundles[parameter.name] = hint
            options += _options_of(hint)
        else:
            options.append(_option(parameter.name, hint, parameter.default))

    def run(**given: Any) -> None:
        made = {name: bundle(**{f.name: given.pop(f.name) for f in fields(bundle)}) for name, bundle in bundles.items()}
        function(**given, **made)

    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _options_of(bundle: Any) -> Iterator[inspect.Parameter]:
    """The options of a bundle, those of the most specific class first."""
    hints = get_type_hints(bundle, include_extras=True)
    declared = [vars(kind).get("__annotations__", {}) for kind in bundle.__mro__]
    for field in sorted(fields(bundle), key=lambda field: [field.name in names for names in declared].index(True)):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield _option(field.name, hints[field.name], default, panel=getattr(bundle, "PANEL", None))


def _option(name: str, hint: Any, default: Any, *, panel: str | None = None) -> inspect.Parameter:
    """An option, listed in its panel of the help; whole and real numbers are read by our grammar of numbers."""
    if get_origin(hint) is Annotated:
        declared, about = get_args(hint)
        about = copy(about)
        about.rich_help_panel = about.rich_help_panel or panel
        kinds = {declared, *get_args(declared)} & {int, float}
        # An option that names a parser already reads its text by itself.
        if kinds and about.parser is None:
            about.parser = _parser(float if float in kinds else int, about.min, about.max)
            about.min = about.max = None
        hint = Annotated[declared, about]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _parser(kind: type, low: float | None, high: float | None) -> Callable[[Any], int | float]:
    """Reads a number: Python's own grammar would take ``1_0`` as 10 and ``nan`` as a number."""
    parse = parse_whole if kind is int else parse_real

    def number(text: Any) -> int | float:
        try:
            value = parse(str(text))
        except ValueError as error:
            raise ValueError(f"{str(text)[:60]!r}: {error}") from None
        except OverflowError:
            raise ValueError(f"{text} is too large or too small") from None
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(f"{text} is out of range")
        return value

    number.__name__ = "INTEGER" if kind is int else "FLOAT"
    return number


# Help


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs on one line each, which the terminal breaks; commands broken as a shell takes them."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.splitlines()
        if paragraph.startswith("    "):
            # A style that changes nothing: typer removes indentation at the beginning of a paragraph.
            yield "[none]" + "\n".join("\n".join(_broken(line.strip())) for line in lines) + "[/none]"
        else:
            yield " ".join(lines)


def _broken(line: str) -> Iterator[str]:
    """A command in lines that end with a backslash; an option and its value stay together."""
    words = line.replace(" --", "\0--").replace(" -n", "\0-n").split("\0")
    shown = "   "
    for word in words:
        if len(shown) + 1 + len(word) > WIDTH - 2 and shown.strip():
            yield f"{shown} \\"
            shown = " " * 7
        shown += f" {word}"
    yield shown


Settings = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="A further setting; repeatable.")
]


def settings_of(options: list[str] | None, **given: Any) -> dict[str, Any]:
    """Settings of a model or method: those with an option of their own, and those of ``--option``.

    A value is read as JSON where it is JSON, and is text elsewhere. What was not given (None) is left out.
    """
    settings = {setting: value for setting, value in given.items() if value is not None}
    for text in options or []:
        setting, value = split_pair(text, "--option")
        if setting in settings:
            raise UsageError(f"{setting} was given twice.", remedy="Leave --option out.")
        try:
            settings[setting] = parse_json(value, finite=True)
        except ValueError:
            settings[setting] = value
    return settings


def model_of(name: str, options: list[str] | None, **given: Any) -> Recommender:
    """The model of that name, or of that place in somebody's code, with the settings that were typed."""
    from discreet.models.foreign.lookup import is_of_library
    from discreet.models.recommender import Recommender
    from discreet.models.registry import class_of, with_settings

    if ":" in name and is_of_library(name):
        raise UsageError(
            f"{name} is a model of another library.",
            remedy="See: discreet evaluate --help, attack --help, audit --help.",
        )
    kind = class_of(name, "recommender")
    if not issubclass(kind, Recommender):
        raise UsageError(
            f"{name} is not a recommender of discreet.",
            remedy="Derive it from discreet.models.Recommender, or see: discreet audit --help, attack --help.",
        )
    return with_settings(kind, settings_of(options, **given), name)


def split_pair(text: str, option: str, *, example: str = "NAME=VALUE") -> tuple[str, str]:
    """Name and value of ``NAME=VALUE``."""
    name, separator, value = (part.strip() for part in text.partition("="))
    if not separator or not name:
        raise UsageError(f"{option} {text!r} is not understood.", remedy=f"Write {example}.")
    return name, value


def chosen_from(value: str, known: Sequence[str], option: str) -> str:
    """A value of an option that names one of several things."""
    if value not in known:
        raise UsageError(f"{option} must be one of {', '.join(known)}, got {value!r}.")
    return value
