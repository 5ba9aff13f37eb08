"""The attacks of an audit by name: one line each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from discreet.attacks.audit.game import Attack
from discreet.data.interactions import Interactions
from discreet.errors import UsageError

__all__ = ["ATTACKS", "attack", "attacks"]

# Where each attack lives: an attack, or a class of attacks that needs no settings. Loaded when it is first asked for.
ATTACKS = {
    "canary": "discreet.attacks.audit.membership:CANARY",
    "canary-predictions": "discreet.attacks.audit.membership:CANARY_PREDICTIONS",
    "canary-recommendations": "discreet.attacks.audit.membership:CANARY_RECOMMENDATIONS",
    "canary-similar-items": "discreet.attacks.audit.membership:CANARY_SIMILAR_ITEMS",
    "rating": "discreet.attacks.audit.ratings:RATING",
    "rating-predictions": "discreet.attacks.audit.ratings:RATING_PREDICTIONS",
    "rating-recommendations": "discreet.attacks.audit.ratings:RATING_RECOMMENDATIONS",
    "rating-similar-items": "discreet.attacks.audit.ratings:RATING_SIMILAR_ITEMS",
    "local-sensitivity": "discreet.attacks.audit.counterexamples:LocalSensitivity",
    "swapped-ranks": "discreet.attacks.audit.counterexamples:SwappedRanks",
    "all-neighbors": "discreet.attacks.audit.all_neighbors:AllNeighbors",
    "one-entry": "discreet.attacks.audit.rows:OneEntry",
    "one-rater-more": "discreet.attacks.audit.one_output:OneRaterMore",
    "first-buyer": "discreet.attacks.audit.one_output:FirstBuyer",
    "one-item": "discreet.attacks.audit.one_item:OneItem",
    "active-user": "discreet.attacks.audit.scales:ActiveUser",
    "quiet-user": "discreet.attacks.audit.scales:QuietUser",
    "traces": "discreet.attacks.audit.traces:Traces",
    "attribute": "discreet.attacks.audit.attribute:ATTRIBUTE",
    "attribute-predictions": "discreet.attacks.audit.attribute:ATTRIBUTE_PREDICTIONS",
    "attribute-recommendations": "discreet.attacks.audit.attribute:ATTRIBUTE_RECOMMENDATIONS",
    "attribute-similar-items": "discreet.attacks.audit.attribute:ATTRIBUTE_SIMILAR_ITEMS",
    "observation": "discreet.attacks.audit.observation:Observation",
    "reconstruction": "discreet.attacks.audit.reconstruction:RECONSTRUCTION",
    "reconstruction-similar-items": "discreet.attacks.audit.reconstruction:RECONSTRUCTION_SIMILAR_ITEMS",
    "sybil": "discreet.attacks.audit.sybils:Sybils",
    "member": "discreet.attacks.audit.members:Member",
    "one-run": "discreet.attacks.audit.one_run:OneRun",
    # On tag assignments.
    "tag-canary": "discreet.attacks.audit.tag_users:TAG_CANARY",
    "tag-canary-recommendations": "discreet.attacks.audit.tag_users:TAG_CANARY_RECOMMENDATIONS",
    "one-tag": "discreet.attacks.audit.tag_users:OneTag",
    "exchanged-tags": "discreet.attacks.audit.tag_users:ExchangedTags",
    "assignment": "discreet.attacks.audit.tag_triples:ASSIGNMENT",
    "assignment-recommendations": "discreet.attacks.audit.tag_triples:ASSIGNMENT_RECOMMENDATIONS",
    "lone-tag": "discreet.attacks.audit.tag_triples:LoneTag",
    "tag-value": "discreet.attacks.audit.tag_triples:TagValue",
    "triple": "discreet.attacks.audit.tag_triples:GivenTriple",
    "tagger": "discreet.attacks.audit.tag_users:Tagger",
    # On tables.
    "one-row": "discreet.attacks.audit.table_rows:OneRow",
    "many-queries": "discreet.attacks.audit.table_rows:ManyQueries",
    "repeated-query": "discreet.attacks.audit.table_rows:RepeatedQuery",
    "nobody-responds": "discreet.attacks.audit.table_rows:NobodyResponds",
    "household": "discreet.attacks.audit.table_groups:Household",
    "star": "discreet.attacks.audit.table_groups:Star",
    "coupled-scale": "discreet.attacks.audit.table_groups:CoupledScale",
    "correlated-rows": "discreet.attacks.audit.table_groups:CorrelatedRows",
    "given-row": "discreet.attacks.audit.table_rows:GivenRow",
}


def attack(name: str) -> Attack:
    """An attack by its name."""
    if name not in ATTACKS:
        raise UsageError(f"there is no attack {name!r}.", remedy=f"Attacks: all, {', '.join(ATTACKS)}.")
    module, _, attribute = ATTACKS[name].partition(":")
    found = getattr(import_module(module), attribute)
    return found() if isinstance(found, type) else found


def attacks(wanted: str | Sequence[str | Attack], data_type: type[Any] = Interactions) -> list[Attack]:
    """What ``attacks=`` of an audit stands for: "all", names in one text or a list, or attacks themselves.

    "all" are those for this kind of data.

    Examples
    --------
    >>> [one.name for one in attacks("canary, rating")]
    ['canary', 'rating']
    """
    if isinstance(wanted, str):
        names = [part.strip() for part in wanted.split(",") if part.strip()]
        if names == ["all"]:
            return [one for one in map(attack, ATTACKS) if issubclass(data_type, one.data_type)]
        listed: list[str | Attack] = list(names)
    else:
        listed = list(wanted)
    if not listed:
        raise UsageError("which attacks?", remedy=f"Choose all, or from: {', '.join(ATTACKS)}.")
    found = [one if isinstance(one, Attack) else attack(one) for one in listed]
    if len({one.name for one in found}) < len(found):
        raise UsageError("an attack is named twice.")
    return found
