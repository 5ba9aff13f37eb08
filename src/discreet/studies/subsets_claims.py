"""What the text says of Figure 4, beside what came out."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from discreet.studies.published import published_table
from discreet.studies.subsets_figures import ALL, ALL_HALF, CHAIN, GENTLE, RESTRICTED, TINY_FROM, TINY_STEP, Plan

__all__ = ["Found", "claims_table", "paragraphs"]

NEAR = 0.05
"""Laws that differ by no more are called close."""


@dataclass(frozen=True, eq=False)
class Found:
    """Everything that a run measures.

    Attributes
    ----------
    accuracy, convergence, after
        Tables of Figure 4(a), of Figure 4(b), and of the set that is read after n steps.
    half_way
        The ε at which half of the true top ten is drawn from all sets: by φ^(ε/2) and by φ^ε.
    impossible
        Mass of sets that could not have come out before the top entry fell.
    apart
        Total variation between the law that the chain tends to and that of equation 28.
    ties
        How many rows have equal ranks 10 and 11, and the share of the top ten without them: all sets, the largest ε.
    """

    accuracy: pl.DataFrame
    convergence: pl.DataFrame
    after: pl.DataFrame
    half_way: tuple[float, float]
    impossible: float
    apart: float
    ties: tuple[int, float]


def claims_table(found: Found) -> pl.DataFrame:
    """Each claim, what was measured, and whether it holds."""
    judged = _on_accuracy(found) | _on_convergence(found)
    return pl.DataFrame(
        [
            {"figure": claim["figure"], "claim": claim["claim"], "measured": said, "verdict": verdict}
            for claim in published_table("subsets").iter_rows(named=True)
            for said, verdict in [judged[claim["key"]]]
        ]
    )


def _on_accuracy(found: Found) -> dict[str, tuple[str, str]]:
    table = found.accuracy
    least, at_one = min(table[CHAIN]), table.filter(pl.col("ε") == 1).row(0, named=True)
    frozen = table.filter(pl.col("ε") == TINY_FROM).row(0, named=True)
    stands = frozen[CHAIN] - frozen[RESTRICTED] > 0.01
    whole = "holds" if frozen[CHAIN] > 0.995 else "does not hold"
    return {
        "floor": (
            f"chain at least {least:.1%}; over all sets {at_one[ALL_HALF]:.1%} at ε = 1",
            "does not hold" if least < 0.9 else "holds, by the choice of sets",
        ),
        "whole": (
            f"at ε = {TINY_FROM}: chain {frozen[CHAIN]:.1%}, what it tends to {frozen[RESTRICTED]:.1%}",
            f"{whole}, for a chain that stands still" if stands else whole,
        ),
    }


def _on_convergence(found: Found) -> dict[str, tuple[str, str]]:
    slow = found.convergence.filter(pl.col("ε") == 1)
    first, last = slow.row(0, named=True), slow.row(-1, named=True)
    begin = found.convergence.filter(pl.col("ε") == TINY_FROM).row(0, named=True)
    steps, far = f"{last['iterations']:,}", last["total variation"]
    falling = last["KL, top sets"] < first["KL, top sets"]
    return {
        "falls": (
            f"top sets {first['KL, top sets']:.2f} → {last['KL, top sets']:.2f}; total variation over all sets "
            f"{far:.2f} after {steps} iterations",
            ("holds" if far < NEAR else "holds for the top sets only") if falling else "does not hold",
        ),
        "begin": (
            f"{begin['KL, top sets']:.2f} over {begin['sets visited']:.1f} sets visited, total variation "
            f"{begin['total variation']:.2f} over all",
            ("holds" if begin["total variation"] < NEAR else "holds for the sets visited only")
            if begin["KL, top sets"] < NEAR
            else "does not hold",
        ),
        "limit": (
            f"total variation of φ^ε, where it tends to, and φ^(ε/2): {found.apart:.2f} at ε = {TINY_FROM}",
            "does not hold" if found.apart > 1e-3 else "holds",
        ),
        "close": (
            f"{last['sets visited']:,.0f} of {last['sets']:,.0f} sets visited in {steps} iterations",
            "holds" if far < NEAR else "does not hold at these lengths",
        ),
    }


def paragraphs(found: Found, plan: Plan) -> list[str]:
    """What a run shows; every number in it is from the run."""
    table = found.accuracy
    at_one, at_tiny = (table.filter(pl.col("ε") == value).row(0, named=True) for value in (1.0, float(TINY_FROM)))
    gentle = (
        "" if at_tiny[GENTLE] is None else f"; with Δt = 1/20, which equation 36 allows, it has {at_tiny[GENTLE]:.1%}"
    )
    visits = _over_time(found.convergence.filter(pl.col("ε") == 1))
    return [
        f"The floor of 90 % belongs to the list of sets. At ε = 1 the chain keeps {at_one[CHAIN]:.1%} of the true top "
        f"ten, because every set on its list has nine of them. The exponential mechanism over all sets, which it is "
        f"said to approximate, keeps {at_one[ALL_HALF]:.1%}. Half of the top ten takes ε = {found.half_way[0]:.0f} by "
        f"equation 28 (φ^(ε/2)) and ε = {found.half_way[1]:.0f} by the law that the chain tends to (φ^ε).",
        f"At ε = {TINY_FROM} the chain shows {at_tiny[CHAIN]:.1%}: with Δt = {TINY_STEP:g}, {plan.iterations:,} steps "
        f"are {plan.iterations * TINY_STEP:.2g} moves, and it stays where it begins. The law that it tends to has "
        f"{at_tiny[RESTRICTED]:.1%}{gentle}. Over all sets it is {at_tiny[ALL]:.1%} (φ^ε).{_on_ties(found)}",
        "The published divergence looks at ten sets. Over all sets of the list, the total variation between the visits "
        f"of a chain and what it tends to, at ε = 1, is {visits} iterations. What is released is the set that the "
        f"chain is in at the end; the total variation of its law, for one user and without any sampling, is "
        f"{_over_time(found.after)} steps.",
        f"When the top entry of a row falls to the lowest rating, sets with {found.impossible:.1%} of the mass come up "
        "that could not have come out before: whoever sees one of them knows. Drawn from all sets there are no such "
        "sets, and a draw is exact.",
    ]


def _on_ties(found: Found) -> str:
    rows, without = found.ties
    if rows == 0:
        return ""
    most, share = found.accuracy.select("ε", ALL).rows()[-1]
    return (
        f" In {rows} of the rows ranks 10 and 11 are equal, and no law can tell which ten are meant: "
        f"at ε = {most:,.0f} all sets have {share:.1%}, and {without:.1%} without these rows."
    )


def _over_time(table: pl.DataFrame) -> str:
    rows = table.select("total variation", "iterations").rows()
    return ", ".join(f"{far:.2f} after {steps:,}" for far, steps in rows)
