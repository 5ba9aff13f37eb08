"""What every request passes: the limits of its size and of its time, and the headers of its answer.

Plain ASGI: it costs a few microseconds, where a middleware of request and response objects costs more than an answer.
"""

from __future__ import annotations

import asyncio

from fastapi import Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.service.forgery import require_local
from discreet.service.problems import MEDIA_TYPE, Problem
from discreet.service.settings import ServiceSettings

__all__ = ["HEADERS", "Guard", "answer"]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

STAY_SECURE = {"Strict-Transport-Security": "max-age=31536000"}
"""Where the service is reached by TLS: a browser that was here once does not come without it."""

UPLOADS = "/v1/uploads"
"""Has a limit of its own, and is written to the disk as it comes."""

FORM_BYTES = 100_000
"""Of a form with a file: its other fields."""

CHUNK_SECONDS, BODY_SECONDS = 30.0, 120.0
"""How long the next part of a body may take to come, and the whole of one that is no upload."""


class Guard:
    """Refuses bodies that are too large, said or sent, or too slow, and adds the headers that every answer has.

    It is outside of everything else, so that the answer to a defect has the headers, too.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self.app, self.settings = app, settings
        headers = HEADERS | (STAY_SECURE if settings.secure_cookies else {})
        self._headers = tuple((name.lower().encode(), value.encode()) for name, value in headers.items())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"] = list(message.get("headers", ()))
                known = {name for name, _ in headers}
                headers.extend(pair for pair in self._headers if pair[0] not in known)
            await send(message)

        if self.settings.insecure_local:
            try:
                require_local(Request(scope), self.settings)
            except Problem as problem:
                await answer(problem)(scope, receive, guarded)
                return
        if "\0" in scope["path"] or b"%00" in scope["query_string"] or b"\0" in scope["query_string"]:
            await answer(Problem(400, "http", "The address has a zero byte in it."))(scope, receive, guarded)
            return
        begun, ended, is_upload = asyncio.get_running_loop().time(), False, self._is_upload(scope["path"])

        async def in_time() -> Message:
            """The next part of the body. What comes after it, the end of the connection, is waited for as long."""
            nonlocal ended
            if ended:
                return await receive()
            left = BODY_SECONDS - (asyncio.get_running_loop().time() - begun)
            try:
                async with asyncio.timeout(CHUNK_SECONDS if is_upload else min(left, CHUNK_SECONDS)):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The body of the request did not come in time.") from None
            ended = not message.get("more_body", False)
            return message

        if scope["path"] == UPLOADS:
            await self.app(scope, in_time, guarded)
            return
        limit = self._limit(scope["path"])
        size = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not size.isdigit() or int(size) > limit:
            await answer(_too_large(limit))(scope, receive, guarded)
            return
        left = limit

        async def counted() -> Message:
            nonlocal left
            message = await in_time()
            left -= len(message.get("body", b""))
            if left < 0:  # it did not say how long it is
                raise HTTPException(413, _too_large(limit).detail)
            return message

        await self.app(scope, counted, guarded)

    def _limit(self, path: str) -> int:
        """The most bytes of a request: forms with a file have the limit of uploads."""
        return self.settings.upload_limit + FORM_BYTES if self._is_upload(path) else self.settings.body_limit

    def _is_upload(self, path: str) -> bool:
        return path == UPLOADS or (path.startswith("/populations/") and path.endswith("/data"))


def _too_large(limit: int) -> Problem:
    return Problem(413, "too-large", f"The most that is taken is {limit:,} bytes.", remedy="Send less.")


def answer(problem: Problem) -> Response:
    """A problem as an answer."""
    return JSONResponse(problem.to_json(), problem.status, media_type=MEDIA_TYPE, headers=problem.headers)
