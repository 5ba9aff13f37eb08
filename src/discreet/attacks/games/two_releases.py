"""What two releases of a model, before and after a person's new records, give away together.

References
----------
J. Calandrino, A. Kilzer, A. Narayanan, E. Felten, V. Shmatikov: "You might also like": privacy risks of collaborative
filtering. IEEE S&P 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacks.engine.foreign import as_tables, fit_any
from discreet.attacks.games.datasets import drawn_user, with_users
from discreet.attacks.games.game import RECORD, Attack, Features, NeighboringData
from discreet.attacks.games.observing import predicted, recommended
from discreet.attacks.games.sybil import Factory, SybilAttack
from discreet.attacks.games.sybil_targets import Outcome, Sees, SybilTarget, check_records
from discreet.common.arguments import require_whole
from discreet.common.arrays import Floats, Integers
from discreet.data.interactions import Interactions
from discreet.privacy.charging import sandbox
from discreet.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["NewRecords", "TwoReleasesAttack", "moved"]

NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class NewRecords(SybilTarget):
    """One target: which of the records are new, and which records of others arrive between the releases as well."""

    new: Integers = field(default_factory=lambda: NO_ROWS)
    arriving: Integers = field(default_factory=lambda: NO_ROWS)

    def dataset(self, data: Interactions, *, present: bool) -> Interactions:
        """The second release: everything, with the new records or without them."""
        return self._left(data, NO_ROWS if present else self.new)

    def before(self, data: Interactions) -> Interactions:
        """The first release: nothing that is new."""
        return self._left(data, np.append(self.new, self.arriving))

    def _left(self, data: Interactions, out: Integers) -> Interactions:
        kept = np.ones(len(data), dtype=bool)
        kept[out] = False
        part = data.filter(kept)
        part = part if part.items == data.items else part.with_catalog(data.items)
        return with_users(part, *self.sybils, number=self.number)


@dataclass(frozen=True, kw_only=True)
class TwoReleasesAttack(SybilAttack):
    """Which items somebody added between two releases of a model, from what one invented user is shown by both.

    *Known*: ``known`` ratings of the target, which an observer copies before the first release. *Seen*: what the
    observer is predicted for every item, or its list, in both releases. Records of others arrive in between, too.
    *Decided*: the ``new`` items that moved most are said to be the target's. A prediction that appears, or that
    changes, and an item that climbs on the list of somebody with the target's tastes have a reason.

    Parameters
    ----------
    known, choose
        How many ratings of the target are known, and which.
    new
        How many records of the target are new: those of its rarest items, where the answers move most.
    arriving
        Share of all other records that arrive between the releases.
    sees, length
        Ratings or lists, as in ``SybilAttack``, and how long lists are.
    target_first
        As in ``SybilAttack``. ``k``, ``beta`` and ``fillers`` add more copies of the observer.

    Notes
    -----
    The first release is made without the new records, whether they come or not. It tells nothing about them, and the
    claim for the second one applies as it stands. What is proved is about the new records, present or absent.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.neighbors import PrivateItemKNN
    >>> films = dc.synthetic.films(users=120, items=40, seed=7)
    >>> row = TwoReleasesAttack().run(lambda: PrivateItemKNN(epsilon=1), films, targets=2, seed=1).rows[0]
    >>> row.model, row.sybils, row.hidden
    ('private-item-knn', 1, 2)
    """

    name: str = "two-releases"
    k: int = 1
    known: int = 5
    new: int = 1
    arriving: float = 0.02
    length: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(self.new, "new")

    @property
    def needed(self) -> int:
        return self.known + self.new

    # A game of an audit

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if self.view == "predictions" and data.rating is None:
            return "there are no ratings"
        return Attack.obstacle(self, target, data)

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        check_records(data)
        chosen = self.prepare(data, drawn_user(data, draw, least=self.needed), draw)
        # The model and not what is seen of it: games with other views share it. It is fitted when it is first needed.
        before = cache(lambda: target.fit(chosen.before(data)))
        without, with_ = (chosen.dataset(data, present=present) for present in (False, True))
        return NeighboringData(without, with_, unit=RECORD, records=self.new, secret=(chosen, data, before))

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        chosen, data, before = pair.secret
        sees: Sees = "ratings" if self.view == "predictions" else "list"
        with sandbox():
            first = self._look(before().model, chosen, data, sees)
        second = self._look(fitted.model, chosen, data, sees)
        if not np.nan_to_num(first).any() and not np.nan_to_num(second).any():
            return np.full(4, np.nan)  # who sees nothing guesses nothing
        outcome, far = self._guessed(first, second, chosen, data, sees), moved(first, second)
        item = chosen.hidden[chosen.probe]
        rank = float((np.abs(far) >= abs(far[item])).mean())
        return np.array([outcome.right[outcome.probe], far[item], -rank, outcome.right.mean()])

    # Preparing and playing

    def prepare(self, data: Interactions, target: int, draw: np.random.Generator) -> NewRecords:
        begin, end = data.user_starts[target : target + 2]
        rows = begin + draw.permutation(end - begin)
        # The target counts once for each of its items, so their order is the one without the target.
        by_count = rows[np.argsort(data.records_per_item[data.item[rows]], kind="stable")]
        new, rest = np.sort(by_count[: self.new]), by_count[self.new :]
        ordered = {"random": draw.permutation(rest), "rarest": rest, "popular": rest[::-1]}[self.choose]
        known = np.sort(ordered[: self.known])
        ratings = None if data.rating is None else data.rating.astype(np.float64)
        others = np.flatnonzero((data.user != target) & (draw.random(len(data)) < self.arriving))
        return NewRecords(
            target=target,
            hidden=data.item[new],
            truth=None if ratings is None else ratings[new],
            probe=int(draw.integers(new.size)),
            observer=data.n_users,
            sybils=self._sybils(data.item[known], None if ratings is None else ratings[known], data),
            first=self.target_first,
            new=new,
            arriving=others,
        )

    def _play(
        self, factory: Factory, target: SybilTarget, data: Interactions, sees: Sees, *, present: bool
    ) -> tuple[Outcome, Guarantee | None]:
        assert isinstance(target, NewRecords)
        first, second = as_tables(factory()), as_tables(factory())
        fit_any(first, target.before(data))
        promise = fit_any(second, target.dataset(data, present=present))
        before, after = (self._look(model, target, data, sees) for model in (first, second))
        return self._guessed(before, after, target, data, sees), promise

    def _look(self, model: Any, target: SybilTarget, data: Interactions, sees: Sees) -> Floats:
        """What the observer is shown about every item: a prediction, or its place on the list counted from the end."""
        observer, size = target.number(target.observer), data.n_items
        if sees == "list":
            return recommended(model, observer, data.items, n=min(self.length, size))[:size]
        return predicted(model, observer, data.items.ids(), first=int(target.hidden[target.probe]))

    def _guessed(self, first: Floats, second: Floats, target: SybilTarget, data: Interactions, sees: Sees) -> Outcome:
        """The items that moved most, on lists those that climbed most, but for those that are known."""
        far = moved(first, second) if sees == "list" else np.abs(moved(first, second))
        far[target.sybils[1]] = -1.0
        # Of equal moves that of the rarer item: the attacker knows that new records show most there.
        counts = data.records_per_item - np.isin(np.arange(far.size), target.hidden)
        said = np.lexsort([counts, -far])[: self.new]
        right = np.isin(target.hidden, said[far[said] > 0])
        return Outcome(right, np.isfinite(second[target.hidden]), None, target.probe)


def moved(first: Floats, second: Floats) -> Floats:
    """How far each answer moved; one that appears moved farther than any other, one that is gone not at all.

    Examples
    --------
    >>> moved(np.array([1.0, np.nan, 2.0]), np.array([3.0, 4.0, np.nan])).tolist()
    [2.0, 3.0, 0.0]
    """
    change = second - first
    both = np.isfinite(change)
    farthest = np.abs(change[both]).max(initial=0.0)
    appeared = np.isnan(first) & np.isfinite(second)
    return np.where(appeared, farthest + 1.0, np.where(both, change, 0.0))
