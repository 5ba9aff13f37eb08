"""Colors and style of every page and chart, light and dark.

A chart is drawn once, in the light colors. ``STYLE`` has a rule for each of them that replaces it where the reader
prefers a dark page, so that pictures need no script and files of pictures stay readable by themselves.
"""

from __future__ import annotations

from typing import Any

__all__ = ["COLORS", "CONFIG", "DARK", "LIGHT", "SHAPES", "STYLE"]

LIGHT = {
    "ink": "#1d2430", "soft": "#56616f", "line": "#dce1e7", "grid": "#e7ebef", "axis": "#9aa4b0", "accent": "#2f6f6a",
    "tint": "#dfeae8", "good": "#2c6e49", "warn": "#8a5a00", "bad": "#b3261e", "paper": "#f7f6f2", "card": "#ffffff",
    "badtint": "#fbeae8",
}  # fmt: skip
DARK = {
    "ink": "#e6eaef", "soft": "#a9b4c0", "line": "#343d48", "grid": "#2a323c", "axis": "#5f6b79", "accent": "#74c2b9",
    "tint": "#25423f", "good": "#7fd0a1", "warn": "#e6b450", "bad": "#ff8d80", "paper": "#12161b", "card": "#1a2027",
    "badtint": "#3a1f1d",
}  # fmt: skip

COLORS = ("#2f6f6a", "#c8553d", "#5a6fb0", "#a87f16", "#8a5a83", "#6b7f3a", "#2b7fa6", "#7a6a5b", "#b0567a", "#4a4a4a")
"""The palette of charts; each is at least three times as dark, or as light, as the page behind it."""

_DARK_COLORS = (
    "#74c2b9", "#f08a70", "#93a6e6", "#d9b24c", "#c795bf", "#a5bd6c", "#6fbfe3", "#b8a695", "#e58fb1", "#c9ced6",
)  # fmt: skip

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
"""The points of series, beside their colors: a chart can be read without telling colors apart."""

FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"

_TEXT: dict[str, Any] = {"labelColor": LIGHT["soft"], "titleColor": LIGHT["soft"], "labelFontSize": 12}

CONFIG: dict[str, Any] = {
    "background": LIGHT["card"],
    # The widths of these are known where charts are laid out.
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
    "view": {"stroke": None},
    "lineBreak": "\n",
    "axis": {
        **_TEXT,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "gridColor": LIGHT["grid"],
        "domainColor": LIGHT["axis"],
        "tickColor": LIGHT["axis"],
        "labelLimit": 260,
        "labelOverlap": True,
    },
    "legend": {**_TEXT, "titleFontSize": 12, "labelColor": LIGHT["ink"], "symbolStrokeWidth": 2},
    "header": {"labelColor": LIGHT["ink"], "labelFontSize": 13, "labelFontWeight": "bold", "labelLimit": 320},
    "title": {"color": LIGHT["ink"], "fontSize": 14, "anchor": "start", "offset": 12},
    "text": {"color": LIGHT["ink"], "fontSize": 12},
    "range": {"category": list(COLORS)},
}
"""What every Altair chart is drawn with, unless it says otherwise."""


def _variables(colors: dict[str, str]) -> str:
    return " ".join(f"--{name}: {color};" for name, color in colors.items())


def _redrawn() -> str:
    """A rule for each color of a picture: what it is on a dark page."""
    pairs = {LIGHT[name]: f"var(--{name})" for name in LIGHT} | dict(zip(COLORS, _DARK_COLORS, strict=True))
    pairs |= {"black": "var(--ink)", "white": "var(--card)", "#000": "var(--ink)"}
    return "\n".join(
        f'figure svg [{part}="{light}"] {{ {part}: {dark}; }}'
        for light, dark in pairs.items()
        for part in ("fill", "stroke")
    )


STYLE = f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media screen and (prefers-color-scheme: dark) {{
:root {{ {_variables(DARK)} }}
{_redrawn()}
}}
* {{ box-sizing: border-box; }}
html {{ -webkit-text-size-adjust: 100%; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 {FONT}; overflow-wrap: break-word; }}
main {{ max-width: 960px; margin: 0 auto; padding: 40px 24px 72px; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; margin: 0 0 .8rem; letter-spacing: -.015em; text-wrap: balance; }}
h2 {{ font-size: 1.3rem; line-height: 1.3; margin: 2.8rem 0 .7rem; padding-top: 1.3rem;
      border-top: 1px solid var(--line); }}
h3 {{ font-size: 1.05rem; line-height: 1.35; margin: 1.8rem 0 .4rem; }}
p {{ margin: .7rem 0; max-width: 46rem; }} a {{ color: var(--accent); }}
.lead {{ color: var(--soft); }}
.verdict {{ margin: 0 0 1rem; padding: .9rem 1.1rem; max-width: none; background: var(--card); border-radius: 8px;
            border: 1px solid var(--line); border-left: 6px solid var(--accent); font-size: 1.15rem; line-height: 1.4;
            font-weight: 600; }}
