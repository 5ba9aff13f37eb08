"""Neighbor lists: time and memory of item-kNN, ours beside implicit, sparse_dot_topn and LensKit, in one run.

python benchmarks/neighbors.py                         MovieLens-1M, and a synthetic dataset of 25 million ratings
python benchmarks/neighbors.py --records 2_500_000     a smaller synthetic dataset; 0 leaves it out
python benchmarks/neighbors.py --peers implicit        one peer alone

Everybody finds the 50 nearest of each item by cosine over whole rating vectors (LensKit: after taking the item's mean
away), in a process of their own, with the same number of threads, once to warm up on a few records and then for the
clock. Memory is the peak during the fit above what was there before it, with the data loaded. Peers are installed when
they are first needed, each into an environment of its own in the cache, never into that of the project. The exit code
is 0 if ours is the fastest and takes at most twice the least memory of a peer, 1 otherwise.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Peers run this file, too, in environments without discreet: it is imported where it is used.

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet"
MOVIELENS = 1_000_209, 6_040, 3_706
LARGE = 25_000_000, 162_000, 59_000
MOST_MEMORY = 2

# What to install for each peer, step by step. LensKit needs torch, and takes the one that is there.
PEERS = {
    "implicit": [["implicit"]],
    "sparse_dot_topn": [["sparse_dot_topn"]],
    "lenskit": [["torch==2.13.0"], ["lenskit", "pandas"]],
}
# Every library has its own word for it.
THREAD_LIMITS = (
    "LK_NUM_BACKEND_THREADS", "LK_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip
# Memory that polars and Arrow have freed goes back at once, and not in the midst of the fit.
PROMPT_RELEASE = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
}
OURS = {"discreet": "cosine_full", "discreet, co-rated": "cosine"}


class Ratings(NamedTuple):
    """Codes and ratings, as every library can take them."""

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    rating: NDArray[np.float32]

    def matrix(self) -> Any:
        from scipy.sparse import csr_matrix

        return csr_matrix((self.rating, (self.user, self.item)))


# What is measured: each loads the ratings and gives the fit, which gives the sum of all scores as a check


def fit_ours(ratings: Ratings, k: int, threads: int, kind: Any) -> Callable[[], float]:
    from discreet.data import Interactions
    from discreet.neighbors.similarity import Similarity, neighbor_lists

    data = Interactions({"user_id": ratings.user, "item_id": ratings.item, "rating": ratings.rating}, scale="1:5")

    def fit() -> float:
        lists = neighbor_lists(data, axis="item", similarity=Similarity(kind), k=k, ties="id", threads=threads)
        return float(lists.scores.sum())

    return fit


def fit_implicit(ratings: Ratings, k: int, threads: int) -> Callable[[], float]:
    from implicit.nearest_neighbours import CosineRecommender  # pyright: ignore[reportMissingImports]

    matrix = ratings.matrix()

    def fit() -> float:
        model = CosineRecommender(K=k + 1, num_threads=threads)  # an item is its own first neighbor
        model.fit(matrix, show_progress=False)
        return float(model.similarity.sum() - model.similarity.diagonal().sum())

    return fit


def fit_sparse_dot_topn(ratings: Ratings, k: int, threads: int) -> Callable[[], float]:
    from sparse_dot_topn import sp_matmul_topn  # pyright: ignore[reportMissingImports]

    matrix = ratings.matrix()

    def fit() -> float:
        items = matrix.T.tocsr()
        counts = np.diff(items.indptr)
        squares = np.bincount(np.repeat(np.arange(counts.size), counts), weights=items.data * items.data)
        items.data /= np.repeat(np.sqrt(squares).astype(np.float32), counts)
        found = sp_matmul_topn(items, items.T.tocsr(), top_n=k + 1, n_threads=threads, sort=True)
        return float(found.sum() - found.diagonal().sum())

    return fit


def fit_lenskit(ratings: Ratings, k: int, threads: int) -> Callable[[], float]:
    import pandas
    from lenskit.data import from_interactions_df  # pyright: ignore[reportMissingImports]
    from lenskit.knn import ItemKNNScorer  # pyright: ignore[reportMissingImports]

    columns = {"user_id": ratings.user, "item_id": ratings.item, "rating": ratings.rating}
    data = from_interactions_df(pandas.DataFrame(columns))

    def fit() -> float:
        ItemKNNScorer(k=k, save_nbrs=k, feedback="explicit").train(data)
        return math.nan  # another definition: there is nothing to compare

    return fit


FITS: dict[str, Callable[..., Callable[[], float]]] = {
    "implicit": fit_implicit,
    "sparse_dot_topn": fit_sparse_dot_topn,
    "lenskit": fit_lenskit,
}


# One measurement, in a process of its own


def measure(who: str, dataset: Path, k: int, threads: int, repeats: int) -> dict[str, float]:
    """Best time, processor time and peak memory of a fit."""
    with np.load(dataset) as stored:
        ratings = Ratings(stored["user"], stored["item"], stored["rating"])
    make = FITS.get(who) or partial(fit_ours, kind=OURS[who])
    make(Ratings(ratings.user[:2000], ratings.item[:2000], ratings.rating[:2000]), k, threads)()
    fit = make(ratings, k, threads)
    del ratings
    before = forget_peak()
    times: list[tuple[float, float]] = []
    peak = total = 0.0
    for _ in range(repeats):
        begun, used = time.perf_counter(), time.process_time()
        total = fit()
        times.append((time.perf_counter() - begun, time.process_time() - used))
        peak = peak or peak_memory() - before  # later fits find memory that the first one left
    seconds, processor = min(times)
    return {"seconds": seconds, "processor": processor, "peak": peak, "total": total}


def forget_peak() -> float:
    """Bytes in use now; the peak counts from here where the system can do that."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # what is free belongs to nobody's data
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak_memory()
    return status("VmRSS")


