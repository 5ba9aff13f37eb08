"""Study: Slope One with noise on every prediction, Figures 1(a), 1(b) and 2 of Park and Acharya.

The figures themselves are not in the copy at hand; they are run again from the text, which gives one number: at 70 %
utility the risk is 4 %. Beside the published attacker stand one who keeps to the rating scale and one who averages all
predictions of a person. The promise of the noise is refuted elsewhere (``tests/refutations/test_slope_one.py``).

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report 2011, section 3.
"""

from __future__ import annotations

import polars as pl

from discreet.data.interactions import Interactions
from discreet.pairs import SlopeOne
from discreet.studies.published import published
from discreet.studies.report import Chart, Progress, StudyReport
from discreet.studies.slope_one_claims import Found, claims_table, paragraphs
from discreet.studies.slope_one_figures import (
    ATTACKERS,
    FIGURE,
    FINE,
    PUBLISHED,
    QUICK,
    TOP,
    Plan,
    at_utility,
    measured,
    prepared,
    sensitivity,
)

__all__ = ["run"]

UTILITIES = (0.5, 0.7, 0.8, 0.9)
OVERLAPS = (0, 20, 50)


def run(data: Interactions, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Run Figures 1 and 2 again.

    Parameters
    ----------
    data
        Ratings on a declared scale with steps, one of each item by each user.
    seed
        Draws the splits, the noise and the games.
    quick
        One split, and people with fewer ratings, to see that it runs.
    progress
        Called with the share that is done and what was done.

    Privacy
    -------
    None: the report is about the records themselves.

    Notes
    -----
    Equations 4 to 6 as printed. Four fifths of the people are learned from; of the others those with at least T ratings
    are recommended to, from everything that they have not rated. The attacked rating is one of theirs, all of them as
    likely as any other.
    """
    plan = QUICK if quick else Plan()
    records = prepared(data, plan, seed=seed)
    readings = _readings(plan)
    parts = 2 + len(readings)

    def tell(done: float, what: str) -> None:
        if progress is not None:
            progress(done / parts, what)

    figure = measured(records, plan, FIGURE, seed=seed, told=lambda split: tell(split / plan.splits, "Figure 1"))
    curve = measured(records, plan, FINE, seed=seed, told=lambda split: tell(1 + split / plan.splits, "Figure 2"))
    once = Plan(splits=1, rounds=plan.rounds, games=1, least=plan.least, overlap=plan.overlap)
    others = {}
    for place, (name, model) in enumerate(readings.items()):
        others[name] = measured(records, once, FINE, seed=seed, model=lambda model=model: model)
        tell(3 + place, name)
    found = Found(figure, curve, others, sensitivity(records, plan), records.scale)
    return StudyReport(
        name="slope-one",
        title="Noise on what Slope One predicts: risk and utility",
        source=published("slope-one")["source"],
        setting={
            "data": data.name or repr(data),
            "T": plan.least,
            "φ_m": plan.overlap,
            "Δf": found.sensitivity,
            "lists of": TOP,
            "splits": plan.splits,
            "seed": seed,
        },
        tables={
            "Claims of the text": claims_table(found),
            "Figures 1(a) and 1(b): difference of the top 20, and right guesses": _figure_table(found.mean(figure)),
            "Figure 2: risk where so much of the utility is left": _utility_table(found.mean(curve)),
            "At 70 % utility, other readings (one split)": _reading_table(others),
        },
        charts=_charts(found),
        findings=tuple(paragraphs(found)),
    )


def _readings(plan: Plan) -> dict[str, SlopeOne]:
    """Other readings of the algorithm; none changes how risk follows from noise."""
    chosen = {f"φ_m = {overlap}": SlopeOne(minimum_overlap=overlap) for overlap in OVERLAPS}
    return chosen | {
        "divided by compared items": SlopeOne(minimum_overlap=plan.overlap, average="compared"),
        "weighted": SlopeOne(minimum_overlap=plan.overlap, weighted=True),
    }


def _figure_table(figure: pl.DataFrame) -> pl.DataFrame:
    return figure.select(
        pl.col("epsilon").alias("ε"),
        (1 - pl.col("utility")).alias("difference"),
        pl.col(PUBLISHED).alias("one output"),
        pl.col("drawn"),
        pl.col("one output, on the scale").alias("one, clipped"),
        pl.col("all outputs").alias("all"),
        pl.col("all outputs, on the scale").alias("all, clipped"),
    )


def _utility_table(curve: pl.DataFrame) -> pl.DataFrame:
    said = {0.7: next(row[4] for row in published("slope-one")["rows"] if row[0] == "seventy")}
    rows = []
    for utility in UTILITIES:
        there = at_utility(curve, utility)
        if there is not None:
            rows.append(
                {"utility": utility, "ε": there["epsilon"], "one output": there[PUBLISHED]}
                | {"published": said.get(utility)}
                | {"one, clipped": there["one output, on the scale"], "all": there["all outputs"]}
                | {"all, clipped": there["all outputs, on the scale"]}
            )
    return pl.DataFrame(rows, schema_overrides={"published": pl.Float64})


def _reading_table(readings: dict[str, pl.DataFrame]) -> pl.DataFrame:
    rows = []
    for name, curve in readings.items():
        there = at_utility(curve, 0.7)
        rows.append(
            {"reading": name}
            | {"ε": there and there["epsilon"], "one output": there and there[PUBLISHED]}
            | {"all": there and there["all outputs"]}
        )
    schema = {"reading": pl.String, "ε": pl.Float64, "one output": pl.Float64, "all": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def _charts(found: Found) -> tuple[Chart, ...]:
    mean = found.mean(found.curve)
    difference = mean.select("epsilon", difference=1 - pl.col("utility"), spread=pl.col("utility_sd"))
    guesses = pl.concat(
        mean.select("epsilon", "utility", risk=pl.col(name), attacker=pl.lit(name)) for name in ATTACKERS
    )
    said = pl.DataFrame(
        {"epsilon": [None], "utility": [0.7], "risk": [found.said], "attacker": ["the paper's sentence"]},
        schema=guesses.schema,
    )
    return (
        Chart(
            "figure-1a",
            "Figure 1(a): difference of the top 20 from the list without noise",
            difference,
            x="epsilon",
            y="difference",
            band="spread",
            log_x=True,
            log_y=True,
        ),
        Chart(
            "figure-1b",
            "Figure 1(b): right guesses of a rating",
            guesses,
            x="epsilon",
            y="risk",
            series="attacker",
            log_x=True,
            log_y=True,
        ),
        Chart(
            "figure-2",
            "Figure 2: risk against utility",
            pl.concat([guesses, said]).sort("attacker", "utility", maintain_order=True),
            x="utility",
            y="risk",
            series="attacker",
        ),
    )
