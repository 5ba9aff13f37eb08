"""Pages of the Python API: what every package exports, from its docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

import discreet

__all__ = ["exported", "packages", "pages"]

SOURCE = Path(discreet.__file__).parent
FOLDER = "reference/api"

KNOWN = {
    "data": "Records: interactions, tags, tables; readers, splits and synthetic data.",
    "privacy": "Budgets, guarantees, the ledger and releases.",
    "factors": "The default recommenders, DP-ALS, and references without privacy.",
    "neighbors": "Neighbor models: proved, as published, and plain.",
    "pairs": "Slope One and co-purchase cosine: proved, as published, and plain.",
    "counting": "Counts, top lists, contexts, and private catalogs.",
    "tagging": "Releases of tagging data, and tag recommenders.",
    "coupled": "Many queries about tables, and synthetic rows.",
    "series": "A release every night at the price of one.",
    "combining": "One release from those of several curators.",
    "subsets": "Private top-k lists against onlookers.",
    "evaluation": "Metrics, protocols and comparisons.",
    "attacks": "Attacks, audits, and risk over epsilon.",
    "studies": "Published experiments, run again.",
    "board": "The report for a board.",
    "models": "The interface of recommenders and the registry of names.",
    "testing": "Exact laws, coupled runs, and neighboring datasets for your own mechanisms.",
    "reports": "Pages and charts.",
}
"""Packages in the order of the site, with what they are for; others follow with the first line of their docstring."""

EXTRA = {
    "data": ("discreet.data.splits", "discreet.data.synthetic"),
    "privacy": ("discreet.privacy.method", "discreet.privacy.budget", "discreet.privacy.bounding"),
    "models": ("discreet.models.recommender",),
}
"""Modules that are documented beside what a package exports."""

ELSEWHERE = {"scan": "discreet.engines.scanning.scan", "Client": "discreet.service.client.Client"}
"""Names of the top level whose packages export nothing."""

LEFT_OUT = {"BROAD", "NARROW"}
"""Constants that are assigned in pairs, which the reader of the source does not see."""

WITHOUT_PAGE = {"cli", "common", "engines", "service"}
"""Packages that are no interface for Python: the command line, helpers, and the service."""


def packages() -> dict[str, str]:
    """The packages that have a page, with what they are for."""
    found = {path.parent.name: path for path in sorted(SOURCE.glob("*/__init__.py"))}
    others = {
        name: (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
        for name, path in found.items()
        if name not in KNOWN and name not in WITHOUT_PAGE
    }
    return {name: about for name, about in KNOWN.items() if name in found} | others


def exported(path: Path) -> list[str]:
    """The names in the ``__all__`` of a file."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return ast.literal_eval(node.value)
    return []


def pages() -> dict[str, str]:
    """The pages by their paths below ``docs``."""
    made = {f"{FOLDER}/index.md": _overview(), f"{FOLDER}/errors.md": "# discreet.errors\n\n::: discreet.errors\n"}
    for package, about in packages().items():
        lines = [f"# discreet.{package}\n", f"{about}\n"]
        names = exported(SOURCE / package / "__init__.py")
        lines += [_block(f"discreet.{package}.{name}") for name in names if name not in LEFT_OUT]
        lines += [_block(module) for module in EXTRA.get(package, ())]
        made[f"{FOLDER}/{package}.md"] = "\n".join(lines)
    head = "# scan and Client\n\nRecords that do not fit into memory, and the client of the service.\n"
    made[f"{FOLDER}/more.md"] = "\n".join([head, *map(_block, ELSEWHERE.values())])
    return made


def _block(path: str) -> str:
    return f"::: {path}\n    options:\n      heading_level: 2\n"


def _overview() -> str:
    lines = ["# Python API\n", "Types and texts come from the source. Every example runs as a test.\n"]
    lines += ["| package | |", "| --- | --- |"]
    lines += [f"| [`discreet.{package}`]({package}.md) | {about} |" for package, about in packages().items()]
    lines += ["| [`discreet.errors`](errors.md) | Errors and warnings; [every message](../errors/index.md). |"]
    lines += ["| [`dc.scan`, `dc.Client`](more.md) | Records larger than memory; the client of the service. |"]
    lines += [
        "\n## Names of the top level\n",
        "`import discreet as dc` has these names. Each loads when it is first used.\n",
    ]
    lines += ["| name | where it is described |", "| --- | --- |"]
    for name in discreet.__all__:
        if name.startswith("__"):
            continue
        home = discreet._HOMES[name]
        package = home.split(".")[1]
        page = "more.md" if name in ELSEWHERE else f"{package}.md"
        lines.append(f"| `dc.{name}` | [`{home}`]({page}) |")
    return "\n".join(lines) + "\n"
