"""Study: counts from samples, Figures 5 to 11 and Table 5 of Fan and Jin, and the same for counts without sampling.

References
----------
L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Mask
from discreet.counting.cells import Cells, best_records
from discreet.data.contexts import contexts_of
from discreet.data.interactions import Interactions
from discreet.evaluation.counts import top_k_precision
from discreet.studies.sampling_run import CountingRun, Counts, Listed, Tick, comparison, measure, release_of
from discreet.studies.study import Measurements, Settings, Steps, Study, published, published_table

__all__ = ["SamplingStudy", "in_order_of_ids", "printed_lists", "sizes"]

CAPPED = ("SRA", "HPA", "weighted")
"""Those whose error is followed over l."""

YEAR = re.compile(r" \([0-9]{4}\)$")
"""The year after the title of a film."""

POPULAR = (1, 5, 10, 20, 40, 60, 80, 100)
SHOWN, SELECTION = "clipped, expected", "selection of the top, zCDP"
"""Those of ours that lists and distributions are shown for."""


class SamplingStudy(Study):
    """Errors of item counts and of counts in contexts, of the paper's methods and of ours.

    Edges are counted by gender and age where the table of users has them, otherwise by day of the week. ``seed`` orders
    the catalog where none was declared; noise is fresh in every run.
    """

    name = "sampling"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        run = CountingRun.of(data, settings, seed=seed)
        listed = {one["name"]: one for one in self.layout["methods"]}
        both = [one for one in listed.values() if "second" not in one]
        more = 2 + int(run.has_days) + int(run.as_they_came is not None)
        steps.expect(run.runs * (len(both) + len(listed) + len(CAPPED) * len(run.caps) + more))
        main = measure(run, both, steps.done)
        alone = replace(run, epsilon=Fraction(settings.single), contexts=())
        single = measure(alone, list(listed.values()), lambda who: steps.done(f"{who}, items alone"))
        for name, why in {**single.refused, **main.refused}.items():
            steps.skipped(name, why)
        tables = {
            "main": comparison(main, both),
            "single": comparison(single, list(listed.values())),
            "caps": over_caps(run, [listed[name] for name in CAPPED], steps.done),
            "look": popularity_precision(run, listed["HPA"], steps.done) if "HPA" in main.last else None,
            "reduction": data_reduction(run),
            "weekly": weekly_shares(run, listed, steps.done) if {"HPA", SHOWN} <= set(main.last) else None,
            "in order of ids": in_order_of_ids(run, listed["DFT"], steps.done),
            "top": _lengths(main.scores),
            "zeros": pl.DataFrame(
                {
                    "level": ["items", "edges"],
                    "squared error": [float(np.square(true).mean()) for true in (run.items, run.edges)],
                }
            ),
        }
        lists = _lists(run, main.last)
        titles = {name: run.data.titles(codes) for name, codes in lists.items()}
        tables["lists"] = pl.DataFrame({"rank": range(1, run.top + 1)} | titles)
        tables["table 4"], tables["table 5"] = sizes(run), printed_lists(run, titles)
        shared = {name: float(len(set(codes) & set(lists["original"]))) for name, codes in lists.items()}
        figures = {f"of the original list in that of {name}": n for name, n in shared.items() if name != "original"}
        labels = {
            "epsilon": run.epsilon,
            "single": settings.single,
            "top": run.top,
            "place": run.place_name,
            "sample": tables["reduction"]["records"][1],
            "delta": f"{float(run.delta):g}",
            "cap": run.cap,
        }
        measured = {name: table for name, table in tables.items() if table is not None}
        setting = {
            "contexts": [f"{one.name}: {', '.join(one.values)}" for one in run.contexts],
            "edges": run.edges.size,
            "l": run.cap,
        }
        return Measurements(setting, measured, figures, labels)


def _lengths(main: pl.DataFrame) -> pl.DataFrame:
    """Figure 9: precision of the item list by its length K."""
    found = main.filter(pl.col("level") == "items", pl.col("metric").str.starts_with("top "))
    length = pl.col("metric").str.strip_prefix("top ").cast(pl.Int64)
    return found.select("method", length.alias("K"), pl.col("value").alias("precision"), "sd")


def _lists(run: CountingRun, last: Mapping[str, Counts]) -> dict[str, list[int]]:
    """Codes of the top items of one context: the original, and by the last release of some methods."""

    def top(scores: Floats) -> list[int]:
        return np.argsort(-scores, kind="stable")[: run.top].tolist()

    lists = {"original": top(run.edges[:, run.place].astype(float))}
    for name in (name for name in ("SRA", "HPA", SHOWN, SELECTION) if name in last):
        scores = last[name].edge_scores
        assert scores is not None
        lists[name] = top(scores[:, run.place])
    return lists


def sizes(run: CountingRun) -> pl.DataFrame:
    """Table 4: the paper's data sets, and the one at hand. Items are those of the catalog."""
    held = run.data.records_per_user[run.data.records_per_user > 0]
    here = {"users": held.size, "items": run.data.n_items, "records": len(run.data)}
    here |= {"most": int(held.max()), "mean": float(held.mean()), "fewest": int(held.min())}
    kept = published("sampling")["data sets"]
    printed = pl.DataFrame(kept["rows"], schema=kept["columns"], orient="row")
    measured = pl.DataFrame([{"name": f"here: {run.data.name or 'these records'}", **here}], schema=printed.schema)
    return pl.concat([measured, printed])


