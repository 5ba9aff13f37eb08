"""Games on the caller's records: is somebody among them, what did they do, what is their profile?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.attacks.engine.bounds import one_run_lower_bound
from discreet.attacks.engine.claims import Claim
from discreet.attacks.engine.verdicts import Proved
from discreet.attacks.games.datasets import drawn_user, public_catalog, with_users, without_one
from discreet.attacks.games.game import RECORD, USER, Attack, Features, GivenGame, NeighboringData, View
from discreet.attacks.games.observing import recommended, released_by_item, similarity
from discreet.common.arrays import Floats, Integers, Mask, Matrix
from discreet.data.interactions import Interactions
from discreet.privacy.charging import sandbox
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["Member", "Observation", "OneRun", "Reconstruction", "climbs"]

Lists = tuple[Matrix, Matrix]
"""Places on lists, and scores."""

WIDEST = 400
"""Of wider tables of similar items, only this many columns are asked for."""


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


@dataclass(frozen=True, kw_only=True)
class Observation(GivenGame):
    """A user, of whom some items are known, buys one more item between two looks at the lists of similar items.

    Other records arrive between the two looks as well. In one dataset the hidden one is among them, in the other
    it is not. Whether the item climbs on the lists of the items that are known gives the purchase away: on many lists
    at once it has no other reason to (J. Calandrino et al.: "You might also like": privacy risks of collaborative
    filtering. IEEE S&P 2011).

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
        early[rows] = rows != hidden
        late = np.arange(len(public)) != hidden
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


@dataclass(frozen=True, kw_only=True)
class Reconstruction(GivenGame):
    """Items ranked by how far what is visible about them moved; scored against the true profile of a user.

    A model is fitted without the user, to compare with, and again to the dataset of the run. Where the user is absent
    from that one as well, the same ranking is scored against the same profile: that is the control.

    Parameters
    ----------
    fewest, most
        Records that a user must have to be drawn. A profile of most of the catalog says nothing about anybody.
    length
        How long the lists of similar items are.
    """

    name: str = "reconstruction"
    fewest: int = 5
    most: int = 50
    length: int = 50

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        without, public, profile, records = without_one(data, draw, least=self.fewest, most=self.most)
        # The model itself and not what is seen of it: games with other views share these datasets. It is fitted when
        # it is first looked at.
        before = cache(lambda: target.fit(without))
        return NeighboringData(without, public, records=records, secret=(profile, before))

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        profile, before = pair.secret
        first, second = self._visible(before()), self._visible(fitted)
        if not np.nan_to_num(first).any() and not np.nan_to_num(second).any():
            return np.full(4, np.nan)  # a ranking of nothing is no guess
        signed, absolute = movement(first, second)
        truth = np.zeros(signed.size, dtype=bool)
        truth[profile] = True
        found = [float(truth[np.argsort(-moved, kind="stable")[: profile.size]].mean()) for moved in (signed, absolute)]
        return np.array([area_under_curve(signed, truth), area_under_curve(absolute, truth), *found])

    def _visible(self, fitted: Fitted) -> Matrix:
        """What can be seen of each item, a row each."""
        items = fitted.data.items
        if self.view == "white box":
            return released_by_item(fitted.released, items)
        with sandbox():
            asked = items.ids()[:WIDEST]
            told = similarity(fitted.model, asked, items, n=self.length)
        return told.reshape(2, len(asked), len(items)).transpose(2, 0, 1).reshape(len(items), -1)


def movement(before: Matrix, after: Matrix) -> tuple[Matrix, Matrix]:
    """By how much the numbers of each item rose together, and by how much they moved at all.

    Examples
    --------
    >>> movement(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[2.0, 0.0], [2.0, np.nan]]))
    (array([0., 0.]), array([2., 0.]))
    """
    width = min(before.shape[1], after.shape[1])
    moved = np.nan_to_num(after[:, :width] - before[:, :width])
    return moved.sum(axis=1), np.abs(moved).sum(axis=1)


def area_under_curve(scores: Matrix, truth: Mask) -> float:
    """How often something true has a higher score than something that is not; ties count half.

    Examples
    --------
    >>> area_under_curve(np.array([3.0, 1.0, 2.0]), np.array([True, False, False]))
    1.0
    >>> area_under_curve(np.array([1.0, 1.0]), np.array([True, False]))
    0.5
    """
    from scipy.stats import rankdata

    true, false = int(truth.sum()), int((~truth).sum())
    if not true or not false:
        return float("nan")
    return float((rankdata(scores)[truth].sum() / true - (true + 1) / 2) / false)


