"""What is audited: anything that can be fitted again and again."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.attacks.engine.foreign import ForeignModel, as_release, guarded, is_foreign, name_of, unread_parts
from discreet.attacks.engine.identity import identity
from discreet.attacks.engine.making import is_maker, made
from discreet.attacks.engine.queries import Asked, Request
from discreet.attacks.games.datasets import background
from discreet.attacks.games.game import Dataset, Features, Game, NeighboringData, View
from discreet.attacks.games.tables import table_backgrounds
from discreet.attacks.games.tags import tag_background
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import DiscreetError, Remedy, UsageError
from discreet.models.recommender import Recommender
from discreet.privacy.charging import sandbox
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.method import Method
from discreet.privacy.release import Release

__all__ = ["Fitted", "Target", "small_datasets"]

ASKED: dict[View, str] = {
    "predictions": "predict",
    "recommendations": "recommend",
    "similar items": "similar_items",
}

NO_NOISE = Fraction(10**6)
"""An epsilon that hides nothing."""
ANSWERS = "query-answers"
"""What methods release that need queries to answer."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model after a fit in the sandbox, with its release and its guarantee."""

    model: Any
    data: Any
    release: Release | None
    guarantee: Guarantee | None

    @property
    def released(self) -> Release:
        """The release, for games that need one."""
        assert self.release is not None
        return self.release


@dataclass(frozen=True, eq=False)
class Target:
    """A model that is not fitted, or what makes one; see ``audit``.

    ``views`` are what an attacker can see of it. ``claimed`` says that the guarantee comes from whoever audits, as a
    ``cap`` does. ``one_process`` must not be fitted by several processes at a time. Datasets on which it fails are kept
    in the ``folder``, or in a temporary one. ``unread`` are parts of its ``release_`` that no attack can look at.
    """

    prototype: Any
    name: str
    views: frozenset[View]
    guarantee: Guarantee | None
    claimed: bool = False
    cap: int | None = None
    one_process: bool = False
    folder: Path | None = None
    unread: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        prototype: Any,
        data: Dataset,
        *,
        claim: Guarantee | None = None,
        cap: int | None = None,
        folder: Path | None = None,
    ) -> Target:
        """Find out what a prototype shows and claims: it is fitted once, to something small where that can be done."""
        if isinstance(prototype, Method) and prototype.kind == ANSWERS:
            prototype = Asked(prototype)
        example = made(prototype)
        if not callable(getattr(example, "fit", None)) and not callable(getattr(example, "release", None)):
            raise UsageError(
                f"{type(example).__name__} cannot be audited: it has neither fit(data) nor release(data).",
                remedy="Give a Method, a Recommender that was not fitted, or an object with fit and recommend.",
            )
        alone = bool(getattr(example, "one_process", False))
        target = cls(prototype, name_of(example), frozenset(), None, cap=cap, one_process=alone, folder=folder)
        fitted = target._first_fit(data)
        views: set[View] = {view for view, method in ASKED.items() if callable(getattr(fitted.model, method, None))}
        if fitted.release is not None:
            views.add("white box")
        return replace(
            target,
            views=frozenset(views),
            guarantee=claim or fitted.guarantee,
            claimed=claim is not None,
            unread=tuple(unread_parts(getattr(fitted.model, "release_", None))),
        )

    def _first_fit(self, data: Dataset) -> Fitted:
        for small in small_datasets(data):
            try:
                return self.fit(small)
            except DiscreetError:
                continue  # settings may ask for columns or sizes that a small dataset does not have
        return self.fit(data)

    def fit(self, data: Dataset | Request) -> Fitted:
        """One fit in the sandbox: no ledger is charged, and nothing that is released can be saved."""
        with sandbox():
            return self._fitted(made(self.prototype), data)

    def observe(self, pair: NeighboringData, games: Sequence[Game], *, present: bool) -> list[Features]:
        """One fit to one of two datasets, and what each game sees of it. Models that are asked pay for their answers:
        that, too, is done in the sandbox.
        """
        fitted = self.fit(pair.dataset(present=present))
        with sandbox():
            return [np.asarray(game.observe(fitted, pair), dtype=np.float64) for game in games]

    def fit_again(self, fitted: Fitted, data: Dataset | Request) -> Fitted:
        """Another fit of the same object."""
        with sandbox():
            return self._fitted(getattr(fitted.model, "model_", fitted.model), data)

    def _fitted(self, model: Any, data: Any) -> Fitted:
        if isinstance(model, Recommender):
            model.fit(data, allow_refuted=True)
            return Fitted(model, data, as_release(getattr(model, "release_", None), self.name), model.guarantee)
        if callable(getattr(model, "release", None)):
            refutable = "allow_refuted" in inspect.signature(model.release).parameters
            with guarded(f"{self.name}.release", data, self.folder):
                release = model.release(data, **({"allow_refuted": True} if refutable else {}))
            if not isinstance(release, Release):
                raise UsageError(f"{self.name}.release(data) gave {type(release).__name__} and not a Release.")
            return Fitted(model, data, release, release.guarantee)
        shown = ForeignModel(model, self.name, self.folder) if is_foreign(model) else model
        shown.fit(data)
        promise = getattr(model, "guarantee", None)
        release = as_release(getattr(model, "release_", None), self.name)
        return Fitted(shown, data, release, promise if isinstance(promise, Guarantee) else None)

    def guarantee_for(self, data: Dataset | Request) -> Guarantee | None:
        """What is claimed about a dataset: the guarantee of answers to queries depends on the coupling of the rows."""
        if self.claimed or not isinstance(self.prototype, Asked):
            return self.guarantee
        return self.prototype.plan(data).guarantee

    def noiseless(self) -> Target | None:
        """The same with a budget that leaves next to no noise, or None where there is no such setting."""
        asked = self.prototype if isinstance(self.prototype, Asked) else None
        quiet = self.prototype if asked is None else asked.method
        if not is_dataclass(quiet) or isinstance(quiet, type) or getattr(quiet, "epsilon", None) is None:
            return None
        loud = copy.copy(quiet)
        object.__setattr__(loud, "epsilon", NO_NOISE)
        return replace(self, prototype=loud if asked is None else replace(asked, method=loud))

    def setting(self, name: str, default: Any = None) -> Any:
        """A public setting of the model: what whoever audits says about it, or its attribute."""
        if name == "cap" and self.cap is not None:
            return self.cap
        holder = self.prototype.method if isinstance(self.prototype, Asked) else self.prototype
        value = getattr(made(holder) if is_maker(holder) else holder, name, None)
        return default if value is None else value

    def described(self) -> dict[str, Any]:
        """Name and settings, JSON-like, for the report."""
        settings = getattr(self.prototype, "parameters", None) or getattr(self.prototype, "settings", None)
        if settings is None:
            settings = repr(self.prototype) if is_dataclass(self.prototype) else type(self.prototype).__qualname__
        return {"name": self.name, "kind": type(self.prototype).__qualname__, "settings": settings}

    @property
    def identity(self) -> str:
        """A hash of settings and source: earlier runs count for a model with the same one and for no other."""
        if self.one_process:
            raise UsageError(
                f"runs of {self.name} cannot be kept: nothing here tells whether the service was changed meanwhile.",
                remedy=Remedy("Audit it without a folder for runs.", cli="Leave --keep out."),
            )
        return identity(self.prototype, self.cap)


def small_datasets(data: Dataset) -> Sequence[Dataset]:
    """Records of the same kind that a fit takes milliseconds for."""
    if isinstance(data, TagAssignments):
        return [tag_background()]
    return table_backgrounds() if isinstance(data, Table) else [background()]
