"""Is this user among the data? A random member of the caller's records, of whom an observer knows half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.games.datasets import GivenGame, drawn_user, with_users
from discreet.attacks.games.game import Features, NeighboringData, View
from discreet.attacks.games.observing import recommended
from discreet.data.interactions import Interactions

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["Member"]


@dataclass(frozen=True, kw_only=True)
class Member(GivenGame):
    """A user drawn from the records, present or absent; an observer has every other of its items and asks for a list.

    Parameters
    ----------
    fewest
        Records that a user must have to be drawn.
    length
        How long the list is.
    """

    name: str = "member"
    view: View = "recommendations"
    fewest: int = 8
    length: int = 50

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        member = drawn_user(data, draw, least=self.fewest)
        begin, end = data.user_starts[member : member + 2]
        order = begin + draw.permutation(end - begin)
        known, hidden = order[::2], order[1::2]
        observer = (np.full(known.size, data.n_users), data.item[known])
        rating = None if data.rating is None else data.rating[known]
        without, with_ = (with_users(data, *observer, rating, without=absent) for absent in (member, None))
        return NeighboringData(without, with_, records=int(end - begin), secret=(data.n_users, data.item[hidden]))

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        observer, hidden = pair.secret
        items = fitted.data.items
        told = recommended(fitted.model, observer, items, n=min(self.length, len(items)))
        places, scores = told[: len(items)], told[len(items) :]
        known = scores[hidden][~np.isnan(scores[hidden])]
        return np.array([(places[hidden] > 0).mean(), places[hidden].sum(), known.mean() if known.size else np.nan])
