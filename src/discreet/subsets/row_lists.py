"""Sets of items drawn from the row of one person, as a release that can be audited."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.method import Method, Parts, Plan
from discreet.subsets.chain import BirthDeathChain
from discreet.subsets.samplers import RowSampler

__all__ = ["RowLists"]


@dataclass(frozen=True)
class RowLists(Method):
    """A mark for every item of the catalog: whether it was drawn from what one user rated.

    Parameters
    ----------
    sampler
        Draws the items.
    person
        The user from whose ratings they are drawn. Items without a rating count as rated lowest.

    Privacy
    -------
    As stated by the sampler, for the row of scores that it draws from.

    Examples
    --------
    >>> from discreet.subsets import KSubset
    >>> lists = RowLists(KSubset(k=2, low=1, high=5, epsilon=1, change="entry"))
    >>> mine = [("observer", "a", 5), ("observer", "b", 1), ("observer", "c", 4)]
    >>> int(lists.release(Interactions(mine, scale="1:5", items=[*"abc"])).array("drawn").sum())
    2
    """

    name: ClassVar[str] = "row lists"
    kind: ClassVar[str] = "items"
    reads = "records"

    sampler: RowSampler | BirthDeathChain
    person: str = "observer"

    @property
    def k(self) -> int:
        """How many items are drawn."""
        return self.sampler.k

    @property
    def parameters(self) -> dict[str, Any]:
        return {"sampler": repr(self.sampler)}

    def _plan(self, public: Interactions) -> Plan:
        if isinstance(self.sampler, BirthDeathChain):
            claim = self.sampler.guarantee()
        else:
            claim = self.sampler.guarantee(public.n_items)
        return Plan(**{one.name: getattr(claim, one.name) for one in fields(Plan) if hasattr(claim, one.name)})

    def _draw(self, data: Interactions, plan: Plan) -> Parts:
        if data.scale is None or data.rating is None or self.person not in data.users:
            raise UsageError(f"there are no ratings of the user {self.person!r}.")
        row = np.full(data.n_items, float(data.scale.low))
        mine = data.user == data.users.code(self.person)
        row[data.item[mine]] = data.rating[mine]
        marks = np.zeros(data.n_items)
        if isinstance(self.sampler, BirthDeathChain):
            marks[self.sampler.choose(row, allow_refuted=True)] = 1.0
        else:
            marks[self.sampler.choose(row)] = 1.0
        return {"drawn": marks}
