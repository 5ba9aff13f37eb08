"""Recommenders from elsewhere by name: models of other libraries, and services behind a URL."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import polars as pl

from discreet.attacks.engine.foreign.answers import list_of, list_table
from discreet.attacks.engine.foreign.libraries import ImplicitModel, LensKitModel, RecToolsModel, SurpriseModel
from discreet.attacks.engine.making import Made, made
from discreet.data.interactions import Interactions
from discreet.errors import DataError, EvaluationError, MissingExtraError, Remedy, UsageError
from discreet.models.recommender import Recommender
from discreet.privacy.method import Method
from discreet.privacy.numbers import as_fraction

__all__ = ["HTTPModel", "is_outside", "outside", "speaks_for_itself"]

LIBRARIES: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "lenskit": (LensKitModel, ("lenskit.knn", "lenskit.als", "lenskit.basic", "lenskit.flexmf"), "Scorer"),
    "implicit": (ImplicitModel, ("implicit.nearest_neighbours", "implicit.als", "implicit.bpr"), "Recommender"),
    "surprise": (SurpriseModel, ("surprise",), ""),
    "rectools": (RecToolsModel, ("rectools.models",), "Model"),
}
TIMEOUT = 600.0
"""Seconds to wait for a service to learn or to answer."""


def is_outside(name: str) -> bool:
    """Whether a name stands for a model from elsewhere: a library, a class in a module, or a URL."""
    return ":" in name or name in LIBRARIES


def speaks_for_itself(prototype: Any) -> bool:
    """Whether a model states its own guarantee."""
    example = made(prototype)
    return isinstance(example, Recommender) or callable(getattr(example, "release", None))


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
    library, _, name = target.partition(":")
    if library not in LIBRARIES:
        make = _imported(target)
        return Made(make, _taken(make, budget or {}) | given)
    adapter, modules, suffix = LIBRARIES[library]
    if not name:
        return Made(adapter, given)()
    return adapter(make=Made(_class(library, modules, name, suffix), given))


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


def _imported(target: str) -> Callable[..., Any]:
    """The class or function that MODULE:NAME or FILE.py:NAME stands for. Modules of the current folder are found."""
    place, _, name = target.rpartition(":")
    wanted = "Write MODULE:CLASS or FILE.py:CLASS, " + ", ".join(f"{one}:MODEL" for one in LIBRARIES) + " or a URL."
    if not place or not name:
        raise UsageError(f"{target!r} cannot be audited.", remedy=wanted)
    file = Path(place)
    folder, module = (file.parent, file.stem) if file.suffix == ".py" else (Path(), place)
    if str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"{target!r} cannot be audited: there is no module {error.name!r}.", remedy=wanted) from error
    except Exception as error:
        raise EvaluationError(f"importing {module} raised {type(error).__name__}: {error}.") from error
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UsageError(f"{module} has no class or function {name!r}.", remedy=wanted)
    return found


def _class(library: str, modules: Iterable[str], name: str, suffix: str) -> Any:
    for place in modules:
        try:
            module = import_module(place)
        except ModuleNotFoundError as error:
            if error.name == library:
                raise MissingExtraError(library, library) from error
            continue
        for spelled in (name, name + suffix):
            if callable(getattr(module, spelled, None)):
                return getattr(module, spelled)
    raise UsageError(f"{library} has no model {name!r}.", remedy=f"Looked for it in {', '.join(modules)}.")


@dataclass
class HTTPModel:
    """A recommender behind HTTP.

    Parameters
    ----------
    recommend_url
        Answers a GET with the recommendations of a user, best first: a JSON list of item ids, or of objects with
        ``item_id`` and optionally ``score``; or an object that has such a list under "items" or "recommendations".
        {user} and {n} in it are filled in.
    train_url
        Takes a POST of ``{"records": [[user, item, rating or null], …]}``, forgets what it knew, learns, and answers
        when it is done. Never point it at a system in use: an audit trains it hundreds of times.
    """

    name: ClassVar[str] = "http"
    one_process: ClassVar[bool] = True
    """Whoever trains the service changes it for everybody: no two processes may do so at a time."""

    recommend_url: str
    train_url: str

    def __post_init__(self) -> None:
        if "{user}" not in self.recommend_url:
            raise UsageError("the URL does not say for whom.", remedy="Write {user} where the user's id goes.")

    def fit(self, data: Interactions) -> Self:
        """Send the records and wait."""
        ratings = [None] * len(data) if data.rating is None else data.rating.tolist()
        ids = zip(data.users.decode(data.user), data.items.decode(data.item), ratings, strict=True)
        body = json.dumps({"records": list(ids)}, default=str).encode()
        headers = {"Content-Type": "application/json"}
        _asked(Request(self.train_url, data=body, headers=headers, method="POST"))
        self.data_ = data
        return self

    def recommend(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        """user_id, item_id, score, rank, as the service answers."""
        lists = []
        for user in users:
            url = self.recommend_url.replace("{user}", quote(str(user), safe="")).replace("{n}", str(n))
            told = list_of(_asked(Request(url)), user, self.data_.items)[:n]
            lists.append(
                (user, [(item, -rank if score is None else score) for rank, (item, score) in enumerate(told, 1)])
            )
        return list_table(lists, "user_id", "item_id")


def _asked(request: Request) -> Any:
    try:
        with urlopen(request, timeout=TIMEOUT) as answer:
            text = answer.read()
    except (URLError, TimeoutError, OSError) as error:
        raise EvaluationError(f"{request.full_url} does not answer: {error}.") from error
    try:
        return json.loads(text) if text.strip() else None
    except ValueError as error:
        raise DataError(f"{request.full_url} does not answer in JSON: {error}.") from error
