"""How long it takes to make synthetic datasets, up to the size of MovieLens 25M; the target is two minutes and 6 GiB.

python benchmarks/synthetic.py            films at 0.1, 1 and 25 million ratings, and the other datasets
python benchmarks/synthetic.py --quick    without the large ones
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from discreet.data import synthetic

SMALL: dict[str, Callable[[], Any]] = {
    "films, as they come": lambda: synthetic.films(seed=7),
    "films, 1 M ratings": lambda: synthetic.films(users=6_000, items=3_700, records=1_000_000, seed=7),
    "check-ins, 1 M visits": lambda: synthetic.checkins(users=20_000, items=5_000, records=1_000_000, seed=7),
    "tags, 1 M triples": lambda: synthetic.tags(
        users=10_000, resources=50_000, vocabulary=5_000, records=1_000_000, seed=7
    ),
    "survey, 1 M rows": lambda: synthetic.survey(households=430_000, seed=7),
}
LARGE: dict[str, Callable[[], Any]] = {
    "films, 25 M ratings": lambda: synthetic.films(users=162_000, items=59_000, records=25_000_000, seed=7),
}


MOST_SECONDS, MOST_GIB = 120, 6


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave the large datasets out")
    datasets = SMALL if parser.parse_args(arguments).quick else {**SMALL, **LARGE}

    met = True
    print(f"{'dataset':<24}{'records':>12}{'seconds':>9}{'M/s':>7}{'peak GiB':>10}")
    for name, make in datasets.items():
        begin = time.perf_counter()
        dataset = make()
        seconds = time.perf_counter() - begin
        # The peak is of the whole process so far: the last and largest dataset is the one that it tells of.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{name:<24}{len(dataset):>12,}{seconds:>9.2f}{len(dataset) / seconds / 1e6:>7.2f}{peak:>10.2f}", flush=True
        )
        met = met and seconds <= MOST_SECONDS and peak <= MOST_GIB
        del dataset
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