def peak_memory() -> float:
    """Most bytes that were in use."""
    try:
        return status("VmHWM")
    except OSError:
        # It counts what the starting process had, too; there is no better number on other systems.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def status(name: str) -> float:
    """A number of bytes from what Linux tells of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1]) * 1024
    raise OSError(name)


# Environments and datasets


def interpreter(peer: str) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there yet."""
    folder = CACHE / "peers" / f"{peer}-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        print(f"installing {peer} into {folder}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        for packages in PEERS[peer]:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, capture_output=True)
        done.touch()
    return python


def movielens(folder: Path) -> tuple[str, Any]:
    """MovieLens-1M where it is, otherwise a synthetic dataset of its shape."""
    from discreet.data import read, synthetic

    if folder.exists():
        return "MovieLens-1M", read(folder)
    records, users, items = MOVIELENS
    return "synthetic, the shape of MovieLens-1M", synthetic.films(users=users, items=items, records=records, seed=7)


def large(records: int) -> tuple[str, Any]:
    """A synthetic dataset of the shape of MovieLens-25M, or smaller."""
    from discreet.data import synthetic

    share = records / LARGE[0]
    users, items = math.ceil(LARGE[1] * share), math.ceil(LARGE[2] * math.sqrt(share))
    return "synthetic", synthetic.films(users=users, items=items, records=records, seed=7)


# The table


def compare(name: str, data: Any, options: argparse.Namespace, repeats: int) -> bool:
    """Print the table of one dataset; whether ours met the goal."""
    print(f"\n{name}: {len(data):,} ratings, {data.n_users:,} × {data.n_items:,}", end="; ")
    print(f"{options.threads} threads, k = {options.k}")
    print(f"{'':<20}{'seconds':>9}{'× ours':>8}{'CPU s':>8}{'peak MiB':>10}{'× ours':>8}  scores")
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder) / "dataset.npz"
        np.savez(dataset, user=data.user, item=data.item, rating=data.rating.astype(np.float32))
        del data
        found: dict[str, dict[str, float]] = {}
        for who in (*OURS, *options.peers):
            try:
                found[who] = run(who, dataset, options, repeats)
            except subprocess.CalledProcessError as error:
                reason = (error.stderr or b"").decode(errors="replace").strip().splitlines() or ["no reason given"]
                print(f"{who:<20}  could not be measured: {reason[-1]}", flush=True)
                continue
            one, ours = found[who], found["discreet"]
            print(
                f"{who:<20}{one['seconds']:>9.2f}{one['seconds'] / ours['seconds']:>8.2f}{one['processor']:>8.2f}"
                f"{one['peak'] / 2**20:>10.0f}{one['peak'] / ours['peak']:>8.2f}  {agreement(who, one, ours)}",
                flush=True,
            )
    peers = [found[who] for who in options.peers if who in found]
    return all(
        found["discreet"]["seconds"] < peer["seconds"] and found["discreet"]["peak"] <= MOST_MEMORY * peer["peak"]
        for peer in peers
    )


def agreement(who: str, one: dict[str, float], ours: dict[str, float]) -> str:
    """Whether the sum of all scores is ours: then the lists are as good."""
    if who in OURS or math.isnan(one["total"]):
        return "" if who == "discreet" else "another definition"
    return "as ours" if math.isclose(one["total"], ours["total"], rel_tol=1e-4) else "NOT as ours"


def run(who: str, dataset: Path, options: argparse.Namespace, repeats: int) -> dict[str, float]:
    python = interpreter(who) if who in PEERS else sys.executable
    environment = os.environ | dict.fromkeys(THREAD_LIMITS, str(options.threads)) | PROMPT_RELEASE
    command = [python, __file__, "--measure", who, "--dataset", dataset, "--k", options.k, "--threads", options.threads]
    done = subprocess.run(
        [str(part) for part in (*command, "--repeats", repeats)], env=environment, check=True, capture_output=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=CACHE / "data" / "ml-1m", help="MovieLens-1M, as make data has it")
    parser.add_argument("--records", type=int, default=LARGE[0], help="ratings of the large dataset; 0 for none")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5, help="fits of the small dataset; the best one counts")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--dataset", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.dataset, options.k, options.threads, options.repeats)))
        return 0
    met = compare(*movielens(options.data), options, options.repeats)
    if options.records:
        met = compare(*large(options.records), options, 1) and met
    print(f"\nthe fastest, with at most {MOST_MEMORY} times the memory of each: {'yes' if met else 'NO'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
