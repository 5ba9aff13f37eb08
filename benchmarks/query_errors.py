"""Squared errors of every method that answers queries, by kind of question, table, ε and δ.

python benchmarks/query_errors.py               all tables, a few minutes
python benchmarks/query_errors.py --adult FILE  the same with Adult (adult.data)
python benchmarks/query_errors.py --question "all pairs" --methods marginals strategy    some of it

Prints one Markdown table: for each question the root of the mean squared error of an answer, in rows, with the best
method in bold. "even" is a histogram with the same count in every cell, which costs nothing. The last line counts how
often each method has the least error.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from discreet.coupled import Workload, all_marginals, prefix_sums, queries_from_json, random_queries, range_queries
from discreet.coupled.workloads.workload import GRID
from discreet.data import IntegerDomain, Table, read, synthetic
from discreet.errors import UsageError
from discreet.models.registry import create, registered, settings_of

METHODS = ("lm-gs", "pmw", "mwem", "histogram", "shrunk-histogram", "tree", "strategy", "marginals")
EPSILONS = ("1/10", "1/2", "1")
DELTAS = ("0", "1e-6")
RUNS = 3
ADULT = ("workclass", "marital-status", "race", "sex", "income")

Questions = dict[str, Callable[[Table], Workload]]


def few(table: Table) -> Workload:
    """Five conjunctions of two attributes each: the first value of one, the last half of another."""
    names = list(table.domains)
    asked = []
    for place in range(5):
        one, other = names[place % len(names)], names[(place + 1) % len(names)]
        sizes = {name: table.domains[name].size for name in (one, other)}
        asked.append(
            {
                one: {"weights": [int(code == 0) for code in range(sizes[one])]},
                other: _values(table, other, range(sizes[other] // 2, sizes[other])),
            }
        )
    return queries_from_json(table, asked)


def _values(table: Table, name: str, codes: range) -> object:
    domain = table.domains[name]
    if isinstance(domain, IntegerDomain):
        labels = [label.partition("–") for label in domain.labels()]
        first, last = labels[codes[0]], labels[codes[-1]]
        return [int(first[0]), int(last[2] or last[0])]
    return {"in": [domain.values[code] for code in codes]}


def tables(adult: Path | None) -> Iterator[tuple[str, Table, Questions]]:
    """Tables with the questions that are put to each."""
    random = {"1,000 random": lambda table: random_queries(table, 1000, seed=1)}
    wide: Questions = {**random, "all pairs": lambda table: all_marginals(table, 2), "5 conjunctions": few}
    yield "survey (3,461 rows, 11,520 cells)", synthetic.survey(households=1_500, seed=7), wide
    yield "census (12,000 rows, 26,880 cells)", synthetic.census(rows=12_000, seed=7), wide
    yield "disabilities (4,000 rows, 1,024 cells)", synthetic.disabilities(rows=4_000, activities=10, seed=7), wide
    if adult is not None:
        people = read(adult, format="adult")
        assert isinstance(people, Table)
        yield "Adult (5 attributes)", people.with_attributes(list(ADULT)), wide
    lines: Questions = {
        **random,
        "1,000 ranges": lambda table: range_queries(table, table.attributes[0], 1000, seed=1),
        "prefix sums": lambda table: prefix_sums(table, table.attributes[0]),
        "5 ranges": lambda table: range_queries(table, table.attributes[0], 5, seed=2),
    }
    yield "search logs (30,000 rows, 1,024 values)", synthetic.search_logs(bins=1_024, rows=30_000, seed=7), lines
    trace = synthetic.net_trace(bins=1_024, rows=4_000, largest=400, seed=7)
    yield "net trace (4,000 rows, 1,024 values)", trace, lines


def errors(table: Table, workload: Workload, name: str, epsilon: str, delta: str) -> np.ndarray | None:
    """Mean squared error of each run, in squared rows; None where the method does not take the settings."""
    settings = {"epsilon": epsilon} | ({} if delta == "0" else {"delta": delta})
    if not set(settings) <= set(settings_of(registered(name, "answers"))):
        return None
    truth = workload.true_answers(table) / GRID
    method, found = create(name, "answers", **settings), []
    for _ in range(RUNS):
        try:
            answers = method.release(table, workload).table("answers")["answer"].to_numpy()
        except UsageError:
            return None
        found.append(float(np.square(answers - truth).mean()))
    return np.array(found)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=None)
    parser.add_argument("--question", default="", help="only questions of this name")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    options = parser.parse_args(arguments)
    methods = list(options.methods)
    begun, first = time.perf_counter(), Counter[str]()
    print(f"| table | question | ε | δ | even | {' | '.join(methods)} |")
    print(f"| {' | '.join(['---'] * (5 + len(methods)))} |")
    for title, table, questions in tables(options.adult):
        for question, asked in questions.items():
            if options.question not in question:
                continue
            workload = asked(table)
            truth = workload.true_answers(table) / GRID
            flat = np.full(workload.n_cells, len(table) / workload.n_cells)
            even = float(np.square(workload.answers(flat) - truth).mean())
            for delta in DELTAS:
                for epsilon in EPSILONS:
                    found = {name: errors(table, workload, name, epsilon, delta) for name in methods}
                    means = {name: float(runs.mean()) for name, runs in found.items() if runs is not None}
                    best = min(means, key=lambda name: means[name])
                    first[best] += 1
                    shown = ["–" if name not in means else f"{math.sqrt(means[name]):.3g}" for name in methods]
                    shown[methods.index(best)] = f"**{shown[methods.index(best)]}**"
                    print(
                        f"| {title} | {question} | {epsilon} | {delta} | {math.sqrt(even):.3g} | {' | '.join(shown)} |",
                        flush=True,
                    )
    print(f"\nLeast error: {', '.join(f'{name} {first[name]}' for name in methods)}.", flush=True)
    print(f"{time.perf_counter() - begun:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
