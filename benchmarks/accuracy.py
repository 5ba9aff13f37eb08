"""Recall at equal ε: the default beside DP-ALS and beside matrix factorization by DP-SGD, on MovieLens 1M.

python -m benchmarks accuracy                    after `make data`; otherwise on synthetic films
python -m benchmarks accuracy --epsilons 1       one ε alone

People are held out and the models told four fifths of what they liked (the protocol of ``discreet study frontier``);
δ = 10⁻⁵, the whole history of a person is protected. DP-SGD is written out below: item factors are trained on Poisson
samples of people, each of whom has factors by least squares and a clipped gradient; noise is calibrated by Google's
``dp-accounting`` (privacy loss distributions), which is installed into an environment of its own when it is first
needed. It may choose the best of its settings on a split of its own, at no charge. Claimed: a higher recall than both.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness import CACHE, Claims, UnmeasuredError, measured

DELTA = 1e-5
CLIP = 1.0
LISTED, FOLD_IN, LEAST_LIKES = 20, 0.8, 5
TUNED, SPLITS = 0, (1, 2)
SAMPLED, STEPS = 0.1, 150
Floats = NDArray[np.floating]


class Setting(NamedTuple):
    """What DP-SGD may choose."""

    factors: int
    rate: float
    unseen: float  # weight of the items that a person did not touch


SETTINGS = [Setting(*one) for one in product((8, 24), (0.03, 0.1), (0.05, 0.2))]


def noise_of(epsilon: float) -> float:
    """The noise that makes all steps together (ε, δ)-private, in clips."""
    import dp_accounting  # pyright: ignore[reportMissingImports]
    from dp_accounting.pld import PLDAccountant  # pyright: ignore[reportMissingImports]

    def all_steps(noise: float) -> Any:
        step = dp_accounting.PoissonSampledDpEvent(SAMPLED, dp_accounting.GaussianDpEvent(noise))
        return dp_accounting.SelfComposedDpEvent(step, STEPS)

    return float(dp_accounting.calibrate_dp_mechanism(PLDAccountant, all_steps, epsilon, DELTA))


def vectors(rows: Any, items: Floats, unseen: float) -> Floats:
    """Least squares for some people: their likes are 1 with weight 1, everything else is 0 with a small weight."""
    base = unseen * items.T @ items + 0.1 * np.eye(items.shape[1], dtype=items.dtype)
    found = np.empty((rows.shape[0], items.shape[1]), dtype=items.dtype)
    for place in range(rows.shape[0]):
        touched = items[rows.indices[rows.indptr[place] : rows.indptr[place + 1]]]
        found[place] = np.linalg.solve(base + (1 - unseen) * touched.T @ touched, touched.sum(axis=0))
    return found


def dp_sgd(train: Any, noise: float, setting: Setting, seed: int) -> Floats:
    """Item factors by DP-SGD with Adam."""
    draw = np.random.default_rng(seed)
    people, n_items = train.shape
    items = draw.normal(0, 0.1, (n_items, setting.factors)).astype(np.float32)
    mean, square = np.zeros_like(items), np.zeros_like(items)
    for step in range(1, STEPS + 1):
        rows = train[np.flatnonzero(draw.random(people) < SAMPLED)]
        own = vectors(rows, items, setting.unseen)
        guess = own @ items.T
        touched = rows.toarray() > 0
        residual = np.where(touched, guess - 1, setting.unseen * guess)
        # The gradient of a person is an outer product, so its norm is a product as well.
        norms = np.linalg.norm(residual, axis=1) * np.linalg.norm(own, axis=1)
        residual *= np.minimum(1, CLIP / np.maximum(norms, 1e-12))[:, None]
        gradient = residual.T @ own + draw.normal(0, noise * CLIP, items.shape).astype(np.float32)
        gradient /= SAMPLED * people
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        items -= setting.rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return items


def recall(scores: Callable[[Any], Floats], asked: Any) -> float:
    """Mean recall@20 of the people who are asked about; the best that a list can have is 1."""
    told, held = asked.told.csr, asked.held_out
    found = scores(told)
    found[told.nonzero()] = -np.inf
    listed = np.argpartition(-found, LISTED, axis=1)[:, :LISTED]
    hits = np.zeros(found.shape, dtype=bool)
    codes = asked.told.users.encode(held.users.series)[held.user], asked.told.items.encode(held.items.series)[held.item]
    hits[codes] = True
    each = np.minimum(hits.sum(axis=1), LISTED)
    return float((hits[np.arange(len(listed))[:, None], listed].sum(axis=1)[each > 0] / each[each > 0]).mean())


def of_dp_sgd(noise: float, setting: Setting, asked: Any, seed: int) -> float:
    items = dp_sgd(asked.train.csr, noise, setting, seed)
    return recall(lambda told: vectors(told, items, setting.unseen) @ items.T, asked)


def of_ours(name: str, epsilon: float, asked: Any) -> float:
    from discreet.evaluation.protocols import run_model
    from discreet.models.registry import create

    model = create(name, "recommender", epsilon=str(epsilon), delta=str(DELTA))
    return run_model(name, model, asked, [LISTED]).scores[f"recall@{LISTED}"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=CACHE / "data" / "ml-1m")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0, 8.0])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(noise_of(float(options.measure))))
        return 0

    from discreet.data import read, synthetic
    from discreet.evaluation.protocols import strong_generalization

    data: Any = read(options.data) if options.data.exists() else synthetic.films(users=6_000, items=3_700, seed=7)
    splits = {seed: strong_generalization(data, seed, None, FOLD_IN, LEAST_LIKES, None) for seed in (TUNED, *SPLITS)}
    claims = Claims()
    for epsilon in options.epsilons:
        title = f"recall@{LISTED}, {data.name}, ε = {epsilon:g}"
        ours, als = (
            float(np.mean([of_ours(name, epsilon, splits[seed]) for seed in SPLITS]))
            for name in ("private-recommender", "dp-als")
        )
        claims.rate(title, "DP-ALS", ours, als, "")
        try:
            noise = measured(__file__, str(epsilon), [], threads=1, peer="dp_accounting")
        except UnmeasuredError as error:
            print(error)
            continue
        tried = {setting: of_dp_sgd(noise, setting, splits[TUNED], 0) for setting in SETTINGS}
        best = max(tried, key=lambda setting: tried[setting])
        print(f"ε = {epsilon:g}: noise {noise:.2f}, the best setting of DP-SGD is {best}", flush=True)
        sgd = float(np.mean([of_dp_sgd(noise, best, splits[seed], seed) for seed in SPLITS]))
        claims.rate(title, "DP-SGD", ours, sgd, "")
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
