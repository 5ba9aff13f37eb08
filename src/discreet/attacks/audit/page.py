"""The report of an audit as a page for a privacy officer: one file, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from discreet.attacks.audit.curves import roc_picture
from discreet.attacks.audit.verdicts import Score

if TYPE_CHECKING:
    from discreet.attacks.audit.report import AuditReport

__all__ = ["page"]

STYLE = """
:root { color-scheme: light; --ink: #1d2430; --soft: #5b6675; --line: #dfe4ea; --good: #2f6f6a; --bad: #b3392b; }
* { box-sizing: border-box; }
body { margin: 0; background: #fbfaf7; color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 920px; margin: 0 auto; padding: 48px 24px 80px; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; }
.lead { color: var(--soft); font-size: 1.1rem; }
.verdict { margin: 1.2rem 0; padding: 1rem 1.2rem; background: #fff; border-left: 6px solid var(--good);
           font-size: 1.15rem; }
.verdict.refuted { border-color: var(--bad); } .refuted td:last-child { color: var(--bad); font-weight: 700; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } .wide { overflow-x: auto; }
.curves { display: flex; flex-wrap: wrap; gap: 20px; } figure { margin: 0; width: 270px; }
figcaption { color: var(--soft); font-size: .88rem; }
"""

READING = (
    "A model keeps its promise if nobody can tell, much better than by chance, whether somebody's records were used. "
    "So the model was fitted many times with such records and many times without, and an attacker who knows the method "
    "and everybody else's records said each time which it was. TPR is how often it said “used” when they were, FPR how "
    "often when they were not. A promise limits how far these two can be apart; “at least” is the smallest loss of "
    "privacy that the counts leave possible, “ceiling” what an attacker who is always right would have shown with as "
    "many runs. More than the claim refutes it. Less does not prove it: that is what proofs are for."
)
CURVES = (
    "Each curve is one attack: how often it is right about records that were used, against how often it is wrong about "
    "records that were not, for every threshold. The shaded area is what the claim allows. A curve may leave it by "
    "chance where runs are few; the verdicts take that into account."
)


def page(report: AuditReport) -> str:
    """The whole page."""
    tone = "verdict refuted" if report.refuted else "verdict"
    parts = [
        f"<h1>Audit of {escape(report.model)}</h1>",
        f'<p class="lead">{escape(_about(report))}</p>',
        f'<p class="{tone}">{escape(report.verdict)}.</p>',
        f"<p>{escape(_promise(report))}</p>",
        "<h2>What was tried</h2>",
        _table(
            [*report.headings(), "how"],
            [[*line, score.how] for line, score in zip(report.cells(), report.scores, strict=True)],
            [score.verdict == "refuted" for score in report.scores],
        ),
        f"<p>{escape(READING)}</p>",
        f"<p>All bounds hold together with {report.confidence:.0%} confidence: each of {len(report.scores)} attacks "
        f"was held to {1 - report.scores[0].confidence:.2%} error. The attacker's rules were learned on runs that do "
        "not count here.</p>",
        "<h2>How well the attackers do</h2>",
        f"<p>{escape(CURVES)}</p>",
        f'<div class="curves">{"".join(_figure(score) for score in report.scores)}</div>',
    ]
    if report.skipped:
        parts += ["<h2>What was not tried</h2>", _table(["attack", "why"], list(report.skipped.items()))]
    parts.append(
        "<p>Nothing was charged for these fits and none of them was kept. What was played on real records is for their "
        "owner; this page is not for publication.</p>"
    )
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Audit of {escape(report.model)}</title><style>{STYLE}</style></head>\n"
        f"<body><main>{body}</main></body></html>\n"
    )


def _about(report: AuditReport) -> str:
    data = report.settings.get("data") or "the given records"
    seconds = sum(score.seconds for score in report.scores)
    return f"{len(report.scores)} attacks, in small worlds and on {data}, in {seconds:,.0f} seconds."


def _promise(report: AuditReport) -> str:
    return "The model promises nothing." if report.guarantee is None else f"What it says of itself: {report.guarantee}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], marked: Sequence[bool] = ()) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    marks = list(marked) or [False] * len(rows)
    lines = []
    for row, mark in zip(rows, marks, strict=True):
        cells = "".join(f"<td>{escape(str(cell))}</td>" for cell in row)
        lines.append(f'<tr class="refuted">{cells}</tr>' if mark else f"<tr>{cells}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _figure(score: Score) -> str:
    claimed = "nothing is claimed" if score.claim is None else f"claimed {score.claim}"
    words = f"{score.game}: {score.view}; {claimed}"
    return f"<figure>{roc_picture(score)}<figcaption>{escape(words)}</figcaption></figure>"
