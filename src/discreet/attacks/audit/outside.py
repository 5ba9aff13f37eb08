"""Recommenders from elsewhere by name: models of other libraries, and services behind a URL."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Self
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import polars as pl

from discreet.attacks.adapters import ImplicitModel, LensKitModel, SurpriseModel
from discreet.data.interactions import Interactions
from discreet.errors import DataError, EvaluationError, MissingExtraError, UsageError

__all__ = ["HTTPModel", "outside"]

LIBRARIES: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "lenskit": (LensKitModel, ("lenskit.knn", "lenskit.als", "lenskit.basic", "lenskit.flexmf"), "Scorer"),
    "implicit": (ImplicitModel, ("implicit.nearest_neighbours", "implicit.als", "implicit.bpr"), "Recommender"),
    "surprise": (SurpriseModel, ("surprise",), ""),
}
PATIENCE = 600.0


def outside(target: str, *, train: str | None = None) -> Any:
    """What a text such as ``lenskit:ItemKNN``, ``surprise:SVD`` or a URL with {user} stands for.

    Parameters
    ----------
    target
        LIBRARY or LIBRARY:MODEL, or the URL of recommendations with {user} and {n} in it.
    train
        For a URL: where the records are posted to, so that the service learns from them.
    """
    if target.startswith(("http://", "https://")):
        if train is None:
            raise UsageError(
                "a service must be told what to learn from.", remedy="Give the URL that takes records (--train-url)."
            )
        return HTTPModel(target, train)
    library, _, name = target.partition(":")
    if library not in LIBRARIES:
        known = ", ".join(f"{one}:MODEL" for one in LIBRARIES)
        raise UsageError(f"{target!r} cannot be audited.", remedy=f"Write {known} or a URL with {{user}}.")
    adapter, modules, suffix = LIBRARIES[library]
    return adapter(make=_class(library, modules, name, suffix)) if name else adapter()


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
        rows = []
        for user in users:
            url = self.recommend_url.replace("{user}", quote(str(user), safe="")).replace("{n}", str(n))
            for rank, (item, score) in enumerate(_listed(_asked(Request(url)), url)[:n], start=1):
                rows.append((user, self._id(item), score if score is not None else float(-rank), rank))
        return pl.DataFrame(rows, schema=["user_id", "item_id", "score", "rank"], orient="row")

    def _id(self, item: Any) -> Any:
        """An id as the records have it; services often turn numbers into text."""
        items = self.data_.items
        if item in items:
            return item
        if items.series.dtype.is_integer() and str(item).lstrip("-").isdecimal():
            return int(item)
        return str(item)


def _asked(request: Request) -> Any:
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read()
    except (URLError, TimeoutError, OSError) as error:
        raise EvaluationError(f"{request.full_url} does not answer: {error}.") from error
    try:
        return json.loads(text) if text.strip() else None
    except ValueError as error:
        raise DataError(f"{request.full_url} does not answer in JSON: {error}.") from error


def _listed(answer: Any, url: str) -> list[tuple[Any, float | None]]:
    if isinstance(answer, dict):
        answer = answer.get("items", answer.get("recommendations"))
    if not isinstance(answer, list):
        raise DataError(f"{url} does not answer with a list of items.")
    try:
        return [(one["item_id"], one.get("score")) if isinstance(one, dict) else (one, None) for one in answer]
    except KeyError:
        raise DataError(f"{url} lists something without an item_id.") from None
