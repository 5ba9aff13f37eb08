"""The one renderer: tables and charts of a report, as a layout describes them.

A table of ``layouts/NAME.json`` is ``{"heading", "table", …}`` with, as needed: ``where`` (rows, as in claims),
``each`` (one table for each value of a column, named in the heading), ``pivot`` (a column whose values become columns,
named by ``name``, filled with ``value``), ``columns`` (those to show; an object renames them), ``digits`` of numbers.
A chart is ``{"name", "title", "table", "x", "y", …}`` with ``series``, ``panel``, ``band``, ``log_x``, ``log_y``,
``where``, ``melt`` (columns whose names become values: ``{"on", "name", "value"}``), ``level`` (a column: rows without
a value in it are drawn as level lines) and ``alone`` (no panels if there is only one). What has no rows is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from discreet.reports import Chart
from discreet.studies.claims import chosen

__all__ = ["charts_of", "tables_of"]

Tables = Mapping[str, pl.DataFrame]
Labels = Mapping[str, Any]
OPTIONS = ("series", "panel", "band", "log_x", "log_y")


def tables_of(layout: Sequence[Mapping[str, Any]], tables: Tables, labels: Labels) -> dict[str, pl.DataFrame]:
    """The tables of a report under their headings.

    Examples
    --------
    >>> errors = pl.DataFrame({"who": ["a", "a", "b"], "k": [5, 10, 5], "mae": [0.8, 0.7, 0.9]})
    >>> wide = {"heading": "MAE at ε = {e}", "table": "errors", "pivot": "k", "name": "k={}", "value": "mae"}
    >>> made = tables_of([wide], {"errors": errors}, {"e": 1})["MAE at ε = 1"]
    >>> made.columns, made.rows()
    (['who', 'k=5', 'k=10'], [('a', 0.8, 0.7), ('b', 0.9, None)])
    """
    made = {}
    for spec in layout:
        for case, rows in _cases(spec, tables, labels):
            if rows.height:
                made[spec["heading"].format_map({**labels, **case})] = _shaped(spec, rows, labels)
    return made


def charts_of(layout: Sequence[Mapping[str, Any]], tables: Tables, labels: Labels) -> tuple[Chart, ...]:
    """The charts of a report."""
    made = []
    for spec in layout:
        for case, rows in _cases(spec, tables, labels):
            if "melt" in spec:
                melt = spec["melt"]
                kept = [name for name in rows.columns if name not in melt["on"]]
                rows = rows.with_columns(pl.col(melt["on"]).cast(pl.Float64)).unpivot(
                    melt["on"], index=kept, variable_name=melt["name"], value_name=melt["value"]
                )
            if rows.is_empty() or rows[spec["y"]].is_null().all():
                continue
            if "level" in spec:
                rows = _leveled(rows, spec["level"])
            options = {name: spec[name] for name in OPTIONS if name in spec}
            if isinstance(spec.get("panel"), list):
                rows, options["panel"] = _paneled(rows, *spec["panel"]), "panel"
            if options.get("panel") in rows.columns and rows[options["panel"]].n_unique() == 1 and spec.get("alone"):
                del options["panel"]
            words = {**labels, **case}
            made.append(
                Chart(
                    spec["name"].format_map(words),
                    spec["title"].format_map(words),
                    rows,
                    x=spec["x"],
                    y=spec["y"],
                    **options,
                )
            )
    return tuple(made)


def _leveled(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows without a value in a column, repeated for each value that others have: they are drawn as level lines."""
    values = rows.select(pl.col(column).drop_nulls().unique(maintain_order=True))
    level = rows.filter(pl.col(column).is_null()).drop(column).join(values, how="cross").select(rows.columns)
    return pl.concat([level, rows.drop_nulls(column)])


def _paneled(rows: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Panels for the values of two columns; those with the same first value stand together."""
    order = pl.Enum(rows[first].unique(maintain_order=True))
    ordered = rows.sort(pl.col(first).cast(order), second, maintain_order=True)
    return ordered.with_columns(panel=pl.format("{}: {}", first, second))


def _cases(spec: Mapping[str, Any], tables: Tables, labels: Labels) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    if spec["table"] not in tables:
        return
    rows, each = chosen(tables[spec["table"]], spec.get("where", {}), labels), spec.get("each", [])
    if not each:
        yield {}, rows
    else:
        for key, part in rows.group_by(each, maintain_order=True):
            yield dict(zip(each, key, strict=True)), part.drop(each)


def _shaped(spec: Mapping[str, Any], rows: pl.DataFrame, labels: Labels) -> pl.DataFrame:
    if "pivot" in spec:
        columns, value = spec["pivot"], spec["value"]
        index = spec.get("rows") or [name for name in rows.columns if name not in (columns, value)]
        named = rows.with_columns(_named_by(rows[columns], spec.get("name", "{}")))
        rows = named.pivot(columns, index=index, values=value, maintain_order=True)
    if "columns" in spec:
        given = spec["columns"]
        renamed = given if isinstance(given, Mapping) else {name: name for name in given}
        rows = rows.select(
            pl.col(old).alias(new.format_map(labels)) for new, old in renamed.items() if old in rows.columns
        )
    if "digits" in spec:
        form = f"{{:.{spec['digits']}g}}"
        numbers = [name for name, kind in rows.schema.items() if kind.is_float()]
        rows = rows.with_columns(
            pl.Series(name, [None if v is None else form.format(v) for v in rows[name]], dtype=pl.String)
            for name in numbers
        )
    return rows


def _named_by(values: pl.Series, form: str) -> pl.Series:
    """The names of columns that values become."""
    words = [f"{value:g}" if isinstance(value, float) else value for value in values]
    return pl.Series(values.name, ["none" if word is None else form.format(word) for word in words], dtype=pl.String)
