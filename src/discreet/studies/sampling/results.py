"""Everything that was measured in one run of the study."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.studies.sampling.measuring import Measured
from discreet.studies.sampling.setting import Setting
from discreet.studies.sampling.ways import SELECTION, SHOWN

__all__ = ["Results"]


@dataclass(frozen=True)
class Results:
    """What was measured.

    Parameters
    ----------
    main
        All ways, items and edges.
    single
        All ways, one release of item counts alone.
    caps
        SRA, HPA and weighted counts for every l.
    look, reduction, weekly
        The tables of figures 5, 10 and 11.
    as_they_came
        DFT on items in the order of their ids, where they were renumbered otherwise.
    """

    setting: Setting
    main: Measured
    single: Measured
    caps: dict[int, Measured]
    look: pl.DataFrame
    reduction: pl.DataFrame
    weekly: pl.DataFrame | None
    as_they_came: Measured | None

    def names(self, origin: str, budget: str | None = None) -> list[str]:
        """Ways by where they come from and what they spend."""
        return [
            name
            for name, way in self.main.ways.items()
            if way.origin == origin and (budget is None or way.budget == budget)
        ]

    @cached_property
    def lists(self) -> dict[str, list[int]]:
        """Codes of the top items of one context: the original, and by the last release of some ways."""
        lists = {"original": self._top(self.setting.edges[:, self.setting.place].astype(float))}
        for name in ("SRA", "HPA", SHOWN, f"{SELECTION}, zCDP"):
            scores = self.main.last[name].edge_scores
            assert scores is not None
            lists[name] = self._top(scores[:, self.setting.place])
        return lists

    def shared(self, name: str) -> int:
        """How many of a list are in the original."""
        return len(set(self.lists[name]) & set(self.lists["original"]))

    def _top(self, scores: NDArray[np.float64]) -> list[int]:
        return np.argsort(-scores, kind="stable")[: self.setting.top].tolist()
