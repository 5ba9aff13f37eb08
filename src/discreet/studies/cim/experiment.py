"""The study itself: measure, then say what came out."""

from __future__ import annotations

import polars as pl

from discreet.data.tables import Table
from discreet.studies.cim.findings import findings
from discreet.studies.cim.inputs import built_in, given
from discreet.studies.cim.measuring import QUICK, Arena, Plan, costs, couplings, errors, over_eta, over_threshold
from discreet.studies.cim.results import Results, charts, tables
from discreet.studies.published import published
from discreet.studies.report import Progress, StudyReport

__all__ = ["builtin", "run"]


def builtin(*, quick: bool) -> None:
    """No single table takes the place of one that is given: ``run`` makes seven, by its seed."""


def run(data: Table | None, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Run Figures 5.1 to 5.5 and Table 5.2 again.

    Parameters
    ----------
    data
        A table; None for the built-in survey and six small tables like those of the thesis.
    seed
        Draws the queries and, where the table has no groups, the public graph. Noise is fresh in every run.
    quick
        Few queries and budgets, to see that it runs.
    progress
        Called with the share that is done and what is being done.

    Privacy
    -------
    None: the report is about the rows themselves.

    Notes
    -----
    All methods get the same public coupling: the groups of the table, or a graph with the statistics of the thesis (a
    quarter of the rows in groups of up to k of Table 5.2, degrees from 0.6 to 1). Errors are of shares of the rows, as
    in Equation 5.6.1. Refuted methods are shown at the ε that they claim and with everything charged.
    """
    plan = QUICK if quick else Plan()
    sources = built_in(seed=seed, quick=quick) if data is None else [given(data, seed=seed)]
    plans = [plan if place == 0 else plan.smaller for place in range(len(sources))]
    steps = sum(len(one.epsilons) + len(one.thresholds) + len(one.etas) for one in plans)
    done = 0

    def tell(what: str) -> None:
        nonlocal done
        if progress is not None:
            progress(done / steps, what)
        done += 1

    arenas = [Arena.of(source, plan, seed=seed) for source in sources]
    pairs = list(zip(arenas, plans, strict=True))
    results = Results(
        inputs=tuple(sources),
        errors=pl.concat([errors(arena, one, tell) for arena, one in pairs]),
        costs=pl.concat([costs(arena) for arena in arenas]),
        thresholds=pl.concat([over_threshold(arena, one, tell) for arena, one in pairs]),
        etas=pl.concat([over_eta(arena, one, tell) for arena, one in pairs]),
        couplings=couplings(sources, seed=seed),
    )
    return StudyReport(
        name="cim",
        title="Many queries on coupled rows: the Coupled Iteration Mechanism",
        source=published("cim")["source"],
        setting={
            "queries": plan.queries,
            "runs of each method": plan.runs,
            "seed": seed,
            "T of the sweep over η": plan.sweep_threshold,
            **{source.name: f"{source.table!r}; {source.coupling!r}" for source in sources},
        },
        tables=tables(results),
        charts=charts(results),
        findings=findings(results),
    )
