"""A public vocabulary, or a public list of resources, found privately: for data that come without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedInteractions, cap_items
from discreet.privacy.charging import charged
from discreet.privacy.discovery import GaussianSelection, KeySelection, StabilitySelection
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.numbers import Rational
from discreet.privacy.policy_selection import PolicySelection
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.tagging.tag_release import require_assignments

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["Way", "discover_resources", "discover_tags"]

Way = Literal["laplace", "gaussian", "policy"]
_WAYS = {"laplace": StabilitySelection, "gaussian": GaussianSelection, "policy": PolicySelection}


def discover_tags(
    data: TagAssignments,
    *,
    epsilon: Rational,
    delta: Rational,
    cap: int = 20,
    way: Way = "gaussian",
    ids: Literal["text", "number"] = "text",
    ledger: Ledger | None = None,
) -> Release:
    """Release the tags that enough users use.

    What is released is public from then on: ``data.with_vocabulary(release.table("tags")["tag"], outside="drop")`` is
    ready for every method that needs a public vocabulary. What those spend is added to what this spends.

    Parameters
    ----------
    epsilon, delta
        The budget.
    cap
        The most tags of one user that are looked at, chosen at random.
    way
        ``"laplace"`` and ``"gaussian"`` count users and release the noisy numbers ("users") beside the tags; from a cap
        of about five on the latter finds more. ``"policy"`` weighs users so that nobody's weight is spent on tags that
        are known by then, and releases names alone: it pays where users are many and a cap is hard to choose.
    ids
        The type of the released tags, which should be that of your tags; declared, because the type that occurs may
        follow from one user's record. Tags that have no such form are left out.

    Privacy
    -------
    Unit: one user, present or absent. (ε, δ) by Theorem 7 of ``docs/proofs/selection.md`` (Laplace) and Theorems 2 and
    3 of ``docs/proofs/tagging.md``. Only tags that occur can be named; that a tag which one user alone uses is named
    has a probability of at most δ.

    Examples
    --------
    >>> data = TagAssignments([(user, f"page-{user}", tag) for user in range(400) for tag in ("toread", f"my-{user}")])
    >>> release = discover_tags(data, epsilon=1, delta="1e-6", cap=2)
    >>> release.table("tags")["tag"].to_list()
    ['toread']
    >>> data.with_vocabulary(release.table("tags")["tag"], outside="drop").n_tags
    1
    """
    require_assignments(data, "discover_tags")
    held = _held(data, data.tags.take(data.tag), ids)
    return _discovered(data, held, "tag", epsilon=epsilon, delta=delta, cap=cap, way=way, ids=ids, ledger=ledger)


def discover_resources(
    data: TagAssignments,
    *,
    epsilon: Rational,
    delta: Rational,
    cap: int = 20,
    way: Way = "gaussian",
    ids: Literal["text", "number"] = "text",
    ledger: Ledger | None = None,
) -> Release:
    """Release the resources that enough users tag: as ``discover_tags``, part "resources", column "resource_id"."""
    require_assignments(data, "discover_resources")
    held = _held(data, data.resources.take(data.resource), ids)
    return _discovered(data, held, "resource", epsilon=epsilon, delta=delta, cap=cap, way=way, ids=ids, ledger=ledger)


def _held(data: TagAssignments, keys: pl.Series, ids: Literal["text", "number"]) -> Interactions:
    """Which user holds which key, each once, with keys of the declared type."""
    frame = pl.DataFrame({"user_id": data.users.take(data.user), "item_id": keys})
    return Interactions(frame, duplicates="last").with_item_ids(ids)


def _discovered(
    data: TagAssignments,
    held: Interactions,
    what: Literal["tag", "resource"],
    *,
    epsilon: Rational,
    delta: Rational,
    cap: int,
    way: Way,
    ids: str,
    ledger: Ledger | None,
) -> Release:
    if way not in _WAYS:
        raise UsageError(f"way={way!r}?", remedy=f"Choose one of {', '.join(_WAYS)}.")
    selection: KeySelection = _WAYS[way].of(epsilon=epsilon, delta=delta)
    bounded = cap_items(held, cap)
    selection.check(bounded)
    guarantee = Guarantee(
        loss=selection.loss,
        unit=Unit("user"),
        standing=Standing.PROVED,
        basis=selection.theorem,
        subject=f"the {what}s that enough users hold",
        caps=(f"at most {cap} {what}s of each user were looked at, chosen at random",),
        not_covered=("facts about people at large",),
    )
    stated = selection.loss
    parameters = {
        "epsilon": str(stated.epsilon),
        "delta": str(stated.delta),
        "cap": cap,
        "way": way,
        "ids": ids,
    }
    mechanism = f"discover_{what}s"
    with charged(ledger, data, guarantee, mechanism=mechanism, parameters=parameters) as charge:
        release = Release(
            kind=f"{what}-list",
            guarantee=guarantee,
            mechanism=mechanism,
            parameters={**parameters, "threshold": selection.threshold(cap)},
            parts={f"{what}s": _found(selection, bounded, "tag" if what == "tag" else "resource_id")},
            dataset=data.name,
        )
        charge.settle(release.id)
    return release


def _found(selection: KeySelection, bounded: BoundedInteractions, column: str) -> pl.DataFrame:
    """The keys that pass in the order of their names, with noisy numbers of users where there are any."""
    codes, users = selection.release(bounded)
    table = pl.DataFrame({column: bounded.records.items.take(codes)})
    return table if users is None else table.with_columns(users=pl.Series(users, dtype=pl.Int64))
