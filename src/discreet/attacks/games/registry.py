"""The attacks of an audit by name, with the views that each is played on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from discreet.attacks.games import counterexamples, tables, tags, users
from discreet.attacks.games.answers import AcrossViews, AskAgain, AskItemAgain
from discreet.attacks.games.game import VIEWS, Attack, View
from discreet.attacks.games.linear_attack import LinearAttack
from discreet.attacks.games.members import Member
from discreet.attacks.games.observation import Observation
from discreet.attacks.games.one_run import OneRun
from discreet.attacks.games.reconstruction import Reconstruction
from discreet.attacks.games.records import OneRating, OneValue
from discreet.attacks.games.rows import OneEntry
from discreet.attacks.games.sybil import SybilAttack
from discreet.attacks.games.traces import Traces
from discreet.data.interactions import Interactions
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


LISTED: list[Attack] = [
    *_views(users.Canary(name="canary"), *VIEWS),
    *_views(OneRating(name="rating"), *VIEWS),
    counterexamples.LocalSensitivity(name="local-sensitivity", view="similar items"),
    counterexamples.SwappedRanks(name="swapped-ranks", view="similar items"),
    counterexamples.AllNeighbors(name="all-neighbors", view="similar items"),
    OneEntry(name="one-entry"),
    counterexamples.OneRaterMore(name="one-rater-more", view="predictions"),
    counterexamples.FirstBuyer(name="first-buyer", view="predictions"),
    *_views(users.OneItem(name="one-item"), *SHOWN, "predictions and recommendations"),
    *_views(users.RepeatedItem(name="repeated-item"), *SHOWN),
    *_views(users.ManyRecords(name="many-records"), *SHOWN),
    *_views(users.ActiveUser(name="active-user"), *SHOWN),
    *_views(users.QuietUser(name="quiet-user"), *SHOWN),
    *_views(Traces(name="traces"), *SHOWN),
    # Predictions cost less than lists: they are played on fits of their own, with more questions.
    *_views(AskAgain(name="ask-again", asks=150), "predictions"),
    *_views(AskAgain(name="ask-again"), "recommendations", "similar items"),
    *_views(AskItemAgain(name="ask-item-again", asks=40), "predictions"),
    *_views(AskItemAgain(name="ask-item-again", asks=25), "recommendations"),
    AcrossViews(name="across-views", view="predictions and recommendations"),
    *_views(OneValue(name="attribute"), *VIEWS),
    # On the caller's records.
    Observation(),
    *_views(Reconstruction(), "white box", "similar items"),
    SybilAttack(),
    LinearAttack(),
    Member(),
    OneRun(),
    # On tag assignments.
    *_views(tags.TagCanary(name="tag-canary"), "white box", "recommendations"),
    tags.OneTag(name="one-tag"),
    tags.ExchangedTags(name="exchanged-tags"),
    *_views(tags.OneAssignment(name="assignment"), "white box", "recommendations"),
    tags.LoneTag(name="lone-tag"),
    tags.TagValue(name="tag-value"),
    tags.GivenTriple(name="triple"),
    tags.Tagger(name="tagger"),
    # On tables.
    tables.OneRow(name="one-row"),
    tables.ManyQueries(name="many-queries"),
    tables.RepeatedQuery(name="repeated-query"),
    tables.NobodyResponds(name="nobody-responds"),
    tables.Household(name="household"),
    tables.Star(name="star"),
    tables.CoupledScale(name="coupled-scale"),
    tables.CorrelatedRows(name="correlated-rows"),
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
