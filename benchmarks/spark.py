"""Apache Spark on this machine: counts and the default fit against jobs of Spark itself, in one run.

python -m benchmarks spark                        50 million records, executors in processes of their own
python -m benchmarks spark --records 5000000      fewer

Purchases of people with tastes (half of them among the items of one of fifty groups), ids of numbers, in Parquet files.
A fifth of the records is held out. Peers: a Spark job that groups by person and item, then by item; and ``pyspark.ml``
ALS (rank 64, 10 iterations, implicit). Both of ours begin at the files: shuffle, checkpoint and release are in the
time. Goals: counts at most 2 times, the fit at most 1 times their peer. Exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from harness import Claims

ITEMS, GROUPS, RECORDS_EACH = 100_000, 50, 150
CHUNK = 2_500_000
TESTED = 2_000


def generate(folder: Path, records: int) -> Path:
    """Files of records with the column ``held``: whether a record is for the test."""
    draw = np.random.default_rng(7)
    weights = 1 / np.arange(10, ITEMS + 10)
    groups = [np.arange(group, ITEMS, GROUPS) for group in range(GROUPS)]
    popular = np.cumsum(weights) / weights.sum()
    among = [np.cumsum(weights[group]) / weights[group].sum() for group in groups]
    folder.mkdir()
    person = 0
    for number, begin in enumerate(range(0, records, CHUNK)):
        size = min(CHUNK, records - begin)
        user = person + np.sort(draw.integers(max(1, size // RECORDS_EACH), size=size))
        person = int(user[-1]) + 1
        item = np.searchsorted(popular, draw.random(size))
        own = draw.random(size) < 0.5
        taste = user % GROUPS
        chosen = draw.random(size)
        for group in range(GROUPS):
            rows = own & (taste == group)
            item[rows] = groups[group][np.searchsorted(among[group], chosen[rows])]
        frame = pl.DataFrame({"user_id": user, "item_id": item.astype(np.int64)}).unique()
        frame = frame.with_columns(held=pl.Series(draw.random(frame.height) < 0.2))
        frame.write_parquet(folder / f"{number}.parquet")
    return folder


def session(executors: int) -> Any:
    import discreet
    from discreet.engines.spark.session import open_session

    return open_session(
        f"local-cluster[{executors},1,4096]",
        {
            "spark.ui.enabled": "false",
            "spark.executor.memory": "4g",
            "spark.driver.memory": "4g",
            "spark.executorEnv.PYTHONPATH": str(Path(discreet.__file__).parents[1]),
            "spark.sql.shuffle.partitions": str(4 * executors),
        },
    )


def timed(call: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = call(*given)
    return time.perf_counter() - begin, found


def train(spark: Any, folder: Path) -> Any:
    return spark.read.parquet(str(folder)).where("not held").select("user_id", "item_id")


def our_counts(spark: Any, folder: Path, temporary: Path) -> Any:
    import discreet as dc

    with scanned(spark, folder, temporary) as data:
        return dc.counting.ItemCounts(epsilon=1, delta="1e-6", cap=50).release(data)


def scanned(spark: Any, folder: Path, temporary: Path) -> Any:
    import discreet as dc

    return dc.scan(train(spark, folder), items=np.arange(ITEMS), folder=temporary)


def their_counts(spark: Any, folder: Path) -> Any:
    pairs = train(spark, folder).groupBy("user_id", "item_id").count()
    return pairs.groupBy("item_id").count().collect()


def our_fit(spark: Any, folder: Path, temporary: Path) -> Any:
    import discreet as dc

    with scanned(spark, folder, temporary) as data:
        return dc.PrivateRecommender(epsilon=4, delta="1e-6").fit(data)


def their_fit(spark: Any, folder: Path) -> Any:
    from pyspark.ml.recommendation import ALS
    from pyspark.sql.functions import lit

    model = ALS(rank=64, maxIter=10, implicitPrefs=True, userCol="user_id", itemCol="item_id", ratingCol="one", seed=7)
    return model.fit(train(spark, folder).withColumn("one", lit(1.0)))


def recall(spark: Any, folder: Path, ours: Any, theirs: Any) -> tuple[float, float]:
    """Recall@20 of both on the same people, without the items that they had."""
    import discreet as dc

    rows = pl.DataFrame(pl.from_arrow(spark.read.parquet(str(folder)).where(f"user_id < {TESTED}").toArrow()))
    had, held = (rows.filter(pl.col("held") == side).drop("held") for side in (False, True))
    records = dc.Interactions(had, items=np.arange(ITEMS))
    lists = ours.attach(records).recommend(records.users.ids(), n=20)
    asked = spark.createDataFrame([(one,) for one in records.users.ids()], "user_id long")
    most = int(had.group_by("user_id").len()["len"].max() or 0)  # type: ignore[arg-type]
    found = theirs.recommendForUserSubset(asked, 20 + most).toPandas()
    flat = [(row.user_id, one["item_id"], -one["rating"]) for row in found.itertuples() for one in row.recommendations]
    other = pl.DataFrame(flat, schema={"user_id": pl.Int64, "item_id": pl.Int64, "order": pl.Float64}, orient="row")
    other = other.join(had, on=["user_id", "item_id"], how="anti").sort("user_id", "order").group_by("user_id").head(20)
    people = held.group_by("user_id").len()

    def share(table: pl.DataFrame) -> float:
        hits = table.join(held, on=["user_id", "item_id"]).group_by("user_id").len("hits")
        both = people.join(hits, on="user_id", how="left").fill_null(0)
        return float((both["hits"] / both["len"]).mean())  # type: ignore[arg-type]

    return share(lists), share(other)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--records", type=int, default=50_000_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="discreet-bench-", dir=given.folder))
    try:
        print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        sizes = [given.records // 4, given.records // 2, given.records]
        files = {size: generate(place / str(size), size) for size in sizes}
        print("\n| records | executors | counts, s | group by, s | ratio | default fit, s | ALS, s | ratio |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        claims = Claims()
        for executors in (1, 2):
            spark = session(executors)
            their_counts(spark, files[sizes[0]])  # executors start
            for size in sizes:
                counts, _ = timed(our_counts, spark, files[size], place)
                grouped, _ = timed(their_counts, spark, files[size])
                fit, model = timed(our_fit, spark, files[size], place)
                row = f"| {size:,} | {executors} | {counts:.0f} | {grouped:.0f} | {counts / grouped:.2f} | {fit:.0f} |"
                if executors < 2 or size < given.records:  # ALS takes too long for every row
                    print(row, "| |", flush=True)
                    continue
                als, other = timed(their_fit, spark, files[size])
                print(row, f"{als:.0f} | {fit / als:.2f} |", flush=True)
                private, plain = recall(spark, files[size], model, other)
                print(f"\nrecall@20 of {TESTED:,} people: ours {private:.3f} (ε = 4), ALS {plain:.3f} (no privacy)")
                title = f"{size / 1e6:.3g} M records on Spark"
                claims.seconds(f"counts of {title}", "Spark, grouped by person and item", counts, grouped, 0.5)
                claims.seconds(f"default fit to {title}", "Spark's ALS", fit, als)
            spark.stop()
        return claims.close()
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())
