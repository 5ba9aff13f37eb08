"""Queries a second that private multiplicative weights streams, beside a plain NumPy loop in the same run.

python benchmarks/queries.py                      100,000 random queries on 65,536 bins
python benchmarks/queries.py --queries 10_000     fewer

"lazy" is a stream in which the estimate answers everything: the threshold is out of reach. "usual" is the stream of
the default settings, updates included; "weighted" the lazy stream of queries with weights in between. The peer holds
packed bits and, for each query, unpacks them, adds up the histogram and the estimate, and compares with floating-point
noise. Claimed: at least twice the queries a second of the
loop, and no fewer where there are updates, which the loop does not make.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from discreet.coupled import PMW, random_queries
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.builders import RandomWorkload
from discreet.data import Table
from harness import Claims

SIDE = 256
ROWS = 100_000
OUT_OF_REACH = 10**9


def dataset() -> Table:
    generator = np.random.default_rng(7)
    codes = {name: np.minimum(generator.geometric(0.03, ROWS) - 1, SIDE - 1) for name in ("first", "second")}
    return Table(codes, domains=dict.fromkeys(codes, range(SIDE)))


def streamed(table: Table, method: PMW, workload: RandomWorkload) -> tuple[float, int]:
    """Queries a second, and how many updates there were."""
    setting = QuerySetting.of(table, workload, None)
    method.begin(table, setting, len(workload)).answer(workload[:100])  # compile
    run = method.begin(table, setting, len(workload))
    cap = run.updates_left
    begun = time.perf_counter()
    run.answer(workload)
    return len(workload) / (time.perf_counter() - begun), cap - run.updates_left


def looped(table: Table, queries: int) -> float:
    """Queries a second of the plain loop."""
    generator = np.random.default_rng(1)
    packed = generator.integers(0, 256, (queries, SIDE * SIDE // 8), dtype=np.uint8)
    histogram = table.histogram().ravel().astype(np.float64)
    estimate = np.full(histogram.size, ROWS / histogram.size)
    passed = 0
    begun = time.perf_counter()
    for bits in packed:
        query = np.unpackbits(bits).astype(np.float64)
        passed += abs(query @ histogram - query @ estimate) + generator.laplace(0, 100.0) > OUT_OF_REACH
    return queries / (time.perf_counter() - begun)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=100_000)
    options = parser.parse_args(arguments)
    table = dataset()
    peer = max(looped(table, min(options.queries, 2_000)) for _ in range(3))
    print(f"{'stream':<12}{'queries/s':>12}{'× loop':>9}{'updates':>9}")
    print(f"{'NumPy loop':<12}{peer:>12,.0f}{1:>9.1f}{0:>9}")
    lazy, usual = PMW(epsilon=1, updates=30, threshold=OUT_OF_REACH), PMW(epsilon=1)
    subsets = random_queries(table, options.queries, seed=1)
    weighted = random_queries(table, options.queries // 4, seed=1, kind="weighted")
    claims = Claims()
    for name, method, workload in (
        ("lazy", lazy, subsets),
        ("usual", usual, subsets),
        ("weighted", lazy, weighted),
    ):
        rate, updates = streamed(table, method, workload)
        print(f"{name:<12}{rate:>12,.0f}{rate / peer:>9.1f}{updates:>9}")
        claims.rate(f"a stream of queries, {name}", "a loop in NumPy", rate, peer, "queries/s", 1 if updates else 2)
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