def printed_lists(run: CountingRun, measured: Mapping[str, list[str]]) -> pl.DataFrame | None:
    """Table 5 beside the lists of this run, where edges are by gender and age and the films are those of MovieLens."""
    if [one.name for one in run.contexts] != ["gender", "age"]:
        return None
    printed = published_table("sampling")
    known = {YEAR.sub("", title) for title in run.data.titles(np.arange(run.data.n_items))}
    if not printed["in MovieLens"].is_in(known).any():
        return None
    columns: dict[str, list[Any]] = {"rank": list(range(1, run.top + 1))}
    for name in ("original", "SRA", "HPA"):
        titles = printed.filter(list=name)["in MovieLens"].to_list()[: run.top]
        columns[f"{name}, printed"] = titles + [""] * (run.top - len(titles))
        columns[f"{name}, here"] = measured.get(name, [""] * run.top)
    return pl.DataFrame(columns)


# What the size of the sample does


def over_caps(run: CountingRun, methods: list[Listed], tick: Tick) -> pl.DataFrame:
    """Figure 6: SRA, HPA and weighted counts for every l."""
    found = []
    for cap in run.caps:
        measured = measure(replace(run, cap=cap), methods, lambda who, cap=cap: tick(f"{who}, l = {cap}"))
        errors = comparison(measured, methods).drop_nulls("squared error")
        found.append(errors.select("level", "method", "squared error", l=pl.lit(cap)))
    return pl.concat(found)


def popularity_precision(run: CountingRun, hpa: Listed, tick: Tick) -> pl.DataFrame:
    """Figure 5: how much of the top K is in the top K of HPA's first look, with d from the data and d = 1."""
    rows = []
    lengths = [length for length in POPULAR if length <= run.data.n_items]
    for name, first in {"d = fewest records of a user": "data", "d = 1": 1}.items():
        method = {**hpa, "with": hpa["with"] | {"first": first}}
        looks = []
        for _ in range(run.runs):
            look = release_of(run, method).popularity
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


def weekly_shares(run: CountingRun, listed: dict[str, Listed], tick: Tick) -> pl.DataFrame | None:
    """Figure 11: the share of each day in the data, in the samples, and in our release; means over the runs."""
    if not run.has_days:
        return None
    daily = replace(run, contexts=contexts_of(["weekday"], run.data))
    cells = daily.cells
    days = daily.contexts[0].values
    shares: dict[str, list[Floats]] = {"SRA, sample": [], "HPA, sample": [], f"{SHOWN}, released": []}
    for _ in range(run.runs):
        popularity = release_of(daily, listed["HPA"]).popularity
        edges = release_of(daily, listed[SHOWN]).edges
        assert popularity is not None
        assert edges is not None
        shares["SRA, sample"].append(_days(cells, best_records(cells, run.cap)))
        shares["HPA, sample"].append(_days(cells, best_records(cells, run.cap, np.maximum(popularity, 0))))
        shares[f"{SHOWN}, released"].append(edges.sum(axis=0) / edges.sum())
        tick("days of the week")
    original = _days(cells, np.ones(cells.user.size, dtype=bool))
    columns = {name: np.mean(found, axis=0) for name, found in shares.items()}
    return pl.DataFrame({"day": list(days), "original": original, **columns})


def in_order_of_ids(run: CountingRun, dft: Listed, tick: Tick) -> pl.DataFrame | None:
    """DFT, the one method that goes by the order of the catalog, with items in the order of their ids."""
    if run.as_they_came is None:
        return None
    return comparison(measure(replace(run, data=run.as_they_came, as_they_came=None), [dft], tick), [dft])


def _days(cells: Cells, kept: Mask) -> Floats:
    counts = np.bincount(cells.place[kept], minlength=cells.n_places)
    return counts / counts.sum()
