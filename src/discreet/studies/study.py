"""What all studies share: settings, measurements, progress, and the way from an experiment to a report."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, ClassVar

import polars as pl

from discreet.common.remedies import DECLARE_SCALE, KEEP_LATEST
from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.studies.claims import verdicts
from discreet.studies.layout import charts_of, tables_of
from discreet.studies.published import published
from discreet.studies.report import VERDICTS, Progress, StudyReport

__all__ = ["Measurements", "Settings", "Steps", "Study", "StudyData", "one_rating_each", "summarized"]

StudyData = Interactions | TagAssignments | Table


class Settings:
    """How much a study measures: named numbers from its layout, read as attributes.

    Examples
    --------
    >>> plan = Settings({"splits": 3, "sizes": [5, 10]})
    >>> plan.splits, plan.with_(splits=1).splits, plan.sizes
    (3, 1, (5, 10))
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(f"there is no setting {name!r}") from None

    def with_(self, **changes: Any) -> Settings:
        """The same with some values changed."""
        return Settings(self.values | changes)


@dataclass(frozen=True, eq=False)
class Measurements:
    """What an experiment measured.

    Parameters
    ----------
    setting
        What it was run on and with, for the report.
    tables
        Tidy tables by name; claims and layouts refer to them.
    figures
        Single numbers by name; None for what was not measured. They are also the table ``figures``.
    labels
        Values that headings, titles and claims refer to: ``{k}`` in a text, ``"$k"`` in a condition.
    """

    setting: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    figures: Mapping[str, float | None] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)

    def all_tables(self) -> dict[str, pl.DataFrame]:
        """The tables, with the single figures as one more."""
        numbers = [None if value is None else float(value) for value in self.figures.values()]
        figures = pl.DataFrame({"figure": list(self.figures), "value": pl.Series(numbers, dtype=pl.Float64)})
        return {**self.tables, "figures": figures}


class Steps:
    """Progress by the number of steps that are done."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress, self.total, self.finished = progress, 1, 0

    def expect(self, total: int) -> None:
        """Say how many steps there will be."""
        self.total = max(1, total)

    def done(self, what: str) -> None:
        """One more step is done."""
        self.finished += 1
        if self.progress is not None:
            self.progress(min(1.0, self.finished / self.total), what)


class Study(ABC):
    """A published experiment: what is measured is code, what is published, claimed and shown is data.

    A subclass has a ``name`` and a method ``measure``. Published figures and claims are in ``published/NAME.json``,
    settings, tables, charts and notes in ``layouts/NAME.json``.
    """

    name: ClassVar[str]
    data_kind: ClassVar[type] = Interactions

    @abstractmethod
    def measure(self, data: Any, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        """Run the experiment."""

    def builtin(self, *, quick: bool) -> StudyData | None:
        """The data that the study runs on if none are given."""
        from discreet.data import synthetic

        return synthetic.films(seed=7)

    def settings(self, *, quick: bool) -> Settings:
        """The numbers of a full run, or of a quick one."""
        kept = self.layout["settings"]
        return Settings(kept["full"] | {"quick": quick} | (kept["quick"] if quick else {}))

    @property
    def layout(self) -> dict[str, Any]:
        """Settings, tables, charts and notes."""
        file = resources.files("discreet.studies") / "layouts" / f"{self.name}.json"
        return json.loads(file.read_text(encoding="utf-8"))

    def run(
        self,
        data: StudyData | None = None,
        *,
        quick: bool = False,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> StudyReport:
        """Run the experiment, judge the claims and make the report."""
        if data is None:
            data = self.builtin(quick=quick)
        elif not isinstance(data, self.data_kind):
            raise UsageError(f"the study {self.name} runs on {self.data_kind.__name__}, not on {type(data).__name__}.")
        return self.report(self.measure(data, self.settings(quick=quick), seed=seed, steps=Steps(progress)))

    def report(self, found: Measurements) -> StudyReport:
        """The report on what was measured."""
        kept, layout, tables = published(self.name), self.layout, found.all_tables()
        judged = verdicts(kept.get("claims", []), tables, labels=found.labels)
        shown = {VERDICTS: judged} if judged.height else {}
        return StudyReport(
            name=self.name,
            title=layout["title"],
            source=kept["source"],
            setting=found.setting,
            tables=shown | tables_of(layout["tables"], tables, found.labels),
            charts=charts_of(layout["charts"], tables, found.labels),
            notes=tuple(note.format_map(found.labels) for note in layout.get("notes", ())),
        )


def summarized(rows: Iterable[Sequence[Any]], keys: Mapping[str, Any], value: str = "value") -> pl.DataFrame:
    """Means and standard deviations of values that were measured repeatedly, by their keys.

    Parameters
    ----------
    rows
        The keys and the value of each measurement.
    keys
        Names and types of the keys.
    value
        The name of the mean in the result; the deviation is called ``sd``, 0 for a single measurement.

    Examples
    --------
    >>> summarized([("a", 1.0), ("a", 3.0), ("b", 5.0)], {"who": pl.String}).rows()
    [('a', 2.0, 1.4142135623730951), ('b', 5.0, 0.0)]
    """
    table = pl.DataFrame(list(rows), schema={**keys, value: pl.Float64}, orient="row")
    measured = pl.col(value)
    return table.group_by(*keys, maintain_order=True).agg(measured.mean(), sd=measured.std().fill_null(0.0))


def one_rating_each(data: Interactions) -> None:
    """Refuse records without ratings on a declared scale, and those that may repeat."""
    if data.rating is None:
        raise UsageError("this study needs ratings, and these records have none.")
    if data.scale is None:
        raise UsageError("this study needs ratings on a declared scale.", remedy=DECLARE_SCALE)
    if data.may_repeat:
        raise UsageError(
            "this study needs one rating of each item by each user; these records may repeat.",
            remedy=KEEP_LATEST,
        )
