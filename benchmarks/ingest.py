"""Reading: a CSV of ratings into Interactions with both matrices, against polars alone and against a LensKit dataset.

python benchmarks/ingest.py                 25 million ratings, in the order of MovieLens (by user, then item)
python benchmarks/ingest.py --rows 2000000  a smaller file
python benchmarks/ingest.py --shuffled      in random order, which has to be sorted

Claimed: at most 4 times the time of polars, which only parses, and 4 times the memory of the parsed columns; and faster
than LensKit, which reads the file with pandas and makes a dataset of it with the matrix of its users and items.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from harness import Claims, UnmeasuredError, interpreter

MOST = 4.0
CHUNK = 2_500_000
N_ITEMS = 59_000
RECORDS_PER_USER = 154
# What a row takes once it is parsed: two ids and a time of 64 bits, a rating of 64 bits.
BYTES_PER_ROW = 32

POLARS = """
schema = {"userId": pl.Int64, "movieId": pl.Int64, "rating": pl.Float64, "timestamp": pl.Int64}
data = pl.read_csv(path, schema=schema)
"""
DISCREET = """
data = read(path, format={format!r}, scale="0.5:5:0.5")
data.csr, data.csc
"""
LENSKIT = """
data = from_interactions_df(pd.read_csv(path), user_col="userId", item_col="movieId")
data.interactions().matrix().scipy()
data = range(data.interaction_count)
"""
OWN, OTHERS = (
    "import polars as pl\nfrom discreet.data.readers import read",
    ("import pandas as pd\nfrom lenskit.data import from_interactions_df"),
)
PARSED, THEIRS = "polars, parsing alone", "LensKit"
WORKS = {
    PARSED: POLARS,
    "discreet, as MovieLens": DISCREET.format(format="movielens-csv"),
    "discreet, as any CSV": DISCREET.format(format="csv"),
    THEIRS: LENSKIT,
}
# Each measurement has a process of its own, with everything imported and used once before the clock starts.
PROCESS = """
import json, resource, sys, time
{imports}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
path = {small!r}
{work}
del data
path, before, begin = {path!r}, peak(), time.perf_counter()
{work}
seconds = time.perf_counter() - begin
print(json.dumps({{"rows": len(data), "seconds": seconds, "bytes": peak() - before}}))
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=25_000_000, help="about how many ratings")
    parser.add_argument("--shuffled", action="store_true", help="put them in random order")
    parser.add_argument("--repeat", type=int, default=3, help="how often to measure; the best counts")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="discreet-ingest-") as folder:
        path, small = Path(folder, "ratings.csv"), Path(folder, "small.csv")
        # In a process of its own: the peak memory of a child is never below that of the parent it was forked from.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
            rows = apart.submit(generate, path, options.rows, shuffled=options.shuffled).result()
            apart.submit(generate, small, 1_000, shuffled=options.shuffled).result()
        print(f"{rows:,} ratings, {path.stat().st_size / 1e6:,.0f} MB of CSV\n")
        return report(rows, measure(path, small, max(1, options.repeat)))


def report(rows: int, measured: dict[str, dict[str, float]]) -> int:
    """One table; 1 when a claim does not hold."""
    reference, parsed = measured[PARSED]["seconds"], rows * BYTES_PER_ROW
    print(f"{'':<26}{'seconds':>9}{'M/s':>7}{'× polars':>10}{'peak MB':>9}{'× columns':>11}")
    claims = Claims()
    for name, result in measured.items():
        assert result["rows"] == rows, f"{name} lost rows"
        times, memory = result["seconds"] / reference, result["bytes"] / parsed
        print(
            f"{name:<26}{result['seconds']:>9.2f}{rows / result['seconds'] / 1e6:>7.1f}{times:>10.2f}"
            f"{result['bytes'] / 1e6:>9,.0f}{memory:>11.2f}"
        )
        if name not in (PARSED, THEIRS):
            title = f"{rows / 1e6:.0f} M ratings, {name.partition(', ')[2]}"
            claims.seconds(title, PARSED, result["seconds"], reference, 1 / MOST)
            claims.error(f"{title}: memory", "parsed columns", result["bytes"] / 1e6, parsed / 1e6, "MB", 1 / MOST)
            if THEIRS in measured:
                claims.seconds(title, THEIRS, result["seconds"], measured[THEIRS]["seconds"])
    return claims.close()


def measure(path: Path, small: Path, repeat: int) -> dict[str, dict[str, float]]:
    """The fastest of several runs of each work, and the smallest peak; in turns, so that a busy moment hits all."""
    measured: dict[str, dict[str, float]] = {}
    for _ in range(repeat):
        for name, work in WORKS.items():
            imports = OTHERS if name == THEIRS else OWN
            script = PROCESS.format(small=str(small), path=str(path), work=work, imports=imports)
            try:
                run: dict[str, float] = json.loads(_run(script, interpreter("lenskit") if name == THEIRS else None))
            except UnmeasuredError as error:
                print(error)
                continue
            before = measured.setdefault(name, run)
            measured[name] = {key: min(run[key], before[key]) for key in run}
    return measured


def _run(script: str, python: Path | None) -> str:
    done = subprocess.run([python or sys.executable, "-c", script], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnmeasuredError(done.stderr)
    return done.stdout


def generate(path: Path, rows: int, *, shuffled: bool) -> int:
    """Write about so many ratings, no user with two of one item, and say how many they are."""
    generator = np.random.default_rng(7)
    popularity = np.cumsum(1 / np.arange(1, N_ITEMS + 1) ** 0.7)
    written = 0
    with path.open("wb") as file:
        file.write(b"userId,movieId,rating,timestamp\n")
        for begin in range(0, rows, CHUNK):
            size = min(CHUNK, rows - begin)
            user = np.sort(generator.integers(begin, begin + size, size)) // RECORDS_PER_USER + 1
            item = np.searchsorted(popularity, generator.random(size) * popularity[-1]) + 1
            keys = np.unique(user * (N_ITEMS + 1) + item)
            # A user never spans two chunks, except at the edge: drop the one who might.
            keys = keys[keys // (N_ITEMS + 1) > begin // RECORDS_PER_USER + 1] if begin else keys
            frame = _ratings(keys, generator)
            (frame.sample(fraction=1, shuffle=True, seed=begin) if shuffled else frame).write_csv(
                file, include_header=False
            )
            written += frame.height
    return written


def _ratings(keys: np.ndarray, generator: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "userId": keys // (N_ITEMS + 1),
            "movieId": keys % (N_ITEMS + 1),
            "rating": generator.integers(1, 11, keys.size) / 2,
            "timestamp": generator.integers(789_652_009, 1_574_327_703, keys.size),
        }
    )


if __name__ == "__main__":
    sys.exit(main())
