"""Is this what one row says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from discreet.attacks.audit.asked import Asked, Request
from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.table_worlds import answer_vector, days, flu, request
from discreet.attacks.audit.targets import Fitted, Target
from discreet.coupled.workload import GRID
from discreet.data.tables import Table
from discreet.privacy.units import Unit

__all__ = ["GivenRow", "ManyQueries", "NobodyResponds", "OneRow", "RepeatedQuery", "TableGame"]

ROW = Unit("record", "replace")

FIRST = 90
"""Of 100 rows in the first of two cells: far from the even histogram that iterative methods start at."""


@dataclass(frozen=True, kw_only=True)
class TableGame(Game):
    """What all games on tables share: the attacker chooses the queries and sees all that is released."""

    data_type: ClassVar[type[Any]] = Table

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        assert fitted.release is not None
        return answer_vector(fitted.release)


@dataclass(frozen=True, kw_only=True)
class OneRow(TableGame):
    """One query, to which a single row says yes or no: the whole budget goes to one answer."""

    name: str = "one-row"
    effort: int = 4

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        without, with_ = (request(days(FIRST + more), [{"day": 0}]) for more in (0, 1))
        return Worlds(without, with_, unit=ROW)


@dataclass(frozen=True, kw_only=True)
class ManyQueries(TableGame):
    """Every cell and both margins of a table of 4 × 4 cells; a row moves from one corner to the other.

    What one row changes in several answers has to be paid for several times.
    """

    name: str = "many-queries"
    effort: int = 2

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        cells = [{"row": row, "column": column} for row in range(4) for column in range(4)]
        margins = [{axis: place} for axis in ("row", "column") for place in range(4)]
        rows = [(place % 4, place // 4 % 4) for place in range(32)]
        without, with_ = (request(_grid([*rows, corner]), [*cells, *margins]) for corner in ((0, 0), (3, 3)))
        return Worlds(without, with_, unit=ROW)


@dataclass(frozen=True, kw_only=True)
class RepeatedQuery(TableGame):
    """One query again and again: rounds of an iterative method that nobody charges show more each time.

    Parameters
    ----------
    times
        How often it is asked.
    """

    name: str = "repeated-query"
    effort: int = 1
    times: int = 100

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        without, with_ = (request(days(FIRST + more), [{"day": 0}] * self.times) for more in (0, 1))
        return Worlds(without, with_, unit=ROW)

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        told = super().observe(fitted, worlds)
        answers, measured = told[: self.times], told[self.times : 2 * self.times]
        return np.concatenate([[answers.mean(), answers.std(), measured.mean()], told])


@dataclass(frozen=True, kw_only=True)
class NobodyResponds(TableGame):
    """A query about rows of which there are none, or one: noise that is made for those who respond falls to nothing."""

    name: str = "nobody-responds"
    effort: int = 2

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        without, with_ = (request(flu(*["no"] * 9, last), [{"flu": "yes"}]) for last in ("no", "yes"))
        return Worlds(without, with_, unit=ROW)


@dataclass(frozen=True, kw_only=True)
class GivenRow(TableGame):
    """A row of the given table says what another one says; the queries are those that are asked.

    The attacker knows all other rows, and so what the answers would be without noise.
    """

    name: str = "given-row"
    crafted: bool = False
    effort: int = 1

    def obstacle(self, target: Target, data: Table) -> str | None:
        if not isinstance(target.prototype, Asked):
            return "it is not known what to ask"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Table, draw: np.random.Generator) -> Worlds:
        assert isinstance(target.prototype, Asked)
        place = int(draw.integers(len(data)))
        frame = data.to_frame()
        other = frame[int(draw.integers(len(data)))].select(data.attributes)
        row = frame[place].with_columns(other.get_columns())
        group = next((name for name in frame.columns if name not in data.attributes), None)
        rows = pl.concat([frame[:place], row, frame[place + 1 :]])
        changed = Table(rows, domains=data.domains, group=group, name=data.name)
        worlds = [target.prototype.request(table) for table in (data, changed)]
        return Worlds(*worlds, unit=ROW, secret=tuple(_truth(one) for one in worlds))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        assert fitted.release is not None
        without, with_ = worlds.secret
        change = with_ - without
        answers = fitted.release.table("answers")["answer"].to_numpy()
        length = float(np.sqrt(change @ change))
        return np.array([(answers - (without + with_) / 2) @ change / length if length else 0.0])


def _grid(cells: list[tuple[int, int]]) -> Table:
    return Table(cells, domains={"row": range(4), "column": range(4)}, name="a crafted world")


def _truth(asked: Request) -> Features:
    return asked.workload.true_answers(asked.table) / GRID
