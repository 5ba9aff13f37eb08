"""Study: counts from samples, Figures 5 to 11 and Table 5 of Fan and Jin, and the same for counts without sampling.

References
----------
L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.studies.sampling.measuring import CountScores, measure
from discreet.studies.sampling.setting import CountingRun
from discreet.studies.sampling.sweeps import (
    CAPPED,
    data_reduction,
    in_order_of_ids,
    over_caps,
    popularity_precision,
    weekly_shares,
)
from discreet.studies.sampling.variants import SELECTION, SHOWN, our_variants, published_variants, single_variants
from discreet.studies.study import Measurements, Settings, Steps, Study

__all__ = ["SamplingStudy"]


class SamplingStudy(Study):
    """Errors of item counts and of counts in contexts, of the paper's methods and of ours.

    Edges are counted by gender and age where the table of users has them, otherwise by day of the week. ``seed`` orders
    the catalog where none was declared; noise is fresh in every run.
    """

    name = "sampling"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        run = CountingRun.of(data, settings, seed=seed)
        variants = [*published_variants(run, run.epsilon), *our_variants(run, run.epsilon)]
        alone = single_variants(run, run.single)
        more = 2 + int(run.has_days) + int(run.as_they_came is not None)
        steps.expect(run.runs * (len(variants) + len(alone) + len(CAPPED) * len(run.caps) + more))
        main = measure(run, variants, steps.done)
        single = measure(run, alone, lambda who: steps.done(f"{who}, items alone"), contexts=())
        tables = {
            "main": main.comparison(),
            "single": single.comparison(),
            "caps": over_caps(run, steps.done),
            "look": popularity_precision(run, steps.done),
            "reduction": data_reduction(run),
            "weekly": weekly_shares(run, steps.done),
            "top": _lengths(main),
            "zeros": pl.DataFrame(
                {
                    "level": ["items", "edges"],
                    "squared error": [float(np.square(true).mean()) for true in (run.items, run.edges)],
                }
            ),
        }
        came = in_order_of_ids(run, steps.done)
        tables["in order of ids"] = None if came is None else came.comparison()
        lists = _lists(run, main)
        titles = {name: run.data.titles(codes) for name, codes in lists.items()}
        tables["lists"] = pl.DataFrame({"rank": range(1, run.top + 1)} | titles)
        shared = {name: float(len(set(codes) & set(lists["original"]))) for name, codes in lists.items()}
        figures = {f"of the original list in that of {name}": n for name, n in shared.items() if name != "original"}
        labels = {
            "epsilon": run.epsilon,
            "single": run.single,
            "top": run.top,
            "place": run.place_name,
            "sample": tables["reduction"]["records"][1],
            "delta": f"{float(run.delta):g}",
            "cap": run.cap,
        }
        measured = {name: table for name, table in tables.items() if table is not None}
        return Measurements(_described(run, seed), measured, figures, labels)


def _lengths(main: CountScores) -> pl.DataFrame:
    """Figure 9: precision of the item list by its length K."""
    found = main.table.filter(pl.col("level") == "items", pl.col("metric").str.starts_with("top "))
    length = pl.col("metric").str.strip_prefix("top ").cast(pl.Int64)
    return found.select("method", length.alias("K"), pl.col("value").alias("precision"), "sd")


def _lists(run: CountingRun, main: CountScores) -> dict[str, list[int]]:
    """Codes of the top items of one context: the original, and by the last release of some methods."""

    def top(scores: NDArray[np.float64]) -> list[int]:
        return np.argsort(-scores, kind="stable")[: run.top].tolist()

    lists = {"original": top(run.edges[:, run.place].astype(float))}
    for name in ("SRA", "HPA", SHOWN, f"{SELECTION}, zCDP"):
        scores = main.last[name].edge_scores
        assert scores is not None
        lists[name] = top(scores[:, run.place])
    return lists


def _described(run: CountingRun, seed: int) -> dict[str, Any]:
    data = run.data
    return {
        "data": data.name or "records",
        "records": len(data),
        "users": data.n_users,
        "items": data.n_items,
        "contexts": [f"{one.name}: {', '.join(one.values)}" for one in run.contexts],
        "edges": run.edges.size,
        "epsilon": str(run.epsilon),
        "epsilon of one release of item counts": str(run.single),
        "delta where there is one": str(float(run.delta)),
        "l": run.cap,
        "runs": run.runs,
        "seed of the order of an undeclared catalog": seed,
    }
