"""The application: routes, limits, headers, and what becomes of errors."""

from __future__ import annotations

import gc
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import sqlalchemy as sql
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.service.access import Caller
from discreet.service.api import admin, asking, data, interactive, keys, releases, runs
from discreet.service.api.quick import Quick
from discreet.service.guard import Guard
from discreet.service.hub import Hub
from discreet.service.pages.adding import add_pages
from discreet.service.pages.shared import answer
from discreet.service.problems import Problem, away, is_away, problem_of
from discreet.service.schema import TENANTS
from discreet.service.settings import ServiceSettings
from discreet.service.store import Store

__all__ = ["create_app", "run_server"]

COLLECT_AFTER = (50_000, 20, 50)
"""Objects and passes after which the garbage collector looks for cycles."""

LOGGER = logging.getLogger("discreet.service")


def create_app(settings: ServiceSettings, *, jobs: bool = True) -> FastAPI:
    """The service as an ASGI application.

    Parameters
    ----------
    jobs
        Whether this process starts the processes of jobs.
    """
    settings.load_models()
    hub = Hub(Store(settings))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if jobs and settings.workers:
            hub.supervisor.start()
        yield
        await run_in_threadpool(hub.sessions.end)
        if jobs and settings.workers:
            hub.supervisor.stop()

    app = FastAPI(
        title="discreet",
        version=__version__,
        summary="Differentially private recommendations: runs within a budget, releases that anybody may ask.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.hub = hub
    app.state.local = _local_curator(hub) if settings.insecure_local else None
    asking.add_quick(app)
    for part in (keys, data, runs, releases, asking, interactive, admin):
        app.include_router(part.router, prefix="/v1")
    app.include_router(admin.health)
    add_pages(app)
    _add_errors(app)
    app.build_middleware_stack = lambda: Guard(Quick(FastAPI.build_middleware_stack(app), hub), settings)
    return app


def run_server(app: FastAPI, *, host: str, port: int) -> None:
    """Answer requests until somebody ends it.

    What is there after the start stays, so the garbage collector need not look at it again and again: with a catalog in
    memory that would take longer than the answers.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,  # somebody who follows a job does not keep the server from ending
    )


def _local_curator(hub: Hub) -> Caller:
    """Who everybody is where the service is open on purpose."""
    row = hub.store.one(sql.select(TENANTS))
    tenant = row.id if row is not None else hub.keys.add_tenant("local")[0]
    return Caller("local", "local", "curator", tenant)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def _problem(request: Request, error: Problem) -> Response:
        return answer(error, request)

    @app.exception_handler(DiscreetError)
    async def _discreet(request: Request, error: DiscreetError) -> Response:
        if is_away(error):
            LOGGER.error("the ledger cannot be used: %s", error)  # where it is, is for the operator
        return answer(problem_of(error), request)

    async def _away(request: Request, error: Exception) -> Response:
        LOGGER.warning("the database does not answer: %s", type(error).__name__)
        return answer(away(), request)

    @app.exception_handler(ClientDisconnect)
    async def _gone(request: Request, error: ClientDisconnect) -> Response:
        return answer(Problem(400, "http", "The connection ended before the request did."), request)

    for kind in (OperationalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(kind, _away)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = {"field": ".".join(str(part) for part in first["loc"])}
        detail = f"{where['field']}: {first['msg']}."
        return answer(Problem(422, "request", detail, where=where, remedy="See /v1/openapi.json."), request)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        words = {404: "There is nothing here.", 405: "This cannot be done here."}
        code = {404: "not-found", 408: "time", 413: "too-large"}.get(error.status_code, "http")
        text = words.get(error.status_code, str(error.detail))
        return answer(Problem(error.status_code, code, text, headers=dict(error.headers or {})), request)

    @app.exception_handler(Exception)
    async def _defect(request: Request, error: Exception) -> Response:
        # Where it happened, without its message, which may quote what was sent.
        frames = traceback.extract_tb(error.__traceback__)
        places = " < ".join(f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in reversed(frames))
        route = getattr(request.scope.get("route"), "path", "?")
        LOGGER.error("defect at %s %s: %s at %s", request.method, route, type(error).__name__, places)
        return answer(Problem(500, "defect", "This is a defect of discreet.", remedy="Please report it."), request)
