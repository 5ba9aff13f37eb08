"""HTML pages: one file, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discreet.reports.charts import svg
from discreet.reports.writing import MARK

__all__ = ["Page"]

STYLE = """
:root { color-scheme: light; --ink: #1d2430; --soft: #5b6675; --line: #dfe4ea; --accent: #2f6f6a; --bad: #b3392b;
        --paper: #fbfaf7; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 920px; margin: 0 auto; padding: 48px 24px 80px; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; }
p { margin: .6rem 0; } .lead { color: var(--soft); font-size: 1.1rem; }
.verdict { margin: 1.2rem 0; padding: 1rem 1.2rem; background: #fff; border-left: 6px solid var(--accent);
           font-size: 1.15rem; }
.verdict.bad { border-color: var(--bad); } tr.bad td:last-child { color: var(--bad); font-weight: 700; }
figure { margin: 1.2rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .92rem; }
.row { display: flex; flex-wrap: wrap; gap: 20px; } .row figure { margin: 0; width: 270px; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-variant-numeric: tabular-nums;
        font-size: .95rem; }
th, td { text-align: left; padding: .4rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: .88rem; } th.number, td.number { text-align: right; }
.wide { overflow-x: auto; } .wide td:not(.number) { min-width: 5.5rem; }
.wide td:last-child:not(.number) { min-width: 13rem; }
blockquote { margin: 1rem 0; padding: .8rem 1.1rem; background: #fff; border-left: 4px solid var(--accent); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; margin: 1rem 0; padding: .8rem 1.1rem;
     background: #fff; border-left: 4px solid var(--accent); }
dt { color: var(--soft); font-weight: 600; } dd { margin: 0; }
@media (max-width: 520px) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
pre { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1rem; overflow-x: auto;
      font-size: .88rem; }
"""


@dataclass
class Page:
    """Text, tables and charts, in the order in which they are added.

    Parameters
    ----------
    title, lead
        The heading, and the line below it.

    Examples
    --------
    >>> page = Page("Tea & rum", "What people drink.")
    >>> page.table(["drink", "glasses"], [("tea", 3)], numbers=["glasses"])
    >>> "<h1>Tea &amp; rum</h1>" in page.html()
    True
    """

    title: str
    lead: str
    _parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """A heading of a section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def verdict(self, text: str, *, bad: bool = False) -> None:
        """The result in one sentence, in a box; red if ``bad``."""
        self._parts.append(f'<p class="verdict{" bad" if bad else ""}">{escape(text)}</p>')

    def quote(self, text: str) -> None:
        """A quotation, such as an error."""
        self._parts.append(f"<blockquote>{escape(text).replace(chr(10), '<br>')}</blockquote>")

    def labelled(self, text: str) -> None:
        """Lines of a label and a text, such as a guarantee (``Guarantee.describe``)."""
        lines = (line.partition(":") for line in text.splitlines())
        facts = "".join(f"<dt>{escape(label)}</dt><dd>{escape(fact.strip())}</dd>" for label, _, fact in lines)
        self._parts.append(f"<dl>{facts}</dl>")

    def code(self, text: str) -> None:
        """Text of fixed width."""
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        numbers: Sequence[str] = (),
        bad: Sequence[bool] = (),
        files: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """A table; columns named in ``numbers`` are aligned to the right, rows marked in ``bad`` end in red.

        ``files`` has files beside the page that the cells of a column lead to, one for each row, "" for none.
        """
        places = {} if files is None else files

        def cells(tag: str, values: Sequence[object], row: int | None = None) -> str:
            classes = (' class="number"' if column in numbers else "" for column in columns)
            told = [escape(str(value)) for value in values]
            for place, column in enumerate(columns):
                if row is not None and (file := places[column][row] if column in places else ""):
                    told[place] = f'<a href="{escape(quote(file))}">{told[place]}</a>'
            return "".join(f"<{tag}{mark}>{value}</{tag}>" for mark, value in zip(classes, told, strict=True))

        marks = [' class="bad"' if mark else "" for mark in bad] or [""] * len(rows)
        numbered = enumerate(zip(marks, rows, strict=True))
        body = "".join(f"<tr{mark}>{cells('td', row, place)}</tr>" for place, (mark, row) in numbered)
        table = f"<table><thead><tr>{cells('th', columns)}</tr></thead><tbody>{body}</tbody></table>"
        self._parts.append(f'<div class="wide">{table}</div>')

    def chart(self, chart: Any, caption: str = "") -> None:
        """An Altair chart as a picture in the page."""
        self.picture(svg(chart), caption)

    def picture(self, svg: str, caption: str = "") -> None:
        """A picture that is SVG already."""
        self._parts.append(_figure(svg, caption, f"part{len(self._parts)}"))

    def pictures(self, pictures: Iterable[tuple[str, str]]) -> None:
        """Small SVG pictures side by side, each with its caption."""
        figures = [
            _figure(svg, caption, f"part{len(self._parts)}-{place}") for place, (svg, caption) in enumerate(pictures)
        ]
        self._parts.append(f'<div class="row">{"".join(figures)}</div>')

    def html(self) -> str:
        """The whole page."""
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{MARK}'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{STYLE}</style></head>\n"
            f'<body><main><h1>{escape(self.title)}</h1><p class="lead">{escape(self.lead)}</p>\n'
            + "\n".join(self._parts)
            + "\n</main></body></html>\n"
        )

    def save(self, path: Path) -> Path:
        """Write the page into a folder that is being made; ``save_page`` replaces a page safely."""
        path.write_text(self.html(), encoding="utf-8")
        return path


def _figure(svg: str, caption: str, part: str) -> str:
    # Pictures name their parts from 0; two of them in one page would clip each other.
    own = re.sub(r'(\bid="|url\(#)', rf"\g<1>{part}-", svg)
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{own}{words}</figure>"
