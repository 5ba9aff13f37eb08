"""Pages of the notebooks in ``examples/notebooks``: their text, their code, and the outputs that are kept in them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "found", "names", "pages", "shown"]

ROOT = Path(__file__).parents[1]
FOLDER = "notebooks"
MARK = "notebook-output-"


def found() -> list[Path]:
    """The notebooks, in the order of their names; none where they are not in the source."""
    return sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def names() -> list[dict[str, str]]:
    """Titles and pages, for the navigation."""
    return [{_title(_cells(path)): f"{FOLDER}/{path.stem}.md"} for path in found()]


def pages() -> dict[str, str]:
    """The pages by their paths below ``docs``. Outputs are put in later (``shown``): Markdown would change them."""
    if not found():
        return {}
    made = {f"{FOLDER}/index.md": _overview()}
    for path in found():
        place = f"Notebook: `examples/notebooks/{path.name}`. The tests run it; what is shown here is one run."
        parts = [_text(cell, number, path.stem) for number, cell in enumerate(_cells(path))]
        parts[0] = parts[0].replace("\n", f"\n\n{place}\n", 1) if "\n" in parts[0] else f"{parts[0]}\n\n{place}"
        made[f"{FOLDER}/{path.stem}.md"] = "\n\n".join(parts) + "\n"
    return made


def shown(content: str, page: str, figure: Callable[[str, str, str], str]) -> str:
    """The HTML of a page with the outputs in their places; ``figure`` makes a part of the page from an SVG picture."""
    stem = Path(page).stem
    cells = next((_cells(path) for path in found() if path.stem == stem), [])
    for number, cell in enumerate(cells):
        outputs = [_output(one, f"cell-{number}-{place}", figure) for place, one in enumerate(cell.get("outputs", []))]
        content = content.replace(_place(stem, number), "".join(outputs))
    return content


def _cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def _overview() -> str:
    lines = ["# Notebooks\n"]
    lines.append("Articles that run. Open them in Jupyter from `examples/notebooks`, or read one run of each here.\n")
    for path in found():
        cells = _cells(path)
        lead = "".join(cells[0]["source"]).split("\n\n")
        about = lead[1].replace("\n", " ") if len(lead) > 1 else ""
        lines += [f"[{_title(cells)}]({path.stem}.md)", f":   {about}\n"]
    return "\n".join(lines)


def _title(cells: list[dict[str, Any]]) -> str:
    return "".join(cells[0]["source"]).splitlines()[0].lstrip("# ")


def _place(stem: str, number: int) -> str:
    return f'<div class="{MARK}{stem}-{number}"></div>'


def _text(cell: dict[str, Any], number: int, stem: str) -> str:
    """A cell as Markdown, with an empty place for its output."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        source = re.sub(r"\]\(([\w-]+)\.ipynb", r"](\1.md", source)  # links between notebooks
        return source.replace("](../../docs/", "](../")
    code = f"```python\n{source}\n```"
    return f"{code}\n\n{_place(stem, number)}" if cell.get("outputs") else code


def _output(output: dict[str, Any], name: str, figure: Callable[[str, str, str], str]) -> str:
    """An output as HTML: what a notebook would show of it."""
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    if "image/svg+xml" in data:
        return figure(data["image/svg+xml"], "Output of the code above", name)
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    text = data.get("text/plain") or "".join(output.get("text", []))
    return f'<pre class="output"><code>{html.escape(text)}</code></pre>' if text.strip() else ""
