"""Errors of all marginals of two and of three attributes, beside independent noise on each of them.

python -m benchmarks marginals                    Adult (as `make data` leaves it) and a table like NLTCS
python -m benchmarks marginals --adult FOLDER     Adult from another place
python -m benchmarks marginals --ways 2 --runs 5  only pairs, five runs each

Prints one Markdown table. For each answer the error is in rows (root of the mean square over all answers and runs); for
each marginal it is the total variation, half of the sum of all errors over the number of rows, of which the mean over
the marginals is shown. "Independent" has equal shares of the budget and noise on every count; "projected" moves each of
these marginals to the nearest one without negative counts. `marginals` is the method of that name, "least squares" the
same with nonnegative=False. One row is protected.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.coupled import MeasuredMarginals, all_marginals
from discreet.coupled.bounds import weighted_count_sums
from discreet.coupled.consistency import onto_simplex
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import GRID
from discreet.data import Table, read, synthetic
from discreet.privacy.budget import Budget

EPSILONS = ("1/4", "1", "4")
DELTAS = ("0", "1e-6")
ADULT = Path.home() / ".cache" / "discreet" / "data" / "adult"

METHODS: list[str] = ["independent", "projected", "least squares", "`marginals`"]

Floats = NDArray[np.float64]


def tables(adult: Path) -> Iterator[tuple[str, Table]]:
    if adult.exists():
        people = read(adult, format="adult")
        assert isinstance(people, Table)
        yield "Adult", people
    else:
        print(f"no Adult at {adult}: make data, or --adult FOLDER", file=sys.stderr)
    yield "NLTCS-like", synthetic.disabilities(rows=21_574, activities=16, seed=7)


def independent(counts: Floats, setting: QuerySetting, budget: Budget, marginals: int) -> Floats:
    """Noise on every count of all marginals, each with the same share."""
    sums = weighted_count_sums(counts.astype(np.int64), setting, [1] * marginals)
    return budget.for_sums().release(replace(sums, values=counts.astype(np.int64))).astype(np.float64)


def answers(table: Table, workload: ProductWorkload, epsilon: str, delta: str, truth: Floats) -> dict[str, Floats]:
    """The answers of each method."""
    setting = QuerySetting.of(table, workload, None)
    starts = np.cumsum([0, *(queries.size for _, queries in workload.groups)])
    order = np.concatenate([queries for _, queries in workload.groups])
    noisy = independent(truth[order], setting, Budget(epsilon, delta), len(workload.groups))
    projected = [onto_simplex(noisy[a:b], len(table)) for a, b in pairwise(starts)]
    found = {"independent": np.empty_like(truth), "projected": np.empty_like(truth)}
    found["independent"][order], found["projected"][order] = noisy, np.concatenate(projected)
    for name, nonnegative in (("least squares", False), ("`marginals`", True)):
        release = MeasuredMarginals(epsilon, delta, nonnegative=nonnegative).release(table, workload)
        found[name] = release.table("answers")["answer"].to_numpy()
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=ADULT)
    parser.add_argument("--ways", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    print(f"| table | attributes | ε | δ | {' | '.join(METHODS)} |")
    print(f"| {' | '.join(['---'] * (4 + len(METHODS)))} |")
    for title, table in tables(options.adult):
        for ways in options.ways:
            workload = all_marginals(table, ways)
            truth = workload.true_answers(table) / GRID
            for delta in DELTAS:
                for epsilon in EPSILONS:
                    squares, variation = dict.fromkeys(METHODS, 0.0), dict.fromkeys(METHODS, 0.0)
                    for _ in range(options.runs):
                        for name, found in answers(table, workload, epsilon, delta, truth).items():
                            off = np.abs(found - truth)
                            squares[name] += float(np.square(off).mean()) / options.runs
                            sums = [off[queries].sum() for _, queries in workload.groups]
                            variation[name] += float(np.mean(sums)) / (2 * len(table) * options.runs)
                    shown = [f"{squares[name] ** 0.5:,.1f} ({variation[name]:.3f})" for name in METHODS]
                    print(f"| {title} | {ways} | {epsilon} | {delta} | {' | '.join(shown)} |", flush=True)
    print(f"{time.perf_counter() - begun:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
