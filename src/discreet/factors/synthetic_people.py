"""People who do not exist, drawn from what was released. All of it is post-processing.

References
----------
H. Robbins: An empirical Bayes approach to statistics. Berkeley Symposium 1956 (what noisy popularities stand for).
R. Plackett: The analysis of permutations. Applied Statistics 24(2), 1975 (items drawn one after the other).
G. Hinton: Training products of experts by minimizing contrastive divergence. Neural Computation 14(8), 2002 (fitting by
comparing released moments with those of simulated people).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.common.arrays import Codes, Floats, Integers
from discreet.common.splitmix import GOLDEN, splitmix
from discreet.factors.synthetic_kernels import draw_histories

__all__ = [
    "People",
    "Tastes",
    "fitted",
    "length_law",
    "likely_popularity",
    "nonnegative_law",
    "quantile_lengths",
    "smooth_law",
]

GRID, CERTAIN, STEPS_PER_NOISE = 80, 20.0, 8
"""Prior popularities that are considered; popularity of so many deviations of the noise is taken as it is."""

EM_ROUNDS = 200

ROUNDS, SIMULATED = 10, 6000
"""How often offsets and tastes are corrected, each time by so many simulated people."""

STEP, SCALE_STEP = 0.7, 0.25
"""How much of an error is corrected at once: of the logarithm of a popularity, and of the variance of a taste."""

LONGEST_TASTE = 3.0
"""No taste changes the odds of an item by more than a factor of e³ per standard deviation: more is noise."""

LEAN = 0.5
"""How much of a taste also decides what somebody tries without liking it."""

CHUNK = 1024
"""Histories are drawn for so many people at a time."""


def likely_popularity(noisy: Floats, noise: float) -> Floats:
    """What each noisy popularity stands for: its mean given the noise and the popularities of all items.

    The law of the true popularities is estimated from the noisy ones by maximum likelihood, on a grid. Popularities far
    above the noise are taken as they are. None is 0: any item can be drawn.

    Examples
    --------
    >>> likely = likely_popularity(np.array([900.0, -3.0, 2.0, 1.0, -1.0, -2.0, 3.0]), noise=2.0)
    >>> float(likely[0]), bool(likely[1:].max() < 2)
    (900.0, True)
    """
    floor = 1e-3 * max(noise, 1e-9)
    uncertain = noisy < CERTAIN * noise
    likely = np.maximum(noisy, floor)
    if not uncertain.any():
        return likely
    low, width = float(noisy[uncertain].min()), noise / STEPS_PER_NOISE
    cells = np.bincount(((noisy[uncertain] - low) / width).astype(np.int64)).astype(np.float64)
    seen = np.flatnonzero(cells)
    middles = low + (seen + 0.5) * width
    grid = np.append(0.0, np.geomspace(noise / 20, 1.5 * CERTAIN * noise, GRID - 1))
    chances = np.exp(-0.5 * ((middles[:, None] - grid) / noise) ** 2) + 1e-300
    prior = np.full(GRID, 1 / GRID)
    for _ in range(EM_ROUNDS):
        posterior = chances * prior
        posterior /= posterior.sum(axis=1, keepdims=True)
        prior = cells[seen] @ posterior
        prior /= prior.sum()
    posterior = chances * prior
    means = (posterior @ grid) / posterior.sum(axis=1)
    likely[uncertain] = np.maximum(np.interp(noisy[uncertain], middles, means), floor)
    return likely


def nonnegative_law(noisy: Floats) -> Floats:
    """The nearest chances to noisy counts: none is negative, and they add up to 1.

    Examples
    --------
    >>> nonnegative_law(np.array([60.0, 45.0, -5.0]))
    array([0.575, 0.425, 0.   ])
    """
    total = max(1.0, float(noisy.sum()))
    falling = np.sort(noisy)[::-1]
    cuts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    cut = cuts[np.flatnonzero(falling > cuts)[-1]]
    law = np.maximum(noisy - cut, 0.0)
    return law / law.sum()


def smooth_law(noisy: Floats, noise: float) -> Floats:
    """Chances of ordered classes, from noisy counts: as smooth as the noise asks for.

    Second differences of the logarithms of the chances are taken to be normal with deviation 1; what is most likely
    given the counts is found by the method of Levenberg and Marquardt. Where counts are large, they decide.

    Examples
    --------
    >>> smooth_law(np.array([500.0, 300.0, 120.0, 3.0, -2.0]), 10.0).round(2).tolist()
    [0.54, 0.32, 0.12, 0.01, 0.0]
    """
    total, size = max(1.0, float(noisy.sum())), noisy.size
    bend = np.diff(np.eye(size), n=2, axis=0) if size > 2 else np.zeros((1, size))
    noise = max(noise, np.sqrt(total) / 10)  # counts of people are never as certain as that
    logs, law = np.log(np.maximum(nonnegative_law(noisy), 0.1 / size)), np.zeros(size)
    loss, damping = np.inf, 1.0
    step, slope, curvature = np.zeros(size), np.zeros(size), np.eye(size)
    for _ in range(60):
        tried = logs + step
        chances = np.exp(tried - tried.max())
        chances /= chances.sum()
        apart, bent = (total * chances - noisy) / noise, bend @ tried
        found = float(apart @ apart + bent @ bent)
        if found < loss:
            logs, law, loss, damping = tried, chances, found, max(damping / 4, 1e-6)
            moved = total / noise * (np.diag(law) - np.outer(law, law))
            slope, curvature = moved.T @ apart + bend.T @ bent, moved.T @ moved + bend.T @ bend
        else:
            damping *= 4
        # One more for all logarithms changes nothing; ones keep them where they are.
        step = -np.linalg.solve(curvature + 1.0 + damping * np.eye(size), slope)
    return law


def length_law(law: Floats, edges: Integers, most: int) -> Floats:
    """Chances of histories of 1, 2, … items, from those of classes of lengths.

    Inside of a class they follow the line through the logarithms of the densities of the classes around it.

    Examples
    --------
    >>> length_law(np.array([0.5, 0.3, 0.2]), np.array([1, 2, 4]), 5).round(3).tolist()
    [0.5, 0.18, 0.12, 0.104, 0.096]
    """
    ends = np.append(edges, most + 1)
    lengths = np.arange(1, most + 1)
    middles = np.log(np.sqrt(ends[:-1] * (ends[1:] - 1.0)))
    density = np.log(np.maximum(law, 1e-9 * law.max()) / np.diff(ends))
    chances = np.exp(np.interp(np.log(lengths), middles, density))
    classes = np.searchsorted(edges, lengths, side="right") - 1
    return chances * (law / np.bincount(classes, weights=chances, minlength=law.size))[classes]


def quantile_lengths(chances: Floats, points: Floats) -> Integers:
    """Lengths of histories at these points from 0 to 1 of their law."""
    running = np.cumsum(chances)
    place = np.searchsorted(running, points * running[-1], side="right")
    return np.minimum(place, np.flatnonzero(chances)[-1]) + 1


@dataclass(frozen=True)
class Tastes:
    """What was released about tastes, without its noise.

    Parameters
    ----------
    weights, direction
        How items of the head weigh in a taste, and the direction of popularity that is taken out.
    values, vectors
        Eigenvalues and eigenvectors of the sum of y yᵀ over users.
    """

    weights: Floats
    direction: Floats
    values: Floats
    vectors: Floats


@dataclass(frozen=True)
class People:
    """The law that histories are drawn from.

    Parameters
    ----------
    head, tail
        Codes of the items that tastes are about, and of the others.
    offsets, tail_weights
        Logarithms of the weights of the head, and weights of the others, for liked items.
    other_offsets, other_tail_weights
        The same for items that are not liked.
    directions
        What a standard normal taste adds to the offsets: a row for each item of the head.
    """

    head: Codes
    tail: Codes
    offsets: Floats
    tail_weights: Floats
    other_offsets: Floats
    other_tail_weights: Floats
    directions: Floats

    @classmethod
    def of(cls, likes: Floats, others: Floats, head: Codes) -> People:
        """People without tastes, by the popularity of likes and of others."""
        rest = np.ones(likes.size, dtype=bool)
        rest[head] = False
        likes, others = likes / likes.sum(), others / others.sum()
        tail = np.flatnonzero(rest).astype(np.int32)
        parts = (np.log(likes[head]), likes[tail], np.log(others[head]), others[tail])
        return cls(head.astype(np.int32), tail, *parts, np.zeros((head.size, 0)))

    def histories(self, lengths: Integers, liked: Integers, word: int) -> Codes:
        """Items of people with these lengths, of which so many are liked, one person after the other: likes first.

        Parameters
        ----------
        word
            A word that everything which is drawn is a function of.
        """
        seeds = splitmix(np.uint64(word) + np.arange(1, lengths.size + 1, dtype=np.uint64) * np.uint64(GOLDEN))
        # A taste that pulls many people to an item makes it no more popular among what is not liked.
        lean_offsets = self.other_offsets - 0.5 * (LEAN * self.directions**2 * LEAN).sum(axis=1)
        drawn = []
        for first in range(0, lengths.size, CHUNK):
            some = slice(first, first + CHUNK)
            starts = np.append(0, np.cumsum(lengths[some]))
            tastes = _normals(seeds[some], self.directions.shape[1]) @ self.directions.T
            drawn.append(
                draw_histories(
                    starts, liked[some], tastes, LEAN, self.offsets, lean_offsets, self.head,
                    np.cumsum(self.tail_weights), np.cumsum(self.other_tail_weights), self.tail, seeds[some],
                )
            )  # fmt: skip
        return np.concatenate(drawn) if drawn else np.zeros(0, dtype=np.int32)


def _normals(seeds: np.ndarray, width: int) -> Floats:
    """Standard normal numbers, a row for each seed (Box and Muller)."""
    words = splitmix(seeds[:, None] ^ splitmix(np.arange(1, 2 * width + 1, dtype=np.uint64) * np.uint64(GOLDEN)))
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.sqrt(-2 * np.log(uniform[:, :width])) * np.cos(2 * np.pi * uniform[:, width:])


def fitted(people: People, tastes: Tastes, popularity: Floats, users: float, liked: Integers) -> People:
    """People with tastes such that simulated ones have the released popularity and the released tastes.

    In each of a few rounds people are simulated, the statistics that were released are computed from them, and offsets
    and directions are corrected by what differs.

    Parameters
    ----------
    popularity
        The likely popularity of liked items: sums over users of 1/√n.
    users
        How many users there are.
    liked
        Numbers of liked items of the people to simulate.
    """
    head, size = people.head, liked.size
    shares = np.maximum(popularity[head] * tastes.weights, 1e-12) / users
    directions = _shortened(tastes.vectors * np.sqrt(tastes.values / users) / shares[:, None])
    now = replace(people, directions=directions)
    wanted = popularity / popularity.sum()
    for turn in range(ROUNDS):
        items = now.histories(liked, liked, int(splitmix(np.array([turn + 1], dtype=np.uint64))[0]))
        found, spread = _moments(items, liked, people.head, popularity.size, tastes)
        # Popularity of which a handful of simulated people decide is left alone.
        least = 5.0 / max(1.0, float(np.sqrt(liked).sum()))
        shift = STEP * np.clip(np.log((wanted[head] + least) / (found[head] + least)), -1, 1)
        tail_shift = STEP * np.log((wanted[now.tail].sum() + least) / (found[now.tail].sum() + least))
        scale = np.clip(tastes.values / np.maximum(spread * users / size, 1e-12), 1 / 4, 4) ** SCALE_STEP
        now = replace(
            now,
            offsets=now.offsets + shift,
            tail_weights=now.tail_weights * np.exp(np.clip(tail_shift, -1, 1)),
            directions=_shortened(now.directions * scale),
        )
    return now


def _shortened(directions: Floats) -> Floats:
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * np.minimum(1.0, LONGEST_TASTE / np.maximum(lengths, 1e-12))


def _moments(items: Codes, liked: Integers, head: Codes, n_items: int, tastes: Tastes) -> tuple[Floats, Floats]:
    """Shares of popularity, and the variance of tastes along each eigenvector, of simulated people."""
    from scipy.sparse import csr_array

    starts = np.append(0, np.cumsum(liked))
    popularity = np.bincount(items, weights=np.repeat(1 / np.sqrt(np.maximum(liked, 1)), liked), minlength=n_items)
    weights = np.zeros(n_items)
    weights[head] = tastes.weights
    rows = csr_array((weights[items], items, starts), shape=(liked.size, n_items))[:, head]
    along, length = rows @ tastes.direction, (rows * rows).sum(axis=1)
    left = np.maximum(length - along**2, length / 256)
    scale = np.where(left > 0, 1 / np.sqrt(np.maximum(left, 1e-12)), 0.0)
    seen = rows @ tastes.vectors - np.outer(along, tastes.direction @ tastes.vectors)
    return popularity / max(popularity.sum(), 1e-12), ((seen * scale[:, None]) ** 2).sum(axis=0)
