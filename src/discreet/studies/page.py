"""A page to open in a browser: one file, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["Page", "svg"]

STYLE = """
:root { color-scheme: light; --ink: #1d2430; --soft: #5b6675; --line: #dfe4ea; --accent: #2f6f6a; --paper: #fbfaf7; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 880px; margin: 0 auto; padding: 48px 24px 80px; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; }
p { margin: .6rem 0; } .lead { color: var(--soft); font-size: 1.1rem; }
figure { margin: 1.2rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .92rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .4rem .7rem; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; font-size: .88rem; } .number { text-align: right; }
.wide { overflow-x: auto; }
blockquote { margin: 1rem 0; padding: .8rem 1.1rem; background: #fff; border-left: 4px solid var(--accent); }
pre { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1rem; overflow-x: auto;
      font-size: .88rem; }
"""


def svg(chart: Any) -> str:
    """An Altair chart as a picture."""
    import vl_convert

    return vl_convert.vegalite_to_svg(chart.to_json())


@dataclass
class Page:
    """Text, tables and charts, in the order they are added.

    Parameters
    ----------
    title, lead
        What it is about, in a line and in a sentence.

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
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        self._parts.append(f"<p>{escape(text)}</p>")

    def quote(self, text: str) -> None:
        self._parts.append(f"<blockquote>{escape(text)}</blockquote>")

    def code(self, text: str) -> None:
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: Sequence[str] = ()) -> None:
        def cells(tag: str, values: Sequence[object]) -> str:
            marks = (' class="number"' if column in numbers else "" for column in columns)
            return "".join(
                f"<{tag}{mark}>{escape(str(value))}</{tag}>" for mark, value in zip(marks, values, strict=True)
            )

        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
        table = f"<table><thead><tr>{cells('th', columns)}</tr></thead><tbody>{body}</tbody></table>"
        self._parts.append(f'<div class="wide">{table}</div>')

    def chart(self, chart: Any, caption: str) -> None:
        """An Altair chart as a picture in the page."""
        self.picture(svg(chart), caption)

    def picture(self, svg: str, caption: str = "") -> None:
        """A picture that is SVG already."""
        # Pictures name their parts from 0; two of them in one page would clip each other.
        own = re.sub(r'(\bid="|url\(#)', rf"\g<1>part{len(self._parts)}-", svg)
        words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        self._parts.append(f"<figure>{own}{words}</figure>")

    def html(self) -> str:
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{STYLE}</style></head>\n"
            f'<body><main><h1>{escape(self.title)}</h1><p class="lead">{escape(self.lead)}</p>\n'
            + "\n".join(self._parts)
            + "\n</main></body></html>\n"
        )

    def save(self, path: Path) -> Path:
        path.write_text(self.html(), encoding="utf-8")
        return path
