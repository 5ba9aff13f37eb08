"""The report of a study: verdicts, tables and charts, to print, to open in a browser and to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import UsageError
from discreet.reports import Chart, Page, ReportFolder, json_text, numeric, plain, readable, svg, words
from discreet.reports.cards import Card
from discreet.reports.charts import styled
from discreet.reports.page import Tone
from discreet.reports.tables import file_name
from discreet.studies.claims import DOES_NOT_HOLD, HOLDS, NOT_JUDGED, ROUNDING, kind_of

__all__ = ["NOT_RUN", "REPORT", "VERDICTS", "Progress", "StudyReport"]

Progress = Callable[[float, str], None]
"""Told the share that is done, from 0 to 1, and what is being done."""


def _files(record: Any) -> list[str]:
    """The files of a report, given its record."""
    tables = [f"tables/{file_name(heading)}.csv" for heading in record["tables"]]
    return ["report.html", "tables/", "charts/", *tables, *(f"charts/{name}.svg" for name in record["charts"])]


VERDICTS, NOT_RUN = "Verdicts", "Not run"
_COUNTED = {HOLDS: "hold", DOES_NOT_HOLD: "do not hold", NOT_JUDGED: "not judged here"}
MOST_TABLES = 3
"""Tables of a report that a card in a notebook shows."""
REPORT = ReportFolder("report", "report.json", _files)


@dataclass(frozen=True, eq=False)
class StudyReport:
    """A published experiment, run again.

    Parameters
    ----------
    name, title
        Which study.
    source
        The publication.
    setting
        What it was run on and with, JSON-like.
    tables
        Tables under their headings, in order. The verdicts on the claims come first.
    charts
        Charts, in order.
    notes
        What to know when reading the numbers.
    quick, sample
        Whether this is a quick run, and on what part of the data.

    Examples
    --------
    >>> cups = {"Cups": pl.DataFrame({"cups": [3]})}
    >>> report = StudyReport("tea", "Tea", "A book", {"seed": 1}, cups, (), ("Cups are small.",))
    >>> report.to_dict()["tables"]
    {'Cups': [{'cups': 3}]}
    """

    name: str
    title: str
    source: str
    setting: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    charts: tuple[Chart, ...]
    notes: tuple[str, ...] = ()
    quick: bool = False
    sample: str = ""

    def __post_init__(self) -> None:
        for names in ([chart.name for chart in self.charts], [file_name(heading) for heading in self.tables]):
            if len(set(names)) < len(names):
                raise UsageError(f"two tables or two charts of the study {self.name!r} have the same name.")

    @property
    def verdicts(self) -> pl.DataFrame | None:
        """The claims of the publication, each with what was measured and a verdict; None if there are no claims."""
        return self.tables.get(VERDICTS)

    @property
    def headline(self) -> str:
        """The first line: whether this is a quick run, and on how much of the data."""
        if not self.quick:
            return "Full run."
        part = f"on {self.sample}" if self.sample else "on all of the data"
        return f"Quick run (--quick): few settings, {part}. What papers claim is judged in full runs."

    @property
    def summary(self) -> str:
        """How many claims hold, in one sentence, and how numbers are compared."""
        if self.verdicts is None:
            return "No claims were published for this experiment."
        kinds = [kind_of(verdict) for verdict in self.verdicts["verdict"]]
        said = ", ".join(f"{kinds.count(name)} {words}" for name, words in _COUNTED.items())
        return (
            f"Verdicts on {self.verdicts['claim'].n_unique()} claims, one for each case: {said}. "
            f"Numbers that differ by less than {ROUNDING:g} of the larger one count as equal; "
            "other tolerances and thresholds are in the conditions."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it; what is not a number is null."""
        return {
            "run": self.headline,
            "quick": self.quick,
            "study": self.name,
            "title": self.title,
            "source": self.source,
            "setting": plain(self.setting),
            "summary": self.summary,
            "notes": list(self.notes),
            "tables": {heading: plain(table.to_dicts()) for heading, table in self.tables.items()},
            "charts": {chart.name: chart.to_dict() for chart in self.charts},
        }

    def plot(self, name: str | None = None) -> Any:
        """An Altair chart of the study by its name, by default the first; bands are standard deviations."""
        charts = {chart.name: chart for chart in self.charts}
        if not charts or name not in (None, *charts):
            raise UsageError(
                f"the study {self.name} has no chart {name or ''}.".replace(" .", "."),
                remedy=f"It has {', '.join(charts) or 'none'}.",
            )
        return styled(charts[name or next(iter(charts))].altair())

    def _repr_html_(self) -> str:
        card = Card(self.title, self.source)
        card.mark("quick run" if self.quick else "full run", "warn" if self.quick else "plain")
        card.text(self._counted()[1])
        for heading, table in list(self.tables.items())[:MOST_TABLES]:
            card.text(heading, soft=True)
            shown = table.select("claim", "case", "verdict") if heading == VERDICTS else table
            card.frame(shown, most=10)
        if len(self.tables) > MOST_TABLES:
            rest = ", ".join(list(self.tables)[MOST_TABLES:])
            card.text(f"more in report.tables: {rest}", soft=True)
        if self.charts:
            card.text(f"report.plot(name): {', '.join(chart.name for chart in self.charts)}", soft=True)
        return card.html()

    def html(self) -> str:
        """One page with everything on it, and nothing loaded from elsewhere."""
        return self._page(self._pictures()).html()

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the report into a folder: a page, a JSON document, tables as CSV, charts as SVG.

        It is made aside and renamed, so that it is there whole or not at all. What is there already is replaced only if
        it is a report, and only if ``overwrite``.
        """
        pictures = self._pictures()
        contents = {"report.html": self._page(pictures).html(), "report.json": json_text(self.to_dict())}
        contents |= {f"tables/{file_name(heading)}.csv": table.write_csv() for heading, table in self.tables.items()}
        contents |= {f"charts/{name}.svg": picture for name, picture in pictures.items()}
        return REPORT.save(folder, contents, overwrite=overwrite)

    def _pictures(self) -> dict[str, str]:
        return {chart.name: svg(chart.altair()) for chart in self.charts}

    def _page(self, pictures: Mapping[str, str]) -> Page:
        page = Page(self.title, self.source)
        holds, counted = self._counted()
        page.verdict(counted, tone="warn" if self.quick else holds, more=self.headline)
        if self.charts:
            page.heading("Charts")
        for chart in self.charts:
            narrow = svg(chart.altair(narrow=True))
            page.picture(pictures[chart.name], label=f"Chart: {chart.title}", narrow=narrow)
        for heading, table in self.tables.items():
            page.heading(heading)
            if heading == VERDICTS:
                _add_verdicts(page, table)
                page.text(self.summary)
            else:
                page.table(table.columns, readable(table), numbers=numeric(table))
        if self.notes:
            page.heading("Notes")
        for note in self.notes:
            page.text(note)
        if self.setting:
            page.heading("Setting")
            page.facts((name, words(value)) for name, value in self.setting.items())
        return page

    def _counted(self) -> tuple[Tone, str]:
        """How many verdicts there are of each kind, in one line, and how that is marked."""
        if self.verdicts is None:
            return "", self.summary
        kinds = [kind_of(verdict) for verdict in self.verdicts["verdict"]]
        told = [f"{kinds.count(name)} {words}" for name, words in _COUNTED.items() if name in kinds]
        claims = self.verdicts["claim"].n_unique()
        return ("warn" if DOES_NOT_HOLD in kinds else "good"), f"{claims:,} claims, case by case: {', '.join(told)}."


def _add_verdicts(page: Page, verdicts: pl.DataFrame) -> None:
    """Each claim with its cases: the verdict in a row, and below it what was measured and published."""
    below, above = ("condition", "measured", "published"), ("claim", "where")
    shown = verdicts.drop(*below, *above, strict=False)
    shown = shown.select(name for name in shown.columns if name == "verdict" or any(shown[name].to_list()))
    rows = verdicts.to_dicts()
    page.table(
        shown.columns,
        readable(shown),
        numbers=numeric(shown),
        bad=[row["verdict"] == DOES_NOT_HOLD for row in rows],
        mark="verdict",
        details=[". ".join(f"{name}: {row[name]}" for name in below if row.get(name)) for row in rows],
        groups=[row["claim"] + (f" ({row['where']})" if row.get("where") else "") for row in rows],
    )
