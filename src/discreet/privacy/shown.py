"""What shows itself in a notebook: a card of HTML, and a chart."""

from __future__ import annotations

from typing import Any

__all__ = ["Shown"]


class Shown:
    """Guarantees, releases and statements: shown as a card in a notebook, and as a chart by ``plot``.

    ``privacy/showing.py`` makes both; it is loaded when something is shown.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        from discreet.privacy.showing import CARDS

        return CARDS[type(self).__name__](self).html()

    def plot(self, part: str | None = None) -> Any:
        """An Altair chart.

        Of a guarantee: what somebody can come to believe, at most, over what they believed before. Of a release: the
        largest numbers with the noise on them, or how its numbers are distributed. Of a statement: what was charged so
        far, charge by charge, below the limit.

        Parameters
        ----------
        part
            Of a release: which table or array of it; by default the first table of numbers.
        """
        from discreet.privacy.showing import CHARTS

        return CHARTS[type(self).__name__](self, *([] if part is None else [part]))
