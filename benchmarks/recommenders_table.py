"""Which private recommender is best: recall of rankings and error of ratings by kind of data, unit, ε and δ.

python benchmarks/recommenders_table.py                       the tables of docs/which-method.md, in about ten minutes
python benchmarks/recommenders_table.py --data ml-100k --splits 5

Models have the settings that they have by default. The best model of a row is bold if it is better than every other
one by more than two standard errors of the difference. The error of a person's own mean rating, which needs no
release, goes to the error output.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from typing import Any

import numpy as np

import discreet as dc
from discreet.data import Interactions
from discreet.data.splits import k_fold_records
from discreet.errors import DiscreetError
from discreet.models import create

EPSILONS = ("0.5", "1", "4", "8")
RANKINGS = ("private-recommender", "dp-als", "private-item-knn", "private-cosine", "private-slope-one")
RATINGS = ("private-ratings", "private-item-knn", "private-slope-one")
USERS_ONLY = ("private-recommender", "dp-als")


def dataset(name: str) -> Interactions:
    if name == "films":
        return dc.synthetic.films(users=3_000, items=500, seed=7)
    data = dc.read(name)
    assert isinstance(data, Interactions)
    return data.with_catalog("observed")


def models(names: tuple[str, ...], **settings: Any) -> dict[str, Any]:
    """The models that take these settings."""
    made = {}
    for name in names:
        try:
            made[name] = create(name, **settings)
        except DiscreetError as error:
            print(f"{name} {settings}: {error}", file=sys.stderr)
    return made


def figures(
    data: Interactions, made: dict[str, Any], protocol: str, metric: str, splits: int
) -> dict[str, list[float]]:
    """The metric of each model in each split."""
    done = dc.evaluate(made, data, protocol=protocol, k=20, splits=splits, reference=None)
    return {name: [float(run.scores[metric]) for run in done.runs[name]] for name in made}


def own_mean(data: Interactions, splits: int) -> float:
    """The error of a person's own mean rating."""
    errors = []
    for seed in range(splits):
        split = next(iter(k_fold_records(data, 10, seed=seed)))
        means = split.train.to_frame().select("user_id", mean="rating").group_by("user_id").mean()
        asked = split.test.to_frame().join(means, on="user_id")
        errors.append(float(np.sqrt(np.mean((asked["rating"].to_numpy() - asked["mean"].to_numpy()) ** 2))))
    return float(np.mean(errors))


def cells(found: dict[str, list[float]], names: tuple[str, ...], *, larger: bool) -> str:
    sign = 1 if larger else -1
    means = {name: float(np.mean(values)) for name, values in found.items()}
    errors = {name: float(np.std(values, ddof=1) / math.sqrt(len(values))) for name, values in found.items()}
    best = max(means, key=lambda name: sign * means[name])
    others = [name for name in means if name != best]
    clear = all(sign * (means[best] - means[n]) > 2 * math.hypot(errors[best], errors[n]) for n in others)
    told = {name: f"**{mean:.3f}**" if clear and name == best else f"{mean:.3f}" for name, mean in means.items()}
    return " | ".join(told.get(name, "–") for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["films", "ml-100k"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    measured = {name: dataset(name) for name in given.data}
    for name, data in measured.items():
        print(f"a person's own mean on {name}: {own_mean(data, given.splits):.3f}", file=sys.stderr)
    for metric, protocol, listed in (
        ("recall@20", "strong-generalization", RANKINGS),
        ("rmse", "holdout", RATINGS),
    ):
        for unit in ("user", "record"):
            names = listed if unit == "user" else tuple(name for name in listed if name not in USERS_ONLY)
            print(f"\n{metric}, one {unit}\n\n| data | δ | ε | {' | '.join(f'`{name}`' for name in names)} |")
            print("| --- " * (len(names) + 3) + "|", flush=True)
            for name, data in measured.items():
                for delta, epsilon in ((delta, epsilon) for delta in ("0", "1e-6") for epsilon in given.epsilons):
                    unit_of = {} if unit == "user" else {"unit": unit}
                    made = models(names, epsilon=epsilon, delta=delta, **unit_of)
                    found = figures(data, made, protocol, metric, given.splits)
                    line = cells(found, names, larger=metric != "rmse")
                    print(f"| {name} | {delta} | {epsilon} | {line} |", flush=True)


if __name__ == "__main__":
    main()
