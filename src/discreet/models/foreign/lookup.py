"""Recommenders from elsewhere by name: models of other libraries, code of somebody's own, services behind a URL.

The one lookup of ``evaluate``, ``audit``, the attacks and the command line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from discreet.errors import MissingExtraError, Remedy, UsageError
from discreet.models.foreign.http import HTTPModel
from discreet.models.foreign.libraries import ImplicitModel, LensKitModel, RecToolsModel, SurpriseModel, load
from discreet.models.foreign.making import Made
from discreet.models.foreign.recbole import RecBoleModel
from discreet.models.recommender import Recommender
from discreet.models.registry import code_at, names
from discreet.privacy.method import Method
from discreet.privacy.numbers import as_fraction

__all__ = ["LIBRARIES", "is_of_library", "is_outside", "of_library", "outside"]


@dataclass(frozen=True)
class Library:
    """Where the models of a library are, and what they are wrapped in.

    ``suffix`` ends the names of its classes and may be left out: ``lenskit:ItemKNN`` is its ``ItemKNNScorer``.
    """

    adapter: Any
    modules: tuple[str, ...]
    suffix: str = ""

    def models(self) -> dict[str, Callable[..., Any]]:
        """The models of the library that is installed, by the names of their classes."""
        found: dict[str, Callable[..., Any]] = {}
        missing = load(self.library, self.library).__name__
        for place in self.modules:
            try:
                module = import_module(place)
            except ModuleNotFoundError as error:
                missing = error.name or place  # a part of the library that needs more than is installed
                continue
            listed: dict[str, Any] = {one: getattr(module, one, None) for one in dir(module) if one[:1].isupper()}
            found |= {name: one for name, one in listed.items() if self._is_model(name, one)}
        if not found:
            raise MissingExtraError(missing, self.library)
        return found

    @property
    def library(self) -> str:
        """The name of the package."""
        return self.modules[0].partition(".")[0]

    def _is_model(self, name: str, value: Any) -> bool:
        """Whether it is a model and no base class; functions that make one, as those of implicit, count."""
        if not callable(value) or not str(getattr(value, "__module__", "")).startswith(self.library):
            return False
        base = name.endswith("Base") or (name.startswith("Base") and name[4:5].isupper())
        learns = name.endswith(self.suffix) and any(hasattr(value, verb) for verb in ("fit", "train"))
        return not base and (learns or not isinstance(value, type))


LIBRARIES: dict[str, Library] = {
    "lenskit": Library(
        LensKitModel, ("lenskit.knn", "lenskit.als", "lenskit.basic", "lenskit.flexmf", "lenskit.funksvd"), "Scorer"
    ),
    "implicit": Library(
        ImplicitModel,
        ("implicit.nearest_neighbours", "implicit.als", "implicit.bpr", "implicit.lmf"),
        "Recommender",
    ),
    "surprise": Library(SurpriseModel, ("surprise",)),
    "rectools": Library(RecToolsModel, ("rectools.models",), "Model"),
    "recbole": Library(RecBoleModel, ("recbole.model.general_recommender",)),
}


def is_of_library(name: str) -> bool:
    """Whether a name stands for a model of another library: LIBRARY or LIBRARY:MODEL."""
    return name.partition(":")[0] in LIBRARIES


def is_outside(name: str) -> bool:
    """Whether a name stands for a model from elsewhere: a library, a class in a module, or a URL."""
    return ":" in name or is_of_library(name)


def of_library(name: str, settings: Mapping[str, Any] | None = None) -> Any:
    """A model of another library by its name, such as ``lenskit:ItemKNN``; not fitted."""
    given = dict(settings or {})
    library, _, model = name.partition(":")
    if library not in LIBRARIES:
        raise UsageError(
            f"there is no library {library!r} that models are known of.",
            remedy=f"Libraries: {', '.join(LIBRARIES)}. Models of discreet: {', '.join(names('recommender'))}.",
        )
    known = LIBRARIES[library]
    if not model:
        return Made(known.adapter, given)()
    models = known.models()
    for spelled in (model, model + known.suffix):
        if spelled in models:
            found = known.adapter.named(models[spelled], given)
            found.name = name  # in tables and reports
            return found
    listed = ", ".join(sorted(one.removesuffix(known.suffix) for one in models))
    raise UsageError(f"{library} has no model {model!r}.", remedy=f"There are: {listed}.")


def outside(
    target: str,
    *,
    train: str | None = None,
    settings: Mapping[str, Any] | None = None,
    budget: Mapping[str, Any] | None = None,
) -> Any:
    """What a text such as ``lenskit:ItemKNN``, ``package.module:Class``, or a URL with {user} stands for.

    Parameters
    ----------
    target
        LIBRARY or LIBRARY:MODEL; MODULE:CLASS or FILE.py:CLASS, where a function that makes a model does as well; or
        the URL of recommendations with {user} and {n} in it.
    train
        For a URL: where the records are posted to, so that the service learns from them.
    settings
        Keyword arguments of the class or function.
    budget
        epsilon and delta, where the class or function has such arguments: exact text for classes of discreet's own
        kind, numbers for others.

    Examples
    --------
    >>> outside("discreet.counting:ItemCounts", settings={"epsilon": 1, "cap": 3})().cap
    3
    """
    given = dict(settings or {})
    if target.startswith(("http://", "https://")):
        if train is None:
            raise UsageError(
                "a service must be told what to learn from.",
                remedy=Remedy(
                    "Give train=, the URL that takes records.", cli="Give --train-url, the URL that takes records."
                ),
            )
        if given:
            raise UsageError(f"a service takes no settings ({', '.join(given)}).", remedy="Set them where it runs.")
        return HTTPModel(target, train)
    if is_of_library(target):
        return of_library(target, given)
    make = code_at(target, f"Or write {', '.join(f'{one}:MODEL' for one in LIBRARIES)} or a URL.")
    return Made(make, _taken(make, budget or {}) | given)


def _taken(make: Callable[..., Any], budget: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a budget that a class or function has arguments for."""
    try:
        known = inspect.signature(make).parameters
    except ValueError:
        return {}
    ours = isinstance(make, type) and issubclass(make, Recommender | Method)
    return {name: value if ours else _number(value) for name, value in budget.items() if name in known}


def _number(text: Any) -> int | float:
    """A budget as other classes take it."""
    exact = as_fraction(text)
    return int(exact) if exact.denominator == 1 else float(exact)
