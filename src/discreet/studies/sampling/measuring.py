"""Repeated releases, and how far each of them is from the true counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.contexts import Context
from discreet.counting.estimation import expected_counts
from discreet.counting.finishing import nonnegative
from discreet.counting.top_items import TopItems
from discreet.evaluation.counts import count_mse, kl_original_to_released, kl_released_to_original, top_k_precision
from discreet.privacy.numbers import as_fraction
from discreet.privacy.release import Release
from discreet.studies.sampling.setting import CountingRun
from discreet.studies.sampling.variants import CountVariant, half
from discreet.studies.study import summarized

__all__ = ["METRICS", "CountScores", "Counts", "Tick", "measure", "release_of", "scores_of"]

METRICS = {"mse": "squared error", "kl_released": "D(rel‖orig)", "kl_original": "D(orig‖rel)", "top": "top"}
"""Squared error; D(released ‖ original); D(original ‖ released); precision of the top list."""

Tick = Callable[[str], None]
"""Called with what was done."""


@dataclass(frozen=True)
class Counts:
    """What came out of a release: counts where there are any, and scores that lists are made by."""

    items: NDArray[np.float64] | None
    edges: NDArray[np.float64] | None
    item_scores: NDArray[np.float64]
    edge_scores: NDArray[np.float64] | None
    popularity: NDArray[np.int64] | None = None
    longest: int | None = None
    """The longest list that was released, where that is all there is."""


@dataclass(frozen=True)
class CountScores:
    """Means and deviations over the runs, by method, level and metric, and the last counts of each method."""

    table: pl.DataFrame
    last: dict[str, Counts]
    variants: dict[str, CountVariant]

    def comparison(self) -> pl.DataFrame:
        """One row for each level and method, one column for each metric."""
        rows = []
        for level in ("items", "edges"):
            for name, variant in self.variants.items():
                row: dict[str, object] = {"level": level, "method": name, "from": variant.origin}
                row["spends"] = variant.budget
                for metric, heading in METRICS.items():
                    found = self.table.filter(method=name, level=level, metric=metric)
                    row[heading] = found["value"][0] if found.height else None
                    if metric in ("mse", "top"):
                        row["sd" if metric == "mse" else "top sd"] = found["sd"][0] if found.height else None
                if row["top"] is not None:
                    rows.append(row)
        numbers = dict.fromkeys([*METRICS.values(), "sd", "top sd"], pl.Float64)
        return pl.DataFrame(rows, schema_overrides=numbers)


def measure(
    run: CountingRun, variants: Sequence[CountVariant], tick: Tick, *, contexts: Sequence[Context] | None = None
) -> CountScores:
    """Make every release as often as the run says, and score it.

    Parameters
    ----------
    contexts
        What to count by: those of the run unless given; none for item counts alone.
    """
    by = run.contexts if contexts is None else contexts
    rows: list[tuple[str, str, str, float]] = []
    last: dict[str, Counts] = {}
    for variant in variants:
        for _ in range(run.runs):
            last[variant.name] = release_of(run, variant, by)
            rows += [(variant.name, *key, value) for key, value in scores_of(run, last[variant.name]).items()]
            tick(variant.name)
    table = summarized(rows, dict.fromkeys(("method", "level", "metric"), pl.String))
    return CountScores(table, last, {variant.name: variant for variant in variants})


def release_of(run: CountingRun, variant: CountVariant, contexts: Sequence[Context]) -> Counts:
    """One release, with what is done to it afterwards. Nothing is charged: it goes to the owner of the records."""
    if isinstance(variant.method, TopItems):
        return _lists(run, variant.method, contexts)
    release = variant.method.release(run.data, contexts=contexts, allow_refuted=True)
    items, edges = _finished(release, variant)
    popularity = release.array("popularity") if "popularity" in release.parts else None
    counts = Counts(items, edges, items, edges, popularity)
    if variant.second is None:
        return counts
    # The list comes first, whatever its items' counts; what follows it is by counts.
    chosen = _lists(run, variant.second, contexts).item_scores
    return Counts(items, edges, np.where(chosen > 0, items.max() + chosen, items), edges, popularity)


def _finished(release: Release, variant: CountVariant) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    if variant.after == "expected":
        return expected_counts(release)
    items = release.table("counts")["count"].to_numpy()
    edges = release.table("edges")["count"].to_numpy().reshape(items.size, -1) if "edges" in release.parts else None
    if variant.after == "nonnegative":
        return nonnegative(items), None if edges is None else nonnegative(edges)
    return items, edges


def _lists(run: CountingRun, method: TopItems, contexts: Sequence[Context]) -> Counts:
    """Lists as scores: the first of k items has k, the next one k − 1, the others 0; of items, and of each place."""
    if not contexts:
        return Counts(None, None, _ranks(run, method, ()).ravel(), None, longest=method.k)
    # The list of items and those of the places have half of the budget each, as the counts have.
    epsilon, delta = as_fraction(method.epsilon), as_fraction(method.delta)
    share = half(epsilon, delta) if delta else epsilon / 2
    part = TopItems(k=method.k, epsilon=share, delta=method.delta)
    return Counts(None, None, _ranks(run, part, ()).ravel(), _ranks(run, part, run.contexts), longest=method.k)


def _ranks(run: CountingRun, method: TopItems, contexts: Sequence[Context]) -> NDArray[np.float64]:
    lists = method.release(run.data, contexts=contexts).table("top")
    place = np.zeros(lists.height, dtype=np.int64)
    for one in contexts:
        place = place * len(one.values) + np.array([one.code(value) for value in lists[one.name].cast(pl.String)])
    scores = np.zeros((run.data.n_items, run.cells.n_places if contexts else 1))
    scores[[run.code_of[item] for item in lists["item_id"]], place] = method.k + 1 - lists["rank"].to_numpy()
    return scores


def scores_of(run: CountingRun, counts: Counts) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    levels = (
        ("items", counts.items, counts.item_scores, run.items),
        ("edges", counts.edges, counts.edge_scores, run.edges),
    )
    for level, released, scores, original in levels:
        if released is not None:
            found[level, "mse"] = count_mse(released.ravel(), original=original.ravel())
            found[level, "kl_released"] = kl_released_to_original(released.ravel(), original=original.ravel())
            found[level, "kl_original"] = kl_original_to_released(released.ravel(), original=original.ravel())
        if scores is not None:
            found[level, "top"] = top_k_precision(scores.T, original=original.T, k=run.top)
    for length in run.lengths:
        if counts.longest is None or length <= counts.longest:
            found["items", f"top {length}"] = top_k_precision(counts.item_scores, original=run.items, k=length)
    return found
