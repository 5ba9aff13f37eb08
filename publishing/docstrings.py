"""Docstrings for the site: what they have of reStructuredText is turned into Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["PlainDocstrings"]

ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc|obj):`~?([^`]*)`")


class PlainDocstrings(griffe.Extension):
    """Roles become code, and double colons blocks of code."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            text = ROLE.sub(lambda role: f"`{role[1].rpartition('.')[2]}`", obj.docstring.value)
            obj.docstring.value = re.sub(r"::\n\n(?=    )", ":\n\n", text)
