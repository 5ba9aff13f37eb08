"""What is audited: anything that can be fitted again and again."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.attacks.audit.game import View
from discreet.attacks.audit.small_worlds import background
from discreet.data.interactions import Interactions
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
    data: Interactions
    release: Release | None
    guarantee: Guarantee | None


@dataclass(frozen=True, eq=False)
class Target:
    """A model, not fitted, with its settings.

    Parameters
    ----------
    prototype
        A recommender, a way to count, or any object with ``fit(data)`` and one of ``predict``, ``recommend`` and
        ``similar_items``; or a function without arguments that makes one. It is copied for every run.
    name
        What to call it.
    views
        What an attacker can see of it.
    guarantee
        What it claims, or None.
    """

    prototype: Any
    name: str
    views: frozenset[View]
    guarantee: Guarantee | None

    @classmethod
    def of(cls, prototype: Any, data: Interactions, *, claim: Guarantee | None = None) -> Target:
        """Find out what a prototype shows and claims: it is fitted once, to something small where that can be done."""
        made = _made(prototype)
        if not callable(getattr(made, "fit", None)) and not callable(getattr(made, "release", None)):
            raise UsageError(
                f"{type(made).__name__} cannot be audited: it has neither fit(data) nor release(data).",
                remedy="Give a recommender that was not fitted, a way to count, or an adapter with fit and recommend.",
            )
        fitted = _first_fit(prototype, data)
        views: set[View] = {view for view, method in ASKED.items() if callable(getattr(fitted.model, method, None))}
        if fitted.release is not None:
            views.add("white box")
        return cls(prototype, _name(made), frozenset(views), claim or fitted.guarantee)

    def fit(self, data: Interactions) -> Fitted:
        """One fit in the sandbox: no ledger is charged, and nothing that is released can be saved."""
        with sandbox():
            return _fit(_made(self.prototype), data)

    def noiseless(self) -> Target | None:
        """The same with a budget that leaves next to no noise, or None where there is no such setting."""
        if not is_dataclass(self.prototype) or isinstance(self.prototype, type):
            return None
        if getattr(self.prototype, "epsilon", None) is None:
            return None
        loud = copy.copy(self.prototype)
        object.__setattr__(loud, "epsilon", PLENTY)
        return replace(self, prototype=loud)

    def setting(self, name: str, default: Any = None) -> Any:
        """A public setting of the prototype."""
        value = getattr(self.prototype, name, None)
        return default if value is None else value

    def described(self) -> dict[str, Any]:
        """Name and settings, JSON-like: what decides whether earlier runs still count."""
        config = getattr(self.prototype, "config", None) or getattr(self.prototype, "parameters", None)
        settings = config() if callable(config) else config
        if settings is None:
            settings = repr(self.prototype) if is_dataclass(self.prototype) else type(self.prototype).__qualname__
        return {"name": self.name, "kind": type(self.prototype).__qualname__, "settings": settings}


def _first_fit(prototype: Any, data: Interactions) -> Fitted:
    with sandbox():
        try:
            return _fit(_made(prototype), background(items=12, users=24))
        except DiscreetError:
            # Settings may ask for columns or sizes that a small world does not have.
            return _fit(_made(prototype), data)


def _made(prototype: Any) -> Any:
    """A model of its own for one run."""
    if isinstance(prototype, type) or inspect.isfunction(prototype) or inspect.ismethod(prototype):
        maker: Callable[[], Any] = prototype
        return maker()
    return copy.deepcopy(prototype)


def _fit(model: Any, data: Interactions) -> Fitted:
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
