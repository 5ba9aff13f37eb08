"""What a new purchase does to public lists of similar items: an observer compares them before and after.

References
----------
J. Calandrino, A. Kilzer, A. Narayanan, E. Felten, V. Shmatikov: "You might also like": privacy risks of collaborative
filtering. IEEE Symposium on Security and Privacy 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.games.datasets import GivenGame, drawn_user, public_catalog
from discreet.attacks.games.game import RECORD, Features, NeighboringData, View
from discreet.attacks.games.observing import similarity
from discreet.data.interactions import Interactions
from discreet.privacy.charging import sandbox

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["Observation", "climbs"]


@dataclass(frozen=True, kw_only=True)
class Observation(GivenGame):
    """A user, of whom some items are known, buys one more item between two looks at the lists of similar items.

    Other records arrive between the two looks as well. In one dataset the hidden one is among them, in the other
    it is not. Whether the item climbs on the lists of the items that are known gives the purchase away: on many lists
    at once it has no other reason to.

    Parameters
    ----------
    known
        How many items of the user the observer knows.
    length
        How long the lists are that are shown.
    arriving
        Share of all other records that arrive between the looks.

    Notes
    -----
    The hidden item is the rarest one of the user: the lists move most there, and an auditor chooses where to look. The
    first look is the same with both datasets and tells nothing about the secret, so what is claimed about one record
    applies as it stands.
    """

    about = None

    name: str = "observation"
    view: View = "similar items"
    known: int = 5
    length: int = 50
    arriving: float = 0.02

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        user = drawn_user(data, draw, least=self.known + 1)
        public = public_catalog(data)
        rows = np.arange(*public.user_starts[user : user + 2])
        hidden = rows[np.argmin(public.records_per_item[public.item[rows]])]
        known = draw.choice(rows[rows != hidden], self.known, replace=False)
        early = draw.random(len(public)) >= self.arriving
        early[rows] = True
        early[hidden] = False
        late = np.ones(len(public), dtype=bool)
        late[hidden] = False
        items = public.items.decode(np.append(public.item[known], public.item[hidden]))
        before = cache(lambda: self._look(target.fit(public.filter(early)), items[:-1]))
        return NeighboringData(public.filter(late), public, unit=RECORD, secret=(items, before))

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        items, before = pair.secret
        after = self._look(fitted, items[:-1])
        return climbs(before(), after, fitted.data.items.code(items[-1]))

    def _look(self, fitted: Fitted, asked: list[Any]) -> Lists:
        """Places on the lists of the items asked about, counted from the end, 0 for none; and scores, NaN for none."""
        items = fitted.data.items
        with sandbox():
            told = similarity(fitted.model, asked, items, n=self.length)
        scores = told[told.size // 2 :].reshape(len(asked), len(items))
        places = np.zeros_like(scores)
        for row, line in enumerate(scores):
            listed = np.flatnonzero(~np.isnan(line))
            places[row, listed[np.argsort(-line[listed], kind="stable")]] = self.length - np.arange(listed.size)
        return places, scores


Lists = tuple[NDArray[np.float64], NDArray[np.float64]]


def climbs(before: Lists, after: Lists, item: int) -> Features:
    """How an item moved on several lists: on how many it is new, on how many it rose, by how much, and how its scores
    changed; NaN for scores where it is not listed both times.

    Examples
    --------
    >>> nan = float("nan")
    >>> before = np.array([[0.0, 9], [10, 9]]), np.array([[nan, 0.5], [0.9, 0.5]])
    >>> after = np.array([[9.0, 10], [10, 9]]), np.array([[0.4, 0.5], [0.9, 0.5]])
    >>> climbs(before, after, 0).tolist()
    [1.0, 1.0, 9.0, 0.0, 0.9]
    """
    (old, old_scores), (new, new_scores) = before, after
    gained = new[:, item] - old[:, item]
    moved = new_scores[:, item] - old_scores[:, item]
    shown = new_scores[:, item]
    return np.array(
        [
            float(((old[:, item] == 0) & (new[:, item] > 0)).sum()),
            float((gained > 0).sum()),
            gained.sum(),
            moved[~np.isnan(moved)].mean() if (~np.isnan(moved)).any() else np.nan,
            shown[~np.isnan(shown)].max(initial=-np.inf) if (~np.isnan(shown)).any() else np.nan,
        ]
    )
