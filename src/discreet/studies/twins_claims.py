"""What Lu's sixth chapter says of TwinSearch, and whether a run bears it out."""

from __future__ import annotations

from typing import Any

import polars as pl

from discreet.studies.published import published_table
from discreet.studies.twins_timing import CLAIM, Axis, Case

__all__ = ["FIGURES", "claims_table", "paragraphs"]

FIGURES: dict[Axis, str] = {"user": "6.2", "item": "6.4"}
"""The figure of each axis; 6.3 and 6.5 are the same on other data."""

SEARCH = "TwinSearch c=3"
"""The number of probes that the judgments go by; the thesis names none."""

MUCH = 2.0
"""So many times as fast counts as much faster."""


def claims_table(cases: list[Case], fullest: pl.DataFrame, *, newcomers: int) -> pl.DataFrame:
    """Every claim, one line for each case that it was measured in."""
    rows = []
    for claim in published_table("twins").iter_rows(named=True):
        for where, measured, holds in _judged(claim, cases, fullest, newcomers):
            verdict = "not run" if holds is None else "holds" if holds else "does not hold"
            rows.append(
                {"figure": claim["figure"], "claim": claim["claim"], "case": where}
                | {"measured": measured, "verdict": verdict}
            )
    return pl.DataFrame(rows)


def _judged(
    claim: dict[str, Any], cases: list[Case], fullest: pl.DataFrame, newcomers: int
) -> list[tuple[str, str, bool | None]]:
    """Case, what was measured, and whether the claim holds there."""
    key, value = claim["key"], claim["value"]
    if key in ("6.3", "6.5"):
        return [("", "the data of this figure are not at hand", None)]
    if key == "bin":
        return [
            (
                f"{row['axis']}, {row['similarity']}",
                f"{row['mean share']:.1%} on average, {row['largest share']:.1%} at most",
                row["largest share"] <= value,
            )
            for row in fullest.iter_rows(named=True)
        ]
    chosen, least = cases, value
    if key in ("6.2", "6.4"):
        chosen, least = [case for case in cases if FIGURES[case.axis] == key], MUCH
    found = []
    for case in chosen:
        ratio = case.hit(SEARCH) if key == "one" else case.speed_up(SEARCH, newcomers)
        found.append((", ".join(case.names.values()), f"{ratio:.1f} times as fast", ratio >= least))
    return found


def paragraphs(cases: list[Case], fullest: pl.DataFrame, *, newcomers: int) -> list[str]:
    """What a run shows; every number in it is from the run."""

    def span(values: list[float]) -> str:
        return f"{min(values):.1f} to {max(values):.1f}"

    def all_of(method: str) -> str:
        return span([case.speed_up(method, newcomers) for case in cases])

    ahead = sum(case.speed_up("hash, rows", newcomers, over=SEARCH) > 1 for case in cases)
    fewer = sum(case.speed_up("TwinSearch c=1", newcomers, over="TwinSearch c=10") > 1 for case in cases)
    bins = ", ".join(
        f"{row['mean share']:.1%} on average and {row['largest share']:.1%} at most "
        f"({row['axis']}s, {row['similarity']})"
        for row in fullest.iter_rows(named=True)
    )
    rows = ", ".join(f"{n:,} {axis}s" for axis, n in {case.axis: case.rows for case in cases}.items())
    return [
        f"Among {rows}: for {newcomers} equal newcomers TwinSearch with three probes is {all_of(SEARCH)} times as fast "
        f"as comparing each of them with every row, and {span([case.hit(SEARCH) for case in cases])} times once there "
        f"is a twin; the thesis says {CLAIM}. A computation that visits only the ratings of the same items, and "
        f"searches for no twin, is {all_of('full, by column')} times as fast.",
        f"A dictionary of hashed rating lists is {all_of('hash, rows')} times as fast where it falls back on comparing "
        f"every row, and {all_of('hash')} times where it falls back on the other; the former is ahead of TwinSearch in "
        f"{ahead} of {len(cases)} cases. In {fewer} of {len(cases)} one probe is faster than ten.",
        f"The factor {CLAIM} rests on similarity lists that are normally distributed, with at most {1 / CLAIM:.1%} of "
        f"a list in a bin of width 0.01. The fullest bin holds {bins}.",
        "The thesis does not put newcomers into the lists of the others, without which no probe would find the first "
        "of them for the second. It is done here for all methods, and not timed.",
    ]
