"""The drawings of the guide, as SVG files that follow the colors of the page.

    python -m publishing.drawings docs/drawings

Numbers on a drawing are computed here, so that they are right.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

__all__ = ["DRAWINGS", "write"]

COLORS = {
    "ink": "#1d2430", "soft": "#56616f", "line": "#dce1e7", "accent": "#2f6f6a", "tint": "#dfeae8", "card": "#ffffff",
    "bad": "#b3261e", "badtint": "#fbeae8", "c2": "#c8553d", "c3": "#5a6fb0", "c4": "#a87f16",
}  # fmt: skip


def color(name: str) -> str:
    """A color of the site, with the light one where the file is looked at by itself."""
    return "none" if name == "none" else f"var(--{name}, {COLORS[name]})"


def text(
    x: float, y: float, words: str, *, size: int = 14, fill: str = "ink", anchor: str = "start", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{color(fill)}"{weight}>'
        f"{escape(words)}</text>"
    )


def lines(x: float, y: float, rows: list[str], *, step: float = 19, **style: object) -> str:
    return "".join(text(x, y + step * place, row, **style) for place, row in enumerate(rows))  # type: ignore[arg-type]


def box(
    x: float, y: float, width: float, height: float, *, fill: str = "card", stroke: str = "line", radius: float = 6
) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" fill="{color(fill)}" '
        f'stroke="{color(stroke)}"/>'
    )


def arrow(x1: float, y1: float, x2: float, y2: float, *, stroke: str = "soft", dashed: bool = False) -> str:
    """A line with a head at its end."""
    angle, size = math.atan2(y2 - y1, x2 - x1), 8
    points = [(x2, y2)] + [
        (x2 - size * math.cos(angle + turn), y2 - size * math.sin(angle + turn)) for turn in (0.45, -0.45)
    ]
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color(stroke)}" stroke-width="1.6"{dash}/>'
        f'<polygon points="{head}" fill="{color(stroke)}"/>'
    )


def person(x: float, y: float, *, fill: str = "soft", scale: float = 1.0) -> str:
    """A head and shoulders, centered on x, standing on y."""
    s = scale
    return (
        f'<circle cx="{x:g}" cy="{y - 22 * s:g}" r="{6.5 * s:g}" fill="{color(fill)}"/>'
        f'<path d="M{x - 11 * s:g} {y:g} a{11 * s:g} {13 * s:g} 0 0 1 {22 * s:g} 0 z" fill="{color(fill)}"/>'
    )


def drawing(height: int, *parts: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, Segoe UI, Roboto, Arial, sans-serif">{"".join(parts)}</svg>\n'
    )


WIDTH = 480
"""Of every drawing: words stay readable where it is shrunk to the width of a phone."""


def heading(*rows: str) -> str:
    return lines(16, 28, list(rows), size=16, step=21, bold=True)


def odds() -> str:
    """What ε lets an attacker gain: even odds before, and at most e^ε to 1 after."""
    top = 76
    parts = [heading("Somebody thinks: even odds that you are in", "the data. After the release, at most:")]
    for place, epsilon in enumerate((0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)):
        y, factor = top + 38 * place, math.exp(epsilon)
        belief = factor / (1 + factor)
        fill = "accent" if epsilon <= 1 else "c4" if epsilon <= 4 else "bad"
        told = f"{factor:,.2f} to 1" if factor < 10 else f"{factor:,.0f} to 1"
        parts.append(text(96, y + 18, f"ε = {epsilon:g}" if epsilon else "before", anchor="end", size=15))
        parts.append(box(108, y, 200, 26) + box(108, y, 200 * belief, 26, fill=fill, stroke="none"))
        parts.append(text(318, y + 18, f"{told}, {belief:.{0 if belief < 0.995 else 2}%}", size=15))
    middle = (
        f'<line x1="208" y1="{top - 6}" x2="208" y2="{top + 262}" stroke="{color("soft")}" stroke-dasharray="4 4"/>'
    )
    return drawing(360, *parts, middle, text(208, top + 278, "50%", size=13, fill="soft", anchor="middle"))


def units() -> str:
    """Who is protected, by unit: what two neighboring datasets differ in."""
    kinds = [
        ("one record", "record", ["Ann watched one film", "more, or did not."]),
        ("one user", "user", ["Ann was here with all", "her records, or never", "was here."]),
        ("one group", "group/replace:2", ["Ann's household has", "these rows, or any", "others."]),
    ]
    people = [("Ann", [1, 1, 1, 0, 1]), ("Bob", [1, 0, 1, 1, 0]), ("Cyd", [0, 1, 1, 0, 1])]
    parts = [heading("What may be different, and nobody can tell")]
    for place, (title, name, said) in enumerate(kinds):
        top = 62 + 132 * place
        parts += [
            text(270, top + 4, title, size=15, bold=True),
            text(270, top + 24, f'unit="{name}"', size=14, fill="soft"),
        ]
        parts.append(lines(270, top + 50, said, size=15, step=20))
        for row, (who, cells) in enumerate(people):
            y = top - 12 + 34 * row
            parts.append(text(20, y + 19, who, size=15, fill="soft"))
            for column, filled in enumerate(cells):
                changed = {"record": row == 0 and column == 1, "user": row == 0}.get(name, row <= 1)
                fill = "badtint" if changed else "tint" if filled else "card"
                parts.append(box(62 + 36 * column, y, 30, 27, fill=fill, stroke="bad" if changed else "line"))
    return drawing(440, *parts)


def joint() -> str:
    """Joint privacy: a person's own list uses that person's own records; everybody else's sees noise."""
    parts = [heading("Everybody feeds the model through noise;", "your list is made with your own records")]
    for place, (name, fill) in enumerate((("you", "accent"), ("Bob", "soft"), ("Cyd", "soft"), ("…", "soft"))):
        y = 130 + 62 * place
        parts += [person(36, y, fill=fill), text(36, y + 17, name, size=14, anchor="middle", fill=fill)]
        parts.append(arrow(56, y - 10, 116, 190 + 8 * place, stroke=fill))
    parts += [box(120, 164, 80, 76, fill="badtint", stroke="bad"), arrow(202, 202, 230, 202)]
    parts += [lines(160, 196, ["sums", "+ noise"], anchor="middle", size=15, bold=True)]
    parts += [box(234, 164, 80, 76, fill="tint", stroke="accent"), arrow(316, 190, 374, 140, stroke="accent")]
    parts += [lines(274, 196, ["model,", "public"], anchor="middle", size=15, bold=True), arrow(316, 214, 374, 270)]
    parts += [box(378, 108, 90, 50, stroke="accent"), text(423, 138, "your list", anchor="middle", size=15)]
    parts += [box(378, 250, 90, 50), text(423, 280, "their lists", anchor="middle", size=15)]
    curve = 'd="M 54 100 C 150 66, 300 66, 374 116" fill="none" stroke-width="1.6" stroke-dasharray="5 4"'
    parts += [f'<path {curve} stroke="{color("accent")}"/>']
    parts += [text(216, 112, "your own records, for you alone", size=14, fill="accent", anchor="middle")]
    said = ["Promised: what all others together see hardly", "depends on whether you are there."]
    return drawing(400, *parts, lines(16, 362, said, size=15, step=21, fill="soft"))


