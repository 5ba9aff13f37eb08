"""From the sums of ``SyntheticInteractions`` to records of people: a law is fitted once, people are drawn from it.

All of it is post-processing: functions of what was released, of public lists, and of random words without a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import AnyIntegers, Codes, Floats, Integers
from discreet.common.splitmix import splitmix, splitmix_uniforms
from discreet.data.contexts import Context, context_of
from discreet.factors.statistics import ITEMS_SHARE
from discreet.factors.synthetic_people import (
    SIMULATED,
    People,
    Tastes,
    fitted,
    length_law,
    likely_popularity,
    nonnegative_law,
    quantile_lengths,
    smooth_law,
)
from discreet.factors.synthetic_sums import GENEROSITY, GROUPS, activity_edges, group_of
from discreet.factors.tastes import TastePlan
from discreet.models.item_likeness import shrunk_spectrum

__all__ = ["Drawn", "draw_people"]

TILTS = np.linspace(-4, 4, 81)
"""How much better or worse than the average of the catalog an item can be rated, in halves of the scale."""


@dataclass(frozen=True)
class Drawn:
    """People who were drawn.

    Parameters
    ----------
    interactions
        Their records.
    people
        How many they are.
    fitted
        What the law of histories consists of besides the noisy sums: arrays of the release.
    """

    interactions: pl.DataFrame
    people: int
    fitted: dict[str, Any]


def draw_people(
    parts: Mapping[str, Any], public: Mapping[str, Any], items: pl.DataFrame, people: int | None, word: int
) -> Drawn:
    """Draw people from the parts of a release; the law is fitted where the parts do not have it.

    Parameters
    ----------
    public
        Thresholds, levels and noise: the parameters of the release.
    items
        The catalog.
    people
        How many; None for the released number of users.
    word
        What everything that is drawn is a function of.
    """
    law = _Law.of(parts, public, items.height)
    number = people if people is not None else max(1, round(law.users))
    streams = [int(one) for one in splitmix(np.uint64(word) + np.arange(1, 8, dtype=np.uint64))]
    lengths, liked = law.lengths(number, streams[0])
    codes = law.people.histories(lengths, liked, streams[1])
    user = np.repeat(np.arange(number), lengths)
    places = np.arange(codes.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    is_liked = places < np.repeat(liked, lengths)
    columns: dict[str, Any] = {
        "user_id": pl.Series([f"s{one}" for one in range(1, number + 1)], dtype=pl.String).gather(user),
        "item_id": items["item_id"].gather(codes),
    }
    if law.levels is not None:
        columns["rating"] = law.ratings(codes, is_liked, splitmix_uniforms(codes.size, streams[2]))
    for place, context in enumerate(law.contexts):
        uniform = splitmix_uniforms(codes.size, streams[3] + place)
        drawn = _by_rows(law.context_chances(place), codes, uniform)
        columns[context.name] = pl.Series([*context.values, None], dtype=pl.String).gather(drawn)
    table = pl.DataFrame(columns)[np.lexsort((codes, user))]
    return Drawn(table, number, law.arrays())


@dataclass(frozen=True)
class _Law:
    """The law of people, read from the noisy sums."""

    parts: Mapping[str, Any]
    public: Mapping[str, Any]
    likes: Floats
    others: Floats
    users: float
    length_chances: Floats
    generosity: Floats | None
    levels: Floats | None
    contexts: tuple[Context, ...]
    people: People

    @classmethod
    def of(cls, parts: Mapping[str, Any], public: Mapping[str, Any], n_items: int) -> _Law:
        noise = public["noise_first"] / ITEMS_SHARE
        noisy = parts["first"][:-1] / ITEMS_SHARE
        if "second" in parts:
            second, more = parts["second"][:-1] / ITEMS_SHARE, public["noise_second"] / ITEMS_SHARE
            trust = more**2 / (noise**2 + more**2)
            noisy, noise = trust * noisy + (1 - trust) * second, noise * more / np.hypot(noise, more)
        likes = likely_popularity(noisy, noise)
        others, generosity, levels = likes, None, None
        if public["levels"] is not None:
            others = likely_popularity(parts["others"][:-1] / ITEMS_SHARE, public["noise_others"] / ITEMS_SHARE)
            classes = parts["generosity"].reshape(len(GROUPS), GENEROSITY)
            people = np.maximum(classes.sum(axis=1), 1.0)
            generosity = _shrunk_laws(classes, public["noise_generosity"], nonnegative_law(classes.sum(axis=0)), people)
            levels = np.array(public["levels"])
        activity = smooth_law(parts["activity"], public["noise_activity"])
        head = parts["head"].astype(np.int32) if "head" in parts else np.zeros(0, dtype=np.int32)
        law = cls(
            parts=parts,
            public=public,
            likes=likes,
            others=others,
            users=max(1.0, float(parts["activity"].sum())),
            length_chances=length_law(activity, activity_edges(n_items), n_items),
            generosity=generosity,
            levels=levels,
            contexts=tuple(context_of(text) for text in public["declared_contexts"]),
            people=People.of(likes, others, head),
        )
        return replace(law, people=law._with_tastes()) if head.size else law

    def _with_tastes(self) -> People:
        if "fitted-offsets" in self.parts:
            return replace(
                self.people,
                offsets=self.parts["fitted-offsets"],
                tail_weights=self.parts["fitted-tail"],
                directions=self.parts["fitted-directions"],
            )
        noisy, head = self.parts["tastes"], self.parts["head"]
        plan = TastePlan.of(self.parts["first"], self.public, users=None, most=head.size)
        # The true matrix has no part along popularity; what is there is noise.
        matrix = noisy - np.outer(plan.direction, plan.direction @ noisy)
        matrix -= np.outer(matrix @ plan.direction, plan.direction)
        values, vectors = shrunk_spectrum(matrix, self.public["noise_tastes"])
        _, liked = self.lengths(SIMULATED, 0)
        tastes = Tastes(plan.weights, plan.direction, values, vectors)
        return fitted(self.people, tastes, self.likes, self.users, liked)

    def arrays(self) -> dict[str, Any]:
        """What the law consists of beside the noisy sums."""
        if "head" not in self.parts:
            return {}
        people = self.people
        return {
            "fitted-offsets": people.offsets,
            "fitted-tail": people.tail_weights,
            "fitted-directions": people.directions,
        }

    def lengths(self, number: int, word: int) -> tuple[Integers, Integers]:
        """Lengths of so many histories, and how many of the items are liked; evenly over their law, in any order."""
        uniform = splitmix_uniforms(3 * number, word).reshape(3, number)
        lengths = quantile_lengths(self.length_chances, (np.argsort(uniform[0]) + 0.5) / number)
        if self.generosity is None or self.public["liked_levels"] == len(self.public["levels"]):
            return lengths, lengths
        share = (_by_rows(self.generosity, group_of(lengths), uniform[1]) + uniform[2]) / GENEROSITY
        return lengths, np.minimum(np.floor(share * (lengths + 1)).astype(np.int64), lengths)

    def _records(self) -> tuple[Floats, Floats]:
        """How many records of each item are likes, and how many are not, if everybody were drawn."""
        lengths, liked = self.lengths(SIMULATED, 0)
        each = self.users / SIMULATED
        of_likes, of_others = each * float(liked.sum()), each * float((lengths - liked).sum())
        return of_likes * self.likes / self.likes.sum(), of_others * self.others / self.others.sum()

    def ratings(self, codes: Codes, is_liked: np.ndarray, uniform: Floats) -> Floats:
        """A rating of each record: by the law of ratings, better for items that are liked more often."""
        assert self.levels is not None
        law = nonnegative_law(self.parts["ratings"]) + 1e-6
        place = np.linspace(-1, 1, law.size)
        tilted = law * np.exp(TILTS[:, None] * place)
        tilted /= tilted.sum(axis=1, keepdims=True)
        above = law.size - self.public["liked_levels"]
        likes, others = self._records()
        share = likes / np.maximum(likes + others, 1e-12)
        tilt = np.rint(np.interp(share, tilted[:, above:].sum(axis=1), np.arange(TILTS.size))).astype(np.int64)
        rated = np.empty(codes.size)
        for chosen, some in ((is_liked, slice(above, None)), (~is_liked, slice(0, above))):
            rows = tilt[codes[chosen]]
            if rows.size:
                laws = _with_marginal(tilted[:, some], np.bincount(rows, minlength=TILTS.size), law[some])
                rated[chosen] = self.levels[some][_by_rows(laws, rows, uniform[chosen])]
        return rated

    def context_chances(self, place: int) -> Floats:
        """For every item the chances of the values of a context, drawn towards those of all items by the noise."""
        law = nonnegative_law(self.parts[f"context-{place}"])
        cells = self.parts[f"cells-{place}"].reshape(-1, law.size)
        noise = self.public[f"noise_cells_{place}"]
        likes, others = self._records()
        weight = (likes + others) / max(float((likes + others).sum()), 1e-12)
        # Each user adds √n to the cells of all items.
        weight *= self.users * float((self.length_chances * np.sqrt(np.arange(1, likes.size + 1))).sum())
        return _shrunk_laws(cells, noise, law, weight)


def _shrunk_laws(cells: Floats, noise: float, law: Floats, weights: Floats) -> Floats:
    """The law of each row of noisy cells, drawn towards the law of all rows by as much as the noise asks for.

    Parameters
    ----------
    weights
        What the cells of each row add up to without noise.
    """
    weight = np.maximum(weights, 1e-9)[:, None]
    apart = cells - weight * law
    # Moments: what deviates by more than the noise is how much rows differ.
    differ = max(0.0, float((apart**2 - noise**2).sum()) / float((weight**2).sum() * law.size))
    trust = differ * weight**2 / (differ * weight**2 + noise**2)
    return np.maximum(law + trust * apart / weight, 0.0) + 1e-9


def _with_marginal(laws: Floats, counts: Integers, marginal: Floats) -> Floats:
    """Laws of rows, changed by a factor for each column so that so many draws from each have the marginal together."""
    laws = laws / laws.sum(axis=1, keepdims=True)
    for _ in range(20):
        found = counts @ laws
        laws = laws * (marginal / np.maximum(found, 1e-12))
        laws /= laws.sum(axis=1, keepdims=True)
    return laws


def _by_rows(chances: Floats, rows: AnyIntegers, uniform: Floats) -> Codes:
    """For each of these rows of chances a code, by uniform numbers."""
    running = np.cumsum(chances, axis=1)
    running /= running[:, -1:]
    codes = np.zeros(rows.size, dtype=np.int32)
    for code in range(chances.shape[1] - 1):
        codes += running[rows, code] <= uniform
    return codes
