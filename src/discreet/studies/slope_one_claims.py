"""What the paper says of Slope One with noise, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from discreet.attacks.linear import stepped, values_of
from discreet.attacks.risk.curve import RiskCurve, RiskPoint
from discreet.data.scales import RatingScale
from discreet.studies.published import published_table
from discreet.studies.slope_one_figures import ATTACKERS, PUBLISHED, at_utility

__all__ = ["Found", "claims_table", "paragraphs"]

ALL, ALL_CLIPPED, ONE_CLIPPED = "all outputs", "all outputs, on the scale", "one output, on the scale"
CLOSE = 0.05
"""A share below this counts as close to none, one above 1 minus this as all."""


@dataclass(frozen=True, eq=False)
class Found:
    """Everything that was measured.

    Attributes
    ----------
    figure, curve
        Splits at the epsilons of the table, and at more of them.
    readings
        Curves of other readings of the algorithm.
    sensitivity
        Δf.
    scale
        Of the ratings.
    """

    figure: pl.DataFrame
    curve: pl.DataFrame
    readings: dict[str, pl.DataFrame]
    sensitivity: float
    scale: RatingScale | None

    @property
    def said(self) -> float:
        """The risk that the paper names at 70 % utility."""
        return float(published_table("slope-one").filter(key="seventy")["value"].item())

    @property
    def chance(self) -> float:
        """How often a random guess at one of the ratings of the scale is right."""
        return 1 / values_of(stepped(self.scale))

    @staticmethod
    def mean(table: pl.DataFrame) -> pl.DataFrame:
        """Means over splits, and how much the utility differs between them."""
        names = ["utility", "drawn", *ATTACKERS]
        return (
            table.group_by("epsilon")
            .agg(*(pl.col(name).mean() for name in names), pl.col("utility").std().fill_null(0).alias("utility_sd"))
            .sort("epsilon")
        )

    @cached_property
    def fine(self) -> pl.DataFrame:
        return self.mean(self.curve)

    @cached_property
    def seventy(self) -> dict[str, float] | None:
        """ε and risks where 70 % of the utility is left."""
        return at_utility(self.fine, 0.7)

    @cached_property
    def trade_off(self) -> RiskCurve:
        """Risk of the published attacker over utility; the bands are twice what splits differ by."""
        points = []
        for row in self.fine.iter_rows(named=True):
            utility, half, risk = row["utility"], 2 * row["utility_sd"], row[PUBLISHED]
            points.append(RiskPoint(row["epsilon"], utility, utility - half, utility + half, risk, risk, risk))
        return RiskCurve(PUBLISHED, 0.0, tuple(points))


def claims_table(found: Found) -> pl.DataFrame:
    """Every claim beside what was measured, with a verdict."""
    judged = _judged(found)
    rows = []
    for claim in published_table("slope-one").iter_rows(named=True):
        measured, holds = judged[claim["key"]]
        verdict = "not run" if holds is None else "holds" if holds else "does not hold"
        rows.append({"figure": claim["figure"], "claim": claim["claim"], "measured": measured, "verdict": verdict})
    return pl.DataFrame(rows)


def _judged(found: Found) -> dict[str, tuple[str, bool | None]]:
    """What was measured for each claim, and whether it holds."""
    table = found.mean(found.figure)
    first, last = table.row(0, named=True), table.row(-1, named=True)
    rising = bool((np.diff(table[PUBLISHED].to_numpy()) >= 0).all())
    seventy, convex = found.seventy, found.trade_off.is_convex()
    above, where = found.trade_off.bulge()
    differ = 1 - last["utility"]
    near = "" if seventy is None else f"{seventy[PUBLISHED]:.1%} at ε = {seventy['epsilon']:.2g}"
    stronger = None if seventy is None else seventy[ALL]
    return {
        "scale": (f"Δf = {found.sensitivity:g}", abs(found.sensitivity - 0.5) < 1e-9),
        "differ": (f"{differ:.3f} at ε = {last['epsilon']:g}", differ < CLOSE),
        "nothing": (f"{first[PUBLISHED]:.4f} at ε = {first['epsilon']:g}", first[PUBLISHED] < CLOSE),
        "everything": (f"{last[PUBLISHED]:.3f} at ε = {last['epsilon']:g}", rising and last[PUBLISHED] > 1 - CLOSE),
        "ends": (
            f"utility {first['utility']:.2f} and {last['utility']:.2f}, risk {first[PUBLISHED]:.3f} and "
            f"{last[PUBLISHED]:.3f}",
            max(first["utility"], first[PUBLISHED]) < CLOSE and min(last["utility"], last[PUBLISHED]) > 1 - CLOSE,
        ),
        "convex": (f"up to {above:.3f} above its convex hull, at ε = {where:.2g}", convex),
        # Within a factor of one and a half it would count as the same.
        "seventy": (near or "70 % is not reached", None if seventy is None else seventy[PUBLISHED] <= 1.5 * found.said),
        "random": (
            f"{first[PUBLISHED]:.4f}; a random guess gets {found.chance:.2f}",
            abs(first[PUBLISHED] - found.chance) < CLOSE,
        ),
        "strongest": (
            "" if stronger is None or seventy is None else f"all outputs together give {stronger:.0%}, one {near}",
            None if stronger is None or seventy is None else stronger <= 1.1 * seventy[PUBLISHED],
        ),
    }


def paragraphs(found: Found) -> list[str]:
    """What a run shows; every number in it is from the run."""
    table = found.mean(found.figure)
    one = table.filter(pl.col("epsilon") == 1).row(0, named=True)
    first = table.row(0, named=True)
    gap = float((table["drawn"] - table[PUBLISHED]).abs().max())  # type: ignore[arg-type]
    said = [
        f"At ε = 1, {1 - one['utility']:.1%} of the top 20 are other films than without noise, and one output gives a "
        f"rating away in {one[PUBLISHED]:.1%}. The closed form of the risk and games that were drawn differ by at most "
        f"{gap:.3f}.",
        f"Keeping the guess on the scale lifts the risk at ε = {first['epsilon']:g} from {first[PUBLISHED]:.2%} to "
        f"{first[ONE_CLIPPED]:.1%}: that the risk vanishes needs an attacker who names ratings that nobody can give. A "
        f"random guess at one of the ratings of the scale is right in {found.chance:.0%}.",
    ]
    there = found.seventy
    if there is None:
        return [*said, "Nowhere between the smallest and the largest ε is 70 % of the utility left."]
    risks = [at[PUBLISHED] for curve in found.readings.values() if (at := at_utility(curve, 0.7)) is not None]
    spread = f"{min(risks):.1%} to {max(risks):.1%}" if risks else "none that reaches it"
    return [
        *said,
        f"70 % of the utility is left at ε = {there['epsilon']:.2g}, where the published attacker is right in "
        f"{there[PUBLISHED]:.1%}; the paper says {found.said:.0%}. Other readings of the algorithm give {spread}.",
        f"The noise of every output is drawn afresh. An attacker who averages all outputs of a person is right in "
        f"{one[ALL]:.0%} at ε = 1 ({one[ALL_CLIPPED]:.0%} when kept on the scale), and in {there[ALL]:.0%} "
        f"({there[ALL_CLIPPED]:.0%}) where 70 % of the utility is left: the risk of one output is not the risk.",
    ]