def composition() -> str:
    """Composition: releases add up in a ledger; the noise of one model can be shared by many questions."""
    left, width, x = 20, 440, 20.0
    parts = [heading("Every release about the same people adds up;", "questions to a release are free")]
    parts.append(box(left, 90, width, 46, stroke="soft"))
    for name, epsilon, fill in (("counts", 0.5, "accent"), ("model", 1.0, "c3"), ("tags", 0.5, "c4")):
        part = width * epsilon / 4
        parts += [
            box(x, 90, part, 46, fill=fill, stroke="none"),
            text(x + part / 2, 82, name, size=14, anchor="middle"),
        ]
        parts.append(text(x + part / 2, 119, f"{epsilon:g}", fill="card", anchor="middle", size=15, bold=True))
        x += part
    parts += [text(x + (left + width - x) / 2, 119, "left: 2", anchor="middle", fill="soft", size=15)]
    parts += [
        text(left + width, 156, "limit ε = 4", size=14, anchor="end"),
        text(left, 156, "the ledger", size=14, fill="soft"),
    ]
    parts += [
        box(20, 176, 440, 74, fill="tint", stroke="accent"),
        text(36, 204, "1 model, a million lists: ε = 1, once", size=15, bold=True),
    ]
    parts += [text(36, 232, "Answers read the release, not the records.", size=14, fill="soft")]
    parts += [
        box(20, 264, 440, 74, fill="badtint", stroke="bad"),
        text(36, 292, "a million noisy answers: ε = 1 each", size=15, bold=True),
    ]
    parts += [text(36, 320, "They add up to a million: averaging removes the noise.", size=14, fill="soft")]
    return drawing(356, *parts)


def anonymized() -> str:
    """Why taking names away was not enough: two tables are joined by what is left."""
    parts = [heading("Names were removed. What people did", "is as good as a name")]
    parts += [box(20, 70, 440, 156), text(36, 95, "published, “anonymized”", size=15, bold=True)]
    rows = [
        ("user 8117", "12 films, with dates"),
        ("user 4402", "● Tue, ▲ Wed, ■ Sat, 28 more"),
        ("user 9035", "31 films, with dates"),
    ]
    for place, (who, what) in enumerate(rows):
        y, known = 126 + 36 * place, place == 1
        parts += [box(32, y - 18, 416, 28, fill="badtint" if known else "card", stroke="bad" if known else "line")]
        parts += [text(42, y + 1, who, size=15), text(150, y + 1, what, size=15, fill="soft")]
    parts += [box(20, 268, 440, 76), text(36, 294, "known from elsewhere", size=15, bold=True)]
    parts += [
        text(36, 324, "Ann wrote about ● Tue, ▲ Wed and ■ Sat.", size=15, fill="soft"),
        arrow(424, 266, 424, 176, stroke="bad"),
    ]
    said = ["One row fits: user 4402 is Ann, and the other 28", "films of the row are now known about her."]
    return drawing(400, *parts, lines(16, 370, said, size=15, step=21))


DRAWINGS: dict[str, Callable[[], str]] = {
    "odds": odds, "units": units, "joint": joint, "composition": composition, "anonymized": anonymized,
}  # fmt: skip


def write(folder: Path) -> None:
    """Write every drawing as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
