"""The methods that are compared, and what those with a refuted guarantee really spend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.coupled import CIM, LMCS, LMGS, MWEM, PMW, HistogramRelease, QueryMethod, ShrunkHistogram, TreeMarginals
from discreet.coupled.query_method import QuerySetting
from discreet.data.tables import Table

__all__ = ["CHARGED", "EVEN", "METHODS", "OURS", "ComparedMethod", "cim_cost", "lmcs_cost"]

Cost = Callable[[Table, QuerySetting], float]


@dataclass(frozen=True)
class ComparedMethod:
    """One row of the tables.

    Parameters
    ----------
    name
        In tables and charts.
    method
        The method for a claimed ε.
    cost
        For a refuted one: what it spends at least, for each unit of ε that it claims. None for the proved ones.
    ours
        Whether its shares and thresholds are this project's.
    """

    name: str
    method: Callable[[Fraction], QueryMethod]
    cost: Cost | None = None
    ours: bool = False

    @property
    def standing(self) -> str:
        return "PROVED" if self.cost is None else "REFUTED"

    def charged(self, epsilon: Fraction, table: Table, setting: QuerySetting) -> QueryMethod:
        """The method with its claim reduced until what it really spends is ε."""
        assert self.cost is not None
        return self.method(epsilon / Fraction(self.cost(table, setting)).limit_denominator(10**9))


def lmcs_cost(table: Table, setting: QuerySetting) -> float:
    """What LM&CS spends for each ε that it claims, if its scales were public: a group moves each answer by up to k."""
    scales = LMCS(epsilon=1).scales(table, setting)
    with np.errstate(divide="ignore"):
        return max(1.0, float((setting.largest / scales).sum()))


def cim_cost(table: Table, setting: QuerySetting) -> float:
    """What CIM spends for each ε that it claims, if its scales were right and public: ε₀ in every round."""
    return CIM(epsilon=1).round_budget(setting.workload.n_cells) * len(setting.workload)


EVEN = "nothing asked"
"""An even histogram, which costs nothing."""
OURS = "ours: shrunk-histogram"
CHARGED = ", charged"
"""Follows the name of a refuted method whose claim was reduced until it spends ε."""

METHODS = (
    ComparedMethod("LM&GS", lambda epsilon: LMGS(epsilon=epsilon)),
    ComparedMethod("LM&CS", lambda epsilon: LMCS(epsilon=epsilon), lmcs_cost),
    ComparedMethod("CIM as printed", lambda epsilon: CIM(epsilon=epsilon), cim_cost),
    ComparedMethod("CIM corrected", lambda epsilon: CIM(epsilon=epsilon, update="corrected"), cim_cost),
    ComparedMethod("PMW", PMW),
    ComparedMethod("MWEM", MWEM),
    ComparedMethod("noise on every cell", HistogramRelease),
    ComparedMethod("tree of pairs", TreeMarginals, ours=True),
    ComparedMethod(OURS, ShrunkHistogram, ours=True),
)