@dataclass(frozen=True, kw_only=True)
class OneRun(Attack):
    """Canaries of a few rare items each among the caller's records; how alike its items came out gives a canary away.

    One fit, for models that are expensive to fit. What it proves is small for models with noise and large for those
    without; it is a check on the real records that the games on small datasets do not make (T. Steinke, M. Nasr,
    M. Jagielski: Privacy auditing with one (1) training run. NeurIPS 2023).

    Parameters
    ----------
    canaries
        How many, at most; fewer where the catalog is too short to give each its own items.
    size
        Items of one canary.
    guessed
        Share of the canaries that are guessed about: half of these, those who look most like it, are said to be in,
        the other half, those who look least like it, are said to be out.
    """

    about = "user"
    unit: ClassVar[Unit] = USER

    name: str = "one-run"
    view: View = "similar items"
    canaries: int = 400
    size: int = 4
    guessed: float = 0.5

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        reason = super().obstacle(target, data)
        if reason is None and data.n_items < 10 * self.size:
            return f"{data.n_items} items are too few for canaries of their own"
        return reason

    def play(
        self, target: Target, data: Interactions, *, claim: Claim | None, confidence: float, seed: int
    ) -> dict[str, Any]:
        """Fit once, guess, and count: the fields of a score."""
        draw = np.random.default_rng([seed, 1])
        items = self._items(data, draw)
        coins = draw.random(items.shape[0]) < 0.5
        fitted = target.fit(_with_canaries(data, items[coins]))
        with sandbox():
            scores = self._scores(fitted, items, draw)
        half = max(1, int(self.guessed * coins.size / 2))
        order = np.argsort(scores, kind="stable")
        said_in, said_out = order[-half:], order[:half]
        hits, misses = int(coins[said_in].sum()), int(coins[said_out].sum())
        correct = hits + half - misses
        delta = 0.0 if claim is None else float(claim.delta)
        shown, most = (
            one_run_lower_bound(right, 2 * half, coins.size, delta=delta, confidence=confidence)
            for right in (correct, 2 * half)
        )
        return {
            "hits": hits,
            "runs_present": hits + misses,
            "false_alarms": half - hits,
            "runs_absent": 2 * half - hits - misses,
            "proved": Proved(shown, 0.0, 0.0),
            "ceiling": Proved(most, 0.0, 0.0),
            "how": f"one fit with {coins.size:,} canaries among the given records, {2 * half:,} guesses, "
            f"{correct:,} of them right",
            "scores_present": scores[coins],
            "scores_absent": scores[~coins],
        }

    def _items(self, data: Interactions, draw: np.random.Generator) -> Integers:
        """Items of each canary, a row each: none has two of them."""
        many = min(self.canaries, data.n_items // self.size)
        # Rare items first: there a canary stands out most. Equal counts in an order drawn by chance.
        order = draw.permutation(data.n_items)
        rarest = order[np.argsort(data.records_per_item[order], kind="stable")][: many * self.size]
        return draw.permutation(rarest).reshape(many, self.size)

    def _scores(self, fitted: Fitted, items: Integers, draw: np.random.Generator) -> Floats:
        """How alike the items of each canary came out. What is not listed as alike is less than anything that is."""
        names = [fitted.data.items.decode(row) for row in items]
        told = fitted.model.similar_items([row[0] for row in names], n=fitted.data.n_items)
        listed = {
            (one, other): score for one, other, score in told.select("item_id", "similar_id", "score").iter_rows()
        }
        least = min(listed.values(), default=0.0) - 1.0
        alike = [np.mean([listed.get((row[0], other), least) for other in row[1:]]) for row in names]
        # Equal scores are broken by chance, not by the order of the canaries.
        return np.asarray(alike) + 1e-12 * draw.random(len(names))


def _with_canaries(data: Interactions, items: Integers) -> Interactions:
    """The records with one user more for each row of items, who gives all of them the best rating."""
    many, size = items.shape
    users = np.repeat(data.n_users + np.arange(many), size)
    best = None
    if data.rating is not None:
        best = np.full(many * size, float(data.scale.high if data.scale is not None else data.rating.max()))
    return with_users(data, users, items.ravel().astype(np.int32), best)
