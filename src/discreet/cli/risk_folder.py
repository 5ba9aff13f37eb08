"""What `discreet risk` says, and the folder that it keeps."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ReleaseError

if TYPE_CHECKING:
    from discreet.attacks.risk import OperatingPoint, RiskReport

__all__ = ["cells", "headings", "paragraphs", "save_risk"]

RECORD = "risk.json"
REFUTED = (
    "Nothing here is a guarantee: that this noise keeps ε for one record is refuted, and every further answer "
    "adds to what is learned. A model whose promise is proved: --model {proved}."
)
OWN_SCREEN = (
    "This is about what everybody else sees. What is shown to a person is made from that person's own records: whoever "
    "looks at their screen learns about them at any ε."
)
PROVED_FOR = {"published-slope-one": "private-slope-one", "published-cosine": "private-cosine"}


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
        said.append(OWN_SCREEN)
    elif report.model in PROVED_FOR:
        said.append(REFUTED.format(proved=PROVED_FOR[report.model]))
    elif report.standing is not None:
        said.append(
            f"The promise of {report.model} is {report.standing}: no limit for other attackers follows from it."
        )
    return said


def save_risk(
    report: RiskReport, best: tuple[OperatingPoint, ...], said: list[str], folder: Path, *, overwrite: bool
) -> Path:
    """Write page, chart and numbers into a folder, whole or not at all."""
    import vl_convert

    from discreet.attacks.risk.chart import risk_chart

    if folder.exists() and not (overwrite and (folder / RECORD).is_file()):
        raise ReleaseError(f"{folder} is there already.", remedy="Choose another folder, or overwrite=True.")
    spec = risk_chart(report, best).to_json()
    svg, png = vl_convert.vegalite_to_svg(spec), vl_convert.vegalite_to_png(spec, scale=2)
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=f".{folder.name}.") as aside:
            made = Path(aside) / "risk"
            made.mkdir()
            _write(made, report, best, said, svg, png)
            if folder.exists():
                folder.rename(Path(aside) / "replaced")
            shutil.move(made, folder)
    except OSError as error:
        raise ReleaseError(f"cannot write {folder}: {error.strerror or error}.") from error
    return folder


def _write(
    folder: Path, report: RiskReport, best: tuple[OperatingPoint, ...], said: list[str], svg: str, png: bytes
) -> None:
    import polars as pl

    from discreet.studies.page import Page

    (folder / "risk.svg").write_text(svg, encoding="utf-8")
    (folder / "risk.png").write_bytes(png)
    tables = [curve.to_frame().insert_column(0, pl.lit(curve.attacker).alias("attacker")) for curve in report.curves]
    pl.concat(tables).write_csv(folder / "risk.csv")
    record = {**report.to_json(), "recommended": [point.to_json() for point in best]}
    (folder / RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    page = Page(f"Which ε for {report.model}?", f"Risk and utility on {report.setting.get('data', 'the records')}.")
    for paragraph in said:
        page.text(paragraph)
    page.picture(svg)
    names = headings(report)
    page.table(names, cells(report), numbers=names)
    page.save(folder / "risk.html")
