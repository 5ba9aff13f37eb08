"""The profile of a user from what moves in a release when the user is added; all other records are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.attacks.games.datasets import GivenGame, drawn_user, public_catalog
from discreet.attacks.games.game import Features, NeighboringData
from discreet.attacks.games.observing import similarity
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.privacy.charging import sandbox
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["Reconstruction", "area_under_curve", "movement", "released_by_item"]

Matrix = NDArray[np.float64]

WIDEST = 400
"""Of wider tables of similar items, only this many columns are asked for."""


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
        user = drawn_user(data, draw, least=self.fewest, most=min(self.most, data.n_items // 2))
        public = public_catalog(data)
        without = public.filter(public.user != user, independent=True)
        profile = np.unique(public.item[public.user == user])
        # The model itself and not what is seen of it: games with other views share these datasets. It is fitted when
        # it is first looked at.
        before = cache(lambda: target.fit(without))
        records = int(data.records_per_user[user])
        return NeighboringData(without, public, records=records, secret=(profile, before))

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        profile, before = pair.secret
        signed, absolute = movement(self._visible(before()), self._visible(fitted))
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


def released_by_item(release: Release, items: IdMap) -> Matrix:
    """Numbers of a release that belong to items, a row an item; 0 for what is not listed.

    Tables that have an ``item_id``, and arrays of which one side is the catalog or the head of it.
    """
    chosen = release.parts.get("head")
    head = chosen if isinstance(chosen, np.ndarray) and chosen.ndim == 1 and chosen.dtype.kind in "iu" else None
    columns = [np.zeros((len(items), 0))]
    for name, part in sorted(release.parts.items()):
        if isinstance(part, pl.DataFrame):
            columns.append(_of_table(part, items))
        elif part.dtype.kind in "biuf" and name != "head":
            columns.append(_of_array(part.astype(np.float64), head, len(items)))
    return np.concatenate(columns, axis=1)


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


def area_under_curve(scores: Matrix, truth: NDArray[np.bool_]) -> float:
    """How often something true has a higher score than something that is not; ties count half.

    Examples
    --------
    >>> area_under_curve(np.array([3.0, 1.0, 2.0]), np.array([True, False, False]))
    1.0
    >>> area_under_curve(np.array([1.0, 1.0]), np.array([True, False]))
    0.5
    """
    true, false = scores[truth], np.sort(scores[~truth])
    if not true.size or not false.size:
        return float("nan")
    below, upto = np.searchsorted(false, true, side="left"), np.searchsorted(false, true, side="right")
    return float((below + upto).mean() / (2 * false.size))


def _of_table(part: pl.DataFrame, items: IdMap) -> Matrix:
    if "item_id" not in part.columns or part["item_id"].dtype != items.series.dtype:
        return np.zeros((len(items), 0))
    codes = items.encode(part["item_id"], unknown="mark")
    known = codes >= 0
    numbers = [name for name, kind in part.schema.items() if kind.is_numeric() and name != "item_id"]
    sums = np.zeros((len(items), len(numbers)))
    for column, name in enumerate(numbers):
        # Several rows of an item, one for each context, are taken together.
        np.add.at(sums[:, column], codes[known], part[name].cast(pl.Float64).fill_null(0.0).to_numpy()[known])
    return sums


def _of_array(part: Any, head: Any, n_items: int) -> Matrix:
    if part.ndim and part.shape[0] == n_items:
        return part.reshape(n_items, -1)
    if head is None or not part.ndim or part.shape[0] != head.size:
        return np.zeros((n_items, 0))
    laid = np.zeros((n_items, part[0].size))
    laid[head] = part.reshape(head.size, -1)
    return laid
