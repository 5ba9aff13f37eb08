"""The models of an evaluation: given as objects, by name, with several budgets, from other libraries."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.errors import UsageError
from discreet.models.foreign.lookup import is_outside, of_library
from discreet.models.recommender import Recommender
from discreet.models.registry import registered, settings_of, with_settings
from discreet.privacy.numbers import Rational, as_fraction

__all__ = ["contestants_of", "described", "fresh", "label_of"]


def contestants_of(model: Any, epsilons: Iterable[Rational] | None = None) -> dict[str, Any]:
    """Names and models, not fitted. With ``epsilons``, each model that has a budget once for each of them.

    Examples
    --------
    >>> list(contestants_of(["private-recommender", "popularity"], epsilons=[1, "1/2"]))
    ['private-recommender ε = 1', 'private-recommender ε = 1/2', 'popularity']
    """
    tried = None if epsilons is None else list(epsilons)
    for epsilon in tried or ():
        as_fraction(epsilon, "epsilon")
    if tried is not None and not tried:
        raise UsageError("there is no epsilon to evaluate with.")
    given = model.items() if isinstance(model, Mapping) else [(None, one) for one in _listed(model)]
    named: dict[str, Any] = {}
    for name, pattern in given:
        for label, one in _with_budgets(None if name is None else str(name), pattern, tried):
            same = sum(known == label or known.startswith(f"{label} #") for known in named)
            named[label if not same else f"{label} #{same + 1}"] = one
    if not named:
        raise UsageError("there is no model to evaluate.")
    return named


def _listed(model: Any) -> list[Any]:
    if isinstance(model, str | type | Recommender) or _is_outside(model):
        return [model]
    try:
        return list(model)
    except TypeError:
        raise UsageError(f"{type(model).__name__} is not a recommender.") from None


def _with_budgets(name: str | None, pattern: Any, epsilons: list[Rational] | None) -> Iterable[tuple[str, Any]]:
    """One model, or one for each budget where it has a budget."""
    if isinstance(pattern, str) and is_outside(pattern):
        pattern = of_library(pattern)
    kind, settings = _class_and_settings(pattern)
    if kind is None:
        yield name or label_of(pattern), pattern
        return
    has_budget = "epsilon" in settings_of(kind)
    if epsilons is None or not has_budget:
        made = with_settings(kind, settings, name or str(getattr(kind, "name", "")))
        yield name or label_of(made), made
        return
    for epsilon in epsilons:
        made = with_settings(kind, {**settings, "epsilon": epsilon})
        yield (label_of(made) if name is None else f"{name} ε = {epsilon}"), made


def _class_and_settings(pattern: Any) -> tuple[type[Any] | None, dict[str, Any]]:
    """The class of a model and its settings; None for a model of another library, which is copied as it is."""
    if isinstance(pattern, str):
        return registered(pattern, "recommender"), {}
    if isinstance(pattern, type) and issubclass(pattern, Recommender):
        return pattern, {}
    if isinstance(pattern, Recommender):
        return type(pattern), pattern.parameters
    if _is_outside(pattern):
        return None, {}
    raise UsageError(f"{getattr(pattern, '__name__', type(pattern).__name__)} is not a recommender.")


def _is_outside(model: Any) -> bool:
    """Whether a model of another library, or of somebody's own, can be asked for lists or ratings."""
    if isinstance(model, Recommender | type):
        return False
    return callable(getattr(model, "fit", None)) and any(
        callable(getattr(model, name, None)) for name in ("recommend", "predict")
    )


def label_of(pattern: Any) -> str:
    """What a model is called in tables."""
    epsilon = getattr(pattern, "epsilon", None)
    name = str(getattr(pattern, "name", type(pattern).__name__))
    return name if epsilon is None else f"{name} ε = {epsilon}"


def described(pattern: Any) -> dict[str, Any]:
    """Name, budget and settings of a model, JSON-able."""
    name = str(getattr(pattern, "name", type(pattern).__name__))
    if isinstance(pattern, Recommender):
        return {"model": name, "settings": pattern.parameters}
    return {"model": name, "settings": {}, "outside": True}


def fresh(pattern: Any) -> Any:
    """A model that is not fitted, with the same settings."""
    return type(pattern)(**pattern.parameters) if isinstance(pattern, Recommender) else copy.deepcopy(pattern)
