"""Estimates of the true counts from noisy ones, by empirical Bayes.

The size of the noise is public, and a catalog has many counts: together they show how true counts are distributed, and
with that what each noisy count most likely stands for. Nothing here reads records; whoever holds a release can do it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.common.arrays import Floats, Mask
from discreet.errors import ReleaseError
from discreet.privacy.method import Parts
from discreet.privacy.release import Release

__all__ = [
    "count_arrays",
    "counts_of",
    "expected_counts",
    "expected_edges",
    "expected_items",
    "expected_of_parts",
    "require_counts",
]

KINDS = ("item-counts", "context-popularity")
"""Releases that hold counts."""

CLEAR = 8.0
"""Noisy counts above this many standard deviations are taken as they are: shrinkage hardly moves them."""

LEAST = -8.0
"""Noisy counts below this many standard deviations are treated as if they were there."""

STEPS = 100


def require_counts(release: Release) -> None:
    """Refuse a release of something else than item counts."""
    if release.kind not in KINDS:
        raise ReleaseError(f"a release of kind {release.kind!r} has no item counts.")


def counts_of(release: Release) -> tuple[Floats, Floats | None]:
    """The counts of a release: of the items, and of the edges, one row an item, where there are contexts."""
    require_counts(release)
    return count_arrays(release.parts)


def count_arrays(parts: Parts) -> tuple[Floats, Floats | None]:
    """The same from the parts of a release."""
    items = parts["counts"]["count"].to_numpy().astype(np.float64)  # type: ignore[call-overload, union-attr]
    if "edges" not in parts:
        return items, None
    return items, parts["edges"]["count"].to_numpy().astype(np.float64).reshape(items.size, -1)  # type: ignore[call-overload, union-attr]


def expected_counts(release: Release) -> tuple[Floats, Floats | None]:
    """Expected true counts of a release: of the items, and of the edges, one row an item, where there are contexts.

    Where a release does not say how large its noise is, or was finished already, the counts are as they are.

    Parameters
    ----------
    release
        Item counts. Counts of a cap are estimates of what was counted, not of what the cap took away.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.counting import ItemCounts
    >>> films = dc.synthetic.films(users=300, items=40, seed=3)
    >>> items, edges = expected_counts(ItemCounts(epsilon="1/10", cap=5).release(films))
    >>> bool((items > 0).all()), edges
    (True, None)
    """
    require_counts(release)
    if "finish" in release.parameters:
        return count_arrays(release.parts)
    return expected_of_parts(release.parts, release.parameters)


def expected_of_parts(parts: Parts, parameters: Mapping[str, Any]) -> tuple[Floats, Floats | None]:
    """The same from the parts of a release and the figures about its noise."""
    items, edges = count_arrays(parts)
    if "noise_sd" not in parameters:
        return items, edges
    found, deviation = np.empty_like(items), np.empty_like(items)
    for codes, word in _parts_with_equal_noise(parts, items.size):
        found[codes] = expected_items(items[codes], deviation=float(parameters[f"{word}noise_sd"]))
        deviation[codes] = float(parameters.get(f"{word}edge_noise_sd", 0.0))
    return found, None if edges is None else expected_edges(edges, items=found, deviation=deviation[:, None])


def _parts_with_equal_noise(parts: Parts, n_items: int) -> list[tuple[Mask, str]]:
    """Items that have noise of one size, and what its figures begin with; of version 0.1 a head may have its own."""
    head = np.zeros(n_items, dtype=bool)
    if "head" not in parts:
        return [(~head, "")]
    head[parts["head"]] = True  # type: ignore[call-overload]
    return [(head, "head_"), (~head, "")]


def expected_items(noisy: Floats, *, deviation: float) -> Floats:
    """Expected true counts of items, given all noisy ones.

    How true counts are spread is fitted by expectation–maximization over a grid of levels (Kiefer and Wolfowitz's
    maximum likelihood). Estimates rise with the noisy counts, so that the order of items stays, and are nowhere
    negative.

    Parameters
    ----------
    noisy
        Counts with independent noise.
    deviation
        Its standard deviation; the noise is taken to be normal.

    References
    ----------
    B. Efron: Empirical Bayes deconvolution estimates. Biometrika 2016.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> true = np.repeat([0.0, 500.0], [900, 100])
    >>> noisy = true + rng.normal(0, 100, 1000)
    >>> found = expected_items(noisy, deviation=100)
    >>> [round(float(np.square(counts - true).mean() ** 0.5)) for counts in (noisy, found)]
    [99, 27]
    """
    if not deviation > 0:
        return np.maximum(noisy, 0)
    levels = _levels()
    scaled = noisy / deviation
    # Counts beyond the last level tell nothing about the others.
    near = scaled <= levels[-1]
    seen = np.maximum(scaled[near], LEAST)
    spread = _spread(seen, levels)
    likelihood = _likelihood(seen, levels)
    found = scaled.copy()
    found[near] = (likelihood @ (spread * levels)) / (likelihood @ spread)
    return np.where(scaled > CLEAR, noisy, deviation * found)


def _spread(seen: Floats, levels: Floats) -> Floats:
    """How likely each level is: the most likely answer, given all noisy counts in standard deviations."""
    # Equal to a 32nd of the noise is equal enough here, and far fewer.
    different, times = np.unique(np.round(seen * 32) / 32, return_counts=True)
    likelihood = _likelihood(different, levels)
    spread = np.full(levels.size, 1 / levels.size)
    for _ in range(STEPS if seen.size else 0):
        spread *= (times / (likelihood @ spread)) @ likelihood / seen.size
    return spread


def _likelihood(seen: Floats, levels: Floats) -> Floats:
    return np.exp(-0.5 * np.square(seen[:, None] - levels))


def _levels() -> Floats:
    """Values that a true count may have, in standard deviations of the noise.

    Even in logarithms below one, as the popularity of items is; above that close enough for the noise to hide the
    steps between them. They end well beyond where counts are taken as they are.
    """
    return np.concatenate([[0.0], np.geomspace(0.05, 1, 16), np.arange(1.25, 1.5 * CLEAR, 0.25)])


def expected_edges(noisy: Floats, *, items: Floats, deviation: Floats | float) -> Floats:
    """Expected true counts of edges, given all noisy ones and estimates of their items.

    If items and contexts had nothing to do with each other, an edge would have its item's count times the share of
    its context. How far edges differ from that, as a share of it, is estimated from all of them; each is then drawn
    back as far as its noise makes it uncertain. Without a sign of any difference, all are drawn back in full.

    Parameters
    ----------
    noisy
        One row an item, one column a combination of the values of the contexts.
    items
        Estimates of the items' counts, none negative.
    deviation
        Standard deviation of the noise of an edge; one for all, or a column with one an item.

    Examples
    --------
    >>> items = np.array([100.0, 50.0])
    >>> expected_edges(np.array([[70.0, 30.0], [35.0, 15.0]]), items=items, deviation=20).round(1).tolist()
    [[70.0, 30.0], [35.0, 15.0]]
    """
    column = np.maximum(noisy.sum(axis=0), 0)
    share = column / column.sum() if column.sum() > 0 else np.full(noisy.shape[1], 1 / noisy.shape[1])
    unrelated = items[:, None] * share
    weight = np.square(unrelated)
    differ = (np.square(noisy - unrelated) - np.square(deviation)) * weight  # the surest edges tell most
    spread = max(0.0, float(differ.sum() / np.square(weight).sum())) if weight.any() else 0.0
    uncertain = spread * weight
    noise = np.broadcast_to(np.square(deviation), uncertain.shape)
    kept = np.divide(uncertain, uncertain + noise, out=np.zeros_like(uncertain), where=uncertain > 0)
    return np.maximum(unrelated + kept * (noisy - unrelated), 0)
