"""What all studies share: settings, measurements, progress, and the way from an experiment to a report."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import numpy as np
import polars as pl

from discreet.common.remedies import DECLARE_SCALE, KEEP_LATEST
from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import DiscreetError, Remedy, UsageError
from discreet.models.registry import create, with_settings
from discreet.reports.progress import shown_progress
from discreet.studies.claims import claims_of, labeled, verdicts
from discreet.studies.layout import charts_of, tables_of
from discreet.studies.quick import Most, reduced
from discreet.studies.report import NOT_RUN, VERDICTS, Progress, StudyReport

__all__ = [
    "Measurements", "Settings", "Steps", "Study", "StudyData", "made", "one_rating_each", "published",
    "published_table", "summarized",
]  # fmt: skip

StudyData = Interactions | TagAssignments | Table
Found = TypeVar("Found")


class Settings(SimpleNamespace):
    """How much a study measures: named numbers from its layout.

    Examples
    --------
    >>> plan = Settings(splits=3, sizes=(5, 10))
    >>> plan.splits, plan.with_(splits=1).splits, plan.sizes
    (3, 1, (5, 10))
    """

    def with_(self, **changes: Any) -> Settings:
        """The same with some values changed."""
        return Settings(**vars(self) | changes)


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
        Values that headings, titles and claims refer to: ``{k}`` in a text, ``"$k"`` in a condition. What
        the setting says is there, too, under its names.
    quick, sample
        Whether this is a quick run, and on what part of the data.
    not_run
        What could not run, with the reason.
    """

    setting: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    figures: Mapping[str, float | None] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    quick: bool = False
    sample: str = ""
    not_run: tuple[tuple[str, str], ...] = ()

    def all_tables(self) -> dict[str, pl.DataFrame]:
        """The tables, with the single figures as one more."""
        numbers = [None if value is None else float(value) for value in self.figures.values()]
        figures = pl.DataFrame({"figure": list(self.figures), "value": pl.Series(numbers, dtype=pl.Float64)})
        return {**self.tables, "figures": figures}


