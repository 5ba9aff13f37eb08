"""Whether the default recommender is ever below popularity: synthetic data of many shapes, over ε.

python benchmarks/never_below.py                                   the table of docs/which-method.md; an hour
python benchmarks/never_below.py --data small-none long-tail --epsilons 1 4 --splits 2

Each set is drawn from public parameters: people, items, how many records people have, how popularity falls off, and
which share of a person's records comes from the person's own groups of items. `PrivateRecommender` is compared with
private popularity (the same ε and δ, all of it spent on how popular items are) and with popularity without privacy. A
figure is marked if the recommender is below private popularity by more than the deviation between splits. Where the
recommender itself spends everything on popularity, it has the law of private popularity: only the noise differs.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
import polars as pl

import discreet as dc
from discreet.data import Interactions
from discreet.data.splits import strong_generalization
from discreet.evaluation.ranking import evaluate_ranking
from discreet.factors.statistics import Likes, popularity_sums
from discreet.privacy.budget import Budget

DELTA = "1e-5"
EPSILONS = ("0.25", "1", "4", "20")
LENGTH = 20
SECOND_GROUP = 0.3
"""The share of a person's own records that come from a second group."""


@dataclass(frozen=True)
class Shape:
    """What a synthetic dataset is drawn from.

    Parameters
    ----------
    users, items
        How many there are.
    activity, spread
        Median number of records of a person, and the deviation of its logarithm.
    tail, shift
        Item r is as popular as (r + shift)^−tail.
    groups, taste
        How many groups of items there are, and the share of a person's records that come from the person's own two.
    """

    users: int
    items: int
    activity: float
    spread: float
    tail: float
    shift: float
    groups: int
    taste: float


SHAPES = {
    "tiny": Shape(500, 100, 12, 0.6, 0.8, 3, 4, 0.5),
    "tiny-none": Shape(500, 300, 12, 0.6, 1.0, 5, 4, 0.0),
    "small": Shape(1_500, 2_000, 20, 0.8, 1.0, 10, 10, 0.4),
    "small-none": Shape(1_500, 1_000, 20, 0.8, 1.0, 10, 10, 0.0),
    "small-site": Shape(1_500, 2_000, 20, 0.8, 1.3, 2, 8, 0.3),
    "small-long": Shape(1_500, 10_000, 30, 0.8, 0.9, 20, 15, 0.5),
    "listening": Shape(1_900, 17_000, 40, 0.3, 0.9, 10, 30, 0.7),
    "middle": Shape(3_000, 1_000, 30, 0.8, 0.9, 10, 8, 0.3),
    "middle-weak": Shape(3_000, 1_000, 30, 0.8, 0.9, 10, 8, 0.1),
    "middle-none": Shape(3_000, 3_000, 30, 0.8, 0.9, 10, 8, 0.0),
    "steep": Shape(4_000, 8_000, 20, 0.8, 1.3, 3, 20, 0.3),
    "flat": Shape(4_000, 4_000, 20, 0.8, 0.4, 10, 20, 0.4),
    "few-records": Shape(5_000, 20_000, 7, 0.4, 0.8, 10, 20, 0.3),
    "check-ins": Shape(7_000, 21_000, 25, 0.9, 0.8, 10, 60, 0.3),
    "check-ins-weak": Shape(7_000, 21_000, 25, 0.9, 0.8, 10, 60, 0.1),
    "check-ins-strong": Shape(7_000, 21_000, 25, 0.9, 0.7, 5, 60, 0.7),
    "books": Shape(10_000, 34_000, 8, 1.2, 0.75, 20, 40, 0.4),
    "books-flat": Shape(10_000, 34_000, 8, 1.2, 0.6, 20, 40, 0.2),
    "jokes": Shape(10_000, 100, 30, 0.3, 0.3, 5, 4, 0.3),
    "many": Shape(20_000, 5_000, 15, 0.7, 0.9, 10, 20, 0.3),
    "many-none": Shape(20_000, 5_000, 15, 0.7, 0.9, 10, 20, 0.0),
    "long-tail": Shape(20_000, 50_000, 12, 0.8, 0.9, 10, 50, 0.3),
    "most-people": Shape(50_000, 8_000, 10, 0.8, 1.0, 10, 30, 0.3),
}
"""``books`` has the shape of 105,000 readers and 340,000 books, a tenth of each."""


