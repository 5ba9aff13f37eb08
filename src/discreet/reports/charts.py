"""Charts: lines over a quantity, built with Altair and drawn without a browser or a network."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.errors import UsageError
from discreet.reports.tables import file_name, plain
from discreet.reports.theme import COLORS, CONFIG, SHAPES

if TYPE_CHECKING:
    import altair as alt

__all__ = ["BROAD", "COLORS", "NARROW", "Chart", "png", "styled", "svg", "text_lines"]

BROAD, NARROW = 820, 330
"""How wide charts are, in pixels: on a page, and on the screen of a phone."""


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over a quantity, one for each series.

    Parameters
    ----------
    name
        The name of its file.
    title
        What it shows.
    data
        A tidy table: one row for each point.
    x, y
        Columns of the two axes; x may hold words.
    series
        Column with the names of the lines.
    panel
        Column with the names of the panels, which stand side by side.
    band
        Column with one standard deviation of y, drawn as a band.
    log_x, log_y
        Logarithmic axes.

    Examples
    --------
    >>> points = pl.DataFrame({"k": [5, 10, 5, 10], "mae": [0.8, 0.7, 0.9, 0.8], "method": ["a", "a", "b", "b"]})
    >>> drawn = Chart("errors", "Errors", points, x="k", y="mae", series="method").altair()
    >>> [layer["mark"]["type"] for layer in drawn.to_dict()["layer"]]
    ['line', 'point']
    """

    name: str
    title: str
    data: pl.DataFrame
    x: str
    y: str
    series: str | None = None
    panel: str | None = None
    band: str | None = None
    log_x: bool = False
    log_y: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        for column in (self.x, self.y, self.series, self.panel, self.band):
            if column is not None and column not in self.data.columns:
                raise UsageError(f"the data of the chart {self.name!r} have no column {column!r}.")

    def altair(self, *, narrow: bool = False) -> alt.LayerChart | alt.FacetChart:
        """The chart as Altair has it; ``narrow`` for the screen of a phone, with panels below each other."""
        import altair as alt

        # The points belong to the whole: layers with points of their own would show all of them in every panel.
        points, base = alt.Data(values=self._points()), alt.Chart()
        words = not self.data[self.x].dtype.is_numeric()
        scale, axis = _scale(self.log_x, words), alt.Undefined
        if not words and not self.log_x:
            whole = self.data[self.x].dtype.is_integer()
            axis = alt.Axis(tickCount=6 if narrow else 10, **({"tickMinStep": 1, "format": ",d"} if whole else {}))
        x = alt.X(f"{_field(self.x)}:{'N' if words else 'Q'}", title=self.x, sort=None, scale=scale, axis=axis)
        y = alt.Y(f"{_field(self.y)}:Q", title=self.y, scale=_scale(self.log_y, False))
        shared: dict[str, Any] = {"x": x} if self.series is None else {"x": x, "color": self._color(narrow)}
        shape: dict[str, Any] = {} if self.series is None else {"shape": self._shape(narrow)}
        mark: dict[str, Any] = {"color": COLORS[0]} if self.series is None else {}
        layers = [
            base.mark_line(strokeWidth=2, **mark).encode(y=y, **shared),
            base.mark_point(size=44, opacity=1, filled=True, **mark).encode(y=y, **shared, **shape),
        ]
        if self.band is not None:
            area = base.mark_area(opacity=0.15, **mark)
            layers.insert(0, area.encode(y=alt.Y("_low:Q", title=self.y, scale=y["scale"]), y2="_high:Q", **shared))
        drawn, title = alt.layer(*layers, data=points), textwrap.wrap(self.title, 44 if narrow else 110)
        if self.panel is None:
            fit = alt.AutoSizeParams(type="fit", contains="padding")
            # What is below the plot is part of the height.
            below = 60 + 18 * (0 if self.series is None else self._legend_shape(narrow)[1])
            size: dict[str, Any] = {"width": NARROW, "height": 220 + below}
            if not narrow:
                size = {"width": BROAD, "height": 300 + below}
            return drawn.properties(**size, autosize=fit, title=title)
        panels = alt.Facet(f"{_field(self.panel)}:N", title=None, sort=self._names(self.panel))
        size = {"width": NARROW - 70, "height": 190} if narrow else {"width": (BROAD - 110) // 2, "height": 240}
        return drawn.properties(**size).facet(facet=panels, columns=1 if narrow else 2, title=title)

    def _names(self, column: str) -> list[str]:
        """The values of a column, in the order of the table."""
        return self.data[column].unique(maintain_order=True).cast(pl.String).to_list()

    def _legend_shape(self, narrow: bool) -> tuple[int, int]:
        """Columns and rows of the legend."""
        assert self.series is not None
        names = self._names(self.series)
        longest = max(map(len, names), default=1)
        columns = max(1, (NARROW if narrow else BROAD - 80) // (7 * longest + 30))
        return columns, -(-len(names) // columns)

    def _legend(self, narrow: bool) -> alt.Legend:
        import altair as alt

        columns, _ = self._legend_shape(narrow)
        return alt.Legend(orient="bottom", columns=columns, title=None, labelLimit=290, symbolOpacity=1)

    def _color(self, narrow: bool) -> alt.Color:
        import altair as alt

        assert self.series is not None
        names = self._names(self.series)
        colors = [COLORS[place % len(COLORS)] for place in range(len(names))]
        scale = alt.Scale(domain=names, range=colors)
        return alt.Color(f"{_field(self.series)}:N", scale=scale, legend=self._legend(narrow))

    def _shape(self, narrow: bool) -> alt.Shape:
        import altair as alt

        assert self.series is not None
        names = self._names(self.series)
        shapes = [SHAPES[place % len(SHAPES)] for place in range(len(names))]
        scale = alt.Scale(domain=names, range=shapes)
        return alt.Shape(f"{_field(self.series)}:N", scale=scale, legend=self._legend(narrow))

    def _points(self) -> list[dict[str, Any]]:
        """The points that are drawn; those that a logarithmic axis cannot show are left out."""
        shown = self.data.filter(pl.col(self.y).is_not_null())
        for column, logarithmic in ((self.x, self.log_x), (self.y, self.log_y)):
            if logarithmic:
                shown = shown.filter(pl.col(column) > 0)
        named = [column for column in (self.series, self.panel) if column is not None]
        shown = shown.with_columns(pl.col(named).cast(pl.String))
        if self.band is not None:
            half = pl.col(self.band).fill_null(0)
            shown = shown.with_columns(_low=pl.col(self.y) - half, _high=pl.col(self.y) + half)
            if self.log_y:
                shown = shown.with_columns(_low=pl.when(pl.col("_low") > 0).then("_low").otherwise(self.y))
        return [plain(row) for row in shown.to_dicts()]

    def to_dict(self) -> dict[str, Any]:
        """Title, columns and points, for JSON."""
        columns = {"x": self.x, "y": self.y, "series": self.series, "panel": self.panel, "band": self.band}
        return {"title": self.title, **columns, "points": plain(self.data.to_dicts())}


def _scale(logarithmic: bool, words: bool) -> Any:
    import altair as alt

    if words:
        return alt.Undefined
    return alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False)


def _field(column: str) -> str:
    """A column as a field of Vega-Lite, where dots, brackets and colons mean something."""
    return re.sub(r"([.\[\]:])", r"\\\1", column)


def _check_name(name: str) -> None:
    if file_name(name) != name:
        raise UsageError(
            f"the chart name {name!r} cannot be a file name.", remedy="Use small letters, digits and hyphens."
        )


def svg(chart: Any) -> str:
    """An Altair chart as an SVG picture."""
    import vl_convert

    return vl_convert.vegalite_to_svg(_themed(chart))


def png(chart: Any, *, scale: float = 2) -> bytes:
    """An Altair chart as a PNG picture."""
    import vl_convert

    return vl_convert.vegalite_to_png(_themed(chart), scale=scale)


def _themed(chart: Any) -> dict[str, Any]:
    """A chart with the fonts and colors of the house, where it has none of its own."""
    drawn = chart.to_dict()
    own = drawn.get("config", {})
    # Altair sets the size of a view for charts that have none.
    own = {name: value for name, value in own.items() if name != "view"}
    return {**drawn, "config": {**CONFIG, **own}}


def styled(chart: Any) -> Any:
    """A chart for a notebook, in the fonts and colors of the house."""
    import altair as alt

    chart.config = alt.Config(**CONFIG)
    return chart


def text_lines(text: str, width: int = 80) -> list[str]:
    """A title in lines."""
    return textwrap.wrap(text, width)
