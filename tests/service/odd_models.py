"""Recommenders for tests of processes: one that wants too much memory, one that waits to be told to go on."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.ids import IdMap
from discreet.models import ReleasedModel
from discreet.privacy.bounding import cap_items
from discreet.privacy.budget import Budget
from discreet.privacy.method import Plan, Round

TOO_MUCH = 2**36
"""Bytes; far beyond the limit that the tests set."""


@dataclass
class Counted(ReleasedModel):
    """Ranks items by their noisy number of users."""

    name = "counted"
    epsilon: float = 1

    def _plan(self, public: Any) -> Plan:
        self._before()
        budget = Budget(self.epsilon)
        return Plan(budget.loss, "discrete Laplace mechanism", "users of items", caps=(), public=public.items.series)

    def _sums(self, people: Any) -> Any:
        return cap_items(people, 5).item_counts()

    def _counted(self, people: Any) -> Any:
        self._after()
        return self._sums(people)

    def _rounds(self, plan: Plan) -> Any:
        counts = yield Round(self._counted, Budget(self.epsilon).for_sums())
        return {"counts": counts, "items": pl.DataFrame({"item_id": plan.public})}

    def _build(self, release: Any) -> None:
        self.items_ = IdMap(release.table("items")["item_id"], what="item")
        self.counts_ = release.array("counts").astype(float)

    def _score(self, rows: Any) -> Any:
        return np.tile(self.counts_, (rows.shape[0], 1))

    def _before(self) -> None:
        """Before the charge."""

    def _after(self) -> None:
        """After it, when noise may have been drawn."""


@dataclass
class Greedy(Counted):
    """Wants more memory than there is, where the memory of the process is limited: in the process of a job."""

    name = "greedy"
    when: str = "before"
    how: str = "error"

    def _before(self) -> None:
        if self.when == "before":
            self._want()

    def _after(self) -> None:
        if self.when == "after":
            self._want()

    def _want(self) -> None:
        if resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY:
            return
        if self.how == "error":
            bytearray(TOO_MUCH)  # Python raises an error
        else:
            pl.repeat(1, TOO_MUCH // 8, dtype=pl.Int64, eager=True)  # Rust ends the process


@dataclass
class Waiting(Counted):
    """Says that it was charged, and waits until it may go on."""

    name = "waiting"
    folder: str = ""

    def _after(self) -> None:
        Path(self.folder, "charged").touch()
        while not Path(self.folder, "go on").exists():
            time.sleep(0.02)
