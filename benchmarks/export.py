"""Lists for everybody into a file, against the same lists in memory, in one run.

python -m benchmarks export                    60,000 users × 4,000 items, 20 each
python -m benchmarks export --users 200000

Claimed: at least 0.6 of the users a second. It prints the memory that the export adds, too.
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
from harness import Claims


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
    print(f"the export added {added / 1024:,.0f} MiB to the peak of memory")
    claims = Claims()
    rates = options.users / exported, options.users / in_memory
    claims.rate("lists for everybody into a file", "the same lists in memory", *rates, "users/s", 0.6)
    return claims.close()


def timed(job: Callable[[], object]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
