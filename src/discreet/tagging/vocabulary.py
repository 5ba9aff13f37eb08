"""A public list of tags or of resources, found privately: for data that come without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl

from discreet.common.arguments import require_choice
from discreet.data.interactions import Interactions
from discreet.data.tags import TagAssignments
from discreet.privacy.bounding import BoundedInteractions, cap_items, check_cap
from discreet.privacy.discovery import GaussianSelection, KeySelection, PolicySelection, StabilitySelection
from discreet.privacy.method import Method, Parts, Plan
from discreet.privacy.numbers import Rational
from discreet.tagging.tag_method import require_assignments

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger
    from discreet.privacy.release import Release

__all__ = ["ListedResources", "ListedTags", "discover_resources", "discover_tags"]

WAYS: dict[str, type[KeySelection]] = {
    "laplace": StabilitySelection,
    "gaussian": GaussianSelection,
    "policy": PolicySelection,
}


@dataclass(frozen=True)
class ListedTags(Method):
    """The tags that enough users use, found among those that occur.

    What is released is public from then on: ``data.with_vocabulary(release.table("tags")["tag"], outside="drop")`` is
    ready for every method that needs a public list of tags. What those spend is added to what this spends.

    Parameters
    ----------
    epsilon, delta
        The budget; δ is above 0.
    cap
        The most tags of one user that are used, chosen at random.
    way
        ``"laplace"`` and ``"gaussian"`` count users and release the noisy numbers ("users") beside the tags; from a cap
        of about five on the latter finds more. ``"policy"`` weights users so that nobody's weight is spent on tags that
        are known already, and releases names alone: for many users, where a cap is hard to choose.
    ids
        The type of the released tags, which should be that of your tags; declared, because the type that occurs may
        follow from one user's record. Tags that have no such form are dropped.

    Privacy
    -------
    Unit: one user, present or absent. (ε, δ) by Theorem 7 of ``docs/proofs/selection.md`` (Laplace) and Theorems 2 and
    3 of ``docs/proofs/tagging.md``. Only tags that occur can be named; a tag that only one user uses is named with a
    probability of at most δ.

    Examples
    --------
    >>> data = TagAssignments([(user, f"page-{user}", tag) for user in range(400) for tag in ("toread", f"my-{user}")])
    >>> release = ListedTags(epsilon=1, delta="1e-6", cap=2).release(data)
    >>> release.table("tags")["tag"].to_list()
    ['toread']
    >>> data.with_vocabulary(release.table("tags")["tag"], outside="drop").n_tags
    1
    """

    name: ClassVar[str] = "discover_tags"
    kind: ClassVar[str] = "tag-list"
    reads = "records"
    what: ClassVar[str] = "tags"
    column: ClassVar[str] = "tag"

    epsilon: Rational
    delta: Rational
    cap: int = 20
    way: Literal["laplace", "gaussian", "policy"] = "gaussian"
    ids: Literal["text", "number"] = "text"

    def __post_init__(self) -> None:
        require_choice(self.way, "way", tuple(WAYS))
        require_choice(self.ids, "ids", ("text", "number"))
        check_cap(self.cap)
        loss = self._selection.loss
        object.__setattr__(self, "epsilon", loss.epsilon)
        object.__setattr__(self, "delta", loss.delta)

    @property
    def _selection(self) -> KeySelection:
        return WAYS[self.way].of(epsilon=self.epsilon, delta=self.delta)

    def _public(self, data: TagAssignments) -> TagAssignments:
        require_assignments(data, self.name)
        return data.emptied()

    def _plan(self, public: TagAssignments) -> Plan:
        selection = self._selection
        selection.check(self._held(public))
        return Plan(
            loss=selection.loss,
            basis=selection.theorem,
            subject=f"the {self.what} that enough users hold",
            caps=(f"at most {self.cap} {self.what} of each user were used, chosen at random",),
            not_covered=("facts that would be true without this person's data",),
            expected={"threshold": selection.threshold(self.cap)},
        )

    def _draw(self, data: TagAssignments, plan: Plan) -> Parts:
        held = self._held(data)
        codes, users = self._selection.release(held)
        table = pl.DataFrame({self.column: held.records.items.take(codes)})
        return {self.what: table if users is None else table.with_columns(users=pl.Series(users, dtype=pl.Int64))}

    def _held(self, data: TagAssignments) -> BoundedInteractions:
        """Which user holds which key, each once, with keys of the declared type."""
        frame = pl.DataFrame({"user_id": data.users.take(data.user), "item_id": self._keys(data)})
        return cap_items(Interactions(frame, duplicates="last").with_item_ids(self.ids), self.cap)

    def _keys(self, data: TagAssignments) -> pl.Series:
        return data.tags.take(data.tag)


@dataclass(frozen=True)
class ListedResources(ListedTags):
    """The resources that enough users tag: as ``ListedTags``, with the part "resources", column "resource_id".

    Privacy
    -------
    As ``ListedTags``.
    """

    name: ClassVar[str] = "discover_resources"
    kind: ClassVar[str] = "resource-list"
    what: ClassVar[str] = "resources"
    column: ClassVar[str] = "resource_id"

    def _keys(self, data: TagAssignments) -> pl.Series:
        return data.resources.take(data.resource)


def discover_tags(data: TagAssignments, *, ledger: Ledger | None = None, **settings: Any) -> Release:
    """Release the tags that enough users use; the settings are those of ``ListedTags``."""
    return ListedTags(**settings).release(data, ledger=ledger)


def discover_resources(data: TagAssignments, *, ledger: Ledger | None = None, **settings: Any) -> Release:
    """Release the resources that enough users tag; the settings are those of ``ListedTags``."""
    return ListedResources(**settings).release(data, ledger=ledger)
