"""What `discreet risk` prints, and the folder that it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.reports import Page, ReportFolder, json_text, png, svg

if TYPE_CHECKING:
    from discreet.attacks.risk import OperatingPoint, RiskReport

__all__ = ["RISK", "cells", "headings", "paragraphs", "save_risk"]

RECORD = "risk.json"
REFUTED = (
    "There is no guarantee here: that this noise keeps ε for one record is refuted, and every further answer "
    "adds to what is learned. A model with a proved guarantee: --model {proved}."
)
OWN_LISTS = (
    "This is about what others see. What a person sees in their own recommendations is made from that person's own "
    "records: whoever reads them learns about that person at any ε."
)
PROVED_FOR = {"published-slope-one": "private-slope-one", "published-cosine": "private-cosine"}


FOLDER = ReportFolder("risk report", RECORD, lambda record: FILES if "curves" in record else ())
FILES = ("risk.html", "risk.csv", "risk.svg", "risk.png")
RISK = FOLDER.kind


def headings(report: RiskReport) -> list[str]:
    """The columns of the printed table."""
    if len(report.curves) > 1:
        return ["ε", "utility", "±", "risk, all answers", "± ", "risk, one answer", "±  "]
    names = ["ε", "utility", "±", "risk", "from", "to"]
    return [*names, "any attacker at most"] if report.curve.proved else names


def cells(report: RiskReport) -> list[list[str]]:
    """The printed table, line by line."""
    rows = []
    for place, point in enumerate(report.curve.points):
        row = [f"{point.epsilon:g}", f"{point.utility:.1%}", f"{(point.utility_high - point.utility_low) / 2:.1%}"]
        if len(report.curves) > 1:
            for curve in report.curves:
                here = curve.points[place]
                row += [f"{here.risk:.1%}", f"{(here.risk_high - here.risk_low) / 2:.1%}"]
        else:
            row += [f"{point.risk:.1%}", f"{point.risk_low:.1%}", f"{point.risk_high:.1%}"]
            if report.curve.proved and point.limit is not None:
                row.append(f"{point.limit:.1%}")
        rows.append(row)
    return rows


def paragraphs(report: RiskReport, best: tuple[OperatingPoint, ...], answers: list[dict[str, Any]]) -> list[str]:
    """The recommendation and the answers, in words."""
    what = "a rating" if report.secret == "rating" else "whether a record is there"
    blind = f"a blind guess at {what} is right in {report.curve.chance:.0%}"
    whom = "every attacker" if best[0].by == "limit" else f"an attacker {report.curve.attacker}"
    said = [f"Recommended against {whom}; {blind}. {best[0].words()}"]
    for curve, point in zip(report.curves[1:], best[1:], strict=True):
        stronger = report.curve.at(point.epsilon)
        said.append(
            f"Against an attacker {curve.attacker}: {point.words()} But at this ε an attacker {report.curve.attacker} "
            f"is right in {stronger.risk:.1%}."
        )
    said += [f"An attacker {answer['attacker']}: {answer['words']}" for answer in answers]
    if report.standing == "proved":
        said.append(OWN_LISTS)
    elif report.model in PROVED_FOR:
        said.append(REFUTED.format(proved=PROVED_FOR[report.model]))
    elif report.standing is not None:
        said.append(
            f"The guarantee of {report.model} is {report.standing}: no limit for other attackers follows from it."
        )
    return said


def save_risk(
    report: RiskReport, best: tuple[OperatingPoint, ...], said: list[str], folder: Path, *, overwrite: bool
) -> Path:
    """Write page, chart and numbers into a folder, whole or not at all."""
    import polars as pl

    from discreet.attacks.risk.chart import risk_chart

    chart = risk_chart(report, best)
    picture = svg(chart)
    page = Page(f"Risk and utility of {report.model}", f"Measured on {report.setting.get('data', 'the records')}.")
    for paragraph in said:
        page.text(paragraph)
    page.picture(picture)
    names = headings(report)
    page.table(names, cells(report), numbers=names)
    tables = [curve.to_frame().insert_column(0, pl.lit(curve.attacker).alias("attacker")) for curve in report.curves]
    contents = {
        RECORD: json_text({**report.to_json(), "recommended": [point.to_json() for point in best]}),
        "risk.html": page.html(),
        "risk.csv": pl.concat(tables).write_csv(),
        "risk.svg": picture,
        "risk.png": png(chart),
    }
    return FOLDER.save(folder, contents, overwrite=overwrite)