class Steps:
    """Progress by the number of steps that are done, and what could not be done.

    Examples
    --------
    >>> steps = Steps()
    >>> steps.attempt("ours", lambda: 3), steps.attempt("theirs", lambda: create("nobody"))
    (3, None)
    >>> steps.not_run[0][0]
    'theirs'
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress, self.total, self.finished = progress, 1, 0
        self.not_run: list[tuple[str, str]] = []

    def expect(self, total: int) -> None:
        """Say how many steps there will be."""
        self.total = max(1, total)

    def attempt(self, what: str, work: Callable[[], Found]) -> Found | None:
        """What ``work`` returns; None if it cannot be done on these data, and the report has a row that says why."""
        try:
            return work()
        except (DiscreetError, MemoryError, np.linalg.LinAlgError) as error:
            self.skipped(what, str(error) or type(error).__name__)
            return None

    def skipped(self, what: str, why: str) -> None:
        """Remember what was not run and why, once."""
        if (what, why) not in self.not_run:
            self.not_run.append((what, why))

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
    compares_models: ClassVar[bool] = False
    """Whether models of your own can be compared beside those of the study."""
    models: tuple[type[Any], ...] = ()
    """Those models."""
    quick_most: ClassVar[Most] = Most()
    """The most that a quick run takes of the data."""

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
        values = kept["full"] | {"quick": quick} | (kept["quick"] if quick else {})
        return Settings(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})

    @property
    def layout(self) -> dict[str, Any]:
        """Settings, compared methods, tables, charts and notes."""
        file = resources.files("discreet.studies") / "layouts" / f"{self.name}.json"
        return json.loads(file.read_text(encoding="utf-8"))

    def run(
        self,
        data: StudyData | None = None,
        *,
        quick: bool = False,
        seed: int = 0,
        models: Iterable[type[Any]] = (),
        progress: Progress | bool | None = None,
    ) -> StudyReport:
        """Run the experiment, judge the claims and make the report."""
        self.models = tuple(models)
        if self.models and not self.compares_models:
            raise UsageError(
                f"the study {self.name} compares the methods of its paper.",
                remedy=Remedy('Use study("frontier", models=[…]).', cli="Use: discreet study frontier --model."),
            )
        builtin = data is None
        if data is None:
            data = self.builtin(quick=quick)
        elif not isinstance(data, self.data_kind):
            raise UsageError(f"the study {self.name} runs on {self.data_kind.__name__}, not on {type(data).__name__}.")
        whole, sample = _described(data), ""
        if quick and data is not None:
            data, sample = reduced(data, self.quick_most, seed=seed)
        settings = self.settings(quick=quick)
        with shown_progress(f"study {self.name}", progress) as tell:
            steps = Steps(tell)
            found = self.measure(data, settings, seed=seed, steps=steps)
        setting = whole | _described(data) | vars(settings) | {"seed": seed} | found.setting
        if sample:
            setting["part of the data"] = sample
        return self.report(
            replace(
                found,
                setting=setting,
                labels={"built-in": builtin} | found.labels,
                quick=quick,
                sample=sample,
                not_run=tuple(steps.not_run),
            ),
        )

    def report(self, found: Measurements) -> StudyReport:
        """The report on what was measured."""
        kept, layout, tables = published(self.name), self.layout, found.all_tables()
        if "published" not in tables and "rows" in kept:
            tables["published"] = published_table(self.name)
        labels = found.setting | {"quick": found.quick} | found.labels
        judged = verdicts(claims_of(kept), tables, labels=labels)
        shown = {VERDICTS: judged} if judged.height else {}
        if found.not_run:
            shown[NOT_RUN] = pl.DataFrame(found.not_run, schema=["method", "why"], orient="row")
        return StudyReport(
            name=self.name,
            title=layout["title"],
            source=kept["source"],
            setting=found.setting,
            tables=shown | tables_of(layout["tables"], tables, labels),
            charts=charts_of(layout["charts"], tables, labels),
            notes=tuple(note.format_map(labels) for note in layout.get("notes", ())),
            quick=found.quick,
            sample=found.sample,
        )


def _described(data: StudyData | None) -> dict[str, Any]:
    """The name and the size of the data, for the report."""
    if data is None:
        return {}
    sizes = {
        "users": "n_users", "items": "n_items", "resources": "n_resources", "tags": "n_tags", "cells": "n_cells",
    }  # fmt: skip
    known = {name: getattr(data, size) for name, size in sizes.items() if hasattr(data, size)}
    return {"data": data.name or repr(data), "records": len(data), **known}


def made(listed: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    """A method or model as a layout lists it: ``{"name", "method", "with"}``, by its name in the registry.

    Examples
    --------
    >>> made({"name": "ours", "method": "weighted", "with": {"epsilon": "$epsilon", "cap": 3}}, {"epsilon": 1}).cap
    3
    """
    settings = {name: labeled(value, values) for name, value in listed.get("with", {}).items()}
    if "kind" in listed:  # a model of somebody's own
        return with_settings(listed["kind"], settings, listed["name"])
    return create(listed["method"], **settings)


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


@cache
def _text(name: str) -> str:
    folder = resources.files("discreet.studies") / "published"
    file = folder / f"{name}.json"
    if not name.replace("-", "").replace("_", "").isalnum() or not file.is_file():
        known = sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))
        raise UsageError(f"no figures are kept under {name!r}.", remedy=f"There are: {', '.join(known)}.")
    return file.read_text(encoding="utf-8")


def published(name: str) -> dict[str, Any]:
    """The figures of a publication, with where they stand.

    Returns
    -------
    dict
        ``source`` (the publication), ``where`` (the table or figure), ``columns`` and ``rows``, and whatever else the
        file says.

    Examples
    --------
    >>> published("pncf")["where"]
    'Table 3.1'
    """
    return json.loads(_text(name))


def published_table(name: str) -> pl.DataFrame:
    """The same as a table.

    Examples
    --------
    >>> published_table("pncf").filter(axis="item", similarity="pearson", k=40, method="PNCF")["mae"].item()
    0.7178
    """
    kept = published(name)
    return pl.DataFrame(kept["rows"], schema=kept["columns"], orient="row")
