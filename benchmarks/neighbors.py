"""Neighbor lists: time and memory of item-kNN, ours beside implicit, sparse_dot_topn and LensKit, in one run.

python benchmarks/neighbors.py                         MovieLens-1M, and a synthetic dataset of 25 million ratings
python benchmarks/neighbors.py --records 2_500_000     a smaller synthetic dataset; 0 leaves it out
python benchmarks/neighbors.py --peers implicit        one peer alone

Everybody finds the 50 nearest of each item by cosine over whole rating vectors (LensKit: after taking the item's mean
away), in a process of their own, with the same number of threads, once to warm up on a few records and then for the
clock. Memory is the peak during the fit above what was there before it, with the data loaded. Peers are installed when
they are first needed, each into an environment of its own in the cache, never into that of the project. Claimed: the
fastest, with at most twice the memory of each peer.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness import CACHE, LARGE, Claims, UnmeasuredError, forget_peak, large, measured, peak_memory

MOVIELENS = 1_000_209, 6_040, 3_706
PEERS = {"implicit": "implicit", "sparse_dot_topn": "sparse_dot_topn", "lenskit": "LensKit"}

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


def movielens(folder: Path) -> tuple[str, Any]:
    """MovieLens-1M where it is, otherwise a synthetic dataset of its shape."""
    from discreet.data import read, synthetic

    if folder.exists():
        return "MovieLens 1M", read(folder)
    records, users, items = MOVIELENS
    return "1 M ratings", synthetic.films(users=users, items=items, records=records, seed=7)


# The table


def compare(name: str, data: Any, options: argparse.Namespace, repeats: int, claims: Claims) -> None:
    """Print the table of one dataset."""
    print(f"\n{name}: {len(data):,} ratings, {data.n_users:,} × {data.n_items:,}", end="; ")
    print(f"{options.threads} threads, k = {options.k}")
    print(f"{'':<20}{'seconds':>9}{'× ours':>8}{'CPU s':>8}{'peak MiB':>10}{'× ours':>8}  scores")
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder) / "dataset.npz"
        np.savez(dataset, user=data.user, item=data.item, rating=data.rating.astype(np.float32))
        del data
        found: dict[str, dict[str, float]] = {}
        given = ["--dataset", dataset, "--k", options.k, "--threads", options.threads, "--repeats", repeats]
        for who in (*OURS, *options.peers):
            try:
                peer = who if who in PEERS else None
                found[who] = measured(__file__, who, given, threads=options.threads, peer=peer)
            except UnmeasuredError as error:
                print(error, flush=True)
                continue
            one, ours = found[who], found["discreet"]
            print(
                f"{who:<20}{one['seconds']:>9.2f}{one['seconds'] / ours['seconds']:>8.2f}{one['processor']:>8.2f}"
                f"{one['peak'] / 2**20:>10.0f}{one['peak'] / ours['peak']:>8.2f}  {agreement(who, one, ours)}",
                flush=True,
            )
    ours = found["discreet"]
    for who in options.peers:
        if who in found:
            title = f"item neighbors, {name}"
            claims.seconds(title, PEERS[who], ours["seconds"], found[who]["seconds"])
            claims.error(f"{title}: memory", PEERS[who], ours["peak"] / 2**20, found[who]["peak"] / 2**20, "MiB", 0.5)


def agreement(who: str, one: dict[str, float], ours: dict[str, float]) -> str:
    """Whether the sum of all scores is ours: then the lists are as good."""
    if who in OURS or math.isnan(one["total"]):
        return "" if who == "discreet" else "another definition"
    return "as ours" if math.isclose(one["total"], ours["total"], rel_tol=1e-4) else "NOT as ours"


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
    claims = Claims()
    compare(*movielens(options.data), options, options.repeats, claims)
    if options.records:
        compare(f"{options.records / 1e6:.3g} M ratings", large(options.records), options, 1, claims)
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