def drawn(shape: Shape, seed: int) -> Interactions:
    """People's records: some from everything by popularity, some from the person's own groups."""
    rng = np.random.default_rng(seed)
    popularity = (np.arange(shape.items) + shape.shift) ** -shape.tail
    popularity /= popularity.sum()
    group = rng.integers(0, shape.groups, shape.items)
    often = np.exp(np.log(shape.activity) + shape.spread * rng.standard_normal(shape.users))
    counts = np.clip(np.rint(often), 5, shape.items // 3).astype(np.int64)
    user = np.repeat(np.arange(shape.users), counts)
    own = rng.integers(0, shape.groups, (shape.users, 2))
    item = rng.choice(shape.items, user.size, p=popularity)
    # By group, and within each by popularity.
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(shape.groups + 1))
    sums = np.concatenate([[0.0], np.cumsum(popularity[order])])
    chosen = own[user, (rng.random(user.size) < SECOND_GROUP).astype(np.int64)]
    low, high = sums[starts[chosen]], sums[starts[chosen + 1]]
    place = np.searchsorted(sums, low + (high - low) * rng.random(user.size), side="right") - 1
    tastes = (rng.random(user.size) < shape.taste) & (high > low)
    item = np.where(tastes, order[np.clip(place, 0, shape.items - 1)], item)
    table = pl.DataFrame({"user_id": user, "item_id": item}).unique(maintain_order=True)
    return Interactions(table, items=list(range(shape.items)))


@dataclass(frozen=True)
class Split:
    """People to learn from, and what others are told and asked."""

    train: Interactions
    told: Interactions
    held_out: Interactions

    @classmethod
    def of(cls, data: Interactions, seed: int, test_users: int) -> Split:
        able = data.filter((data.records_per_user >= 5)[data.user], independent=True)
        cut = strong_generalization(able, held_out_users=min(test_users, able.n_users // 5), fold_in=0.8, seed=seed)
        return cls(cut.train, cut.fold_in, cut.target)

    def recall(self, lists: pl.DataFrame) -> float:
        found = evaluate_ranking(lists, held_out=self.held_out, k=[LENGTH], metrics=["truncated_recall"])
        return float(found.values[f"truncated_recall@{LENGTH}"])

    def of_model(self, epsilon: str) -> tuple[float, bool]:
        """Recall of the default recommender, and whether it learned tastes."""
        model = dc.PrivateRecommender(epsilon=epsilon, delta=DELTA).fit(self.train)
        lists = model.attach(self.told).recommend(self.told.users.ids(), n=LENGTH)
        return self.recall(lists), model.ranking_ == "tastes"

    def of_popularity(self, epsilon: str | None) -> float:
        """Recall of popularity: exact, or with the whole budget spent on it."""
        sums = popularity_sums(Likes.of(self.train, None))
        popular = sums.values if epsilon is None else Budget(epsilon, DELTA).for_sums().release(sums)
        order = np.argsort(-popular[:-1], kind="stable")[: LENGTH + int(self.told.records_per_user.max(initial=0))]
        ids = self.train.items.take(order).to_list()
        place = {item: at for at, item in enumerate(ids)}
        seen: dict[object, set[int]] = {}
        for user, item in self.told.to_frame().select("user_id", "item_id").iter_rows():
            seen.setdefault(user, set()).add(place.get(item, -1))
        rows = [
            (user, ids[at], rank)
            for user, known in seen.items()
            for rank, at in enumerate([at for at in range(len(ids)) if at not in known][:LENGTH], start=1)
        ]
        types = {"user_id": self.told.users.series.dtype, "item_id": self.train.items.series.dtype, "rank": pl.Int64}
        return self.recall(pl.DataFrame(rows, schema=types, orient="row"))


@dataclass(frozen=True)
class Figures:
    """Mean recalls over splits of one dataset at one ε."""

    model: float
    private: float
    exact: float
    deviation: float
    learned: bool

    @property
    def is_below(self) -> bool:
        return self.learned and self.model < self.private - self.deviation

    def __str__(self) -> str:
        mark = " (below)" if self.is_below else "" if self.learned else " p"
        return f"{self.model:.3f} / {self.private:.3f} ± {self.deviation:.3f}{mark}"


def measured(shape: Shape, epsilon: str, *, splits: int, seed: int, test_users: int = 1_000) -> Figures:
    """One dataset, several splits. The deviation is that of private popularity between splits."""
    data = drawn(shape, seed)
    cuts = [Split.of(data, seed + number, test_users) for number in range(splits)]
    found = [(*cut.of_model(epsilon), cut.of_popularity(epsilon), cut.of_popularity(None)) for cut in cuts]
    model, learned, private, exact = np.array(found).T
    return Figures(model.mean(), private.mean(), exact.mean(), float(private.std(ddof=1)), bool(learned.any()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    shown = " | ".join(f"ε = {epsilon}" for epsilon in given.epsilons)
    print(f"| data | users × items | taste | {shown} | popularity, not private |")
    print("| --- " * (len(given.epsilons) + 4) + "|", flush=True)
    below = 0
    for name in given.data:
        shape = SHAPES[name]
        rows = [measured(shape, epsilon, splits=given.splits, seed=given.seed) for epsilon in given.epsilons]
        below += sum(row.is_below for row in rows)
        cells = " | ".join(map(str, rows))
        size = f"{shape.users:,} × {shape.items:,}"
        print(f"| {name} | {size} | {shape.taste} | {cells} | {rows[0].exact:.3f} |", flush=True)
    print(f"below by more than the deviation between splits: {below}", file=sys.stderr)
    return int(below > 0)


if __name__ == "__main__":
    sys.exit(main())
