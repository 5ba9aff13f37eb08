"""Slope One and co-rated cosine beside those of Surprise: time and memory of a fit, and the errors of Slope One.

python benchmarks/slope_one.py                     MovieLens 100K and 1M from `make data`, or a dataset of 100K's shape
python benchmarks/slope_one.py --data PATH         any ratings that discreet reads
python benchmarks/slope_one.py --records 25_000_000 --overlap 10     ours alone, on a large synthetic dataset

Both learn from the same four fifths of the ratings and predict those of the rest whose user and item they have met (for
others the two libraries fall back on different means), each in a process of its own and on one thread; Surprise has no
more. Ours takes the usual form (average="compared"). Times are those of the processor, so that a busy machine counts
for nothing; memory is the peak during the fit above what was there before it. Claimed: at least three times as fast,
with the same errors to three decimals. Likeness is the cosine of all pairs of items over the users who rated both.
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
from harness import CACHE, Claims, forget_peak, large, measured, peak_memory

OURS, PEER = "discreet", "surprise"
SHAPE = 100_000, 943, 1_682
DECIMALS = 3
WARM_UP = 2_000


class Ratings(NamedTuple):
    """Ratings to learn from and ratings to predict, as codes."""

    train: dict[str, NDArray[Any]]
    test: dict[str, NDArray[Any]]
    low: float
    high: float

    def warm_up(self) -> Ratings:
        """A few ratings, to learn from and to predict."""
        few = {name: column[:WARM_UP] for name, column in self.train.items()}
        return Ratings(few, few, self.low, self.high)


class Job(NamedTuple):
    """A fit, and predictions of the held-out ratings by what was fitted."""

    fit: Callable[[], Any]
    predict: Callable[[Any], NDArray[np.float64]]
    cosine: Callable[[], Any]


def ours(dataset: Ratings) -> Job:
    from discreet.data import Interactions
    from discreet.neighbors.similarity import Similarity, neighbor_lists
    from discreet.pairs import SlopeOne

    # Half stars are steps of one half; whole ratings are multiples of that, too.
    scale = f"{dataset.low:g}:{dataset.high:g}:0.5"
    columns = {"user_id": dataset.train["user"], "item_id": dataset.train["item"], "rating": dataset.train["rating"]}
    data = Interactions(columns, items=np.union1d(dataset.train["item"], dataset.test["item"]), scale=scale)
    asked = list(zip(dataset.test["user"].tolist(), dataset.test["item"].tolist(), strict=True))

    def likeness() -> Any:
        return neighbor_lists(
            data, axis="item", similarity=Similarity("cosine"), k=data.n_items - 1, ties="id", threads=1
        )

    def predict(model: Any) -> NDArray[np.float64]:
        return model.predict(asked)["score"].to_numpy()

    return Job(lambda: SlopeOne(average="compared").fit(data), predict, likeness)


def peer(dataset: Ratings) -> Job:
    import pandas
    from surprise import Dataset, KNNBasic, Reader, SlopeOne  # pyright: ignore[reportMissingImports]

    frame = pandas.DataFrame({name: dataset.train[name] for name in ("user", "item", "rating")})
    reader = Reader(rating_scale=(dataset.low, dataset.high))
    train = Dataset.load_from_df(frame, reader).build_full_trainset()
    asked = list(zip(dataset.test["user"].tolist(), dataset.test["item"].tolist(), strict=True))

    def predict(model: Any) -> NDArray[np.float64]:
        return np.array([model.predict(u, i).est for u, i in asked])

    def likeness() -> Any:
        return KNNBasic(sim_options={"name": "cosine", "user_based": False}, verbose=False).fit(train)

    return Job(lambda: SlopeOne().fit(train), predict, likeness)


# One measurement, in a process of its own


def measure(who: str, path: Path, repeats: int) -> dict[str, float]:
    """Best time and peak memory of a fit, and the errors of its predictions."""
    with np.load(path) as stored:
        sides = [{n: stored[f"{side}_{n}"] for n in ("user", "item", "rating")} for side in ("train", "test")]
        dataset = Ratings(sides[0], sides[1], float(stored["low"]), float(stored["high"]))
    make = ours if who == OURS else peer
    few = make(dataset.warm_up())
    few.predict(few.fit())
    few.cosine()
    job, truth = make(dataset), dataset.test["rating"].astype(np.float64)
    del dataset, few
    before, peak, times, model = forget_peak(), 0.0, [], None
    for _ in range(repeats):
        model = None
        begun = time.process_time()
        model = job.fit()
        times.append(time.process_time() - begun)
        peak = peak or peak_memory() - before
    begun = time.process_time()
    errors = job.predict(model) - truth
    took = time.process_time() - begun
    begun = time.process_time()
    job.cosine()
    return {
        "fit": min(times),
        "peak": peak,
        "predict": took,
        "cosine": time.process_time() - begun,
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
    }


# The table


def compare(data: Any, options: argparse.Namespace, claims: Claims) -> None:
    """Print the table of one dataset."""
    from discreet.data import splits

    split = next(splits.k_fold_records(data, 5, seed=7))
    train, test = split.train, split.test
    learned, asked = _columns(train, data), _columns(test, data)
    test = test.filter(np.isin(asked["user"], learned["user"]) & np.isin(asked["item"], learned["item"]))
    print(f"{data.name}: {len(train):,} ratings to learn from, {len(test):,} to predict, one thread")
    print(
        f"{'':<12}{'fit CPU s':>10}{'× ours':>8}{'peak MiB':>10}{'predict CPU s':>15}{'cosine CPU s':>14}"
        f"{'RMSE':>9}{'MAE':>9}"
    )
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder) / "dataset.npz"
        columns: dict[str, Any] = {
            f"{side}_{name}": values
            for side, part in (("train", train), ("test", test))
            for name, values in _columns(part, data).items()
        }
        np.savez(dataset, low=float(data.scale.low), high=float(data.scale.high), **columns)
        given = ["--dataset", dataset, "--repeats", options.repeats]
        found = {
            who: measured(__file__, who, given, threads=1, peer=peer) for who, peer in ((OURS, None), (PEER, PEER))
        }
    for who, one in found.items():
        print(
            f"{who:<12}{one['fit']:>10.3f}{one['fit'] / found[OURS]['fit']:>8.1f}{one['peak'] / 2**20:>10.0f}"
            f"{one['predict']:>15.2f}{one['cosine']:>14.2f}{one['rmse']:>9.4f}{one['mae']:>9.4f}"
        )
    title = f"{data.name}, one thread"
    claims.seconds(f"Slope One, {title}", "Surprise", found[OURS]["fit"], found[PEER]["fit"], 3)
    claims.seconds(f"co-rated cosine, {title}", "Surprise", found[OURS]["cosine"], found[PEER]["cosine"])
    apart = max(abs(found[PEER][name] - found[OURS][name]) for name in ("rmse", "mae"))
    claims.goal(f"Slope One, {data.name}: errors are apart by", apart, 10**-DECIMALS / 2, "stars")


def alone(options: argparse.Namespace) -> None:
    """Time and memory of a fit on a large dataset, which Surprise has no room for."""
    from discreet.pairs import SlopeOne

    data = large(options.records)
    print(f"{len(data):,} ratings, {data.n_users:,} × {data.n_items:,}; pairs with more than {options.overlap} raters")
    before, begun = forget_peak(), time.process_time()
    model = SlopeOne(minimum_overlap=options.overlap, head=options.head).fit(data)
    took = time.process_time() - begun
    print(f"{took:.1f} CPU s, peak {(peak_memory() - before) / 2**30:.2f} GiB, {model.pairs_.others.size // 2:,} pairs")


def _columns(part: Any, whole: Any) -> dict[str, NDArray[Any]]:
    """Codes of the whole, and ratings."""
    return {
        "user": whole.users.encode(part.users.series)[part.user],
        "item": whole.items.encode(part.items.series)[part.item],
        "rating": part.rating.astype(np.float64),
    }


def chosen_data(path: Path | None) -> list[Any]:
    from discreet.data import read, synthetic

    known = [CACHE / "data" / name for name in ("ml-100k", "ml-1m")] if path is None else [path]
    records, users, items = SHAPE
    found = [read(place) for place in known if place.exists()]
    return found or [synthetic.films(users=users, items=items, records=records, seed=7)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="file or folder")
    parser.add_argument("--records", type=int, help="ours alone, on a synthetic dataset of so many ratings")
    parser.add_argument(
        "--overlap", type=int, default=10, help="of the large dataset: pairs need more raters than this"
    )
    parser.add_argument("--head", type=int, help="of the large dataset: compare so many items only")
    parser.add_argument("--repeats", type=int, default=3, help="fits; the best one counts")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--dataset", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.dataset, options.repeats)))
        return 0
    claims = Claims()
    if options.records:
        alone(options)
    else:
        for data in chosen_data(options.data):
            compare(data, options, claims)
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
