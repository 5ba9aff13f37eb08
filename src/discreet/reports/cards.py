"""Cards: what an object shows of itself in a notebook. Escaped, without scripts, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Literal

import polars as pl

from discreet.reports.tables import numeric, readable

__all__ = ["Card", "Tone"]

Tone = Literal["good", "warn", "bad", "plain"]

MOST_ROWS = 20
"""Rows of a table on a card."""

# Text has the color of the notebook, lines are gray with transparency, and marks bring their own background: the card
# needs not know whether the page around it is light or dark.
STYLE = """
.discreet-card { border: 1px solid rgba(128,128,128,.4); border-radius: 8px; padding: .7rem .9rem; margin: .3rem 0;
  max-width: 62rem; font: 14px/1.5 system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif;
  color: inherit; overflow-wrap: anywhere; }
.discreet-card > header { display: flex; flex-wrap: wrap; gap: .2rem .6rem; align-items: baseline; }
.discreet-card strong { font-size: 1.05em; font-weight: 650; }
.discreet-card .mark { font-size: .8em; font-weight: 650; color: #fff; border-radius: 4px; padding: .05rem .45rem; }
.discreet-card .good { background: #2c6e49; } .discreet-card .warn { background: #8a5a00; }
.discreet-card .bad { background: #b3261e; } .discreet-card .plain { background: #56616f; }
.discreet-card .soft { opacity: .75; }
.discreet-card p { margin: .35rem 0 0; max-width: 52rem; }
.discreet-card dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem; margin: .5rem 0 0; }
.discreet-card dt { font-weight: 600; opacity: .75; } .discreet-card dd { margin: 0; min-width: 0; }
.discreet-card .wide { overflow-x: auto; margin-top: .5rem; }
.discreet-card table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95em; margin: 0;
  border: 0; color: inherit; background: none; }
.discreet-card th, .discreet-card td { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top; border: 0;
  border-bottom: 1px solid rgba(128,128,128,.25); background: none; white-space: normal; max-width: 28rem;
  overflow-wrap: break-word; min-width: 3rem; }
.discreet-card th { font-weight: 600; opacity: .75; }
.discreet-card .number { text-align: right; white-space: nowrap; }
@media (max-width: 480px) { .discreet-card dl { grid-template-columns: 1fr; gap: 0; }
  .discreet-card dd { margin-bottom: .3rem; } }
""".replace("\n", " ")


class Card:
    """A title, marks, then lines, facts and tables in the order in which they are added.

    Parameters
    ----------
    title, note
        What it is, and a remark in softer type beside it.

    Examples
    --------
    >>> card = Card("Tea & rum", "of one house")
    >>> card.mark("proved", "good")
    >>> card.facts([("cups", "3")])
    >>> "<strong>Tea &amp; rum</strong>" in card.html()
    True
    """

    def __init__(self, title: str, note: str = "") -> None:
        self.title, self.note = title, note
        self._marks: list[str] = []
        self._parts: list[str] = []

    def mark(self, text: str, tone: Tone = "plain") -> None:
        """A word beside the title, in a color."""
        self._marks.append(f'<span class="mark {tone}">{escape(text)}</span>')

    def text(self, text: str, *, soft: bool = False) -> None:
        """A paragraph."""
        self._parts.append(f'<p class="soft">{escape(text)}</p>' if soft else f"<p>{escape(text)}</p>")

    def facts(self, facts: Iterable[tuple[str, object]]) -> None:
        """Labels, each with its text."""
        lines = "".join(f"<dt>{escape(label)}</dt><dd>{escape(str(fact))}</dd>" for label, fact in facts)
        self._parts.append(f"<dl>{lines}</dl>")

    def labelled(self, text: str) -> None:
        """Lines of a label and a text, such as a guarantee (``Guarantee.describe``)."""
        self.facts((label, fact.strip()) for label, _, fact in (line.partition(":") for line in text.splitlines()))

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        numbers: Sequence[str] = (),
        most: int = MOST_ROWS,
    ) -> None:
        """A table; of a long one the first rows, and how many there are."""
        kinds = [' class="number"' if name in numbers else "" for name in columns]
        head = "".join(f"<th{kind}>{escape(str(name))}</th>" for name, kind in zip(columns, kinds, strict=True))
        body = "".join(
            "<tr>" + "".join(f"<td{k}>{escape(str(cell))}</td>" for k, cell in zip(kinds, row, strict=True)) + "</tr>"
            for row in rows[:most]
        )
        self._parts.append(
            f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )
        if len(rows) > most:
            self.text(f"{most} of {len(rows):,} rows", soft=True)

    def frame(self, table: pl.DataFrame, *, most: int = MOST_ROWS) -> None:
        """A polars table."""
        shown = readable(table.head(most))
        self.table(table.columns, shown, numbers=numeric(table), most=most)
        if table.height > most:
            self.text(f"{most} of {table.height:,} rows", soft=True)

    def html(self) -> str:
        """The card as a fragment of HTML."""
        note = f'<span class="soft">{escape(self.note)}</span>' if self.note else ""
        top = f"<header><strong>{escape(self.title)}</strong>{''.join(self._marks)}{note}</header>"
        return f'<div class="discreet-card"><style>{STYLE}</style>{top}{"".join(self._parts)}</div>'
