"""Small pictures, drawn on the server as SVG. Their colors are those of the style sheet, light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from markupsafe import Markup, escape

__all__ = ["Bar", "bars", "beliefs", "burn_down", "curve", "meter", "value_at"]

Point = tuple[datetime, float]


def _svg(width: int, height: int, label: str, body: Sequence[str], kind: str) -> Markup:
    inside = "".join(body)
    text = f'<svg class="chart {kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
    return Markup(f"{text}{inside}</svg>")


def _text(x: float, y: float, words: str, kind: str = "label", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def meter(share: float, label: str, *, after: float | None = None) -> Markup:
    """A bar of how much is left; ``after`` is what would be left after a run."""
    width, left = 320, max(0.0, min(1.0, share))
    kept = left if after is None else max(0.0, min(left, after))
    parts = [
        f'<rect class="track" x="0" y="0" width="{width}" height="10" rx="5"/>',
        f'<rect class="soon" x="0" y="0" width="{width * left:.1f}" height="10" rx="5"/>' if after is not None else "",
        f'<rect class="{_tone(kept)}" x="0" y="0" width="{width * kept:.1f}" height="10" rx="5"/>',
    ]
    return _svg(width, 10, label, parts, "meter")


def _tone(left: float) -> str:
    return "low" if left <= 0.1 else "warn" if left <= 0.25 else "fill"


def burn_down(points: Sequence[Point], limit: float, label: str, *, ends: Point | None = None) -> Markup:
    """What was left of a budget after every charge, as steps; dashed on to where it is used up at this pace.

    Parameters
    ----------
    points
        Times and what was left then, from the opening to now.
    limit
        What there was in the beginning.
    ends
        When nothing will be left at this pace.
    """
    width, height, left, right, top, bottom = 560, 200, 56, 14, 14, 34
    first, last = points[0][0], points[-1][0]
    until = max(last, ends[0]) if ends else last
    span = max((until - first).total_seconds(), 1.0)

    def x(moment: datetime) -> float:
        return left + (width - left - right) * (moment - first).total_seconds() / span

    def y(value: float) -> float:
        return top + (height - top - bottom) * (1 - value / limit)

    parts = []
    for share in (0.0, 0.5, 1.0):
        parts.append(_line(left, y(share * limit), width - right, y(share * limit), "axis" if share == 0 else "grid"))
        parts.append(_text(left - 8, y(share * limit) + 4, f"{share * limit:.3g}", anchor="end"))
    path = f"M{x(first):.1f},{y(points[0][1]):.1f}"
    for moment, value in points[1:]:
        path += f"H{x(moment):.1f}V{y(value):.1f}"
    area = f"{path}V{y(0):.1f}H{x(first):.1f}Z"
    parts += [f'<path class="area" d="{area}"/>', f'<path class="line" d="{path}"/>']
    if ends:
        parts.append(_line(x(last), y(points[-1][1]), x(ends[0]), y(ends[1]), "dashed"))
    parts.append(f'<circle class="dot" cx="{x(last):.1f}" cy="{y(points[-1][1]):.1f}" r="4"/>')
    parts.append(_text(left, height - 8, _when(first, span)))
    room = x(last) > left + 120 and x(last) < width - right - 120
    if ends and room:
        parts.append(_text(x(last), height - 8, "now", anchor="middle"))
    parts.append(_text(width - right, height - 8, _when(until, span) if ends else "now", anchor="end"))
    return _svg(width, height, label, parts, "burn")


def _when(moment: datetime, span: float) -> str:
    return f"{moment:%H:%M}" if span < 86400 else f"{moment:%-d %b}" if span < 300 * 86400 else f"{moment:%b %Y}"


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its value, half the width of its error bar, and whether it is marked."""

    name: str
    value: float
    error: float = 0.0
    marked: bool = False


def bars(given: Sequence[Bar], label: str, *, most: float | None = None) -> Markup:
    """Horizontal bars, each with its error bar: with names beside them, or above them where there is little room."""
    high = most if most is not None else max((one.value + one.error for one in given), default=1.0)
    low = min((0.0, *(one.value - one.error for one in given)))
    return _bars(given, label, low, high, beside=True) + _bars(given, label, low, high, beside=False)


