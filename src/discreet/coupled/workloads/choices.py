"""What one query asks of one attribute: a few runs of codes, each with a weight."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.workloads.workload import GRID
from discreet.errors import UsageError

__all__ = ["Choice", "Terms", "bin_ends", "check_choice"]


@dataclass(frozen=True)
class Choice:
    """Codes of one attribute that a query counts.

    Parameters
    ----------
    runs
        First code, code after the last, weight: rising, apart from each other, at least one. The weight is 1 for
        membership, or grid steps.
    weighted
        Whether the weights are grid steps.
    """

    runs: tuple[tuple[int, int, int], ...]
    weighted: bool = False

    @classmethod
    def codes(cls, inside: NDArray[np.bool_]) -> Choice:
        """The codes at which the mask is true."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
        return cls(tuple((int(a), int(b), 1) for a, b in zip(edges[::2], edges[1::2], strict=True)))

    @classmethod
    def steps(cls, weights: NDArray[np.int64]) -> Choice:
        """A weight in grid steps for each code."""
        if np.isin(weights, (0, GRID)).all():
            return cls.codes(weights == GRID)
        edges = np.concatenate([[0], np.flatnonzero(np.diff(weights)) + 1, [weights.size]])
        runs = zip(edges[:-1].tolist(), edges[1:].tolist(), weights[edges[:-1]].tolist(), strict=True)
        return cls(tuple(run for run in runs if run[2]), weighted=True)

    def is_all(self, size: int) -> bool:
        """Whether every code counts fully."""
        return self.runs == ((0, size, 1),) and not self.weighted

    def over(self, size: int) -> NDArray[np.int64]:
        """The weight of each code: 0 or 1, or grid steps."""
        weights = np.zeros(size, dtype=np.int64)
        for start, stop, weight in self.runs:
            weights[start:stop] = weight
        return weights

    def label(self, name: str, words: Sequence[str]) -> str:
        """The choice in words, given what each code is called."""
        if self.weighted:
            return f"{name} weighted"
        if len(self.runs) == 1:
            start, stop, _ = self.runs[0]
            return f"{name} = {words[start]}" if stop == start + 1 else f"{name} = {words[start]} … {words[stop - 1]}"
        listed = [word for start, stop, _ in self.runs for word in words[start:stop]]
        return f"{name} in {{{', '.join(listed[:6])}{', …' if len(listed) > 6 else ''}}}"


def bin_ends(label: str) -> tuple[int, int]:
    """First and last number of a bin, from what it is called."""
    first, _, last = label.partition("–")
    return int(first), int(last or first)


class Terms:
    """The choices of one attribute as lists of terms, for counts of the codes or for sums of the counts up to a code.

    Σ_j w_j·m_j over codes j is also Σ_j (w_j − w_{j+1})·C_j with C_j the sum up to j: two terms for a run however long.
    Whichever takes fewer terms over all choices is used.

    Attributes
    ----------
    summed : bool
        Whether terms are about sums up to a code.
    starts, codes, factors : int64 arrays
        List i is at places starts[i] … starts[i + 1] − 1.
    """

    def __init__(self, choices: Sequence[Choice]) -> None:
        runs = np.array([run for choice in choices for run in choice.runs], dtype=np.int64).reshape(-1, 3)
        owner = np.repeat(np.arange(len(choices)), [len(choice.runs) for choice in choices])
        lengths = runs[:, 1] - runs[:, 0]
        self.summed = int(lengths.sum()) > 2 * len(runs)
        if self.summed:
            codes, factors = np.column_stack([runs[:, 1] - 1, runs[:, 0] - 1]), runs[:, 2:] * np.array([[1, -1]])
            real = codes.ravel() >= 0  # what stands before the first code is 0
            self.codes, self.factors = codes.ravel()[real], factors.ravel()[real]
            owner = np.repeat(owner, 2)[real]
        else:
            before = np.cumsum(lengths) - lengths
            self.codes = np.arange(lengths.sum()) + np.repeat(runs[:, 0] - before, lengths)
            self.factors, owner = np.repeat(runs[:, 2], lengths), np.repeat(owner, lengths)
        self.starts = np.searchsorted(owner, np.arange(len(choices) + 1)).astype(np.int64)


def check_choice(choice: Choice, size: int, where: str) -> None:
    """Refuse runs that are none, overlap, or leave the codes of an attribute, and weights that are not from 0 to 1.

    Noise is scaled for weights from 0 to 1, so this is where what one row can change is bounded.
    """
    ends = [0, *(end for start, stop, _ in choice.runs for end in (start, stop)), size]
    rising = all(start < stop for start, stop, _ in choice.runs)
    if not choice.runs or not rising or any(a > b for a, b in itertools.pairwise(ends)):
        raise UsageError(
            f"{where}: the runs of codes must rise from 0 to {size} without overlap.",
            remedy="Choose at least one value.",
        )
    most = GRID if choice.weighted else 1
    if any(not 0 < weight <= most for _, _, weight in choice.runs):
        raise UsageError(
            f"{where}: a weight must be {f'from 1 to {GRID} grid steps' if choice.weighted else '1'}.",
            remedy="Give weights from 0 to 1.",
        )
