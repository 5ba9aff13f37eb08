"""The ways to release tagging data by name: what the command line, audits and studies choose from."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any

from discreet.errors import UsageError
from discreet.tagging.tag_release import TagMethod

__all__ = ["METHODS", "configured", "looked_up", "settings_of_class", "tag_method"]

METHODS = {
    "ptr-j": "discreet.tagging.ptr_j:PTRJ",
    "ptr-s": "discreet.tagging.ptr_s:PTRS",
    "ptr-l": "discreet.tagging.ptr_l:PTRL",
    "ptr-t": "discreet.tagging.ptr_t:PTRT",
    "private-topics": "discreet.tagging.private_topics:PrivateTopics",
    "pritop": "discreet.tagging.pritop:PriTop",
}
"""Where each way lives; loaded when it is first asked for."""


def tag_method(name: str, **settings: Any) -> TagMethod:
    """A way to release tagging data with its settings; one that it does not have, or lacks, is named.

    Examples
    --------
    >>> tag_method("ptr-j", epsilon=1, delta="1e-6").name
    'ptr-j'
    """
    return configured(name, looked_up(name, METHODS, "way to release tags"), settings)


def looked_up(name: str, places: dict[str, str], what: str) -> type[Any]:
    """The class of that name in a list of places, "module:Class"."""
    if name not in places:
        raise UsageError(f"there is no {what} called {name!r}.", remedy=f"Choose from: {', '.join(places)}.")
    module, _, attribute = places[name].partition(":")
    return getattr(import_module(module), attribute)


def configured(name: str, kind: type[Any], settings: dict[str, Any]) -> Any:
    """``kind.of(**settings)``, after a look whether it has these settings and needs no others."""
    known = settings_of_class(kind)
    listed = f"Its settings: {', '.join(known)}."
    if unknown := sorted(set(settings) - set(known)):
        raise UsageError(f"{name} has no setting {', '.join(unknown)}.", remedy=listed)
    if missing := [setting for setting, needed in known.items() if needed and setting not in settings]:
        raise UsageError(f"{name} needs {' and '.join(missing)}.", remedy=listed)
    return kind.of(**settings)


def settings_of_class(kind: type[Any]) -> dict[str, bool]:
    """The settings that ``kind.of`` takes, by name, and whether each has to be given."""
    given = inspect.signature(kind.of).parameters.values()
    known = {one.name: one.default is one.empty for one in given if one.kind is not one.VAR_KEYWORD}
    if any(one.kind is one.VAR_KEYWORD for one in given):
        needed = {
            one.name: one.default is MISSING and one.default_factory is MISSING for one in fields(kind) if one.init
        }
        known = {**needed, **known}
    return known
