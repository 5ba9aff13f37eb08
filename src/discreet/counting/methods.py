"""The ways to count by name: what the command line, models and studies choose from."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from discreet.counting.counts import CountMethod
from discreet.errors import UsageError
from discreet.privacy.numbers import Rational

__all__ = ["METHODS", "count_method", "method_class", "settings_of", "usual_method"]

USUAL_CAP = 30
"""The most that one user weighs, in records, where nobody says."""

USUAL_NORM_SQUARED = 100
"""The same for squared lengths, of which noise takes only the root."""

METHODS = {
    "weighted": "ItemCounts",
    "clipped": "ClippedCounts",
    "hybrid": "HybridCounts",
    "head-tail": "HeadTailCounts",
    "sra": "SRA",
    "hpa": "HPA",
    "lpa": "LPA",
    "dft": "DFT",
    "gs": "GS",
}
"""Names of classes in this room; looked up when they are first asked for."""


def method_class(name: str) -> type[CountMethod]:
    """The class of a way to count.

    Examples
    --------
    >>> method_class("weighted").__name__
    'ItemCounts'
    """
    if name not in METHODS:
        raise UsageError(f"there is no way to count called {name!r}.", remedy=f"Choose from: {', '.join(METHODS)}.")
    return getattr(import_module("discreet.counting"), METHODS[name])


def settings_of(name: str) -> dict[str, inspect.Parameter]:
    """The settings that a way to count has, by name."""
    return dict(inspect.signature(method_class(name).of).parameters)  # type: ignore[attr-defined]


def count_method(name: str, **settings: Any) -> CountMethod:
    """A way to count with its settings; one that it does not have, or lacks, is named.

    Examples
    --------
    >>> count_method("weighted", epsilon="1/2", cap=30).parameters["cap"]
    30
    """
    known = settings_of(name)
    listed = f"Its settings: {', '.join(known)}."
    if unknown := [setting for setting in settings if setting not in known]:
        raise UsageError(f"{name} has no setting {', '.join(sorted(unknown))}.", remedy=listed)
    needed = [setting for setting, parameter in known.items() if parameter.default is inspect.Parameter.empty]
    if missing := [setting for setting in needed if setting not in settings]:
        raise UsageError(f"{name} needs {' and '.join(missing)}.", remedy=listed)
    return method_class(name).of(**settings)  # type: ignore[attr-defined]


def usual_method(
    name: str | None = None,
    *,
    epsilon: Rational | None = None,
    delta: Rational | None = None,
    cap: int | None = None,
    **settings: Any,
) -> CountMethod:
    """A way to count where not everything was said: weighted counts, or clipped ones where there is a delta.

    Parameters
    ----------
    cap
        What one user may weigh. Where a way bounds lengths it is the largest squared length: what a user with so many
        different items, once each, has.
    settings
        Further settings of the way to count.

    Examples
    --------
    >>> usual_method(epsilon=1).name, usual_method(epsilon=1, delta="1e-6", cap=50).parameters["norm_squared"]
    ('weighted', '50')
    """
    name = name or ("weighted" if delta is None else "clipped")
    known = settings_of(name)
    given = {key: value for key, value in {"epsilon": epsilon, "delta": delta, "cap": cap}.items() if value is not None}
    if "cap" in given and "norm_squared" in known:
        settings.setdefault("norm_squared", given.pop("cap"))
    usual = {"cap": USUAL_CAP, "norm_squared": USUAL_NORM_SQUARED}
    missing = {
        setting: value
        for setting, value in usual.items()
        if setting in known and known[setting].default is inspect.Parameter.empty
    }
    return count_method(name, **{**missing, **given, **settings})
