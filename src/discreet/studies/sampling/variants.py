"""The methods of counting that are compared: as run in the paper, and ours."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.counting.counts import CountMethod
from discreet.counting.item_counts import HybridCounts, ItemCounts
from discreet.counting.published.dft import DFT
from discreet.counting.published.fan_jin import HPA, LPA, SRA
from discreet.counting.published.gs import GS
from discreet.counting.top_items import TopItems
from discreet.privacy.losses import mu_for, rho_for
from discreet.studies.sampling.setting import CountingRun

__all__ = ["SELECTION", "SHOWN", "CountVariant", "half", "our_variants", "published_variants", "single_variants"]

After = Literal["", "nonnegative", "expected"]

SHOWN = "clipped, expected"
"""The one of ours that lists and distributions are shown for."""

SELECTION = "selection of the top"


@dataclass(frozen=True)
class CountVariant:
    """A method with its parameters, and what is done to its counts after the release.

    Parameters
    ----------
    budget
        What it spends: ``"ε"`` or ``"ε, δ"``.
    second
        A second release that is made beside the first one, of which the list is taken.
    """

    name: str
    origin: Literal["paper", "ours"]
    budget: Literal["ε", "ε, δ"]
    method: CountMethod | TopItems
    after: After = ""
    second: TopItems | None = None


def published_variants(run: CountingRun, epsilon: Fraction) -> list[CountVariant]:
    """As run in the paper, with caps from the records."""
    cap = run.cap
    methods: dict[str, CountMethod] = {
        "SRA": SRA(epsilon=epsilon, cap=cap),
        "HPA": HPA(epsilon=epsilon, cap=cap, first="data"),
        "LPA": LPA(epsilon=epsilon, cap="data"),
        "DFT": DFT(epsilon=epsilon, cap="data"),
        "GS, groups of 50": GS(epsilon=epsilon, cap="data", width=50),
        "GS, groups of 200": GS(epsilon=epsilon, cap="data", width=200),
    }
    return [CountVariant(name, "paper", "ε", method) for name, method in methods.items()]


def our_variants(run: CountingRun, epsilon: Fraction) -> list[CountVariant]:
    """Without sampling, with the paper's l as the cap, or three times that where more data are worth more noise.

    The multiples were settled by looking at MovieLens 1M: its figures may flatter them, those of other data do not.
    """
    cap, more, delta = run.cap, 3 * run.cap, run.delta
    weighted = ItemCounts(epsilon=epsilon, cap=cap)
    clipped = ItemCounts(epsilon=epsilon, delta=delta, cap=more)
    return [
        CountVariant("weighted", "ours", "ε", weighted),
        CountVariant("weighted, expected", "ours", "ε", weighted, "expected"),
        CountVariant(
            "weighted, cap 3l, nonnegative", "ours", "ε", ItemCounts(epsilon=epsilon, cap=more), "nonnegative"
        ),
        CountVariant("hybrid, expected", "ours", "ε", HybridCounts(epsilon=epsilon, cap=cap), "expected"),
        CountVariant("clipped", "ours", "ε, δ", clipped),
        CountVariant(SHOWN, "ours", "ε, δ", clipped, "expected"),
        CountVariant("hybrid in L2, expected", "ours", "ε, δ", HybridCounts(epsilon, cap, delta=delta), "expected"),
        CountVariant(SELECTION, "ours", "ε", TopItems(k=run.top, epsilon=epsilon)),
        CountVariant(f"{SELECTION}, zCDP", "ours", "ε, δ", TopItems(k=run.top, epsilon=epsilon, delta=delta)),
    ]


def single_variants(run: CountingRun, epsilon: Fraction) -> list[CountVariant]:
    """For one release of item counts: the paper's, ours, and a list and counts that share the budget.

    Where a list takes care of the top, counts may be clipped less: more noise on each, less taken away.
    """
    part, delta = half(epsilon, run.delta), run.delta
    both = CountVariant(
        "list and clipped, expected",
        "ours",
        "ε, δ",
        ItemCounts(epsilon=part, delta=delta, cap=6 * run.cap),
        "expected",
        TopItems(k=run.top, epsilon=part, delta=delta),
    )
    return [*published_variants(run, epsilon), *our_variants(run, epsilon), both]


def half(epsilon: Fraction, delta: Fraction) -> Fraction:
    """ε′ such that a list and counts of (ε′, δ) spend at most (ε, δ) together: their ρ add up.

    Examples
    --------
    >>> 0.6 < float(half(Fraction(1), Fraction(1, 10**6))) < 0.8
    True
    """
    whole, low, high = rho_for(epsilon, delta), Fraction(0), epsilon
    for _ in range(20):
        middle = (low + high) / 2
        # Normal noise of μ is (μ²/2)-zCDP.
        both = rho_for(middle, delta) + mu_for(middle, delta) ** 2 / 2
        low, high = (middle, high) if both <= whole else (low, middle)
    return low
