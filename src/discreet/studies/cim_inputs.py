"""What the experiments run on: a table that is given, or the survey and six small tables like those of the thesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
import polars as pl

from discreet.coupled import Coupling
from discreet.data import synthetic
from discreet.data.domains import Domain, IntegerDomain
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.studies.study import published

__all__ = ["Input", "built_in", "given", "planted"]

MOST_CELLS, SMALL_CELLS = 2**15, 2**13
USUAL_BINS = 6
COUPLED_SHARE = 0.25
"""Share of the rows that are coupled with others in all six datasets of the thesis (Section 5.6.1)."""
USUAL_LARGEST = 10
"""k of most datasets of Table 5.2."""
LEAST_DEGREE = 0.6
SURVEY_SEED = 2014

# Attributes of Adult, which has 7·10¹⁶ cells as it is declared. Education is kept as its number of years.
_ADULT: dict[str, Domain | None] = {
    "age": IntegerDomain(0, 120, bins=(0, 25, 35, 45, 55, 65)),
    "workclass": None,
    "education-num": IntegerDomain(1, 16, bins=(1, 9, 10, 13)),
    "marital-status": None,
    "race": None,
    "sex": None,
    "income": None,
}


@dataclass(frozen=True)
class Input:
    """A table, and which of its rows depend on each other.

    Parameters
    ----------
    name
        In tables and charts.
    table
        The rows.
    coupling
        Public: the groups of the table, or groups that were drawn without reading the rows.
    like
        The dataset of the thesis that it stands for, if any.
    """

    name: str
    table: Table
    coupling: Coupling
    like: str | None = None


def given(data: Table, *, seed: int) -> Input:
    """A table with as many of its attributes as a histogram of all cells has room for."""
    if not len(data):
        raise UsageError("the table has no rows.", remedy="Give a table with rows.")
    adult = set(_ADULT) <= set(data.domains)
    if adult:
        table = data.with_domains({name: domain or data.domains[name] for name, domain in _ADULT.items()})
    else:
        table = _narrowed(data)
    like = "Adult" if adult else None
    if table.group is not None:
        coupling = Coupling.by_group(table)
    else:
        largest = published("cim")["table_5_2"].get(like, USUAL_LARGEST)
        coupling = planted(table, largest=largest, seed=seed)
    return Input(data.name or "table", table, coupling, like)


def built_in(*, seed: int, quick: bool) -> list[Input]:
    """The survey, and six tables of the shapes of the thesis at about a tenth of their sizes."""
    survey = synthetic.survey(households=300 if quick else 1_500, seed=SURVEY_SEED + seed)
    found, largest = [Input("survey", survey, Coupling.by_group(survey))], published("cim")["table_5_2"]
    for like, make in _tables(quick=quick).items():
        table = make(seed=SURVEY_SEED + seed)
        if not quick or like in ("NLTCS", "NetTrace"):
            table = _narrowed(table, SMALL_CELLS)
            found.append(Input(f"{like}-like", table, planted(table, largest=largest[like], seed=seed), like))
    return found


def planted(table: Table, *, largest: int, seed: int) -> Coupling:
    """A public graph with the statistics that the thesis reports: a quarter of the rows in groups of up to k.

    Degrees are drawn from δ₀ = 0.6 to 1. Nothing of it looks at the rows, as with background knowledge.
    """
    generator = np.random.default_rng([seed, len(table)])
    coupled = generator.permutation(len(table))[: max(round(COUPLED_SHARE * len(table)), min(2, len(table)))]
    largest = min(largest, coupled.size)
    edges: list[tuple[int, int]] = []
    begin, size = 0, largest  # the first group is as large as any
    while begin < coupled.size:
        group = coupled[begin : begin + size]
        edges += [(int(one), int(other)) for place, one in enumerate(group) for other in group[:place]]
        begin, size = begin + size, int(generator.integers(2, largest + 1)) if largest > 2 else 2
    degrees = generator.uniform(LEAST_DEGREE, 1.0, len(edges))
    frame = pl.DataFrame(edges, schema={"row": pl.Int64, "other": pl.Int64}, orient="row")
    return Coupling.from_graph(table, frame.with_columns(degree=pl.Series(degrees)), public=True)


def _tables(*, quick: bool) -> dict[str, Callable[..., Table]]:
    """Built-in tables by the dataset that they are like, at a tenth of the numbers of the thesis."""
    part = 4 if quick else 1
    return {
        "Adult": partial(synthetic.census, rows=12_000 // part),
        "NLTCS": partial(synthetic.disabilities, rows=4_000 // part, activities=8 if quick else 11),
        "IDS": partial(synthetic.connections, rows=8_000 // part),
        "Search Logs": partial(synthetic.search_logs, bins=4_096 // part, rows=30_000 // part),
        "NetTrace": partial(synthetic.net_trace, bins=4_096 // part, rows=4_000 // part, largest=1_423 // part),
        "Social Network": partial(synthetic.friendships, bins=4_096 // part, rows=60_000 // part),
    }


def _narrowed(data: Table, most: int = MOST_CELLS) -> Table:
    """Some attributes of a table, wide numbers in a few bins: by public domains alone, small domains first."""
    if data.n_cells <= most:
        return data
    if len(data.domains) == 1:
        raise UsageError(
            f"{data.attributes[0]!r} has {data.n_cells:,} values; the study holds {most:,} cells at most.",
            remedy="Declare wider bins.",
        )
    domains = {name: _binned(domain) for name, domain in data.domains.items()}
    kept: list[str] = []
    for name in sorted(domains, key=lambda name: domains[name].size):
        if prod(domains[one].size for one in (*kept, name)) <= most:
            kept.append(name)
    if not kept:
        raise UsageError("every attribute has too many values for a histogram.", remedy="Declare wider bins.")
    return data.with_domains({name: domains[name] for name in domains if name in kept})


def _binned(domain: Domain) -> Domain:
    if isinstance(domain, IntegerDomain) and domain.size > USUAL_BINS:
        return IntegerDomain(domain.low, domain.high, bins=USUAL_BINS)
    return domain
