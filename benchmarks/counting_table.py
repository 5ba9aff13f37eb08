"""Which method counts best: error and precision by question, kind of data, ε and δ.

python benchmarks/counting_table.py                   the table of docs/which-method.md, in about two minutes
python benchmarks/counting_table.py --runs 10         with less chance in it

Every method is run with several caps, and the best of them is shown: methods are compared, not choices of a cap.
Errors are those of the expected counts (``expected_counts``), which cost nothing. The best method of
a row is bold if it is better than every other one by more than two standard errors of the difference.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import discreet as dc
from discreet.counting import HPA, SRA, HybridCounts, ItemCounts, TopItems, expected_counts
from discreet.counting.cells import Cells
from discreet.counting.counts import CountMethod
from discreet.data import Interactions

EPSILONS = ("0.1", "0.5", "1", "4")
DELTAS = ("0", "1e-6")
CAPS, LARGE_CAPS = (10, 30, 60, 100), (200, 400)
TOP = 20
NAMES = ("weighted", "hybrid", "sra", "hpa", "top-items")
QUESTIONS = ("counts of items", "counts by weekday", "top 20", "top 20 by weekday")
SIGN = np.array([1, 1, -1, -1])
"""Errors are better if they are smaller, precision if it is larger."""

Numbers = NDArray[Any]


class Figure(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        return "" if math.isnan(self.mean) else f"{self.mean:.3g} ± {self.error:.1g}"


class Truth(NamedTuple):
    """The exact counts."""

    items: Numbers
    edges: Numbers


def heavy_tailed(users: int = 2_000, items: int = 1_000) -> Interactions:
    """Numbers of records with a Pareto tail, popularity by Zipf's law: a few users have a quarter of all records."""
    draw = np.random.default_rng(7)
    sizes = np.minimum(3 * draw.pareto(1.1, users) + 1, items // 2).astype(int)
    popularity = np.arange(1, items + 1) ** -1.0
    popularity /= popularity.sum()
    chosen = [draw.choice(items, size=size, replace=False, p=popularity) for size in sizes]
    item = np.concatenate(chosen)
    times = draw.integers(0, 2**30, item.size)
    table = pl.DataFrame({"user_id": np.repeat(np.arange(users), sizes), "item_id": item, "timestamp": times})
    return Interactions(table, items=np.arange(items))


def datasets() -> dict[str, Interactions]:
    return {
        "films": dc.synthetic.films(users=2_000, items=400, seed=7),
        "check-ins": dc.synthetic.checkins(users=2_000, seed=7),
        "heavy-tailed": heavy_tailed(),
    }


def methods(epsilon: str, delta: str) -> Iterator[tuple[str, CountMethod]]:
    """Every method with every cap that it is tried with."""
    pure = delta == "0"
    for cap in CAPS if pure else (*CAPS, *LARGE_CAPS):
        yield "weighted", ItemCounts(epsilon, cap, delta, item_share="1/4")
        for gamma in ("1/2", 1) if pure else ("1/4", "1/2"):
            yield "hybrid", HybridCounts(epsilon, cap, gamma, delta=delta)
        if pure:
            yield "sra", SRA(epsilon, cap, item_share="1/4")
            yield "hpa", HPA(epsilon, cap, item_share="1/4")


def scores(method: CountMethod, data: Interactions, truth: Truth) -> list[float]:
    """One value for each question: of a release of items alone, and of one by weekday."""
    alone, by_day = method.release(data), method.release(data, contexts=["weekday"])
    items, _ = expected_counts(alone)
    _, edges = expected_counts(by_day)
    assert edges is not None
    lists = [precision(edges[:, day], truth.edges[:, day]) for day in range(edges.shape[1])]
    return [error(items, truth.items), error(edges, truth.edges), precision(items, truth.items), float(np.mean(lists))]


def selected(epsilon: str, delta: str, data: Interactions, truth: Truth) -> list[float]:
    """The same of lists that are chosen directly, which have no counts."""
    method, ranks = TopItems(epsilon, TOP, delta), np.arange(TOP, 0, -1)

    def of_list(items: pl.Series, exact: Numbers) -> float:
        places = np.zeros(exact.size)
        places[data.items.encode(items.to_list())] = ranks
        return precision(places, exact)

    whole = of_list(method.release(data).table("top")["item_id"], truth.items)
    by_day = method.release(data, contexts=["weekday"]).table("top")["item_id"]
    days = truth.edges.shape[1]
    lists = [of_list(by_day[day * TOP : (day + 1) * TOP], truth.edges[:, day]) for day in range(days)]
    return [math.nan, math.nan, whole, float(np.mean(lists))]


def error(counts: Numbers, exact: Numbers) -> float:
    return float(np.sqrt(np.square(counts - exact).mean()))


def precision(counts: Numbers, exact: Numbers) -> float:
    """Share of the first items that have at least the true count of the last true one."""
    best = np.argsort(-counts, kind="stable")[:TOP]
    return float((exact[best] >= np.sort(exact)[-TOP]).mean())


def measured(data: Interactions, epsilon: str, delta: str, runs: int) -> dict[str, list[Figure]]:
    """For each method and question the mean of its best cap, and its standard error."""
    cells = Cells.of(data, ["weekday"])
    truth = Truth(cells.totals("items"), cells.totals("edges").reshape(cells.n_items, cells.n_places))
    tried: dict[str, list[Numbers]] = {}
    for name, method in methods(epsilon, delta):
        tried.setdefault(name, []).append(np.array([scores(method, data, truth) for _ in range(runs)]))
    tried["top-items"] = [np.array([selected(epsilon, delta, data, truth) for _ in range(runs)])]
    found = {}
    for name, tables in tried.items():
        means = np.array([table.mean(axis=0) for table in tables]) * SIGN
        best = np.argmin(np.nan_to_num(means, nan=0.0), axis=0)
        chosen = [tables[place][:, question] for question, place in enumerate(best)]
        found[name] = [Figure(one.mean(), one.std(ddof=1) / math.sqrt(runs)) for one in chosen]
    return found


def winner(figures: dict[str, Figure], sign: int) -> str:
    """The best method, with a star if it is better than every other one by more than two standard errors."""
    known = {name: figure for name, figure in figures.items() if not math.isnan(figure.mean)}
    best = min(known, key=lambda name: sign * known[name].mean)
    clear = all(
        sign * (other.mean - known[best].mean) > 2 * math.hypot(other.error, known[best].error)
        for name, other in known.items()
        if name != best
    )
    return f"**{best}**" if clear else best


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", nargs="*", choices=list(datasets()), default=list(datasets()))
    options = parser.parse_args(arguments)
    print("| data | ε | δ | question | best | " + " | ".join(NAMES) + " |\n" + "| --- " * (5 + len(NAMES)) + "|")
    for name, data in datasets().items():
        if name not in options.data:
            continue
        for delta in DELTAS:
            for epsilon in EPSILONS:
                found = measured(data, epsilon, delta, options.runs)
                for place, (question, sign) in enumerate(zip(QUESTIONS, SIGN, strict=True)):
                    figures = {method: figures[place] for method, figures in found.items()}
                    cells = [str(figures[method]) if method in figures else "" for method in NAMES]
                    best = winner(figures, int(sign))
                    print(f"| {name} | {epsilon} | {delta} | {question} | {best} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
