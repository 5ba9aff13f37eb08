"""Releases, and asking them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from discreet.service.api.shared import Body, Cursor, Limit, TheCaller, TheHub, page_of, problems
from discreet.service.asking import MOST_ITEMS, top
from discreet.service.releases import release_for

__all__ = ["router"]

router = APIRouter(tags=["releases"])

Item = str | int
History = Annotated[
    list[Item] | dict[str, float],
    Field(max_length=10_000, examples=[["film-3", "film-17"]], description="Never logged."),
]
Many = Annotated[int, Field(ge=1, le=MOST_ITEMS)]


class Question(Body):
    history: History
    n: Many = 10


class Batch(Body):
    histories: Annotated[list[History], Field(max_length=10_000)]
    n: Many = 10


class Ratings(Body):
    items: Annotated[list[Item], Field(max_length=MOST_ITEMS, examples=[["film-3"]])]
    history: History


@router.get("/releases", responses=problems())
def list_releases(
    hub: TheHub, caller: TheCaller, cursor: Cursor = None, limit: Limit = 50, population: str | None = None
) -> dict[str, Any]:
    """Releases and models, the latest first."""
    rows = hub.releases.listed(caller, before=cursor, limit=limit, population=population)
    return page_of(rows, [release_for(row, caller) for row in rows], limit)


@router.get("/releases/{release}", responses=problems(404))
def show_release(hub: TheHub, caller: TheCaller, release: str) -> dict[str, Any]:
    """A release and its guarantee."""
    return release_for(hub.releases.get(caller, release), caller)


@router.get("/releases/{release}/table", responses=problems(404, 409))
def show_table(
    hub: TheHub,
    caller: TheCaller,
    release: str,
    part: str | None = None,
    rows: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """The first rows of a table of a release."""
    caller.require("download releases")
    return hub.releases.preview(hub.releases.get(caller, release), part, rows=rows)


@router.get("/releases/{release}/verify", responses=problems(404, 409))
def verify_release(hub: TheHub, caller: TheCaller, release: str) -> dict[str, Any]:
    """Check every file of a release against its hash, and the release against the ledger."""
    caller.require("download releases")
    row = hub.releases.get(caller, release)
    found = hub.releases.load(row)
    account = hub.store.ledger(row.tenant, caller.who).account_of_release(found.id)
    return {"whole": True, "release": found.id, "charged_to": None if account is None else account.name}


@router.get(
    "/releases/{release}/download",
    response_class=Response,
    responses={
        200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}},
        **problems(404, 409),
    },
)
def download_release(hub: TheHub, caller: TheCaller, release: str) -> Response:
    """The files of a release in a ZIP file."""
    caller.require("download releases")
    row = hub.releases.get(caller, release)
    hub.releases.load(row)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(Path(row.place).iterdir()):
            archive.write(file, f"{row.id}/{file.name}")
    headers = {"Content-Disposition": f'attachment; filename="{row.id}.zip"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)


@router.post("/releases/{release}/recommend", responses=problems(404, 409))
async def recommend(hub: TheHub, caller: TheCaller, release: str, body: Question) -> dict[str, Any]:
    """The best items for somebody with this history. Costs nothing; unknown items are ignored and named."""
    caller.require("ask")
    return hub.asking.model(hub.releases.get(caller, release)).recommend(body.history, body.n)


@router.post("/releases/{release}/recommend/batch", responses=problems(404, 409))
def recommend_batch(hub: TheHub, caller: TheCaller, release: str, body: Batch) -> dict[str, Any]:
    """The same for many histories at once, in their order."""
    caller.require("ask")
    model = hub.asking.model(hub.releases.get(caller, release))
    return {"entries": [model.recommend(history, body.n) for history in body.histories]}


@router.get("/releases/{release}/similar/{item}", responses=problems(404, 409))
def similar(
    hub: TheHub, caller: TheCaller, release: str, item: str, n: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 10
) -> dict[str, Any]:
    """The items most like one."""
    caller.require("ask")
    return hub.asking.model(hub.releases.get(caller, release)).similar(item, n)


@router.post("/releases/{release}/predict", responses=problems(404, 409))
def predict(hub: TheHub, caller: TheCaller, release: str, body: Ratings) -> dict[str, Any]:
    """Predicted ratings of items for somebody with this history."""
    caller.require("ask")
    return hub.asking.model(hub.releases.get(caller, release)).predict(body.items, body.history)


@router.get("/releases/{release}/items", responses=problems(404, 409))
def complete(
    hub: TheHub, caller: TheCaller, release: str, text: Annotated[str, Query(max_length=200)] = ""
) -> dict[str, Any]:
    """Items of a model whose id or title has the text in it."""
    caller.require("ask")
    return {"entries": hub.asking.model(hub.releases.get(caller, release)).complete(text)}


@router.get("/releases/{release}/top", responses=problems(404, 409))
def show_top(
    hub: TheHub,
    caller: TheCaller,
    release: str,
    k: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 10,
    where: Annotated[list[str] | None, Query(description="NAME=VALUE of a context; repeatable.", max_length=10)] = None,
) -> dict[str, Any]:
    """The most popular items of a release of counts, in all or in a context."""
    caller.require("ask")
    row = hub.releases.get(caller, release)
    named = {name: value for name, _, value in (one.partition("=") for one in where or [])}
    return {"entries": top(row.place, k, named)}
