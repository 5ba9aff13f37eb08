"""The public tables that a channel draws by: which tags a topic has, what they weigh, how alike they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.tagging.exact_draws import uniform_below

__all__ = ["ChannelTables", "check_blocks"]

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ChannelTables:
    """What is looked up for each draw; functions of public or released values.

    Attributes
    ----------
    topics, weights
        Of each tag.
    order, starts
        Tags by topic: those of topic z are ``order[starts[z]]`` to ``order[starts[z + 1] - 1]``.
    running
        Sums of weights before each place of the order.
    place
        Where each tag stands among those of its topic.
    offsets, flat
        Where the block of each topic begins among all qualities; −1 for a topic without a block.
    """

    topics: Whole
    weights: Whole
    order: Whole
    starts: Whole
    running: Whole
    place: Whole
    offsets: Whole
    flat: Whole
    grid: int

    @classmethod
    def of(cls, topics: Whole, weights: Whole, quality: Sequence[NDArray[np.uint8] | None], grid: int) -> ChannelTables:
        order = np.argsort(topics, kind="stable")
        sizes = np.bincount(topics, minlength=len(quality))
        starts = np.append(0, np.cumsum(sizes))
        place = np.empty(topics.size, dtype=np.int64)
        place[order] = np.arange(topics.size) - np.repeat(starts[:-1], sizes)
        cells = np.array([0 if block is None else block.size for block in quality], dtype=np.int64)
        blocks = [block.ravel() for block in quality if block is not None]
        return cls(
            topics=topics,
            weights=weights,
            order=order,
            starts=starts,
            running=np.append(0, np.cumsum(weights[order])),
            place=place,
            offsets=np.where(cells > 0, np.cumsum(cells) - cells, -1),
            flat=np.concatenate(blocks).astype(np.int64) if blocks else np.zeros(0, dtype=np.int64),
            grid=grid,
        )

    def draw(self, topics: Whole) -> Whole:
        """A tag of each of these topics, with probability proportional to its weight."""
        first, last = self.running[self.starts[topics]], self.running[self.starts[topics + 1]]
        place = np.searchsorted(self.running, first + uniform_below(last - first), side="right") - 1
        return self.order[place]

    def levels(self, true: Whole, drawn: Whole) -> Whole:
        """Grid steps that each pair of tags of one topic is short of the best quality."""
        levels = np.where(true == drawn, 0, self.grid)
        topic = self.topics[true]
        known = np.flatnonzero(self.offsets[topic] >= 0)
        width = np.diff(self.starts)[topic[known]]
        cell = self.offsets[topic[known]] + self.place[true[known]] * width + self.place[drawn[known]]
        levels[known] = self.grid - self.flat[cell]
        return levels


def check_blocks(blocks: Sequence[NDArray[np.integer] | None], sizes: Whole, grid: int) -> None:
    """Refuse qualities that are not whole numbers from 0 to the grid, a square block for each topic."""
    if isinstance(grid, bool) or not isinstance(grid, int) or not 1 <= grid <= 255:
        raise UsageError(f"grid = {grid!r} must be a whole number from 1 to 255.")
    if len(blocks) != sizes.size:
        raise UsageError(f"quality has {len(blocks)} blocks for {sizes.size} topics.")
    for block, size in zip(blocks, sizes, strict=True):
        if block is None:
            continue
        if block.shape != (size, size) or not np.issubdtype(block.dtype, np.integer):
            raise UsageError(f"a topic of {size} tags has a square block of whole numbers, not one of {block.shape}.")
        if block.size and not 0 <= int(block.min()) <= int(block.max()) <= grid:
            raise UsageError(f"qualities are whole numbers from 0 to {grid}.")
