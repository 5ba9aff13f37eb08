"""The page of all claims, docs/evidence/speed.md, and the table in README, from what benchmarks found.

Figures are kept in docs/evidence/speed.json, one entry for each benchmark, so that one of them can be run again alone.
"""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import Claim, figure

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "docs" / "evidence" / "speed.json"
PAGE = ROOT / "docs" / "evidence" / "speed.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- speed: written by make bench -->", "<!-- end of speed -->"

SUBJECTS = {
    "noise": "Noise",
    "neighbors": "Item neighbors",
    "factors": "The default recommender",
    "slope_one": "Slope One and co-rated cosine",
    "counting": "Counts",
    "topics": "Topics of tags",
    "queries": "Queries, one by one",
    "answers": "Answers to all pairs of attributes",
    "ingest": "Reading",
    "export": "Lists into a file",
    "accuracy": "Accuracy at equal ε",
    "start": "First things",
    "service": "The service",
    "parts": "Larger than memory",
    "spark": "Apache Spark",
}
"""Benchmarks with claims, in the order of the page."""

MEMORY = {"MiB", "MB", "GB"}
BY_NAME = {"parts", "spark"}
"""Run when they are named: they write gigabytes, or take a quarter of an hour."""

INTRODUCTION = """# Speed and accuracy against peers

This page is written by `make bench`, which runs discreet and its peers on the same machine, one after another,
and fails where a claim no longer holds. Peers are installed into environments of their own when they are first needed.
*Times as good* is how many times as fast, as many, as accurate or as small ours is: above 1 it is ahead. A row that is
lost stays in the table.
"""


def entry(rows: list[dict[str, Any]], load: float, seconds: float) -> dict[str, Any]:
    """What is kept of one benchmark."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "load": round(load, 1),
        "seconds": round(seconds),
        "rows": rows,
    }


def keep(found: dict[str, dict[str, Any]]) -> None:
    """Add entries to those of other benchmarks and write page and table."""
    entries = {**json.loads(KEPT.read_text()), **found} if KEPT.exists() else found
    ordered = {name: entries[name] for name in SUBJECTS if name in entries}
    KEPT.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(ordered))
    README.write_text(with_table(README.read_text(), ordered))


def claims_of(one: dict[str, Any]) -> list[Claim]:
    return [Claim(**row) for row in one["rows"]]


def page(entries: dict[str, dict[str, Any]]) -> str:
    """The page in Markdown."""
    parts = [INTRODUCTION]
    for name, one in entries.items():
        parts.append(f"## {SUBJECTS[name]}\n")
        run = f"{one['machine']}, load {one['load']} before, {one['seconds']:,} s"
        parts.append(f"`python -m benchmarks {name}`, {one['date']}: {run}.\n")
        parts.append("| what | discreet | peer | | times as good | claimed |\n| --- | --- | --- | --- | --- | --- |")
        for row in claims_of(one):
            least = "1" if row.peer == "goal" else figure(row.least)
            judged = f"≥ {least}" if row.holds else f"**≥ {least}: does not hold**"
            ours, theirs = (f"{figure(value)} {row.unit}".strip() for value in (row.ours, row.theirs))
            parts.append(f"| {row.what} | {ours} | {row.peer} | {theirs} | {figure(row.ratio)} | {judged} |")
        parts.append("")
    return "\n".join(parts)


def table(entries: dict[str, dict[str, Any]]) -> str:
    """One row for each subject: the range of ratios against each peer, but for memory; figures where there is none."""
    lines = ["| | times as good as |", "| --- | --- |"]
    for name, one in entries.items():
        peers: dict[str, list[float]] = {}
        for row in claims_of(one):
            if row.peer != "goal" and row.unit not in MEMORY:
                peers.setdefault(row.peer, []).append(row.ratio)
        told = [f"{ranged(ratios)} {peer}" for peer, ratios in peers.items()]
        told = told or [f"{row.what}: {figure(row.ours)} {row.unit}" for row in claims_of(one)]
        lines.append(f"| {SUBJECTS[name]} | {'; '.join(told)} |")
    return "\n".join(lines)


def ranged(ratios: list[float]) -> str:
    low, high = (figure(value) if value < 10 else f"{value:,.0f}" for value in (min(ratios), max(ratios)))
    return f"{low} ×" if low == high else f"{low} to {high} ×"


def with_table(text: str, entries: dict[str, dict[str, Any]]) -> str:
    """README with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(entries)}\n{END}{after}"