.verdict p, .verdict ul {{ margin: .35rem 0 0; color: var(--soft); font-size: .95rem; font-weight: 400; }}
.verdict ul {{ padding-left: 1.2rem; }} .verdict li {{ margin: .15rem 0; }}
.verdict.good {{ border-left-color: var(--good); }} .verdict.warn {{ border-left-color: var(--warn); }}
.verdict.bad {{ border-left-color: var(--bad); }} .verdict.bad > strong {{ color: var(--bad); }}
.tiles {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 1.1rem 0; }}
.tiles div {{ background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem; }}
.tiles dt {{ color: var(--soft); font-size: .86rem; font-weight: 600; }}
.tiles dd {{ margin: 0; font-size: 1.35rem; font-weight: 650; line-height: 1.3; font-variant-numeric: tabular-nums; }}
.tiles dd.more {{ font-size: .86rem; font-weight: 400; color: var(--soft); margin-top: .15rem; }}
.tiles .bad dd:not(.more) {{ color: var(--bad); }} .tiles .warn dd:not(.more) {{ color: var(--warn); }}
figure {{ margin: 1.1rem 0; padding: 14px 16px; background: var(--card); border: 1px solid var(--line);
          border-radius: 8px; }}
figure svg {{ display: block; max-width: 100%; height: auto; margin: 0 auto; overflow: visible; }}
figcaption {{ color: var(--soft); font-size: .92rem; line-height: 1.45; margin-top: .6rem; }}
.narrow {{ display: none; }}
.row {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(160px, 1fr)); gap: 12px; margin: 1.1rem 0; }}
.row figure {{ margin: 0; padding: 8px 10px; }} .row figcaption {{ font-size: .85rem; }}
.wide {{ overflow-x: auto; margin: 1rem 0; border: 1px solid var(--line); border-radius: 8px;
         background: linear-gradient(to right, var(--card) 30%, transparent) left / 40px 100% no-repeat local,
                     linear-gradient(to left, var(--card) 30%, transparent) right / 40px 100% no-repeat local,
                     linear-gradient(to right, var(--axis), transparent) left / 9px 100% no-repeat scroll,
                     linear-gradient(to left, var(--axis), transparent) right / 9px 100% no-repeat scroll,
                     var(--card); }}
.wide:focus-visible, a:focus-visible, pre:focus-visible, summary:focus-visible {{
  outline: 3px solid var(--accent); outline-offset: 2px; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .93rem;
         line-height: 1.45; }}
th, td {{ text-align: left; padding: .45rem .8rem; border-bottom: 1px solid var(--line); vertical-align: top; }}
tbody tr:last-child > * {{ border-bottom: 0; }}
thead th {{ color: var(--soft); font-weight: 600; font-size: .86rem; vertical-align: bottom; }}
tbody th {{ font-weight: 600; }}
th.number, td.number {{ text-align: right; }} td.number, td.date {{ white-space: nowrap; }}
th.number:first-child {{ width: 1%; }} th.number:not(:first-child) {{ min-width: 4.6rem; }}
td:not(.number, .date), tbody th {{ min-width: 5.5rem; }} td.words {{ min-width: 9rem; }}
td.long {{ min-width: 15rem; }}
tr.detailed > * {{ border-bottom: 0; padding-bottom: .1rem; }}
tr.detail td {{ color: var(--soft); font-size: .9rem; padding-top: 0; padding-bottom: .6rem; }}
tr.group th {{ background: var(--paper); }}
tr.detail td > div, tr.group th > div {{ position: sticky; left: .8rem; max-width: min(52rem, calc(100vw - 5rem)); }}
tr.bad > :first-child {{ box-shadow: inset 4px 0 var(--bad); }} tr.bad .mark {{ color: var(--bad); font-weight: 700; }}
tr.bad > *, tr.bad + tr.detail.bad > * {{ background: var(--badtint); }}
blockquote {{ margin: 1rem 0; padding: .8rem 1.1rem; background: var(--card); border-left: 4px solid var(--accent);
              border-radius: 4px; }}
dl.facts {{ display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.1rem; margin: 1rem 0;
            padding: .9rem 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }}
dl.facts dt {{ color: var(--soft); font-weight: 600; }} dl.facts dd {{ margin: 0; min-width: 0; }}
pre {{ background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1rem;
       overflow-x: auto; font-size: .88rem; line-height: 1.5; }}
@media (max-width: 640px) {{
main {{ padding: 24px 16px 48px; }} h1 {{ font-size: 1.55rem; }} h2 {{ font-size: 1.2rem; margin-top: 2.2rem; }}
.verdict {{ font-size: 1.05rem; padding: .8rem .9rem; }} figure {{ padding: 10px 8px; }}
.tiles {{ grid-template-columns: repeat(auto-fit, minmax(136px, 1fr)); gap: 8px; }}
.broad {{ display: none; }} .narrow {{ display: block; }}
dl.facts {{ grid-template-columns: 1fr; gap: 0; }} dl.facts dd {{ margin-bottom: .55rem; }}
}}
@media print {{
@page {{ margin: 16mm 14mm; }}
html {{ font-size: 9.5pt; }} body {{ background: #fff; font-size: 1rem; line-height: 1.45; }}
main {{ max-width: none; padding: 0; }}
h2, h3, thead {{ break-after: avoid; }} figure, tr, .tiles div, dl.facts, .verdict {{ break-inside: avoid; }}
.wide {{ overflow: visible; background: none; border: 0; }} table {{ font-size: .88rem; }}
thead th, tr.detail td {{ font-size: .82rem; }}
th, td {{ padding: .3rem .4rem; }} td, tbody th {{ min-width: 0 !important; }}
pre {{ white-space: pre-wrap; }} .broad {{ display: block; }} .narrow {{ display: none; }}
tr.group th {{ background: var(--paper); }}
tr.detail td > div, tr.group th > div {{ position: static; max-width: none; }}
* {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
"""The style sheet of every page."""