def _bars(given: Sequence[Bar], label: str, low: float, high: float, *, beside: bool) -> Markup:
    row, names, width, right = (26, 200, 640, 64) if beside else (44, 0, 340, 52)
    height, span = row * len(given) + 6, max(high - low, 1e-12)

    def x(value: float) -> float:
        return names + (width - names - right) * (value - low) / span

    parts = []
    for place, one in enumerate(given):
        middle = place * row + (row / 2 if beside else row - 14) + 3
        longest = 28 if beside else 42
        shown = one.name if len(one.name) <= longest else one.name[: longest - 1] + "…"
        begin, end = sorted((x(0), x(one.value)))
        if beside:
            parts.append(_text(names - 10, middle + 4, shown, "name", "end"))
        else:
            parts.append(_text(0, middle - 13, shown, "name"))
        kind = "bar marked" if one.marked else "bar"
        parts.append(
            f'<rect class="{kind}" x="{begin:.1f}" y="{middle - 8:.1f}" width="{max(end - begin, 1):.1f}" '
            'height="16" rx="2"/>'
        )
        if one.error:
            a, b = x(one.value - one.error), x(one.value + one.error)
            parts.append(_line(a, middle, b, middle, "whisker"))
            parts += [_line(edge, middle - 4, edge, middle + 4, "whisker") for edge in (a, b)]
        parts.append(_text(width - right + 8, middle + 4, _number(one.value), "value"))
        if not beside:
            parts.append(_line(x(0), middle - 10, x(0), middle + 10, "axis"))
    if beside:
        parts.append(_line(x(0), 2, x(0), height - 2, "axis"))
    return _svg(width, height, label, parts, "bars roomy" if beside else "bars narrow")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 or float(value).is_integer() else f"{value:.2f}"


def curve(
    points: Sequence[tuple[float, float]],
    label: str,
    *,
    at: float | None = None,
    band: Sequence[tuple[float, float, float]] = (),
    other: Sequence[tuple[float, float]] = (),
    x_name: str = "ε",
) -> Markup:
    """A line from 0 to 1 over epsilon (logarithmic), with a mark at the epsilon that is chosen.

    Parameters
    ----------
    band
        Epsilons with the ends of the interval that the value is sure to lie in.
    other
        Another line, dashed.
    """
    width, height, left, right, top, bottom = 420, 200, 58, 14, 12, 40
    low, high = math.log(points[0][0]), math.log(points[-1][0])

    def x(value: float) -> float:
        share = (math.log(min(max(value, points[0][0]), points[-1][0])) - low) / max(high - low, 1e-9)
        return left + (width - left - right) * share

    def y(value: float) -> float:
        return top + (height - top - bottom) * (1 - max(0.0, min(1.0, value)))

    parts = []
    for share in (0.0, 0.5, 1.0):
        parts.append(_line(left, y(share), width - right, y(share), "axis" if share == 0 else "grid"))
        parts.append(_text(left - 8, y(share) + 4, f"{100 * share:.0f} %", anchor="end"))
    ticks = [value for value in (0.1, 0.3, 1, 3, 10) if points[0][0] <= value <= points[-1][0]]
    parts += [_text(x(value), height - 21, f"{value:g}", anchor="middle") for value in ticks]
    parts.append(_text((left + width - right) / 2, height - 4, x_name, anchor="middle"))
    if band:
        edge = [f"{x(e):.1f},{y(h):.1f}" for e, _, h in band] + [f"{x(e):.1f},{y(lo):.1f}" for e, lo, _ in band[::-1]]
        parts.append(f'<polygon class="area" points="{" ".join(edge)}"/>')
    path = "M" + "L".join(f"{x(e):.1f},{y(value):.1f}" for e, value in points)
    parts.append(f'<path class="line" d="{path}"/>')
    if other:
        dashed = "M" + "L".join(f"{x(e):.1f},{y(value):.1f}" for e, value in other)
        parts.append(f'<path class="limit" d="{dashed}"/>')
    if at is not None:
        parts.append(_line(x(at), top, x(at), y(0), "mark"))
        parts.append(f'<circle class="dot" cx="{x(at):.1f}" cy="{y(value_at(points, at)):.1f}" r="5"/>')
    return _svg(width, height, label, parts, "curve")


def value_at(points: Sequence[tuple[float, float]], at: float) -> float:
    """The value of the line at an epsilon."""
    for (a, low), (b, high) in pairwise(points):
        if a <= at <= b:
            share = (math.log(at) - math.log(a)) / (math.log(b) - math.log(a))
            return low + share * (high - low)
    return points[0][1] if at < points[0][0] else points[-1][1]


def beliefs(given: Sequence[Bar], label: str) -> Markup:
    """How likely each answer is, as columns; the true one is marked."""
    width, height, bottom, top = 260, 170, 26, 20
    step = width / max(len(given), 1)
    parts = [_line(0, height - bottom, width, height - bottom, "axis")]
    for place, one in enumerate(given):
        tall = (height - bottom - top) * one.value
        left = place * step + step * 0.16
        kind = "bar marked" if one.marked else "bar"
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{height - bottom - tall:.1f}" width="{step * 0.68:.1f}" '
            f'height="{max(tall, 1):.1f}" rx="2"/>'
        )
        middle = place * step + step / 2
        parts.append(_text(middle, height - bottom - tall - 5, f"{one.value:.0%}", "value", "middle"))
        parts.append(_text(middle, height - 8, f"{place + 1} ★", "name", "middle"))
    return _svg(width, height, label, parts, "beliefs")
