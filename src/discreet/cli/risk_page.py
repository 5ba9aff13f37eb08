"""The folder of a risk report: page, charts and numbers."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.attacks.risk import OperatingPoint, RiskReport
from discreet.attacks.risk.answers import RISK_OF
from discreet.attacks.risk.report import risk_chart
from discreet.reports import Page, ReportFolder, json_text, svg
from discreet.reports.charts import png

__all__ = ["RISK", "save_risk"]

RECORD = "risk.json"
FOLDER = ReportFolder("risk report", RECORD, lambda record: FILES if "curves" in record else ())
FILES = ("risk.html", "risk.csv", "risk.svg", "risk.png")
RISK = FOLDER.kind


def save_risk(
    report: RiskReport, best: tuple[OperatingPoint, ...], said: list[str], folder: Path, *, overwrite: bool
) -> Path:
    """Write page, chart and numbers into a folder, whole or not at all."""
    chart = risk_chart(report, best)
    picture, first = svg(chart), best[0]
    page = Page(f"Risk and utility of {report.model}", f"Measured on {report.setting.get('data', 'the records')}.")
    page.verdict(
        f"Recommended: ε = {first.epsilon:g}. {first.utility:.0%} of the utility is left, and "
        f"{RISK_OF[first.by].format(first.risk)}.",
        tone="warn" if first.gain <= 0 or report.standing == "refuted" else "good",
        more=f"A blind guess is right in {report.curve.chance:.0%}.",
    )
    page.picture(
        picture,
        label=f"Charts of risk against utility and of both over ε for {report.model}; the table below has the numbers.",
        narrow=svg(risk_chart(report, best, narrow=True)),
    )
    names = report.headings()
    page.heading("Every ε that was tried")
    page.table([name.strip() for name in names], report.cells(), numbers=[name.strip() for name in names])
    page.heading("What follows")
    for paragraph in said:
        page.text(paragraph)
    tables = [curve.to_frame().insert_column(0, pl.lit(curve.attacker).alias("attacker")) for curve in report.curves]
    contents = {
        RECORD: json_text({**report.to_json(), "recommended": [point.to_json() for point in best]}),
        "risk.html": page.html(),
        "risk.csv": pl.concat(tables).write_csv(),
        "risk.svg": picture,
        "risk.png": png(chart),
    }
    return FOLDER.save(folder, contents, overwrite=overwrite)
