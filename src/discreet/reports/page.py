"""HTML pages: one file, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from discreet.reports.charts import svg
from discreet.reports.theme import STYLE
from discreet.reports.writing import MARK

__all__ = ["Page", "Tile", "Tone"]

Tone = Literal["", "good", "warn", "bad"]

WORDS, LONG = 24, 48
"""Characters from which the cells of a column are text to read, and get some room for it, or more."""

_DATE = re.compile(r"(\d{4}-\d{2}-\d{2}|\d{1,2} [A-Z][a-z]{2} \d{4})([ T].{0,12})?")


class Tile(NamedTuple):
    """One figure that is to be seen first: what it is, the figure, a remark, and how it is marked."""

    label: str
    figure: str
    remark: str = ""
    tone: Tone = ""


@dataclass
class Page:
    """A verdict, then text, tables and charts in the order in which they are added.

    Parameters
    ----------
    title, lead
        The heading, and the line below the verdict: what this is about.

    Examples
    --------
    >>> page = Page("Tea & rum", "What people drink.")
    >>> page.verdict("Tea wins.")
    >>> page.table(["drink", "glasses"], [("tea", 3)], numbers=["glasses"])
    >>> "<h1>Tea &amp; rum</h1>" in page.html()
    True
    """

    title: str
    lead: str
    _parts: list[str] = field(default_factory=list)
    _opening: str = ""
    _section: str = ""
    _labels: set[str] = field(default_factory=set)

    def heading(self, text: str) -> None:
        """A heading of a section."""
        self._section = text
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def subheading(self, text: str) -> None:
        """A heading within a section."""
        self._section = text
        self._parts.append(f"<h3>{escape(text)}</h3>")

    def text(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def verdict(self, text: str, *, bad: bool = False, tone: Tone = "", more: str | Sequence[str] = "") -> None:
        """The result in one line, in a box; the first of a page stands above everything else.

        Parameters
        ----------
        bad, tone
            Whether it is bad news; or how it is marked, as "good", "warn" or "bad".
        more
            What else belongs to it, in smaller type: a text, or several, which become a list.
        """
        mark = tone or ("bad" if bad else "")
        texts = [more] if isinstance(more, str) else list(more)
        rest = f"<p>{escape(texts[0])}</p>" if len(texts) == 1 and texts[0] else ""
        if len(texts) > 1:
            rest = f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"
        box = f'<div class="{f"verdict {mark}".strip()}"><strong>{escape(text)}</strong>{rest}</div>'
        if self._opening or self._parts:
            self._parts.append(box)
        else:
            self._opening = box

    def tiles(self, tiles: Iterable[Tile]) -> None:
        """Figures to be seen first, side by side."""
        boxes = []
        for one in tiles:
            mark = f' class="{one.tone}"' if one.tone else ""
            remark = f'<dd class="more">{escape(one.remark)}</dd>' if one.remark else ""
            boxes.append(f"<div{mark}><dt>{escape(one.label)}</dt><dd>{escape(one.figure)}</dd>{remark}</div>")
        self._parts.append(f'<dl class="tiles">{"".join(boxes)}</dl>')

    def quote(self, text: str) -> None:
        """A quotation, such as an error."""
        self._parts.append(f"<blockquote>{escape(text).replace(chr(10), '<br>')}</blockquote>")

    def labelled(self, text: str) -> None:
        """Lines of a label and a text, such as a guarantee (``Guarantee.describe``)."""
        self.facts((label, fact.strip()) for label, _, fact in (line.partition(":") for line in text.splitlines()))

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        """Labels, each with its text."""
        lines = "".join(f"<dt>{escape(label)}</dt><dd>{escape(fact)}</dd>" for label, fact in facts)
        self._parts.append(f'<dl class="facts">{lines}</dl>')

    def code(self, text: str) -> None:
        """A program to copy. What a program prints belongs into tables."""
        self._parts.append(f'<pre tabindex="0"><code>{escape(text)}</code></pre>')

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        numbers: Sequence[str] = (),
        bad: Sequence[bool] = (),
        mark: str | None = None,
        details: Sequence[str] = (),
        groups: Sequence[str] = (),
        files: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """A table, which scrolls within itself where the screen is narrow.

        Parameters
        ----------
        numbers
            Columns that are aligned to the right.
        bad, mark
            Rows that are marked in red, and the column whose words are: the last unless named.
        details
            A text below each row, "" for none.
        groups
            What each row belongs to; a line above the first of them says it.
        files
            Files beside the page that the cells of a column lead to, one for each row, "" for none.
        """
        told = [[escape(str(value)) for value in row] for row in rows]
        for column, places in (files or {}).items():
            at = list(columns).index(column)
            for row, place in zip(told, places, strict=True):
                row[at] = f'<a href="{escape(quote(place))}">{row[at]}</a>' if place else row[at]
        marked = (columns[-1] if mark is None else mark) if any(bad) else None
        kinds = [_kind(name, [str(row[at]) for row in rows], name in numbers) for at, name in enumerate(columns)]
        kinds = [f"{kind} mark".strip() if name == marked else kind for name, kind in zip(columns, kinds, strict=True)]
        classes = [f' class="{kind}"' if kind else "" for kind in kinds]
        body = []
        for place, row in enumerate(told):
            if groups and (place == 0 or groups[place] != groups[place - 1]):
                group = f'<th scope="rowgroup" colspan="{len(columns)}"><div>{escape(groups[place])}</div></th>'
                body.append(f'<tr class="group">{group}</tr>')
            red, more = bool(bad) and bad[place], details[place] if details else ""
            names = " ".join(name for name, true in (("bad", red), ("detailed", more)) if true)
            cells = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(classes, row, strict=True))
            opening = f'<tr class="{names}">' if names else "<tr>"
            body.append(f"{opening}{cells}</tr>")
            if more:
                shade = "detail bad" if red else "detail"
                text = f'<td colspan="{len(columns)}"><div>{escape(more)}</div></td>'
                body.append(f'<tr class="{shade}">{text}</tr>')
        heads = "".join(
            f'<th scope="col"{kind}>{escape(name)}</th>' if name else "<td></td>"
            for name, kind in zip(columns, classes, strict=True)
        )
        self._parts.append(
            f'<div class="wide" role="region" tabindex="0" aria-label="{escape(self._label("Table"))}">'
            f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        )

    def _label(self, kind: str) -> str:
        """A name for a part that screen readers list; no two are the same."""
        label = base = f"{kind}: {self._section or self.title}"
        number = 2
        while label in self._labels:
            label, number = f"{base} ({number})", number + 1
        self._labels.add(label)
        return label

    def chart(self, chart: Any, caption: str = "", *, label: str = "", narrow: Any = None) -> None:
        """An Altair chart as a picture in the page; ``narrow`` is the same chart for the width of a phone."""
        self.picture(svg(chart), caption, label=label, narrow="" if narrow is None else svg(narrow))

    def picture(self, svg: str, caption: str = "", *, label: str = "", narrow: str = "") -> None:
        """A picture that is SVG already.

        Parameters
        ----------
        caption
            Below the picture.
        label
            What it shows, for those who do not see it; the caption unless given.
        narrow
            The same picture for the width of a phone.
        """
        words = label or caption or self._label("Chart")
        self._parts.append(_figure(svg, narrow, caption, words, f"part{len(self._parts)}"))

    def pictures(self, pictures: Iterable[tuple[str, str]]) -> None:
        """Small SVG pictures side by side, each with its caption."""
        figures = [
            _figure(svg, "", caption, caption, f"part{len(self._parts)}-{place}")
            for place, (svg, caption) in enumerate(pictures)
        ]
        self._parts.append(f'<div class="row">{"".join(figures)}</div>')

    def html(self) -> str:
        """The whole page."""
        lead = f'<p class="lead">{escape(self.lead)}</p>' if self.lead else ""
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{MARK}'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{escape(self.title)}</title><style>{STYLE}</style></head>\n"
            f"<body><main><h1>{escape(self.title)}</h1>{self._opening}{lead}\n"
            + "\n".join(self._parts)
            + "\n</main></body></html>\n"
        )

    def save(self, path: Path) -> Path:
        """Write the page into a folder that is being made; ``save_page`` replaces a page safely."""
        path.write_text(self.html(), encoding="utf-8")
        return path


def _kind(name: str, cells: Sequence[str], is_number: bool) -> str:
    """The class of a column, by what is in it: numbers, dates, text to read."""
    if is_number:
        return "number"
    filled = [cell for cell in cells if cell]
    if filled and all(_DATE.fullmatch(cell) for cell in filled):
        return "date"
    most = max(map(len, [name, *cells]))
    return "long" if most >= LONG else "words" if most >= WORDS else ""


def _figure(picture: str, narrow: str, caption: str, label: str, part: str) -> str:
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    if not narrow:
        return f"<figure>{_embedded(picture, label, part)}{words}</figure>"
    broad = f'<div class="broad">{_embedded(picture, label, part)}</div>'
    return f'<figure>{broad}<div class="narrow">{_embedded(narrow, label, f"{part}-narrow")}</div>{words}</figure>'


def _embedded(svg: str, label: str, part: str) -> str:
    """A picture as part of a page: with its own names for its parts, and one text for those who do not see it."""
    # Pictures name their parts from 0; two of them in one page would clip each other.
    own = re.sub(r'(\bid="|url\(#)', rf"\g<1>{part}-", svg)
    own = re.sub(r'\s(role|aria-[a-z]+|xmlns(:[a-z]+)?)="[^"]*"', "", own)
    return own.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
