"""Lists that are read off releases, which costs nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arguments import require_whole
from discreet.counting.estimation import require_counts
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.release import Release

__all__ = ["bought_together", "check_k", "top"]


def top(release: Release, k: int = 10, *, by_context: bool = False) -> pl.DataFrame:
    """The k items with the largest counts of a release, best first. Post-processing: it costs nothing.

    Equal counts stand in the order of the catalog, which is public.

    Parameters
    ----------
    by_context
        One list for each combination of the values of the contexts, instead of one for all.
    """
    require_counts(release)
    counts = release.table("counts")
    check_k(k, counts.height)
    if by_context:
        names = list(release.parameters["contexts"])
        falling = [False] * len(names) + [True]
        ordered = release.table("edges").sort([*names, "count"], descending=falling, maintain_order=True)
        ranked = ordered.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(names))
        return ranked.filter(pl.col("rank") <= k)
    best = counts.sort("count", descending=True, maintain_order=True).head(k)
    return best.with_columns(pl.Series("rank", np.arange(1, k + 1)))


def bought_together(release: Release, item: Any, k: int = 10) -> pl.DataFrame:
    """What users who touched an item also touched, most of them first. Post-processing: it costs nothing.

    ``count`` is the released weighted number of users of both; ``share`` is its ratio to that of the item itself, from
    0 to 1. An item that noise alone could have put there has no share.
    """
    if release.kind != "item-pairs":
        raise ReleaseError(f"a release of kind {release.kind!r} has no pairs of items.")
    items = release.table("items")
    check_k(k, None)
    listed = items["item_id"].to_list()
    if item not in listed:
        raise UsageError(f"{item!r} is not in the head of this release.", remedy="Its table 'items' lists the head.")
    row = listed.index(item)
    pairs, noise = release.array("pairs"), float(release.parameters["noise_sd"])
    own = pairs[row, row]
    # The diagonal has √2 times the noise of the rest.
    known = own > 2 * math.sqrt(2) * noise
    share = np.clip(pairs[row] / own, 0, 1) if known else np.full(pairs.shape[0], np.nan)
    table = items.with_columns(count=pairs[row], share=pl.Series(share).fill_nan(None))
    best = table.filter(pl.int_range(pl.len()) != row).sort("count", descending=True, maintain_order=True).head(k)
    return best.with_columns(rank=pl.int_range(1, best.height + 1))


def check_k(k: int, n_items: int | None) -> None:
    """Refuse a number of items that is not from 1 to the size of the catalog."""
    require_whole(k, "k")
    if n_items is not None and k > n_items:
        raise UsageError(f"k must be between 1 and the number of items ({n_items:,}), got {k:,}.")
