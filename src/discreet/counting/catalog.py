"""A catalog found privately: for data that come without a public list of items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from discreet.counting.tables import catalog_table
from discreet.data.interactions import Interactions
from discreet.privacy.bounding import cap_items
from discreet.privacy.charging import charged
from discreet.privacy.discovery import StabilitySelection
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["discover_items"]


def discover_items(
    data: Interactions,
    *,
    epsilon: Rational,
    delta: Rational,
    cap: int,
    ids: Literal["text", "number"] = "text",
    ledger: Ledger | None = None,
) -> Release:
    """Release the ids of items that enough users hold, with noisy numbers of users.

    What is released is public from then on:
    ``data.with_item_ids("text").with_catalog(release.table("items"), unknown="drop")`` is ready for everything that
    needs a public catalog.

    Parameters
    ----------
    data
        The records; no catalog is needed.
    epsilon, delta
        The budget.
    cap
        The most distinct items of one user that are looked at, chosen at random.
    ids
        The type of the released ids; declared, because the type that occurs may follow from one user's record. Items
        that have no such id are left out.

    Examples
    --------
    >>> import discreet as dc
    >>> visits = dc.Interactions([(user, place) for user in range(400) for place in ("park", f"home-{user}")])
    >>> release = discover_items(visits, epsilon=1, delta="1e-6", cap=2)
    >>> release.table("items")["item_id"].to_list()
    ['park']
    >>> visits.with_item_ids("text").with_catalog(release.table("items"), unknown="drop").n_items
    1
    """
    selection = StabilitySelection.of(epsilon=epsilon, delta=delta)
    bounded = cap_items(data.with_item_ids(ids), cap)
    selection.check(bounded)
    guarantee = Guarantee(
        loss=selection.loss,
        unit=Unit("user"),
        standing=Standing.PROVED,
        basis=selection.theorem,
        subject="the ids of items that enough users hold",
        caps=bounded.caps,
        not_covered=("facts about people at large",),
    )
    parameters = {"epsilon": str(selection.epsilon), "delta": str(selection.delta), "cap": cap, "ids": ids}
    with charged(ledger, data, guarantee, mechanism="discover_items", parameters=parameters) as charge:
        codes, users = selection.release(bounded)
        release = Release(
            kind="item-catalog",
            guarantee=guarantee,
            mechanism="discover_items",
            parameters={**parameters, "threshold": selection.threshold(cap)},
            parts={"items": catalog_table(bounded.records, codes, users=users)},
            dataset=data.name,
        )
        charge.settle(release.id)
    return release
