"""Tables and charts of the study."""

from __future__ import annotations

import polars as pl

from discreet.studies.charts import Chart
from discreet.studies.sampling.measuring import Measured
from discreet.studies.sampling.results import Results
from discreet.studies.sampling.statements import statements
from discreet.studies.sampling.sweeps import CAPPED
from discreet.studies.sampling.ways import EXISTING, SHOWN

__all__ = ["charts", "tables"]

HEADINGS = {"mse": "squared error", "kl_released": "D(rel‖orig)", "kl_original": "D(orig‖rel)"}


def tables(results: Results) -> dict[str, pl.DataFrame]:
    """Headings and tables, in order."""
    setting = results.setting
    found = {
        "What the paper says": statements(results),
        f"Item counts, epsilon {setting.epsilon} for items and edges": _comparison(results.main, "items", setting.top),
        f"Edge counts, epsilon {setting.epsilon} for items and edges": _comparison(results.main, "edges", setting.top),
        f"One release of item counts, epsilon {setting.single}": _comparison(results.single, "items", setting.top),
        "Share of the top K that is found": _lengths(results),
        "Squared error over l": _caps(results),
        "What HPA's first look finds": results.look,
        "Records that are left": results.reduction,
        f"Top {setting.top} for {setting.place_name}": pl.DataFrame(
            {"rank": range(1, setting.top + 1)}
            | {name: setting.data.titles(codes) for name, codes in results.lists.items()}
        ),
    }
    if results.weekly is not None:
        found["Shares of the days"] = results.weekly
    return found


def charts(results: Results) -> tuple[Chart, ...]:
    """The figures of the paper, with ours beside them."""
    drawn = [
        Chart(
            "first-look",
            "Figure 5: how much of the top K HPA's first look finds",
            results.look,
            x="K",
            y="precision",
            series="first look",
            band="sd",
        ),
        Chart(
            "error-over-l",
            "Figure 6: mean squared error over l",
            _cap_points(results),
            x="l",
            y="squared error",
            series="method",
            panel="level",
            log_y=True,
        ),
        Chart(
            "top-k",
            "Figure 9: share of the top K that is found, item counts",
            _length_points(results),
            x="K",
            y="precision",
            series="method",
            band="sd",
            log_x=True,
        ),
    ]
    if results.weekly is not None:
        points = results.weekly.unpivot(index="day", variable_name="records", value_name="share")
        drawn.append(
            Chart("days", "Figure 11: shares of the days of the week", points, x="day", y="share", series="records")
        )
    return tuple(drawn)


def _comparison(measured: Measured, level: str, top: int) -> pl.DataFrame:
    """Figures 7 and 8 as a table: means and standard deviations over the runs."""
    rows = []
    for name, way in measured.ways.items():
        row: dict[str, object] = {"method": name, "from": way.origin, "spends": way.budget}
        for metric, heading in HEADINGS.items():
            value = measured.mean(name, level, metric)
            row[heading] = None if value != value else value
            if metric == "mse":
                row["sd"] = None if value != value else measured.deviation(name, level, metric)
        row |= {f"top {top}": measured.mean(name, level, "top"), "top sd": measured.deviation(name, level, "top")}
        rows.append(row)
    numbers = dict.fromkeys([*HEADINGS.values(), "sd"], pl.Float64)
    return pl.DataFrame(rows, schema_overrides=numbers)


def _lengths(results: Results) -> pl.DataFrame:
    rows = []
    for name in results.main.ways:
        found = {str(k): results.main.mean(name, "items", f"top {k}") for k in results.setting.lengths}
        rows.append({"method": name, **{k: None if value != value else value for k, value in found.items()}})
    return pl.DataFrame(rows, schema_overrides={str(k): pl.Float64 for k in results.setting.lengths})


def _length_points(results: Results) -> pl.DataFrame:
    shown = ("SRA", "HPA", *EXISTING, "weighted", SHOWN)
    return pl.DataFrame(
        [
            {
                "method": name,
                "K": k,
                "precision": results.main.mean(name, "items", f"top {k}"),
                "sd": results.main.deviation(name, "items", f"top {k}"),
            }
            for name in shown
            for k in results.setting.lengths
        ]
    )


def _cap_points(results: Results) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"method": way, "level": level, "l": cap, "squared error": measured.mean(way, level, "mse")}
            for level in ("items", "edges")
            for cap, measured in results.caps.items()
            for way in CAPPED
        ]
    )


def _caps(results: Results) -> pl.DataFrame:
    rows = []
    for cap, measured in results.caps.items():
        row: dict[str, float] = {"l": cap}
        for level in ("items", "edges"):
            row |= {f"{level}, {way}": measured.mean(way, level, "mse") for way in CAPPED}
        rows.append(row)
    return pl.DataFrame(rows)
