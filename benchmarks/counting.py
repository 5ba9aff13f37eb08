"""Private counts of items and of items by weekday, beside polars without privacy and beside other private counts.

python benchmarks/counting.py                         a synthetic dataset of 25 million records
python benchmarks/counting.py --records 2_500_000     a smaller one
python benchmarks/counting.py --methods weighted      one method alone

Polars groups by item, and by item and weekday, with its in-memory and with its streaming engine; the faster one
counts. Each method makes a whole release: the days of the records, the bounded counts, the noise, the two tables and
their hashes. Everybody has a process of their own and the same number of threads, warms up on a few records, and the
best of several runs counts, in turns, since other programs on the machine slow all of them down. Memory is the peak
during the run above what was there before it, with the columns loaded. Claimed: the default method takes at most three
times as long as polars.

Then private counts of items alone, on fewer records: ours beside OpenDP's plug-in for polars and PipelineDP's local
backend, everybody with ε = 1 for a whole person, at most 30 items each, and a public list of items.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness import LARGE, Claims, UnmeasuredError, forget_peak, large, measured, peak_memory

DEFAULT = "weighted"
METHODS = (DEFAULT, "weighted, δ", "hybrid", "sra", "hpa")
ENGINES = {"polars, in memory": "in-memory", "polars, streaming": "streaming"}
MOST_TIME = 3
WARM_UP = 2_000
EPSILON, CAP = 1, 30
OUTSIDE = {"opendp": ("OpenDP's plug-in for polars", 1_000_000), "pipeline_dp": ("PipelineDP, local", 250_000)}
ITEMS_ALONE = "items alone"

Dataset = dict[str, Any]
Job = Callable[[], object]


def count_without_privacy(dataset: Dataset, engine: Any) -> Job:
    import polars as pl

    frame = pl.DataFrame({"item_id": dataset["item"], "timestamp": dataset["timestamp"]}).lazy()
    weekday = pl.from_epoch("timestamp").dt.weekday().alias("weekday")
    queries = [frame.group_by("item_id").len(), frame.group_by("item_id", weekday).len()]
    return lambda: pl.collect_all(queries, engine=engine)


def count_privately(dataset: Dataset, name: str) -> Job:

    from discreet.data import Interactions
    from discreet.models.registry import create

    columns = {"user_id": dataset["user"], "item_id": dataset["item"], "timestamp": dataset["timestamp"]}
    data = Interactions(columns, items=np.arange(dataset["n_items"]))
    name, _, delta = name.partition(", ")
    method = create(name, "counts", epsilon=1, cap=30, **({"delta": "1e-6"} if delta else {}))
    return lambda: method.release(data, contexts=["weekday"])


def count_items(dataset: Dataset) -> Job:
    from discreet.counting import ItemCounts
    from discreet.data import Interactions

    columns = {"user_id": dataset["user"], "item_id": dataset["item"]}
    data = Interactions(columns, items=np.arange(dataset["n_items"]))
    return lambda: ItemCounts(epsilon=EPSILON, cap=CAP).release(data)


def count_by_opendp(dataset: Dataset) -> Job:
    import polars as pl

    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    items = np.arange(dataset["n_items"], dtype=np.int32)
    frame = pl.LazyFrame({name: dataset[name].astype(np.int32) for name in ("user", "item")})

    def count() -> object:
        context = dp.Context.compositor(
            data=frame,
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
            privacy_loss=dp.loss_of(epsilon=float(EPSILON)),
            split_evenly_over=1,
        )
        # Of its ways to choose groups only these work in 0.16 with a group of one column.
        kept = context.query().truncate_per_group(1, by=["item"]).truncate_num_groups(CAP, by=["item"], keep="first")
        counted = kept.group_by("item").agg(dp.len(signed=True)).with_keys(pl.LazyFrame({"item": items}))
        return counted.release().collect()

    return count


def count_by_pipeline_dp(dataset: Dataset) -> Job:
    import pipeline_dp as dp  # pyright: ignore[reportMissingImports]

    rows = list(zip(dataset["user"].tolist(), dataset["item"].tolist(), strict=True))
    items = list(range(int(dataset["n_items"])))
    parts = dp.DataExtractors(lambda row: row[0], lambda row: row[1], lambda _: 1)

    def count() -> object:
        accountant = dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=1e-6)
        limits = dp.AggregateParams(
            metrics=[dp.Metrics.COUNT],
            noise_kind=dp.NoiseKind.LAPLACE,
            max_partitions_contributed=CAP,
            max_contributions_per_partition=1,
        )
        found = dp.DPEngine(accountant, dp.LocalBackend()).aggregate(rows, limits, parts, public_partitions=items)
        accountant.compute_budgets()
        return list(found)

    return count


JOBS: dict[str, Callable[[Dataset], Job]] = {
    ITEMS_ALONE: count_items,
    "opendp": count_by_opendp,
    "pipeline_dp": count_by_pipeline_dp,
}


def measure(who: str, path: Path, repeats: int) -> dict[str, float]:
    """Best time, processor time and peak memory."""
    with np.load(path) as stored:
        dataset: Dataset = {name: stored[name] for name in stored.files}

    def prepared(part: Dataset) -> Job:
        if who in JOBS:
            return JOBS[who](part)
        return count_without_privacy(part, ENGINES[who]) if who in ENGINES else count_privately(part, who)

    few = {name: column[:WARM_UP] if column.ndim else column for name, column in dataset.items()}
    prepared(few)()
    job = prepared(dataset)
    del dataset
    before = forget_peak()
    times: list[tuple[float, float]] = []
    peak = 0.0
    for _ in range(repeats):
        begun, used = time.perf_counter(), time.process_time()
        job()
        times.append((time.perf_counter() - begun, time.process_time() - used))
        peak = peak or peak_memory() - before  # later runs find memory that the first one left
    seconds, processor = min(times)
    return {"seconds": seconds, "processor": processor, "peak": peak}


def compare(dataset: Path, options: argparse.Namespace, claims: Claims) -> None:
    """Print the table of what polars counts as well."""
    best: dict[str, dict[str, float]] = {}
    given = ["--dataset", dataset, "--repeats", options.repeats]
    for _ in range(options.rounds):
        for who in (*ENGINES, *options.methods):
            one = measured(__file__, who, given, threads=options.threads)
            if who not in best or one["seconds"] < best[who]["seconds"]:
                best[who] = one
    fastest = min((best[who] for who in ENGINES), key=lambda found: found["seconds"])
    print(f"{'':<20}{'seconds':>9}{'× polars':>10}{'CPU s':>8}{'× polars':>10}{'peak MiB':>10}")
    for who, one in best.items():
        print(
            f"{who:<20}{one['seconds']:>9.2f}{one['seconds'] / fastest['seconds']:>10.2f}"
            f"{one['processor']:>8.2f}{one['processor'] / fastest['processor']:>10.2f}{one['peak'] / 2**20:>10.0f}"
        )
    if DEFAULT in best:
        what = f"private counts of {options.records / 1e6:.3g} M records, by item and weekday"
        claims.seconds(what, "polars, not private", best[DEFAULT]["seconds"], fastest["seconds"], 1 / MOST_TIME)


def compare_private(folder: Path, options: argparse.Namespace, claims: Claims) -> None:
    """Others that count privately."""
    for peer, (title, most) in OUTSIDE.items():
        data = large(min(most, options.records))
        given = ["--dataset", stored(folder, data), "--repeats", 1]
        try:
            ours, theirs = (
                measured(__file__, who, given, threads=options.threads, peer=other)["seconds"]
                for who, other in ((ITEMS_ALONE, None), (peer, peer))
            )
        except UnmeasuredError as error:
            print(error)
            continue
        claims.seconds(f"private counts of {len(data):,} records, by item", title, ours, theirs)


def stored(folder: Path, data: Any) -> Path:
    dataset = folder / "dataset.npz"
    np.savez(dataset, user=data.user, item=data.item, timestamp=data.timestamp, n_items=data.n_items)
    return dataset


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=LARGE[0], help="records of the dataset")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="runs in one process; the best one counts")
    parser.add_argument("--rounds", type=int, default=2, help="how often everybody has a turn")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--dataset", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.dataset, options.repeats)))
        return 0
    data = large(options.records)
    print(f"{len(data):,} records, {data.n_users:,} users × {data.n_items:,} items, cap 30, {options.threads} threads")
    claims = Claims()
    with tempfile.TemporaryDirectory() as folder:
        dataset = stored(Path(folder), data)
        del data
        compare(dataset, options, claims)
        compare_private(Path(folder), options, claims)
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
