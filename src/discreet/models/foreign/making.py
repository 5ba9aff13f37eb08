"""A class or function with its settings, called anew for every model that is needed."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import Remedy, UsageError

__all__ = ["Made", "called"]


@dataclass(frozen=True)
class Made:
    """A class or function with its keyword arguments, called anew for every run."""

    make: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.make).bind(**self.settings)
        except TypeError as error:
            raise UsageError(
                f"{called(self.make)} cannot be made with these settings: {error}.",
                remedy=Remedy("Give a function that makes it.", cli="Give its settings with --option NAME=VALUE."),
            ) from None
        except ValueError:
            pass  # a signature that Python does not know; the call will tell

    def __call__(self) -> Any:
        return self.make(**copy.deepcopy(dict(self.settings)))


def called(make: Any) -> str:
    """The name of a class or function."""
    if isinstance(make, Made):
        return called(make.make)
    return getattr(make, "__qualname__", None) or type(make).__name__
