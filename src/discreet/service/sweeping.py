"""What killed processes left on the disk: uploads of no dataset, forgotten datasets, releases half written."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import sqlalchemy as sql

from discreet.service.schema import DATASETS, TENANTS
from discreet.service.store import Store

__all__ = ["sweep"]

UPLOAD, DATASET = re.compile(r"up_[0-9a-f]{24}"), re.compile(r"ds_[0-9a-f]{24}")
ASIDE, ASIDE_SECONDS = re.compile(r"\.discreet-[0-9a-f]{12}"), 24 * 3600.0
"""A release is written under such a name and then renamed: nobody writes one for a day."""

WRITTEN = re.compile(r"upload(\.\w+){1,2}|public\.parquet|\.discreet-[0-9a-f]{12}")
"""The files that discreet writes beside a dataset. A folder with any other is left alone."""


def sweep(store: Store) -> list[Path]:
    """Remove what nobody will use again; what was removed. Locks that nobody holds go, too.

    An upload that is under way is marked by the server that takes it, also where several share the folder.
    """
    store.sweep_locks()
    removed: list[Path] = []
    for tenant in [row.id for row in store.all(sql.select(TENANTS.c.id))]:
        for folder in sorted(store.folder(tenant, "data").iterdir()):
            if _is_ours(folder):
                with store.marked(folder.name) as mine:
                    if mine and not _is_named(store, tenant, folder):
                        removed.append(folder)
                        shutil.rmtree(folder, ignore_errors=True)
        for folder in sorted(store.folder(tenant, "releases").iterdir()):
            old = ASIDE.fullmatch(folder.name) and time.time() - folder.lstat().st_mtime > ASIDE_SECONDS
            if old and folder.is_dir() and not folder.is_symlink():
                removed.append(folder)
                shutil.rmtree(folder, ignore_errors=True)
    return removed


def _is_ours(folder: Path) -> bool:
    """Whether a folder has a name that discreet gave, and nothing in it that discreet did not write."""
    named = UPLOAD.fullmatch(folder.name) or DATASET.fullmatch(folder.name)
    if not named or folder.is_symlink() or not folder.is_dir():
        return False
    return all(WRITTEN.fullmatch(file.name) and not file.is_symlink() for file in folder.iterdir())


def _is_named(store: Store, tenant: str, folder: Path) -> bool:
    """Whether a dataset has this folder, or its file in it."""
    rows = store.all(sql.select(DATASETS.c.id, DATASETS.c.file).where(DATASETS.c.tenant == tenant))
    return any(folder.name == row.id or Path(row.file).parent == folder for row in rows)
