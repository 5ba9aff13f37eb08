"""Settings of models and methods as they are typed: options of their own, and ``--option NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.common.plain_json import parse_json
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.models.recommender import Recommender

__all__ = ["Settings", "chosen_from", "model_of", "settings_of", "split_pair"]

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
    """The model of that name with the settings that were typed."""
    from discreet.models.registry import create

    return create(name, "recommender", **settings_of(options, **given))


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
