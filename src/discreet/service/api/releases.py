"""Releases: lists, guarantees, tables, files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from discreet.common.folders import SOURCE
from discreet.service.api.shared import Cursor, Limit, TheCaller, TheHub, page_of, problems
from discreet.service.releases import release_for

__all__ = ["router"]

router = APIRouter(tags=["releases"])


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
    row = hub.releases.get(caller, release)
    return release_for(row, caller) | {"reports": hub.reports.about(caller, row)}


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
            if file.name != SOURCE:  # where the curator keeps the records
                # Without the time of the file, which tells how long the job took.
                archive.writestr(zipfile.ZipInfo(f"{row.id}/{file.name}"), file.read_bytes(), zipfile.ZIP_DEFLATED)
    headers = {"Content-Disposition": f'attachment; filename="{row.id}.zip"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)
