"""Attacks by their names, as the command line and the jobs of the service play them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.attacks import SybilAttack

__all__ = ["GAMES", "ITEM_BASED", "factory_of", "game_of"]

GAMES = ("sybil", "beta-sybil", "adaptive-sybil", "item-sybil", "two-releases")
"""The names of attacks that are games of sybils or of releases; the linear attack is "lia"."""

ITEM_BASED = ("item-sybil", "two-releases")
"""Attacks in which models with neighbors compare items."""


def game_of(name: str, **given: Any) -> SybilAttack:
    """The attack of a name, with the settings that it has."""
    from discreet import attacks

    kinds: dict[str, tuple[type[SybilAttack], tuple[str, ...]]] = {
        "sybil": (attacks.SybilAttack, ("k", "fillers")),
        "beta-sybil": (attacks.BetaSybilAttack, ("k", "fillers", "beta")),
        "adaptive-sybil": (attacks.AdaptiveSybilAttack, ("k", "fillers", "rounds")),
        "item-sybil": (attacks.ItemSybilAttack, ()),
        "two-releases": (attacks.TwoReleasesAttack, ("new",)),
    }
    if name not in kinds:
        raise UsageError(f"there is no attack {name!r}.", remedy=f"Choose from {', '.join((*kinds, 'lia'))}.")
    kind, own = kinds[name]
    settings = {key: given[key] for key in ("sees", *own)}
    settings |= {key: given[key] for key in ("known", "choose") if given[key] is not None}
    return kind(**settings)


def factory_of(
    name: str, typed: dict[str, Any], budget: dict[str, str], *, axis: str = "user", code: bool = False, **sybil: Any
) -> Callable[[], Any]:
    """What makes a model: as it is, or in the setting of the sybil attack, with a budget where it has one.

    With ``code`` the name may also be that of a class of somebody's own or of another library, which imports it: for
    the person who typed it, never for a request.
    """
    from discreet.attacks.engine.making import made
    from discreet.models.foreign.lookup import is_outside, outside
    from discreet.models.registry import create, registered, settings_of
    from discreet.neighbors.neighbor_model import NeighborModel
    from discreet.neighbors.similarity import Similarity

    if code and is_outside(name):
        of_library = {"k": sybil["k"]} if sybil and ":" not in name else {}
        prototype = outside(name, settings=of_library | typed, budget=budget)
        return lambda: made(prototype)
    kind = registered(name, "recommender")
    given: dict[str, Any] = dict(budget)
    if sybil and issubclass(kind, NeighborModel):
        alike = Similarity(sybil["similarity"], shrinkage=sybil["shrinkage"])
        given |= {"k": sybil["k"], "beta": sybil["beta"], "similarity": alike}
        given |= {"axis": axis, "candidates": "all" if axis == "user" else "rated", "centering": None, "fallback": None}
    settings = {key: value for key, value in given.items() if key in settings_of(kind)}
    return lambda: create(name, "recommender", **{**settings, **typed})
