"""A page that is printed while it is made: what a report says on the terminal and in the browser is the same."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from discreet.cli.console import answer_table, answer_text
from discreet.reports import Page

__all__ = ["PrintedPage"]

WIDTH = 100


class PrintedPage(Page):
    """A page whose text and tables are answers of the program, too; charts are in the page alone."""

    def heading(self, text: str) -> None:
        answer_text(f"\n{text}\n{'─' * len(text)}")
        super().heading(text)

    def text(self, text: str) -> None:
        answer_text(textwrap.fill(text, WIDTH) + "\n")
        super().text(text)

    def quote(self, text: str) -> None:
        answer_text(f"{text}\n")
        super().quote(text)

    def code(self, text: str) -> None:
        answer_text(f"{text}\n")
        super().code(text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], **settings: Any) -> None:
        answer_table("", columns, rows, numbers=settings.get("numbers", ()))
        super().table(columns, rows, **settings)
