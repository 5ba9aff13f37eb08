"""The attacks of an audit by name, with the views that each is played on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from discreet.attacks.games import counterexamples as published
from discreet.attacks.games import small, tables, tags
from discreet.attacks.games.game import VIEWS, Attack, SmallGame, View
from discreet.attacks.games.given import Member, Observation, OneRun, Reconstruction
from discreet.attacks.games.linear_attack import LinearAttack
from discreet.attacks.games.observing import seen
from discreet.attacks.games.sybil import SybilAttack
from discreet.attacks.games.sybil_adaptive import AdaptiveSybilAttack
from discreet.attacks.games.sybil_items import ItemSybilAttack
from discreet.attacks.games.two_releases import TwoReleasesAttack
from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError

__all__ = ["ATTACKS", "attack", "attacks"]

SUFFIXES: dict[View, str] = {
    "white box": "",
    "predictions": "-predictions",
    "recommendations": "-recommendations",
    "similar items": "-similar-items",
    "predictions and recommendations": "-both-views",
}
SHOWN: tuple[View, ...] = ("white box", "predictions", "recommendations")


def _views(attack: Attack, *views: View) -> Iterator[Attack]:
    """An attack once for each view, with a name for each."""
    return (replace(attack, name=attack.name + SUFFIXES[view], view=view) for view in views)


def _tags(name: str, make: Any, about: Any, *, replaced: bool = False) -> SmallGame:
    """A game on tags, whose releases take longer than counts. In most of them something is in one dataset only."""
    game = SmallGame(name=name, make=make, reads=tags.seen_tags, data_type=TagAssignments, about=about, effort=1)
    return game if replaced else replace(game, unless=tags.public_presence)


def _table(name: str, make: Any, *, effort: int = 2, **other: Any) -> SmallGame:
    """The attacker chooses the queries and sees all that is released."""
    return SmallGame(name=name, make=make, data_type=Table, effort=effort, **{"reads": tables.seen_answers, **other})


def _claimed(name: str, view: View, make: Any, reads: Any, about: Any, *needs: str, effort: int = 8) -> SmallGame:
    """A counterexample to what is claimed by models with certain settings."""
    game = SmallGame(name=name, view=view, make=make, reads=reads, about=about, effort=effort)
    return replace(game, needs_claim=True, needs_settings=needs)


def _users(name: str, make: Any, **other: Any) -> SmallGame:
    return SmallGame(name=name, make=make, about="user", **{"reads": seen, "effort": 2, **other})


BOTH: View = "predictions and recommendations"
SIMILAR: View = "similar items"

_FIRST = published.first_prediction
_ONE_ENTRY = SmallGame(
    name="one-entry", make=published.one_entry, reads=published.drawn_items, unless=published.no_row, effort=2
)
# A model that draws when it is asked takes long; any other one leaves its time to other games.
_AGAIN = small.AskAgain(name="ask-again", make=small.by_guarantee, reads=seen, effort=1, share=4)
_ITEM_AGAIN = small.AskAgain(name="ask-item-again", make=small.one_item, reads=seen, about="user", effort=1, share=9)
# How much noise there is shows nowhere as well as here.
_ONE_ITEM = _users("one-item", small.one_item, unless=small.seen_together, effort=16, share=15)

LISTED: list[Attack] = [
    *_views(_users("canary", small.canary, effort=8), *VIEWS),
    *_views(SmallGame(name="rating", make=small.one_rating, reads=seen, about="record"), *VIEWS),
    _claimed("local-sensitivity", SIMILAR, published.local_sensitivity, published.nearest_of_first, "user"),
    _claimed("swapped-ranks", SIMILAR, published.swapped_ranks, published.comes_with_one_behind, "record", "k", "beta"),
    _claimed("all-neighbors", SIMILAR, published.all_neighbors, published.similar_to_first, "user", "k"),
    _ONE_ENTRY,
    _claimed("one-rater-more", "predictions", published.one_rater_more, _FIRST, "record", "minimum_overlap", effort=2),
    _claimed("first-buyer", "predictions", published.first_buyer, _FIRST, "record", "least_ratings", effort=2),
    *_views(_ONE_ITEM, *SHOWN, BOTH),
    *_views(_users("repeated-item", small.repeated_item), *SHOWN),
    *_views(_users("many-records", small.many_records, reads=small.seen_with_sum), *SHOWN),
    *_views(_users("active-user", small.active_user), *SHOWN),
    *_views(_users("quiet-user", small.quiet_user), *SHOWN),
    # Digits tell something in a few runs out of a hundred.
    *_views(_users("traces", small.lone_items, reads=small.traces, effort=4, share=9), *SHOWN),
    # Predictions cost less than lists: they are played on fits of their own, with more questions.
    *_views(replace(_AGAIN, asks=150), "predictions"),
    *_views(_AGAIN, "recommendations", SIMILAR),
    *_views(replace(_ITEM_AGAIN, asks=40), "predictions"),
    *_views(replace(_ITEM_AGAIN, asks=25), "recommendations"),
    SmallGame(name="across-views", view=BOTH, make=small.by_guarantee, reads=small.across_views, effort=4),
    *_views(SmallGame(name="attribute", make=small.one_value, reads=seen, about="record", effort=4), *VIEWS),
    # On the caller's records.
    Observation(),
    *_views(Reconstruction(), "white box", SIMILAR),
    SybilAttack(),
    LinearAttack(),
    Member(),
    OneRun(),
    # After the others: what a fit to the caller's records takes may leave no time for all of them.
    *_views(TwoReleasesAttack(), "predictions", "recommendations"),
    ItemSybilAttack(),
    AdaptiveSybilAttack(rounds=2),
    LinearAttack(name="linear-partial", known_share=0.5),
    # On tag assignments.
    *_views(_tags("tag-canary", tags.tag_canary, "user"), "white box", "recommendations"),
    _tags("one-tag", tags.one_tag, "user"),
    _tags("exchanged-tags", tags.exchanged_tags, "user", replaced=True),
    *_views(_tags("assignment", tags.one_assignment, "record"), "white box", "recommendations"),
    _tags("lone-tag", tags.lone_tag, "record"),
    _tags("tag-value", tags.tag_value, "record", replaced=True),
    tags.GivenTriple(name="triple"),
    tags.Tagger(name="tagger"),
    # On tables.
    _table("one-row", tables.one_row, effort=4),
    _table("many-queries", tables.many_queries),
    _table("repeated-query", tables.repeated_query, reads=tables.seen_repeats, effort=1),
    _table("nobody-responds", tables.nobody_responds),
    _table("household", tables.household, effort=4),
    _table("star", tables.star),
    _table("coupled-scale", tables.coupled_scale),
    _table("correlated-rows", tables.correlated_rows, unless=tables.public_coupling),
    tables.GivenRow(name="given-row"),
]

ATTACKS: dict[str, Attack] = {attack.name: attack for attack in LISTED}
"""All attacks, by name."""


def attack(name: str) -> Attack:
    """An attack by its name."""
    if name not in ATTACKS:
        raise UsageError(f"there is no attack {name!r}.", remedy=f"Attacks: all, {', '.join(ATTACKS)}.")
    return ATTACKS[name]


def attacks(wanted: str | Sequence[str | Attack], data_type: type[Any] = Interactions) -> list[Attack]:
    """The attacks that ``attacks=`` of an audit stands for: "all", names in one text or a list, or attacks themselves.

    "all" are those for this kind of data.

    Examples
    --------
    >>> [one.name for one in attacks("canary, rating")]
    ['canary', 'rating']
    """
    listed = [part.strip() for part in wanted.split(",") if part.strip()] if isinstance(wanted, str) else list(wanted)
    if listed == ["all"]:
        return [one for one in LISTED if issubclass(data_type, one.data_type)]
    if not listed:
        raise UsageError("no attack given.", remedy=f"Choose all, or from: {', '.join(ATTACKS)}.")
    found = [one if isinstance(one, Attack) else attack(one) for one in listed]
    if len({one.name for one in found}) < len(found):
        raise UsageError("an attack is named twice.")
    return found
