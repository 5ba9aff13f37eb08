"""Reports: one page builder, one chart builder, one style, one text table, one writer.

- ``Page(title, lead)``: an HTML page in one file, light or dark as the reader prefers. ``verdict`` first, then parts
  with ``heading``, ``subheading``, ``text``, ``tiles``, ``facts``, ``labelled``, ``quote``, ``code``, ``table``,
  ``chart``, ``picture`` and ``pictures``; ``html()`` gives the text, ``save(path)`` writes it.
- ``Chart(name, title, data, x=, y=, …)``: lines over a quantity; ``altair()`` gives the Altair chart, ``altair(
  narrow=True)`` the one for a phone. ``svg(chart)`` draws any Altair chart without a browser, in the fonts and
  colors of ``reports.theme``; ``BROAD`` and ``NARROW`` are the widths to draw for, ``COLORS`` is the palette.
- ``text_table(columns, rows)``: a table of aligned columns as text. ``readable(frame)`` formats the rows of a polars
  table for people, ``plain(value)`` turns a value into what JSON can hold.
- ``ReportFolder(name, record, files)``: a folder with a report in it. ``save(folder, contents, overwrite=)`` writes it
  aside and renames it. ``PAGE`` is the same for a single page, and ``save_page`` writes one.
"""

from discreet.reports.charts import BROAD, COLORS, NARROW, Chart, svg
from discreet.reports.page import Page, Tile
from discreet.reports.tables import numeric, plain, readable, text_table, words
from discreet.reports.writing import PAGE, ReportFolder, json_text, save_page

__all__ = [
    "BROAD", "COLORS", "NARROW", "PAGE", "Chart", "Page", "ReportFolder", "Tile", "json_text", "numeric",
    "plain", "readable", "save_page", "svg", "text_table", "words",
]  # fmt: skip
