"""The recommended private model beside ALS of implicit and of LensKit: what a fit costs, and how fast lists are made.

python benchmarks/factors.py                         a synthetic dataset of 25 million records
python benchmarks/factors.py --records 2_500_000     a smaller one
python benchmarks/factors.py --repeats 3             the best of three fits counts

Both learn from the same records, each of which is a like, in a process of their own and with the same number of
threads: ``PrivateRecommender`` at ε = 1, and implicit's ALS with 64 factors and 15 iterations. Each warms up on a few
records. Then the ten best unseen items are recommended to all users, in batches of 10,000, by ``recommend`` of either.
LensKit, whose batches are slower, has a tenth of the records. Memory is the peak during the fit above what was there
before it, with the records loaded. Claimed: a faster fit, and more lists a second.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The peer runs this file, too, in an environment without discreet: it is imported where it is used.
from harness import LARGE, Claims, UnmeasuredError, forget_peak, large, measured, peak_memory

OURS, TITLES = "discreet", {"implicit": "implicit", "lenskit": "LensKit"}
FACTORS, ITERATIONS = 64, 15
EPSILON = 1
LISTED, BATCH = 10, 10_000
WARM_UP = 2_000


class Likes(NamedTuple):
    """Codes of users and of the items that they like."""

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    n_items: int


class Job(NamedTuple):
    """A fit, and recommendations for all users by what was fitted, which say how many were given."""

    fit: Callable[[], Any]
    serve: Callable[[Any], int]


def ours(likes: Likes, threads: int) -> Job:
    from discreet.data import Interactions
    from discreet.factors import PrivateRecommender

    assert threads  # the environment says how many
    data = Interactions({"user_id": likes.user, "item_id": likes.item}, items=np.arange(likes.n_items))
    users = data.users.ids()

    def serve(model: PrivateRecommender) -> int:
        batches = (users[begin : begin + BATCH] for begin in range(0, len(users), BATCH))
        return sum(model.recommend(batch, n=LISTED).height for batch in batches)

    return Job(lambda: PrivateRecommender(epsilon=EPSILON).fit(data), serve)


def of_implicit(likes: Likes, threads: int) -> Job:
    from implicit.als import AlternatingLeastSquares  # pyright: ignore[reportMissingImports]
    from scipy.sparse import csr_matrix

    ones = np.ones(likes.user.size, dtype=np.float32)
    people = int(likes.user.max()) + 1
    matrix = csr_matrix((ones, (likes.user, likes.item)), shape=(people, likes.n_items))

    def fit() -> Any:
        model = AlternatingLeastSquares(factors=FACTORS, iterations=ITERATIONS, num_threads=threads, use_gpu=False)
        model.fit(matrix, show_progress=False)
        return model

    def serve(model: Any) -> int:
        users = np.arange(people)
        batches = (users[begin : begin + BATCH] for begin in range(0, users.size, BATCH))
        return sum(model.recommend(batch, matrix[batch], N=LISTED)[0].size for batch in batches)

    return Job(fit, serve)


def of_lenskit(likes: Likes, threads: int) -> Job:
    import pandas
    from lenskit.als import ImplicitMFScorer  # pyright: ignore[reportMissingImports]
    from lenskit.batch import recommend  # pyright: ignore[reportMissingImports]
    from lenskit.data import from_interactions_df  # pyright: ignore[reportMissingImports]
    from lenskit.pipeline import topn_pipeline  # pyright: ignore[reportMissingImports]

    data = from_interactions_df(pandas.DataFrame({"user_id": likes.user, "item_id": likes.item}))
    users = np.unique(likes.user)

    def fit() -> Any:
        pipeline = topn_pipeline(ImplicitMFScorer(embedding_size=FACTORS, epochs=ITERATIONS), n=LISTED)
        pipeline.train(data)
        return pipeline

    def serve(pipeline: Any) -> int:
        lists = recommend(pipeline, users, n=LISTED, n_jobs=threads)
        return sum(len(one) for one in lists.lists())

    return Job(fit, serve)


JOBS = {OURS: ours, "implicit": of_implicit, "lenskit": of_lenskit}


def measure(who: str, dataset: Path, threads: int, repeats: int) -> dict[str, float]:
    """Best times, processor times and peak memory."""
    with np.load(dataset) as stored:
        likes = Likes(stored["user"], stored["item"], int(stored["n_items"]))

    def prepared(part: Likes) -> Job:
        return JOBS[who](part, threads)

    few = prepared(Likes(likes.user[:WARM_UP], likes.item[:WARM_UP], likes.n_items))
    few.serve(few.fit())
    job, n_users = prepared(likes), int(likes.user.max()) + 1
    del likes, few
    before, peak = forget_peak(), 0.0
    fits, model = [], None
    for _ in range(repeats):
        model, *took = timed(job.fit)
        fits.append(took)
        peak = peak or peak_memory() - before  # later fits find memory that the first one left
    serves, given = [], 0
    for _ in range(repeats):
        given, *took = timed(lambda: job.serve(model))
        serves.append(took)
    (fit, fit_processor), (serve, serve_processor) = min(fits), min(serves)
    return {
        "fit": fit,
        "fit_processor": fit_processor,
        "peak": peak,
        "users_a_second": n_users / serve,
        "serve_processor": serve_processor,
        "each": given / n_users,
    }


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it gives, seconds, and seconds of the processors."""
    begun, used = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - begun, time.process_time() - used


def compare(peer: str, records: int, options: argparse.Namespace, claims: Claims) -> None:
    """Print the table of ours and one peer."""
    data = large(records)
    size = f"{len(data) / 1e6:.3g} M records"
    print(f"\n{len(data):,} records, {data.n_users:,} users × {data.n_items:,} items, {options.threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder) / "dataset.npz"
        np.savez(dataset, user=data.user, item=data.item, n_items=data.n_items)
        del data
        given = ["--dataset", dataset, "--threads", options.threads, "--repeats", options.repeats]
        try:
            found = {
                who: measured(__file__, who, given, threads=options.threads, peer=None if who == OURS else who)
                for who in (peer, OURS)
            }
        except UnmeasuredError as error:
            print(error)
            return
    print(f"{'':<12}{'fit s':>8}{'× peer':>12}{'CPU s':>8}{'peak MiB':>10}{'users/s':>10}{'CPU s':>8}{'each':>6}")
    for who, one in found.items():
        print(
            f"{who:<12}{one['fit']:>8.1f}{one['fit'] / found[peer]['fit']:>12.2f}{one['fit_processor']:>8.1f}"
            f"{one['peak'] / 2**20:>10.0f}{one['users_a_second']:>10,.0f}{one['serve_processor']:>8.1f}"
            f"{one['each']:>6.1f}"
        )
    ours, theirs = found[OURS], found[peer]
    claims.seconds(f"default fit to {size}", f"ALS of {TITLES[peer]}", ours["fit"], theirs["fit"])
    rates = ours["users_a_second"], theirs["users_a_second"]
    claims.rate(f"lists for everybody, {size}", f"ALS of {TITLES[peer]}", *rates, "users/s")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=LARGE[0], help="records of the dataset")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1, help="fits and servings; the best ones count")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--dataset", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.dataset, options.threads, options.repeats)))
        return 0
    claims = Claims()
    compare("implicit", options.records, options, claims)
    compare("lenskit", options.records // 10, options, claims)
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
