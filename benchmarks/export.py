"""Lists for everybody into a file, against the same lists in memory, in one run.

python -m benchmarks export                    60,000 users × 4,000 items, 20 each
python -m benchmarks export --users 200000

Prints users a second of both and their ratio (the goal is at least 0.6), and the memory that the export adds.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from discreet import PrivateRecommender, synthetic


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=60_000)
    parser.add_argument("--items", type=int, default=4_000)
    parser.add_argument("-n", type=int, default=20)
    options = parser.parse_args(arguments)
    data = synthetic.films(users=options.users, items=options.items, seed=7)
    model = PrivateRecommender(epsilon=4, delta="1e-6").fit(data)
    everybody = data.users.ids()
    with tempfile.TemporaryDirectory() as folder:
        model.recommend(everybody[:1000], n=options.n)  # kernels are compiled
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        exported = timed(lambda: model.recommend_all(Path(folder, "lists.parquet"), n=options.n))
        added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        in_memory = timed(lambda: model.recommend(everybody, n=options.n))
    ratio = in_memory / exported
    print(f"in memory: {options.users / in_memory:,.0f} users/s; into a file: {options.users / exported:,.0f} users/s")
    print(f"ratio {ratio:.2f} (goal 0.6); the export added {added / 1024:,.0f} MiB to the peak of memory")
    return 0 if ratio >= 0.6 else 1


def timed(job: Callable[[], object]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
