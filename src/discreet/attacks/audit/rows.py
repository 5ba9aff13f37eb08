"""Ways to draw k items from one person's completed row of scores, and the entry of the row that gives them away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.small_worlds import OBSERVER
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.subsets.chain import BirthDeathChain
from discreet.subsets.samplers import RowSampler

__all__ = ["OneEntry", "RowLists"]

STEPS = 1_000


@dataclass(frozen=True)
class RowLists:
    """A way to draw sets of items as something that can be audited: the row is what one user of the records rated.

    Parameters
    ----------
    sampler
        The way to draw.

    Examples
    --------
    >>> from discreet.subsets import KSubset
    >>> lists = RowLists(KSubset(k=2, low=1, high=5, epsilon=1, change="entry"))
    >>> mine = Interactions([(OBSERVER, "a", 5), (OBSERVER, "b", 1), (OBSERVER, "c", 4)], scale="1:5", items=[*"abc"])
    >>> int(lists.release(mine).array("drawn").sum())
    2
    """

    name: ClassVar[str] = "row lists"

    sampler: RowSampler | BirthDeathChain

    @property
    def k(self) -> int:
        return self.sampler.k

    def guarantee(self, data: Interactions) -> Guarantee:
        """What is claimed about the row."""
        if isinstance(self.sampler, BirthDeathChain):
            return self.sampler.guarantee()
        return self.sampler.guarantee(data.n_items)

    def release(self, data: Interactions, *, allow_refuted: bool = False) -> Release:
        """A mark for every item of the catalog: whether it was drawn."""
        if data.scale is None or data.rating is None or OBSERVER not in data.users:
            raise UsageError(f"a row is what {OBSERVER!r} rated; nobody of that name rated anything.")
        promise, parameters = self.guarantee(data), {"sampler": repr(self.sampler)}
        row = np.full(data.n_items, float(data.scale.low))
        mine = data.user == data.users.code(OBSERVER)
        row[data.item[mine]] = data.rating[mine]
        with charged(None, data, promise, mechanism=self.name, parameters=parameters, allow_refuted=allow_refuted):
            drawn = np.zeros(data.n_items)
            drawn[self._draw(row, allow_refuted=allow_refuted)] = 1.0
            return Release("items", promise, self.name, parameters, {"drawn": drawn}, data.name)

    def _draw(self, row: Features, *, allow_refuted: bool) -> NDArray[np.int64]:
        if isinstance(self.sampler, BirthDeathChain):
            return self.sampler.choose(row, allow_refuted=allow_refuted)
        return self.sampler.choose(row)


@dataclass(frozen=True, kw_only=True)
class OneEntry(Game):
    """Scores that fall evenly from the best to the worst; in the other world the best one is the worst.

    Only sets that have nearly all of the true best can come out of a list that is made around them. The best item of
    one row is behind all others in its neighbor.

    References
    ----------
    Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation.
    Project report, University of Texas at Austin, 2011 (section 4).
    """

    name: str = "one-entry"
    effort: int = 2

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if not isinstance(target.prototype, RowLists):
            return "nothing is drawn from the row of one person"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        size = 5 * (target.setting("k") + 1)
        falling = np.rint(STEPS * np.linspace(5, 1, size)) / STEPS
        changed = falling.copy()
        changed[0] = 1.0
        return Worlds(_row(falling), _row(changed), unit=Unit("record", "value"))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        assert fitted.release is not None
        return fitted.release.array("drawn")


def _row(ratings: Features) -> Interactions:
    items = [f"i{place:03}" for place in range(ratings.size)]
    records = [(OBSERVER, item, float(rating)) for item, rating in zip(items, ratings, strict=True)]
    return Interactions(records, items=items, scale=f"1:5:1/{STEPS}", name="a crafted world")
