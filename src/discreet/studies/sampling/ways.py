"""The ways of counting that are compared: as run in the paper, and ours."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.counting.clipped_counts import ClippedCounts
from discreet.counting.counts import CountMethod
from discreet.counting.dft import DFT
from discreet.counting.gs import GS
from discreet.counting.head_tail import HeadTailCounts
from discreet.counting.hpa import HPA
from discreet.counting.hybrid import HybridCounts
from discreet.counting.item_counts import ItemCounts
from discreet.counting.lpa import LPA
from discreet.counting.sra import SRA
from discreet.counting.top_items import TopItems
from discreet.privacy.losses import rho_for
from discreet.studies.sampling.setting import Setting

__all__ = ["EXISTING", "SELECTION", "SHOWN", "Way", "half", "our_ways", "published_ways", "single_ways"]

After = Literal["", "nonnegative", "expected"]

EXISTING = ("LPA", "DFT", "GS, groups of 50", "GS, groups of 200")
"""The paper's competitors. It does not say how large the groups of GS are."""

SHOWN = "clipped, expected"
"""The one of ours that lists and distributions are shown for."""

SELECTION = "selection of the top"

HEAD, HEAD_CAP = 50, 20


@dataclass(frozen=True)
class Way:
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


def published_ways(setting: Setting, epsilon: Fraction) -> list[Way]:
    """As run in the paper, with caps from the records."""
    cap = setting.cap
    methods: dict[str, CountMethod] = {
        "SRA": SRA.of(epsilon=epsilon, cap=cap),
        "HPA": HPA.of(epsilon=epsilon, cap=cap, first="data"),
        "LPA": LPA.of(epsilon=epsilon, cap="data"),
        "DFT": DFT.of(epsilon=epsilon, cap="data"),
        "GS, groups of 50": GS.of(epsilon=epsilon, cap="data", width=50),
        "GS, groups of 200": GS.of(epsilon=epsilon, cap="data", width=200),
    }
    return [Way(name, "paper", "ε", method) for name, method in methods.items()]


def our_ways(setting: Setting, epsilon: Fraction) -> list[Way]:
    """Without sampling, with the paper's l as the cap, or three times that where more data are worth more noise.

    The multiples were settled by looking at MovieLens 1M: its figures may flatter them, those of other data do not.
    """
    cap, more, delta = setting.cap, 3 * setting.cap, setting.delta
    weighted = ItemCounts.of(epsilon=epsilon, cap=cap)
    clipped = ClippedCounts.of(epsilon=epsilon, delta=delta, norm_squared=more)
    head = min(HEAD, setting.data.n_items)
    ways = [
        Way("weighted", "ours", "ε", weighted),
        Way("weighted, expected", "ours", "ε", weighted, "expected"),
        Way("weighted, cap 3l, nonnegative", "ours", "ε", ItemCounts.of(epsilon=epsilon, cap=more), "nonnegative"),
        Way("hybrid, expected", "ours", "ε", HybridCounts.of(epsilon=epsilon, cap=cap), "expected"),
        Way("clipped", "ours", "ε, δ", clipped),
        Way(SHOWN, "ours", "ε, δ", clipped, "expected"),
        Way(
            "hybrid in L2, expected",
            "ours",
            "ε, δ",
            HybridCounts.of(epsilon=epsilon, cap=cap, delta=delta),
            "expected",
        ),
    ]
    if 0 < head < setting.data.n_items:
        split = HeadTailCounts.of(
            epsilon=epsilon, head=head, head_cap=HEAD_CAP, tail_cap=more, head_share="1/2", delta=delta
        )
        ways.append(Way("head and tail", "ours", "ε, δ", split))
    return [
        *ways,
        Way(SELECTION, "ours", "ε", TopItems.of(setting.top, epsilon=epsilon)),
        Way(f"{SELECTION}, zCDP", "ours", "ε, δ", TopItems.of(setting.top, epsilon=epsilon, delta=delta)),
    ]


def single_ways(setting: Setting, epsilon: Fraction) -> list[Way]:
    """For one release of item counts: the paper's, ours, and a list and counts that share the budget.

    Where a list takes care of the top, counts may be clipped less: more noise on each, less taken away.
    """
    part, delta = half(epsilon, setting.delta), setting.delta
    both = Way(
        "list and clipped, expected",
        "ours",
        "ε, δ",
        ClippedCounts.of(epsilon=part, delta=delta, norm_squared=6 * setting.cap),
        "expected",
        TopItems.of(setting.top, epsilon=part, delta=delta),
    )
    return [*published_ways(setting, epsilon), *our_ways(setting, epsilon), both]


def half(epsilon: Fraction, delta: Fraction) -> Fraction:
    """ε′ such that two releases of (ε′, δ), made as zCDP, spend at most (ε, δ) together: their ρ add up.

    Examples
    --------
    >>> 0.6 < float(half(Fraction(1), Fraction(1, 10**6))) < 0.8
    True
    """
    whole, low, high = rho_for(epsilon, delta), Fraction(0), epsilon
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * rho_for(middle, delta) <= whole else (low, middle)
    return low
