"""Formulas that are written in plain Unicode, set as HTML: raised and lowered parts, and numbers with their signs."""

from __future__ import annotations

import re

__all__ = ["typeset"]

MARKUP = re.compile(r"(<(?:pre|code|svg|style|script)\b.*?</(?:pre|code|svg|style|script)>|<[^>]+>)", re.S)

RULES = (
    (re.compile(r"(?<=\d) (?=[%×])"), "\u00a0"),
    (re.compile(r"\^\{([^{}]+)\}"), r"<sup>\1</sup>"),
    (re.compile(r"(?<=[\w)\]])\^\(([^()]+)\)"), r"<sup>\1</sup>"),
    (re.compile(r"(?<=[\w)\]])\^([−-]?[^\W_]+)"), r"<sup>\1</sup>"),
    (re.compile(r"(?<=[\w|‖)\]])_\{([^{}]+)\}"), r"<sub>\1</sub>"),
    (re.compile(r"(?<=[|‖)\]])_([A-Za-z0-9]{1,3})(?![A-Za-z0-9_])"), r"<sub>\1</sub>"),
    (re.compile(r"(?<![A-Za-z_])([^\W\d_])_([A-Za-z0-9]{1,3})(?![A-Za-z0-9_])"), r"\1<sub>\2</sub>"),
)
"""What is looked for in the words of a page, and what stands in its place."""


def typeset(html: str) -> str:
    """The page with its formulas set; code and tags stay as they are.

    Examples
    --------
    >>> typeset("<p>at most e^ε, with Σ_i x_i² ≤ 2^(a+1)</p>")
    '<p>at most e<sup>ε</sup>, with Σ<sub>i</sub> x<sub>i</sub>² ≤ 2<sup>a+1</sup></p>'
    >>> typeset("<code>a_b^2</code> of user_id <a href='x_1'>7 %</a>")
    "<code>a_b^2</code> of user_id <a href='x_1'>7\\xa0%</a>"
    """
    parts = MARKUP.split(html)
    for place in range(0, len(parts), 2):
        for pattern, shown in RULES:
            parts[place] = pattern.sub(shown, parts[place])
    return "".join(parts)
