"""A recommender behind HTTP."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import DataError, EvaluationError, UsageError
from discreet.models.foreign.answers import list_of, list_table

__all__ = ["HTTPModel"]

TIMEOUT = 600.0
"""Seconds to wait for a service to learn or to answer."""


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
