"""Models that are functions of one release: what they share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError
from discreet.models.recommender import Recommender
from discreet.privacy.method import Method
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["NOT_COVERED", "SEVERAL_RECORDS", "ReleasedModel"]


NOT_COVERED = (
    "the public list of items and rating scale",
    "facts that would be true without this person's data",
    "what a person sees in their own recommendations",
)
"""What no guarantee of a model covers whose results for a person also use that person's own records."""

SEVERAL_RECORDS = ("who the users are", "several records of one user at once")
"""What a guarantee for one record does not cover besides."""


class ReleasedModel(Method, Recommender):
    """A model that is a function of its release: saved without records, and rebuilt from what is public.

    A subclass fills in ``_plan`` and ``_rounds`` (the release, see ``Method``), ``_build`` and ``_score``.

    Attributes
    ----------
    release_ : Release
        What was released; the model is a function of it.
    """

    is_model: ClassVar[bool] = True
    release_: Release
    _items_part: ClassVar[str] = "items"
    """The table of the release that lists the items."""

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if "name" in vars(cls):
            cls.kind = cls.name

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        release = self.release(data, ledger=ledger, allow_refuted=allow_refuted)
        self._use(release, self._whole(data).items)

    def _use(self, release: Release, items: IdMap | None = None) -> None:
        """Become the model of a release; the items, its public catalog, are in it."""
        self.release_, self.guarantee_, self.records_ = release, release.guarantee, None
        self.items_ = IdMap(release.table(self._items_part)["item_id"], what="item") if items is None else items
        self._build(release)

    @abstractmethod
    def _build(self, release: Release) -> None:
        """Set the learned attributes from the release; ``items_`` is set: post-processing."""

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
        return cls.of_release(release)

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """The model of a release, such as that of a step of a series."""
        if release.kind != cls.name:
            raise ReleaseError(f"this is a release of {release.kind!r}, not of {cls.name!r}.")
        names = [one.name for one in fields(cls) if one.name in release.parameters]  # type: ignore[arg-type]
        model = cls(**{name: release.parameters[name] for name in names})
        model._use(release)
        return model
