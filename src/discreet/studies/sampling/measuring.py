"""Releases made over and over, and how far each of them is from the true counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.contexts import Context
from discreet.counting.estimation import expected_counts
from discreet.counting.fusion import nonnegative
from discreet.counting.top_items import TopItems
from discreet.evaluation.counts import count_mse, kl_original_to_released, kl_released_to_original, top_k_precision
from discreet.privacy.release import Release
from discreet.studies.sampling.setting import Setting
from discreet.studies.sampling.ways import Way, half

__all__ = ["METRICS", "Counts", "Measured", "measure", "release_of"]

METRICS = ("mse", "kl_released", "kl_original", "top")
"""Squared error; D(released ‖ original); D(original ‖ released); precision of the top list."""

BETTER_LESS = ("mse", "kl_released", "kl_original")

Tick = Callable[[str], None]
"""Told what was done."""


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
class Measured:
    """Scores of every run: one row for each way, level, metric and run, and the last counts of each way."""

    table: pl.DataFrame
    last: dict[str, Counts]
    ways: dict[str, Way]

    @cached_property
    def _summary(self) -> dict[tuple[str, str, str], tuple[float, float]]:
        rows = self.table.group_by("way", "level", "metric").agg(
            pl.col("value").mean().alias("mean"), pl.col("value").std().fill_null(0.0).alias("deviation")
        )
        return {(way, level, metric): (mean, sd) for way, level, metric, mean, sd in rows.iter_rows()}

    def mean(self, way: str, level: str, metric: str) -> float:
        """The mean over the runs; NaN where the way does not release that."""
        return self._summary.get((way, level, metric), (float("nan"), 0.0))[0]

    def deviation(self, way: str, level: str, metric: str) -> float:
        """The standard deviation over the runs."""
        return self._summary.get((way, level, metric), (float("nan"), float("nan")))[1]

    def best(self, names: Iterable[str], level: str, metric: str) -> tuple[str, float]:
        """The best of some ways and its mean."""
        found = {name: self.mean(name, level, metric) for name in names}
        found = {name: value for name, value in found.items() if not np.isnan(value)}
        choose = min if metric in BETTER_LESS else max
        name = choose(found, key=lambda one: found[one])
        return name, found[name]


def measure(
    setting: Setting, ways: Sequence[Way], tick: Tick, *, contexts: Sequence[Context] | None = None
) -> Measured:
    """Make every release as often as the setting says, and score it.

    Parameters
    ----------
    contexts
        What to count by: those of the setting unless given; none for item counts alone.
    """
    by = setting.contexts if contexts is None else contexts
    rows: list[tuple[str, str, str, int, float]] = []
    last: dict[str, Counts] = {}
    for way in ways:
        for run in range(setting.runs):
            last[way.name] = release_of(setting, way, by)
            rows += [(way.name, *key, run, value) for key, value in _scores(setting, last[way.name]).items()]
            tick(way.name)
    table = pl.DataFrame(rows, schema=["way", "level", "metric", "run", "value"], orient="row")
    return Measured(table, last, {way.name: way for way in ways})


def release_of(setting: Setting, way: Way, contexts: Sequence[Context]) -> Counts:
    """One release, with what is done to it afterwards. Nothing is charged: it goes to the owner of the records."""
    if isinstance(way.method, TopItems):
        return _lists(setting, way.method, contexts)
    release = way.method.release(setting.data, contexts=contexts, allow_refuted=True)
    items, edges = _finished(release, way)
    popularity = release.array("popularity") if "popularity" in release.parts else None
    counts = Counts(items, edges, items, edges, popularity)
    if way.second is None:
        return counts
    # The list comes first, whatever its items' counts; what follows it is by counts.
    chosen = _lists(setting, way.second, contexts).item_scores
    return Counts(items, edges, np.where(chosen > 0, items.max() + chosen, items), edges, popularity)


def _finished(release: Release, way: Way) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    if way.after == "expected":
        return expected_counts(release)
    items = release.table("counts")["count"].to_numpy()
    edges = release.table("edges")["count"].to_numpy().reshape(items.size, -1) if "edges" in release.parts else None
    if way.after == "nonnegative":
        return nonnegative(items), None if edges is None else nonnegative(edges)
    return items, edges


def _lists(setting: Setting, method: TopItems, contexts: Sequence[Context]) -> Counts:
    """Lists as scores: the first of k items has k, the next one k − 1, the others 0; of items, and of each place."""
    if not contexts:
        return Counts(None, None, _ranks(setting, method, ()).ravel(), None, longest=method.k)
    # The list of items and those of the places have half of the budget each, as the counts have.
    share = method.epsilon / 2 if method.delta is None else half(method.epsilon, method.delta)
    part = TopItems.of(method.k, epsilon=share, delta=method.delta)
    return Counts(
        None, None, _ranks(setting, part, ()).ravel(), _ranks(setting, part, setting.contexts), longest=method.k
    )


def _ranks(setting: Setting, method: TopItems, contexts: Sequence[Context]) -> NDArray[np.float64]:
    lists = method.release(setting.data, contexts=contexts).table("top")
    place = np.zeros(lists.height, dtype=np.int64)
    for one in contexts:
        place = place * len(one.values) + np.array([one.code(value) for value in lists[one.name].cast(pl.String)])
    scores = np.zeros((setting.data.n_items, setting.cells.n_places if contexts else 1))
    scores[[setting.code_of[item] for item in lists["item_id"]], place] = method.k + 1 - lists["rank"].to_numpy()
    return scores


def _scores(setting: Setting, counts: Counts) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    levels = (
        ("items", counts.items, counts.item_scores, setting.items),
        ("edges", counts.edges, counts.edge_scores, setting.edges),
    )
    for level, released, scores, original in levels:
        if released is not None:
            found[level, "mse"] = count_mse(released.ravel(), original=original.ravel())
            found[level, "kl_released"] = kl_released_to_original(released.ravel(), original=original.ravel())
            found[level, "kl_original"] = kl_original_to_released(released.ravel(), original=original.ravel())
        if scores is not None:
            found[level, "top"] = top_k_precision(scores.T, original=original.T, k=setting.top)
    for length in setting.lengths:
        if counts.longest is None or length <= counts.longest:
            found["items", f"top {length}"] = top_k_precision(counts.item_scores, original=setting.items, k=length)
    return found
