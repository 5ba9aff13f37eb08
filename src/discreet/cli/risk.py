"""`discreet risk`: the risk-utility curve of a model, and the epsilon it recommends."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import Settings, model_of
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, progressing
from discreet.cli.reading import DataPath, RecordsReading
from discreet.cli.spending import Overwrite, place_for
from discreet.common.numerals import parse_real
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.attacks.risk import OperatingPoint, RiskReport

__all__ = ["risk"]

WIDTH = 100

NOISE_FOR = {"slope-one": "published-slope-one", "cosine": "published-cosine", "copurchase-cosine": "published-cosine"}
"""Plain models have no epsilon; the noise that was published for them has."""


def risk(
    data: DataPath,
    reading: RecordsReading,
    model: Annotated[
        str, typer.Option("--model", help="slope-one, cosine (with the published noise), or any model with an epsilon.")
    ] = "slope-one",
    value_of_utility: Annotated[float, typer.Option("--value-of-utility", help="What full utility is worth.")] = 1.0,
    cost_of_risk: Annotated[
        float, typer.Option("--cost-of-risk", help="What a risk of 100 % costs, in the same unit.")
    ] = 1.0,
    risk_below: Annotated[
        str | None,
        typer.Option("--risk-below", metavar="SHARE", help="Show which epsilon keeps the risk below this: 5% or 0.05."),
    ] = None,
    at_epsilon: Annotated[
        float | None, typer.Option("--at-epsilon", help="Show what is left of the utility at this epsilon.")
    ] = None,
    epsilons: Annotated[
        str | None, typer.Option("--epsilons", metavar="E,…", help="What to try; a wide range otherwise.")
    ] = None,
    option: Settings = None,
    length: Annotated[int, typer.Option("--length", help="How long the compared lists are.")] = 20,
    users: Annotated[int | None, typer.Option("--users", help="Of how many users lists are compared.")] = None,
    targets: Annotated[int, typer.Option("--targets", help="Secrets that are guessed, for released models.")] = 20,
    fits: Annotated[int, typer.Option("--fits", help="Fits for each epsilon, for released models.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Draws people and secrets.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Keep page, chart (SVG, PNG) and table.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Choose an epsilon: what an attacker learns, and what is left of the recommendations, over epsilon.

    Utility is the share of a list that stays as it is without noise; risk is how often an attacker who knows
    everything else guesses one rating (or whether one record is there). The recommended epsilon gives the most of
    VALUE × utility − COST × (risk − chance). Nothing is charged to a ledger: the answer is computed from the records
    themselves and is for their owner.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet risk films.parquet --model slope-one --value-of-utility 1 --cost-of-risk 3 --risk-below 5% --out risk/
    """
    from discreet.attacks.risk import risk_report
    from discreet.cli.risk_page import RISK, save_risk
    from discreet.models.registry import class_of, settings_of

    for name, weight in (("--value-of-utility", value_of_utility), ("--cost-of-risk", cost_of_risk)):
        if not 0 <= weight < math.inf:
            raise UsageError(f"{name} must be a number, at least 0, got {weight:g}.")
    tried = None if epsilons is None else _numbers(epsilons)
    level = None if risk_below is None else _share(risk_below)
    named = NOISE_FOR.get(model, model)
    # The epsilon of the model is not used: it is set to each that is tried.
    required = settings_of(class_of(named, "recommender")).get("epsilon", False)
    recommender = model_of(named, option, epsilon="1" if required else None)
    if out is not None:
        place_for(out, RISK, overwrite=overwrite, sources=(data,))
    if at_epsilon is not None and not 0 < at_epsilon < math.inf:
        raise UsageError(f"--at-epsilon must be above 0, got {at_epsilon:g}.")
    records = reading.interactions(data)
    with progressing(f"risk of {model}") as progress:
        report = risk_report(
            recommender,
            records,
            epsilons=tried,
            more_epsilons=[] if at_epsilon is None else [at_epsilon],
            length=length,
            users=users,
            targets=targets,
            fits=fits,
            seed=seed,
            progress=progress,
        )
    best = tuple(
        curve.operating_point(value_of_utility=value_of_utility, cost_of_risk=cost_of_risk) for curve in report.curves
    )
    answers = _answers(report, level, at_epsilon)
    said = paragraphs(report, best, answers)
    if as_json:
        recommended = [point.to_json() for point in best]
        answer_json({**report.to_json(), "recommended": recommended, "answers": answers, "saved": out and str(out)})
    else:
        _say(report, said)
    if out is not None:
        out = save_risk(report, best, said, out, overwrite=overwrite)
        if not as_json:
            answer_text(f"Open {out / 'risk.html'} in a browser; the numbers are in {out / 'risk.csv'}.")


def _answers(report: RiskReport, level: float | None, epsilon: float | None) -> list[dict[str, Any]]:
    """The inverse questions, for every attacker."""
    found: list[dict[str, Any]] = []
    for curve in report.curves:
        if level is not None:
            found.append({"attacker": curve.attacker, **curve.keeps_below(level).to_json()})
        if epsilon is not None:
            found.append({"attacker": curve.attacker, **curve.at(epsilon).to_json()})
    return found


def _say(report: RiskReport, said: list[str]) -> None:
    names = report.headings()
    answer_table(f"Risk and utility of {report.model}", names, report.cells(), numbers=names)
    for paragraph in said:
        answer_text(textwrap.fill(paragraph, WIDTH) + "\n")


def _numbers(text: str) -> list[float]:
    try:
        return [parse_real(part) for part in text.split(",") if part.strip()]
    except (ValueError, OverflowError):
        raise UsageError(f"--epsilons {text!r} is not understood.", remedy="Write numbers: 0.5,1,2.") from None


def _share(text: str) -> float:
    try:
        share = parse_real(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, OverflowError):
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(f"--risk-below must be a share between 0 and 1, such as 5% or 0.05, got {text!r}.")
    return share


REFUTED = (
    "There is no guarantee here: that this noise keeps ε for one record is refuted, and every further answer "
    "adds to what is learned. A model with a proved guarantee: --model {proved}."
)
OWN_LISTS = (
    "This is about what others see. What a person sees in their own recommendations is made from that person's own "
    "records: whoever reads them learns about that person at any ε."
)
PROVED_FOR = {"published-slope-one": "private-slope-one", "published-cosine": "private-cosine"}


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
