"""Is this what a household says, or rows that depend on each other?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.asked import Asked, Request
from discreet.attacks.audit.game import Worlds
from discreet.attacks.audit.table_rows import ROW, TableGame
from discreet.attacks.audit.table_worlds import HOUSEHOLD, days, flu, request
from discreet.attacks.audit.targets import Target
from discreet.coupled.coupling import Coupling
from discreet.data.tables import Table
from discreet.privacy.units import Unit

__all__ = ["CorrelatedRows", "CoupledScale", "Household", "Star"]

LEAVES = 9


@dataclass(frozen=True, kw_only=True)
class Household(TableGame):
    """A household of four says no instead of yes; who lives with whom is public, and one query is asked."""

    name: str = "household"
    effort: int = 4

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        tables = (days(80), days(80 + HOUSEHOLD))
        without, with_ = (request(table, [{"day": 0}], Coupling.by_group(table)) for table in tables)
        return Worlds(without, with_, unit=Unit("group", "replace", HOUSEHOLD), records=HOUSEHOLD)


@dataclass(frozen=True, kw_only=True)
class Star(TableGame):
    """Nine people depend on a tenth who says nothing, and do as the tenth did; another one is ill in both worlds.

    Sensitivities that are a maximum over the rows that respond leave the tenth out.
    """

    name: str = "star"
    effort: int = 2

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        without, with_ = (_star("away", *[ill] * LEAVES, "yes") for ill in ("no", "yes"))
        return Worlds(without, with_, unit=Unit("group", "replace", LEAVES + 1), records=LEAVES + 1)


@dataclass(frozen=True, kw_only=True)
class CoupledScale(TableGame):
    """Nine ill people depend on a tenth, who says nothing or is ill, too.

    Noise that is made for the couplings of those who respond is ten times as large with the tenth among them.
    """

    name: str = "coupled-scale"
    effort: int = 2

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        without, with_ = (_star(middle, *["yes"] * LEAVES) for middle in ("away", "yes"))
        return Worlds(without, with_, unit=ROW)


@dataclass(frozen=True, kw_only=True)
class CorrelatedRows(TableGame):
    """Twelve rows that do not correlate, and a thirteenth that correlates with none of them, or with all.

    A coupling that is worked out from the rows makes one group of them, and noise thirteen times as large. Played where
    the target works its coupling out from the rows.
    """

    name: str = "correlated-rows"
    effort: int = 2

    def obstacle(self, target: Target, data: Table) -> str | None:
        if not isinstance(target.prototype, Asked) or not target.prototype.looks_up_coupling:
            return "the coupling is not worked out from the rows"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        assert isinstance(target.prototype, Asked)
        signs = _orthogonal_signs()
        middle, others = signs[0], signs[1:]
        # Each of the twelve correlates with the middle by 1/√2, and with each other by ½ or 0.
        leaves = [middle + sign * other for other in others for sign in (1, -1)]
        worlds = []
        for last in (0 * middle, 2 * middle):
            table = _numbers([*leaves, last])
            asked = request(table, [{}], target.prototype.coupling_of(table))
            worlds.append(asked)
        return Worlds(*worlds, unit=ROW)


def _star(*said: str) -> Request:
    """The first of these people is coupled with the next nine."""
    table = flu(*said)
    return request(
        table, [{"flu": "yes"}], Coupling.from_graph(table, [(0, leaf) for leaf in range(1, LEAVES + 1)], public=True)
    )


def _orthogonal_signs() -> np.ndarray:
    """Seven rows of eight signs each, orthogonal to each other and of sum 0."""
    return np.array([[(-1) ** (row & column).bit_count() for column in range(8)] for row in range(1, 8)])


def _numbers(rows: list[np.ndarray]) -> Table:
    """Rows of numbers from −2 to 2."""
    names = [f"x{place}" for place in range(8)]
    columns = dict(zip(names, np.array(rows).T.tolist(), strict=True))
    return Table(columns, domains=dict.fromkeys(names, (-2, 0, 2)), name="a crafted world")
