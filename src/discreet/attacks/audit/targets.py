"""What is audited: anything that can be fitted again and again."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.attacks.audit.asked import Asked, Request
from discreet.attacks.audit.game import Dataset, View
from discreet.attacks.audit.small_worlds import background
from discreet.attacks.audit.table_worlds import table_background
from discreet.attacks.audit.tag_worlds import tag_background
from discreet.coupled.query_method import QueryMethod
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import DiscreetError, UsageError
from discreet.privacy.charging import sandbox
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.release import Release
from discreet.recommender import Recommender

__all__ = ["Fitted", "Target"]

ASKED: dict[View, str] = {
    "predictions": "predict",
    "recommendations": "recommend",
    "similar items": "similar_items",
}

PLENTY = Fraction(10**6)
"""An epsilon that hides nothing."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model after a fit in the sandbox, with what it released and what it promises."""

    model: Any
    data: Any
    release: Release | None
    guarantee: Guarantee | None


@dataclass(frozen=True, eq=False)
class Target:
    """A model, not fitted, with its settings.

    Parameters
    ----------
    prototype
        A recommender, a way to count, to release tags or to answer queries, or any object with ``fit(data)`` and one
        of ``predict``, ``recommend`` and ``similar_items``; or a function without arguments that makes one. It is
        copied for every run.
    name
        What to call it.
    views
        What an attacker can see of it.
    guarantee
        What it claims, or None.
    claimed
        Whether that was said by whoever audits, and not by the target.
    """

    prototype: Any
    name: str
    views: frozenset[View]
    guarantee: Guarantee | None
    claimed: bool = False

    @classmethod
    def of(cls, prototype: Any, data: Dataset, *, claim: Guarantee | None = None) -> Target:
        """Find out what a prototype shows and claims: it is fitted once, to something small where that can be done."""
        prototype = Asked(prototype) if isinstance(prototype, QueryMethod) else prototype
        made = _made(prototype)
        if not callable(getattr(made, "fit", None)) and not callable(getattr(made, "release", None)):
            raise UsageError(
                f"{type(made).__name__} cannot be audited: it has neither fit(data) nor release(data).",
                remedy="Give a recommender that was not fitted, a way to count, to release tags or to answer queries, "
                "or an adapter with fit and recommend.",
            )
        fitted = _first_fit(prototype, data)
        views: set[View] = {view for view, method in ASKED.items() if callable(getattr(fitted.model, method, None))}
        if fitted.release is not None:
            views.add("white box")
        return cls(prototype, _name(made), frozenset(views), claim or fitted.guarantee, claim is not None)

    def fit(self, data: Dataset | Request) -> Fitted:
        """One fit in the sandbox: no ledger is charged, and nothing that is released can be saved."""
        with sandbox():
            return _fit(_made(self.prototype), data)

    def promise_in(self, world: Dataset | Request) -> Guarantee | None:
        """What is claimed about a world: answers to queries promise what the coupling that goes with them says."""
        if self.claimed or not isinstance(self.prototype, Asked):
            return self.guarantee
        return self.prototype.guarantee(world)

    def noiseless(self) -> Target | None:
        """The same with a budget that leaves next to no noise, or None where there is no such setting."""
        asked = self.prototype if isinstance(self.prototype, Asked) else None
        quiet = self.prototype if asked is None else asked.method
        if not is_dataclass(quiet) or isinstance(quiet, type) or getattr(quiet, "epsilon", None) is None:
            return None
        loud = copy.copy(quiet)
        object.__setattr__(loud, "epsilon", PLENTY)
        return replace(self, prototype=loud if asked is None else replace(asked, method=loud))

    def setting(self, name: str, default: Any = None) -> Any:
        """A public setting of the prototype."""
        holder = self.prototype.method if isinstance(self.prototype, Asked) else self.prototype
        value = getattr(holder, name, None)
        return default if value is None else value

    def described(self) -> dict[str, Any]:
        """Name and settings, JSON-like: what decides whether earlier runs still count."""
        config = getattr(self.prototype, "config", None) or getattr(self.prototype, "parameters", None)
        settings = config() if callable(config) else config
        if settings is None:
            settings = repr(self.prototype) if is_dataclass(self.prototype) else type(self.prototype).__qualname__
        return {"name": self.name, "kind": type(self.prototype).__qualname__, "settings": settings}


def _first_fit(prototype: Any, data: Dataset) -> Fitted:
    with sandbox():
        try:
            return _fit(_made(prototype), _small_world(data))
        except DiscreetError:
            # Settings may ask for columns or sizes that a small world does not have.
            return _fit(_made(prototype), data)


def _small_world(data: Dataset) -> Dataset:
    if isinstance(data, TagAssignments):
        return tag_background()
    return table_background() if isinstance(data, Table) else background(items=12, users=24)


def _made(prototype: Any) -> Any:
    """A model of its own for one run."""
    if isinstance(prototype, type) or inspect.isfunction(prototype) or inspect.ismethod(prototype):
        maker: Callable[[], Any] = prototype
        return maker()
    return copy.deepcopy(prototype)


def _fit(model: Any, data: Any) -> Fitted:
    if isinstance(model, Recommender):
        model.fit(data, allow_refuted=True)
        return Fitted(model, data, getattr(model, "release_", None), model.guarantee)
    if callable(getattr(model, "release", None)):
        refutable = "allow_refuted" in inspect.signature(model.release).parameters
        release = model.release(data, **({"allow_refuted": True} if refutable else {}))
        if not isinstance(release, Release):
            raise UsageError(f"{_name(model)}.release(data) gave {type(release).__name__} and not a Release.")
        return Fitted(model, data, release, release.guarantee)
    model.fit(data)
    release = getattr(model, "release_", None)
    promise = getattr(model, "guarantee", None)
    return Fitted(
        model,
        data,
        release if isinstance(release, Release) else None,
        promise if isinstance(promise, Guarantee) else None,
    )


def _name(model: Any) -> str:
    return str(getattr(model, "name", None) or type(model).__name__)
