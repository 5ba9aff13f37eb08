"""What mechanisms for a public law of dependence share: one count, one promise about what one row says.

Pufferfish privacy names its secrets and whose beliefs they are kept from: for every law in a public class of laws, an
output tells "row i has the value a" from "row i has the value b" by a factor of at most e^ε.

References
----------
D. Kifer, A. Machanavajjhala: Pufferfish: a framework for mathematical privacy definitions. ACM TODS 2014.
S. Song, Y. Wang, K. Chaudhuri: Pufferfish privacy mechanisms for correlated data. SIGMOD 2017.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from discreet.coupled.query_method import KIND, require_complete
from discreet.coupled.workload import GRID, Workload
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import plain
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["PufferfishCount"]


@dataclass(frozen=True)
class PufferfishCount(ABC):
    """One query on a table whose groups are independent of each other, with noise for a public law within groups.

    Privacy
    -------
    Subclasses work out a distance D in records; the noise is discrete Laplace noise of scale D/ε. Pufferfish promises
    do not add up over several releases in general. A ledger is therefore charged with what the same noise keeps as
    differential privacy for a whole group of at most k rows, k·ε/D, which does add up.
    """

    epsilon: Fraction
    name: ClassVar[str]

    @abstractmethod
    def distance(self, sizes: Mapping[int, int]) -> Fraction:
        """How far one secret can move the answer, in records, for groups of these sizes (size to how many)."""

    @abstractmethod
    def _basis(self) -> str:
        """The theorem, the secrets and the class of laws."""

    @abstractmethod
    def _check(self, table: Table, workload: Workload) -> None:
        """Refuse a query that the law does not speak about."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The public settings, JSON-able."""
        return {"method": self.name, "epsilon": str(self.epsilon)}

    def guarantee(self, table: Table, workload: Workload) -> Guarantee:
        """The Pufferfish promise, known before the release."""
        self._require(table, workload)
        return Guarantee(
            loss=Pure(self.epsilon),
            unit=Unit("record", "value"),
            standing=Standing.PROVED,
            basis=self._basis(),
            subject="the answer to 1 linear query",
            not_covered=(
                "beliefs outside of the class of laws",
                "dependence between groups",
                "several releases about the same rows",
                "the number of rows, the groups and the declared domains",
            ),
        )

    def group_guarantee(self, table: Table, workload: Workload) -> Guarantee:
        """What the same noise keeps as differential privacy for one whole group: this is what a ledger is charged."""
        sizes = self._require(table, workload)
        largest = max(sizes)
        unit = Unit("record", "replace") if largest == 1 else Unit("group", "replace", largest)
        return Guarantee(
            loss=Pure(self.epsilon * largest / self.distance(sizes)),
            unit=unit,
            standing=Standing.PROVED,
            basis="discrete Laplace mechanism, docs/proofs/noise.md, Theorem 2",
            subject="the answer to 1 linear query",
        )

    def estimate(self, table: Table, workload: Workload) -> dict[str, Any]:
        """What to expect, from public values alone."""
        sizes = self._require(table, workload)
        sums = self._sums(np.zeros(1, dtype=np.int64), sizes)
        mechanism = LaplaceMechanism(self.epsilon)
        return {
            **self.parameters,
            "largest_group": max(sizes),
            "distance": float(self.distance(sizes)),
            "noise_sd": mechanism.standard_deviation(sums),
            "group_loss": str(self.group_guarantee(table, workload).loss),
        }

    def release(self, table: Table, workload: Workload, *, ledger: Ledger | None = None) -> Release:
        """Charge the ledger, draw the noise, hand out the answer.

        Parameters
        ----------
        table
            Its group column says which rows depend on each other: public.
        workload
            One query.
        """
        sizes = self._require(table, workload)
        guarantee, booked = self.guarantee(table, workload), self.group_guarantee(table, workload)
        mechanism = LaplaceMechanism(self.epsilon)
        mechanism.check(self._sums(np.zeros(1, dtype=np.int64), sizes))
        expected = self.estimate(table, workload)
        with charged(ledger, table, booked, mechanism=self.name, parameters=self.parameters) as charge:
            noisy = mechanism.release(self._sums(workload.true_answers(table), sizes))
            answers = pl.DataFrame(
                {
                    "query": np.zeros(1, dtype=np.int64),
                    "label": workload.labels(),
                    "answer": noisy / GRID,
                    "source": ["measured"],
                }
            )
            release = Release(
                kind=KIND,
                guarantee=guarantee,
                mechanism=self.name,
                parameters=expected,
                parts={"answers": answers},
                dataset=table.name,
            )
            charge.settle(release.id)
        return release

    def _sums(self, values: np.ndarray, sizes: Mapping[int, int]) -> BoundedSums:
        # A contribution is worth half the distance either way: one is taken out, another put in.
        half = self.distance(sizes) * GRID / 2
        return BoundedSums(
            values=values,
            step=Fraction(1, GRID),
            l1=half,
            l2_squared=half**2,
            linf=half,
            nonnegative=False,
            unit=Unit("record", "value"),
            caps=(),
        )

    def _require(self, table: Table, workload: Workload) -> dict[int, int]:
        """Sizes of the groups of the table, after everything that could be wrong was looked at."""
        workload.require_fit(table)
        if len(workload) != 1:
            raise UsageError(
                f"{len(workload):,} queries cannot share one promise of this kind: such promises do not add up.",
                remedy="Ask one query, or use a method for groups of coupled rows.",
            )
        if table.group is None or not len(table):
            raise UsageError(
                "the table does not say which rows depend on each other.", remedy='Give Table(…, group="person").'
            )
        require_complete(table)
        self._check(table, workload)
        found, times = np.unique(np.bincount(table.group), return_counts=True)
        return {int(size): int(number) for size, number in zip(found, times, strict=True) if size}

    def _stated(self) -> str:
        return f"Pufferfish privacy with ε = {plain(self.epsilon)}"
