"""Records larger than memory: 20 M and 200 M of them, counted and fitted by the default recommender in parts.

python -m benchmarks parts                                    the full run: about 3 GB of disk
python -m benchmarks parts --records 1000000 10000000         a smaller one, with the same checks
python -m benchmarks parts --folder /scratch                  where the generated files and the parts go

Records are generated: 154 for each person on average (log-normal), of 100,000 items by Zipf's law, so 200 M records are
of 1.3 M people. Each size is measured in a process of its own. Prints the seconds of each step, the peak of memory and
the room on the disk. Claimed: at most 6 GB of memory, and a record of the largest size takes at most 1.5 times as long
as one of the smallest.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from harness import Claims

SIZES = (20_000_000, 200_000_000)
ITEMS = 100_000
EACH = 200_000_000 / 1_300_000
"""Records of one person, on average."""

AT_ONCE = 10_000_000
"""Records of one generated file."""

MOST_MEMORY, MOST_RATIO = 6.0, 1.5


# Generated records


def generate(folder: Path, records: int, *, seed: int = 7) -> int:
    """Write files of records, some millions at a time; how many there are. A person has an item once."""
    rng = np.random.default_rng(seed)
    law = np.cumsum(1 / (np.arange(ITEMS) + 10.0))
    law /= law[-1]
    ids = rng.permutation(ITEMS).astype(np.int32)
    first, written = 0, 0
    for number in range(math.ceil(records / AT_ONCE)):
        people = round(min(AT_ONCE, records - number * AT_ONCE) / EACH)
        many = np.maximum(1, np.rint(rng.lognormal(math.log(EACH) - 0.32, 0.8, people)).astype(np.int64))
        # Some are drawn twice: a tenth more are drawn.
        many = np.minimum((many * 1.12).astype(np.int64) + 1, 5_000)
        person = np.repeat(np.arange(people, dtype=np.int64), many)
        item = np.searchsorted(law, rng.random(person.size)).astype(np.int64)
        keys = np.sort(person * ITEMS + item)
        keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))]
        rng.shuffle(keys)
        frame = pl.DataFrame(
            {"customer": (keys // ITEMS + first).astype(np.int32), "sku": ids[(keys % ITEMS).astype(np.int64)]}
        )
        frame.write_parquet(folder / f"{number:03}.parquet")
        first, written = first + people, written + frame.height
    return written


# One size, in a process of its own


def measure(folder: Path) -> dict[str, Any]:
    """Scan, count and fit the files of a folder; seconds of each step, memory and disk."""
    import discreet as dc
    from discreet.engines.spilling import PREFIX

    seconds: dict[str, float] = {}

    def timed(name: str, job: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        made = job()
        seconds[name] = time.perf_counter() - started
        return made

    ledger = dc.Ledger(folder / "budget.db")
    catalog = np.arange(ITEMS)
    data = timed(
        "scan",
        lambda: dc.scan(f"{folder}/*.parquet", user="customer", item="sku", items=catalog, folder=folder),
    )
    disk = sum(path.stat().st_size for path in folder.glob(f"{PREFIX}*/*"))
    timed("fingerprint", lambda: ledger.open(data, population="customers", epsilon=2, delta="1e-5"))
    counts = dc.counting.ItemCounts(epsilon=1, delta="1e-6")
    timed("count", lambda: counts.release(data, ledger=ledger))
    peak_of_counts = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = timed("fit", lambda: dc.PrivateRecommender(epsilon=1, delta="1e-6").fit(data, ledger=ledger))
    data.close()
    return {
        "parts": data.n_parts,
        "head": len(model.release_.parts["head"]) if "head" in model.release_.parts else 0,
        "seconds": seconds,
        "processor": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
        "disk": disk,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "peak_of_counts": peak_of_counts * 1024,
    }


# All of it


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--measure", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure is not None:
        print(json.dumps(measure(options.measure)))
        return 0
    found: list[dict[str, Any]] = []
    print("     records  parts  head     scan fingerpr    count      fit  processor  peak GB  disk GB  µs/record")
    for records in options.records:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            written = generate(Path(name), records)
            source = sum(path.stat().st_size for path in Path(name).glob("*.parquet"))
            command = [sys.executable, __file__, "--measure", name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            return 1
        one = json.loads(done.stdout)
        one |= {"each": 1e6 * sum(one["seconds"].values()) / written, "used": 1e6 * one["processor"] / written}
        found.append(one)
        steps = " ".join(f"{one['seconds'][step]:8.1f}" for step in ("scan", "fingerprint", "count", "fit"))
        room = f"{one['processor']:10.1f} {one['peak'] / 1e9:8.2f} {(one['disk'] + source) / 1e9:8.2f}"
        print(f"{written:12,} {one['parts']:6} {one['head']:5} {steps} {room} {one['each']:10.2f}", flush=True)
    print(
        f"of processor time, which says more on a busy machine, {found[-1]['used'] / found[0]['used']:.2f} × per record"
    )
    claims = Claims()
    small, big = (f"{records / 1e6:.3g} M" for records in (options.records[0], options.records[-1]))
    each, before = found[-1]["each"], found[0]["each"]
    claims.error(f"a record of {big}", f"a record of {small}", each, before, "µs", 1 / MOST_RATIO)
    claims.goal(f"peak of memory, {big} records", max(one["peak"] for one in found) / 1e9, MOST_MEMORY, "GB")
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
