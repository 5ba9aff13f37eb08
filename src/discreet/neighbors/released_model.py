"""Models that are functions of one release: what they share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from pathlib import Path
from typing import Self

import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.bounding import require_catalog
from discreet.privacy.release import Release
from discreet.recommender import Recommender

__all__ = ["ReleasedModel", "require_named_catalog"]


class ReleasedModel(Recommender):
    """A model whose folder is its release: saved without anybody's records, and rebuilt from what is public."""

    release_: Release

    @abstractmethod
    def _build(self, release: Release) -> None:
        """Set everything from the release: post-processing."""

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release into a folder; it holds nobody's records."""
        self._require_fitted()
        return self.release_.save(folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a release and build the model from it."""
        release = Release.load(folder)
        if release.kind != cls.name:
            raise ReleaseError(f"{folder} holds {release.kind!r}, not {cls.name!r}.")
        settings = {field.name: release.parameters[field.name] for field in fields(cls)}  # type: ignore[arg-type]
        model = cls(**settings)
        model._build(release)
        model.records_ = None
        return model


def require_named_catalog(data: Interactions, what: str) -> None:
    """Refuse data without a public catalog, or with ids that cannot be written."""
    require_catalog(data, what)
    if data.items.series.dtype == pl.Object:
        raise UsageError("a saved model names its items: their ids must be numbers or text.")
