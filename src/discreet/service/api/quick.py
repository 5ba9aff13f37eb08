"""The question that is asked most, answered before any route is looked for: recommendations for a posted history."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import DiscreetError
from discreet.service.access import Caller
from discreet.service.asking import MOST_BATCH, MOST_HISTORY, MOST_ITEMS, MOST_LETTERS, History
from discreet.service.guard import answer
from discreet.service.hub import Hub
from discreet.service.problems import Problem, problem_of

__all__ = ["Quick", "plain_batch"]

BEFORE, AFTER = "/v1/releases/", "/recommend"

JSON_TYPE = (b"content-type", b"application/json")

_NAMES, _NUMBERS = frozenset((str, int)), frozenset((int, float))


class Quick:
    """Answers the plain question of a key, a release and a model that were used a moment ago.

    Whatever is not plain goes on to the route, which describes itself, checks everything, and refuses what is to be
    refused: other fields than ``history`` and ``n``, a body in parts, a key that has to be looked up, a mistake of any
    kind. Both give the same answer to the same question.
    """

    def __init__(self, app: ASGIApp, hub: Hub) -> None:
        self.app, self.hub = app, hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        release = _release(scope) if scope["type"] == "http" else None
        if release is None:
            await self.app(scope, receive, send)
            return
        try:
            message = await receive()
        except HTTPException as error:  # too large or too late: the route tells it
            await self.app(scope, _refusing(error), send)
            return
        try:
            whole = not message.get("more_body", False)
            content = self._answer(scope, release, message.get("body", b"")) if whole else None
        except (Problem, DiscreetError) as error:
            problem = error if isinstance(error, Problem) else problem_of(error)
            await answer(problem)(scope, receive, send)
            return
        if content is None:
            await self.app(scope, _again(message, receive), send)
            return
        headers = [(b"content-length", b"%d" % len(content)), JSON_TYPE]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def _answer(self, scope: Scope, release: str, body: bytes) -> bytes | None:
        """The answer; None where the question is for the route."""
        hub, caller = self.hub, self._caller(scope)
        if caller is None or not caller.may("ask"):
            return None
        row = hub.releases.known(caller, release)
        model = None if row is None else hub.asking.loaded(row)
        if row is None or model is None:
            return None
        name, known = hub.asking.known(caller.key, row.id, b"recommend", body)
        asked = _plain(body) if known is None else None
        if known is None and asked is None:
            return None
        hub.count_request(caller)
        if known is not None or asked is None:
            return known
        return hub.asking.remember(name, orjson.dumps(model.recommend(*asked)))

    def _caller(self, scope: Scope) -> Caller | None:
        """Who asks, if the key was found good a moment ago and the body is JSON."""
        key = kind = None
        for name, value in scope["headers"]:
            if name == b"authorization" and key is None:
                key = value
            elif name == b"content-type" and kind is None:
                kind = value
        if key is None or kind != JSON_TYPE[1] or key[:7] != b"Bearer ":
            return None
        return self.hub.keys.recent(key[7:].decode("latin-1"))


def _release(scope: Scope) -> str | None:
    """The release that a request asks, if this is the question."""
    path = scope["path"]
    if not path.endswith(AFTER) or scope["method"] != "POST" or not path.startswith(BEFORE) or scope.get("root_path"):
        return None
    release = path[len(BEFORE) : -len(AFTER)]
    return None if "/" in release else release


def _plain(body: bytes) -> tuple[History, int] | None:
    """History and number of a question that has nothing else in it and no mistake; None for any other."""
    asked = _loaded(body, {"history", "n"})
    if asked is None:
        return None
    history, n = asked.get("history", ...), asked.get("n", 10)
    return (history, n) if _is_number(n) and _is_history(history, long=len(body) > MOST_LETTERS) else None


def plain_batch(body: bytes) -> tuple[list[History] | None, list[Any] | None, int] | None:
    """Histories or users, and the number, of a batch that has no mistake; None for any other."""
    asked, long = _loaded(body, {"histories", "users", "n"}), len(body) > MOST_LETTERS
    if asked is None or ("histories" in asked) == ("users" in asked) or not _is_number(n := asked.get("n", 10)):
        return None
    if "users" in asked:
        users = asked["users"]
        return (None, users, n) if type(users) is list and _is_history(users, long=long) else None
    histories = asked["histories"]
    if type(histories) is not list or len(histories) > MOST_BATCH:
        return None
    return (histories, None, n) if all(_is_history(one, long=long) for one in histories) else None


def _loaded(body: bytes, fields: set[str]) -> dict[str, Any] | None:
    """An object of no other fields than these, whose texts have no zero byte."""
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return asked if type(asked) is dict and asked.keys() <= fields and b"\\u0000" not in body else None


def _is_history(given: Any, *, long: bool) -> bool:
    """Whether this is a list of texts and whole numbers, or an object of numbers; ``long`` texts are looked at."""
    if type(given) is list:
        good = _NAMES.issuperset(map(type, given))
    else:
        good = type(given) is dict and _NUMBERS.issuperset(map(type, given.values()))
    if not good or len(given) > MOST_HISTORY:
        return False
    return not long or all(type(item) is int or len(item) <= MOST_LETTERS for item in given)


def _is_number(n: Any) -> bool:
    return type(n) is int and 1 <= n <= MOST_ITEMS


def _refusing(error: HTTPException) -> Receive:
    async def receive() -> Message:
        raise error

    return receive


def _again(message: Message, receive: Receive) -> Receive:
    """What was received once more, and then what comes after it."""
    waiting = [message]

    async def first() -> Message:
        return waiting.pop() if waiting else await receive()

    return first
