"""Hooks of mkdocs: pages that are generated, and drawings in the page."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

OUTSIDE = {"CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md"}
"""Files of the repository that are pages of the site, too."""


def on_config(config: Any) -> Any:
    """Put the generated pages into the navigation, where it names their overviews."""
    from publishing import api, command_line, notebooks

    packages = [{name: f"{api.FOLDER}/{name}.md"} for name in (*api.packages(), "errors")]
    below = {
        api.FOLDER: [*packages, {"scan and Client": f"{api.FOLDER}/more.md"}],
        command_line.FOLDER: [{name: f"{command_line.FOLDER}/{name}.md"} for name in command_line.names()],
        notebooks.FOLDER: notebooks.names(),
    }
    config["nav"] = _filled(config["nav"], {f"{folder}/index.md": pages for folder, pages in below.items()})
    return config


def _filled(nav: Any, below: dict[str, list[dict[str, str]]]) -> Any:
    """The navigation with lists in the place of the overviews that they begin with; empty ones are left out."""
    if isinstance(nav, list):
        return [made for one in nav if (made := _filled(one, below))]
    if isinstance(nav, dict):
        return {name: made for name, one in nav.items() if (made := _filled(one, below))}
    if nav in below:
        return [nav, *below[nav]] if below[nav] else None
    return nav


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from the program and from the source."""
    from publishing import api, command_line, errors, notebooks

    made = {**command_line.pages(), **errors.pages(), **api.pages(), **notebooks.pages()}
    for outside, page in OUTSIDE.items():
        text = (ROOT / outside).read_text(encoding="utf-8")
        made[page] = re.sub(r"\]\(docs/", "](", text)
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Links to those files lead to the pages."""
    depth = page.file.src_uri.count("/")
    for outside, target in OUTSIDE.items():
        markdown = markdown.replace(f"]({'../' * (depth + 1)}{outside}", f"]({'../' * depth}{target}")
    return markdown


def on_page_content(html: str, page: Any, config: Any, **kwargs: Any) -> str:
    """Formulas are set, and drawings become part of the page, so that they follow its colors."""
    from publishing import notebooks
    from publishing.typesetting import typeset

    html = DRAWING.sub(lambda tag: _inlined(tag, Path(config["docs_dir"])), typeset(html))
    if page.file.src_uri.startswith(f"{notebooks.FOLDER}/"):
        return notebooks.shown(html, page.file.src_uri, partial(_figure, chart=True))
    return html


def on_post_page(output: str, **kwargs: Any) -> str:
    """The search of the theme gets a name for those who hear the page."""
    return output.replace('class="md-search" data-md-component="search" role="dialog"', SEARCH, 1)


SEARCH = 'class="md-search" data-md-component="search" role="dialog" aria-label="Search"'

DRAWING = re.compile(r'<p>\s*<img alt="([^"]*)" src="([^"]*?(?:drawings|charts)/[^"/]+\.svg)"[^>]*/?>\s*</p>')


COLOR = re.compile(r"#[0-9a-fA-F]{6}\b")


def _variables() -> dict[str, str]:
    """Colors of charts, as reports have them, and their names in the style of the site, which has a dark one."""
    from discreet.reports.theme import COLORS, LIGHT

    names = ("ink", "soft", "line", "grid", "axis", "card", "accent")
    return {LIGHT[name]: f"var(--{name})" for name in names} | {
        color: f"var(--c{place})" for place, color in enumerate(COLORS[1:5], start=2)
    }


def _inlined(tag: re.Match[str], docs: Path) -> str:
    """An SVG file in the place of its picture, with the alternative text as its name."""
    alt, name = tag[1], Path(tag[2])
    text = (docs / name.parent.name / name.name).read_text(encoding="utf-8")
    return _figure(text, alt, name.stem, chart=name.parent.name == "charts")


def _figure(text: str, alt: str, stem: str, *, chart: bool) -> str:
    """An SVG picture as a part of the page, in its colors."""
    text = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", text, flags=re.S).strip()
    text = text.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
    if chart:
        colors = _variables()
        text = COLOR.sub(lambda color: colors.get(color[0].lower(), color[0]), text)
        text = re.sub(r'"(black|#000)"', '"var(--ink)"', text)
    # Names of parts are shared by all drawings of a page.
    stem = re.sub(r"\W", "-", stem)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{stem}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{stem}-\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{stem}-\1"', text)
    return f'<figure class="drawing">{text}</figure>'
