"""A catalog found privately: for data that come without a public list of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from discreet.common.arguments import require_choice
from discreet.counting.cells import catalog_table
from discreet.counting.counts import normalize
from discreet.data.interactions import Interactions
from discreet.privacy.bounding import cap_items
from discreet.privacy.discovery import StabilitySelection
from discreet.privacy.method import Method, Parts, Plan
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["ItemDiscovery", "discover_items"]


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
    return ItemDiscovery(epsilon, delta, cap, ids).release(data, ledger=ledger)


@dataclass(frozen=True)
class ItemDiscovery(Method):
    """The method of ``discover_items``. Its candidates are what occurs, so that it does not release sums of a list."""

    name: ClassVar[str] = "discover_items"
    kind: ClassVar[str] = "item-catalog"
    reads: ClassVar[Literal["sums", "local", "answers", "records"]] = "records"

    epsilon: Rational
    delta: Rational
    cap: int
    ids: Literal["text", "number"] = "text"

    def __post_init__(self) -> None:
        normalize(self)
        require_choice(self.ids, "ids", ("text", "number"))

    @property
    def _selection(self) -> StabilitySelection:
        return StabilitySelection.of(epsilon=self.epsilon, delta=self.delta)

    def _described(self) -> dict[str, Any]:
        return self.parameters

    def _plan(self, public: Interactions) -> Plan:
        bounded = cap_items(public.with_item_ids(self.ids), self.cap)
        self._selection.check(bounded)
        return Plan(
            loss=self._selection.loss,
            basis=self._selection.theorem,
            subject="the ids of items that enough users hold",
            caps=bounded.caps,
            not_covered=("facts that would be true without this person's data",),
            expected={"threshold": self._selection.threshold(self.cap)},
        )

    def _draw(self, data: Interactions, plan: Plan) -> Parts:
        bounded = cap_items(data.with_item_ids(self.ids), self.cap)
        codes, users = self._selection.release(bounded)
        assert users is not None
        return {"items": catalog_table(bounded.records, codes, users=users)}
