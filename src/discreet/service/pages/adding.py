"""Adds the pages to the application."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles

from discreet.service.keys import secret
from discreet.service.pages import (
    admin,
    attack,
    choosing,
    jobs,
    overview,
    populations,
    releases,
    reports,
    series,
    sessions,
    sign_in,
)
from discreet.service.pages.attack_story import StoryKeeper
from discreet.service.pages.shared import STATIC, SignInNeededError, go

__all__ = ["add_pages"]


class Kept(StaticFiles):
    """Files whose addresses change with their content, so that browsers may keep them."""

    def file_response(self, *given: object, **more: object) -> Response:
        answer = super().file_response(*given, **more)  # type: ignore[arg-type]
        answer.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return answer


def add_pages(app: FastAPI) -> None:
    """Add every page, and what becomes of people who are not signed in."""
    app.state.local_csrf = secret()
    app.state.story = StoryKeeper(app.state.hub.store.settings.folder)
    parts = (sign_in, overview, populations, releases, choosing, sessions, series, attack, jobs, reports, admin)
    for part in parts:
        app.include_router(part.router)
    app.mount("/static", Kept(directory=STATIC))

    @app.exception_handler(SignInNeededError)
    async def _sign_in(request: Request, error: SignInNeededError) -> Response:
        here = request.url.path if request.method == "GET" else "/"
        return go("/sign-in" if here == "/" else f"/sign-in?then={quote(here)}")
