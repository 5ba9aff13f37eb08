"""Models that are functions of one release: what they share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.bounding import distinct_items, require_catalog
from discreet.privacy.release import Release
from discreet.recommender import Recommender

__all__ = ["ReleasedModel", "require_named_items", "require_share"]


class ReleasedModel(Recommender):
    """A model whose folder is its release: saved without anybody's records, and rebuilt from what is public."""

    release_: Release

    @abstractmethod
    def _build(self, release: Release) -> None:
        """Set everything from the release: post-processing."""

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        self._require_fitted()
        return self.release_.save(folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        release = Release.load(folder)
        if release.kind != cls.name:
            raise ReleaseError(f"{folder} holds {release.kind!r}, not {cls.name!r}.")
        settings = {field.name: release.parameters[field.name] for field in fields(cls)}  # type: ignore[arg-type]
        model = cls(**{name: tuple(v) if isinstance(v, list) else v for name, v in settings.items()})
        model._build(release)
        model.records_ = None
        return model


def require_named_items(data: Interactions, what: str) -> Interactions:
    """Records with a public catalog whose ids can be written, one of each user and item."""
    require_catalog(data, what)
    if data.items.series.dtype == pl.Object:
        raise UsageError("a saved model names its items: their ids must be numbers or text.")
    return distinct_items(data)


def require_share(value: object, name: str) -> None:
    if not 0 < value < 1:  # type: ignore[operator]
        raise UsageError(f"{name} = {value} must be between 0 and 1.")


def standardized(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Values with weighted mean 0 and weighted variance 1; all zero where they do not differ."""
    centered = values - np.average(values, weights=weights)
    spread = np.sqrt(np.average(centered**2, weights=weights))
    return centered / spread if spread > 0 else centered
