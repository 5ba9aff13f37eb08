"""Games on tables: what does this row say, or this household, or a row that others depend on?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.attacks.engine.queries import Asked, Request
from discreet.attacks.games.game import Features, GivenGame, NeighboringData, View
from discreet.coupled.coupling import Coupling
from discreet.coupled.workloads.workload import GRID
from discreet.coupled.workloads.written import queries_from_json
from discreet.data.tables import Table
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["GivenRow", "answer_vector", "days", "flu", "request", "table_backgrounds"]

ROW = Unit("record", "replace")
HOUSEHOLD = 4
"""Rows of one group of every small table that has groups."""
FIRST = 90
"""Of 100 rows in the first of two cells: far from the even histogram that iterative methods start at."""
LEAVES = 9
"""Rows that depend on one other row."""
TIMES = 100
"""How often one query is repeated."""


# Datasets


def days(first: int, *, rows: int = 100) -> Table:
    """Two cells: ``first`` rows in the first, the others in the second; four rows a household, in this order."""
    columns = {"day": [0] * first + [1] * (rows - first), "home": np.arange(rows) // HOUSEHOLD}
    return Table(columns, domains={"day": range(2)}, group="home", name="a small dataset")


def flu(*said: str) -> Table:
    """One row a person: "yes", "no", or "away" for somebody who was not asked."""
    return Table({"flu": list(said)}, domains={"flu": ["no", "yes", "away"]}, name="a small dataset")


def table_backgrounds() -> list[Table]:
    """Small tables without a secret; the second has attributes for couplings that are computed from correlations."""
    rows = [(value % 4, (3 * value + 1) % 4, (value * value) % 4) for value in range(12)]
    return [days(60), Table(rows, domains=dict.fromkeys("abc", range(4)), name="a small dataset")]


def request(table: Table, questions: Sequence[dict[str, Any]], coupling: Coupling | None = None) -> Request:
    """A table with the questions that are asked of it."""
    return Request(table, queries_from_json(table, list(questions)), coupling)


def _asked(without: Table, with_: Table, questions: Sequence[dict[str, Any]]) -> NeighboringData:
    """The same questions to two tables that differ in one row."""
    return NeighboringData(request(without, questions), request(with_, questions), unit=ROW)


def _star(*said: str) -> Request:
    """The first of these people is coupled with the next nine."""
    table = flu(*said)
    edges = [(0, leaf) for leaf in range(1, LEAVES + 1)]
    return request(table, [{"flu": "yes"}], Coupling.from_graph(table, edges, public=True))


# Games


def one_row(target: Target) -> NeighboringData:
    """One query, to which a single row says yes or no: the whole budget goes to one answer."""
    return _asked(days(FIRST), days(FIRST + 1), [{"day": 0}])


def many_queries(target: Target) -> NeighboringData:
    """Every cell and both margins of a table of 4 × 4 cells; a row moves from one corner to the other.

    What one row changes in several answers has to be paid for several times.
    """
    cells = [{"row": row, "column": column} for row in range(4) for column in range(4)]
    margins = [{axis: place} for axis in ("row", "column") for place in range(4)]
    rows = [(place % 4, place // 4 % 4) for place in range(32)]
    domains = {"row": range(4), "column": range(4)}
    tables = [Table([*rows, corner], domains=domains, name="a small dataset") for corner in ((0, 0), (3, 3))]
    return _asked(tables[0], tables[1], [*cells, *margins])


def repeated_query(target: Target) -> NeighboringData:
    """One query again and again: rounds of an iterative method that nobody charges show more each time."""
    return _asked(days(FIRST), days(FIRST + 1), [{"day": 0}] * TIMES)


def nobody_responds(target: Target) -> NeighboringData:
    """A query about rows of which there are none, or one: noise that is made for those who respond falls to nothing."""
    without, with_ = (flu(*["no"] * 9, last) for last in ("no", "yes"))
    return _asked(without, with_, [{"flu": "yes"}])


def household(target: Target) -> NeighboringData:
    """A household of four says no instead of yes; who lives with whom is public, and one query is asked."""
    tables = (days(80), days(80 + HOUSEHOLD))
    without, with_ = (request(table, [{"day": 0}], Coupling.by_group(table)) for table in tables)
    return NeighboringData(without, with_, unit=Unit("group", "replace", HOUSEHOLD), records=HOUSEHOLD)


def star(target: Target) -> NeighboringData:
    """Nine people depend on a tenth who says nothing, and do as the tenth did; another one is ill in both datasets.

    Sensitivities that are a maximum over the rows that respond leave the tenth out.
    """
    without, with_ = (_star("away", *[ill] * LEAVES, "yes") for ill in ("no", "yes"))
    return NeighboringData(without, with_, unit=Unit("group", "replace", LEAVES + 1), records=LEAVES + 1)


def coupled_scale(target: Target) -> NeighboringData:
    """Nine ill people depend on a tenth, who says nothing or is ill, too.

    Noise that is made for the couplings of those who respond is ten times as large with the tenth among them.
    """
    without, with_ = (_star(middle, *["yes"] * LEAVES) for middle in ("away", "yes"))
    return NeighboringData(without, with_, unit=ROW)


def correlated_rows(target: Target) -> NeighboringData:
    """Twelve rows that do not correlate, and a thirteenth that correlates with none of them, or with all.

    A coupling that is computed from the rows makes one group of them, and noise thirteen times as large. Played where
    the target computes its coupling from the rows.
    """
    # Seven rows of eight signs each, orthogonal to each other and of sum 0.
    signs = np.array([[(-1) ** (row & column).bit_count() for column in range(8)] for row in range(1, 8)])
    middle, others = signs[0], signs[1:]
    # Each of the twelve correlates with the middle by 1/√2, and with each other by ½ or 0.
    leaves = [middle + sign * other for other in others for sign in (1, -1)]
    names = [f"x{place}" for place in range(8)]
    requests = []
    for last in (0 * middle, 2 * middle):
        columns = dict(zip(names, np.array([*leaves, last]).T.tolist(), strict=True))
        table = Table(columns, domains=dict.fromkeys(names, (-2, 0, 2)), name="a small dataset")
        requests.append(request(table, [{}], target.prototype.coupling_of(table)))
    return NeighboringData(*requests, unit=ROW)


def public_coupling(target: Target, view: View) -> str | None:
    """``correlated_rows`` is for couplings that are computed from the secret rows."""
    computed = isinstance(target.prototype, Asked) and target.prototype.looks_up_coupling
    return None if computed else "the coupling is not computed from the rows"


class GivenRow(GivenGame):
    """A row of the given table says what another one says; the queries are those that are asked.

    The attacker knows all other rows, and so what the answers would be without noise.
    """

    data_type = Table
    about = None

    def obstacle(self, target: Target, data: Table) -> str | None:
        if not isinstance(target.prototype, Asked):
            return "the queries are not known"
        return super().obstacle(target, data)

    def datasets(self, target: Target, data: Table, draw: np.random.Generator) -> NeighboringData:
        assert isinstance(target.prototype, Asked)
        place = int(draw.integers(len(data)))
        frame = data.to_frame()
        other = frame[int(draw.integers(len(data)))].select(data.attributes)
        row = frame[place].with_columns(other.get_columns())
        group = next((name for name in frame.columns if name not in data.attributes), None)
        rows = pl.concat([frame[:place], row, frame[place + 1 :]])
        changed = Table(rows, domains=data.domains, group=group, name=data.name)
        requests = [target.prototype.request(table) for table in (data, changed)]
        truths = tuple(one.workload.true_answers(one.table) / GRID for one in requests)
        return NeighboringData(*requests, unit=ROW, secret=truths)

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        without, with_ = pair.secret
        change = with_ - without
        answers = fitted.released.table("answers")["answer"].to_numpy()
        length = float(np.sqrt(change @ change))
        return np.array([(answers - (without + with_) / 2) @ change / length if length else 0.0])


def seen_answers(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """All that is released."""
    return answer_vector(fitted.released)


def seen_repeats(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """All that is released, and before it the mean and the spread of the answers and how many were measured."""
    told = answer_vector(fitted.released)
    answers, measured = told[:TIMES], told[TIMES : 2 * TIMES]
    return np.concatenate([[answers.mean(), answers.std(), measured.mean()], told])


def answer_vector(release: Release) -> Features:
    """The answers, where each came from, and every other number that was released."""
    answers = release.table("answers")
    numbers = [answers["answer"].to_numpy(), (answers["source"] == "measured").cast(pl.Float64).to_numpy()]
    for name, part in sorted(release.parts.items()):
        if name == "answers":
            continue
        columns = [part[one] for one in part.columns] if isinstance(part, pl.DataFrame) else [pl.Series(part.ravel())]
        numbers += [one.cast(pl.Float64).to_numpy() for one in columns if one.dtype.is_numeric()]
    return np.concatenate(numbers)
