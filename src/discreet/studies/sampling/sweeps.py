"""What the size of the sample does: error over l, the quality of the first look, records left, shares of the days."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.cells import Cells, best_records
from discreet.counting.contexts import contexts_of
from discreet.counting.counts import Cap
from discreet.counting.item_counts import ItemCounts
from discreet.counting.published.fan_jin import HPA, SRA
from discreet.evaluation.counts import top_k_precision
from discreet.studies.sampling.measuring import CountScores, Tick, measure, release_of
from discreet.studies.sampling.setting import CountingRun
from discreet.studies.sampling.variants import SHOWN, CountVariant, our_variants, published_variants

__all__ = ["CAPPED", "data_reduction", "in_order_of_ids", "over_caps", "popularity_precision", "weekly_shares"]

CAPPED = ("SRA", "HPA", "weighted")
"""Those whose error is followed over l."""

POPULAR = (1, 5, 10, 20, 40, 60, 80, 100)


def over_caps(run: CountingRun, tick: Tick) -> pl.DataFrame:
    """Figure 6: SRA, HPA and weighted counts for every l."""
    found = []
    for cap in run.caps:
        variants = [
            CountVariant("SRA", "paper", "ε", SRA(epsilon=run.epsilon, cap=cap)),
            CountVariant("HPA", "paper", "ε", HPA(epsilon=run.epsilon, cap=cap, first="data")),
            CountVariant("weighted", "ours", "ε", ItemCounts(epsilon=run.epsilon, cap=cap)),
        ]
        scores = measure(run, variants, lambda who, cap=cap: tick(f"{who}, l = {cap}")).comparison()
        found.append(scores.select("level", "method", "squared error", l=pl.lit(cap)))
    return pl.concat(found)


def popularity_precision(run: CountingRun, tick: Tick) -> pl.DataFrame:
    """Figure 5: how much of the top K is in the top K of HPA's first look, with d from the data and d = 1."""
    rows = []
    lengths = [length for length in POPULAR if length <= run.data.n_items]
    looked: dict[str, Cap] = {"d = fewest records of a user": "data", "d = 1": 1}
    for name, first in looked.items():
        variant = CountVariant(name, "paper", "ε", HPA(epsilon=run.epsilon, cap=run.cap, first=first))
        looks = []
        for _ in range(run.runs):
            look = release_of(run, variant, run.contexts).popularity
            assert look is not None
            looks.append([top_k_precision(look, original=run.items, k=length) for length in lengths])
            tick("HPA's first look")
        found = np.array(looks)
        rows += [
            {"first look": name, "K": length, "precision": float(column.mean()), "sd": float(column.std(ddof=1))}
            for length, column in zip(lengths, found.T, strict=True)
        ]
    return pl.DataFrame(rows)


def data_reduction(run: CountingRun) -> pl.DataFrame:
    """Figure 10: how many records are left."""
    held = run.cells.records_per_user
    fewest = int(held[held > 0].min())
    kept = {
        "all": int(held.sum()),
        f"sample of SRA and HPA, l = {run.cap}": int(np.minimum(held, run.cap).sum()),
        f"HPA's first look, d = {fewest}": int(np.minimum(held, fewest).sum()),
    }
    return pl.DataFrame(
        {"records": list(kept), "number": list(kept.values()), "share": [n / kept["all"] for n in kept.values()]}
    )


def weekly_shares(run: CountingRun, tick: Tick) -> pl.DataFrame | None:
    """Figure 11: the share of each day in the data, in the samples, and in our release; means over the runs."""
    if not run.has_days:
        return None
    daily = replace(run, contexts=contexts_of(["weekday"], run.data))
    cells = daily.cells
    days = daily.contexts[0].values
    ours = next(variant for variant in our_variants(daily, run.epsilon) if variant.name == SHOWN)
    hpa = CountVariant("HPA", "paper", "ε", HPA(epsilon=run.epsilon, cap=run.cap, first="data"))
    shares: dict[str, list[NDArray[np.float64]]] = {"SRA, sample": [], "HPA, sample": [], f"{SHOWN}, released": []}
    for _ in range(run.runs):
        popularity = release_of(daily, hpa, daily.contexts).popularity
        edges = release_of(daily, ours, daily.contexts).edges
        assert popularity is not None
        assert edges is not None
        shares["SRA, sample"].append(_days(cells, best_records(cells, run.cap)))
        shares["HPA, sample"].append(_days(cells, best_records(cells, run.cap, np.maximum(popularity, 0))))
        shares[f"{SHOWN}, released"].append(edges.sum(axis=0) / edges.sum())
        tick("days of the week")
    original = _days(cells, np.ones(cells.user.size, dtype=bool))
    columns = {name: np.mean(found, axis=0) for name, found in shares.items()}
    return pl.DataFrame({"day": list(days), "original": original, **columns})


def in_order_of_ids(run: CountingRun, tick: Tick) -> CountScores | None:
    """DFT, the one method that goes by the order of the catalog, with items in the order of their ids."""
    if run.as_they_came is None:
        return None
    before = replace(run, data=run.as_they_came, as_they_came=None)
    return measure(
        before, [variant for variant in published_variants(before, run.epsilon) if variant.name == "DFT"], tick
    )


def _days(cells: Cells, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    counts = np.bincount(cells.place[kept], minlength=cells.n_places)
    return counts / counts.sum()
