"""`discreet risk`: the risk-utility curve of a model, and the epsilon it recommends."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text
from discreet.cli.options import (
    AsJson,
    Column,
    DataPath,
    Duplicates,
    Format,
    Scale,
    Settings,
    model_of,
    read_interactions,
    target_for,
)
from discreet.cli.progress import progressing
from discreet.cli.risk_folder import cells, headings, paragraphs, save_risk
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.attacks.risk import RiskReport

__all__ = ["risk"]

WIDTH = 100

NOISE_FOR = {"slope-one": "published-slope-one", "cosine": "published-cosine", "copurchase-cosine": "published-cosine"}
"""Plain models have no epsilon; the noise that was published for them has."""


def risk(
    data: DataPath,
    model: Annotated[
        str, typer.Option("--model", help="slope-one, cosine (with the published noise), or any model with an epsilon.")
    ] = "slope-one",
    value_of_utility: Annotated[float, typer.Option("--value-of-utility", help="What full utility is worth.")] = 1.0,
    cost_of_risk: Annotated[
        float, typer.Option("--cost-of-risk", help="What a risk of 100 % costs, in the same coin.")
    ] = 1.0,
    risk_below: Annotated[
        str | None,
        typer.Option("--risk-below", metavar="SHARE", help="Which epsilon keeps the risk below: 5% or 0.05."),
    ] = None,
    at_epsilon: Annotated[
        float | None, typer.Option("--at-epsilon", help="What is left of the utility at this epsilon?")
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
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a report that is there.")] = False,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    as_json: AsJson = False,
) -> None:
    """Which epsilon? What an attacker learns, and what is left of the recommendations, over epsilon.

    Utility is the share of a list that stays as it is without noise; risk is how often an attacker who knows
    everything else guesses one rating (or whether one record is there). The recommended epsilon gives the most of
    VALUE × utility − COST × (risk − chance). Nothing is charged to a ledger: the answer is computed from the records
    themselves and is for their owner.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet risk films.parquet --model slope-one --value-of-utility 1 --cost-of-risk 3 --risk-below 5% --out risk/
    """
    from discreet.attacks.risk import risk_report

    for name, weight in (("--value-of-utility", value_of_utility), ("--cost-of-risk", cost_of_risk)):
        if not 0 <= weight < math.inf:
            raise UsageError(f"{name} {weight:g} is no weight.", remedy="Give a number from 0 up.")
    tried = None if epsilons is None else _numbers(epsilons)
    level = None if risk_below is None else _share(risk_below)
    recommender = model_of(NOISE_FOR.get(model, model), option)
    if out is not None:
        target_for(out, overwrite=overwrite)
    if at_epsilon is not None and not 0 < at_epsilon < math.inf:
        raise UsageError(f"--at-epsilon {at_epsilon:g} is no budget.", remedy="Give a number above 0.")
    records = read_interactions(data, format=format, column=column, scale=scale, duplicates=duplicates)
    with progressing(f"risk of {model}") as progress:
        report = risk_report(
            recommender,
            records,
            epsilons=tried,
            also=[] if at_epsilon is None else [at_epsilon],
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
        save_risk(report, best, said, out, overwrite=overwrite)
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
    names = headings(report)
    answer_table(f"Risk and utility of {report.model}", names, cells(report), numbers=names)
    for paragraph in said:
        answer_text(textwrap.fill(paragraph, WIDTH) + "\n")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--epsilons {text!r} is not understood.", remedy="Write numbers: 0.5,1,2.") from None


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(f"--risk-below {text!r} is not a share.", remedy="Write 5% or 0.05.")
    return share
