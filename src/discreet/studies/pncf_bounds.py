"""What Lemmas 1 and 2 and Theorems 3.4.1 and 3.4.2 of Zhu's thesis promise, beside what is measured."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.models.published_model import entity_means
from discreet.neighbors.pair_table import PairTable
from discreet.neighbors.prediction import Pools
from discreet.neighbors.profiles import Axis
from discreet.neighbors.selection import PNCF, CandidateLists
from discreet.neighbors.sensitivity import exact_sensitivity, lemma_sensitivity, published_smooth_bound
from discreet.neighbors.similarity import Similarity
from discreet.studies.pncf_selection import Question, codes_of, pools_of, spaced

__all__ = ["BOUNDS", "bounds", "of_theorems"]

BOUNDS = {
    "statement": pl.String, "neighbors": pl.String, "among": pl.String, "cases": pl.Int64,
    "measured": pl.Float64, "bound": pl.Float64, "within": pl.Float64, "promised": pl.Float64,
    "at least": pl.Float64,
}  # fmt: skip
"""Means of what is measured and of its bound; the share of the cases within the bound, the promised share, and what
counts as that much: two standard errors less."""

BETAS = (0.1, 1.0)
"""β of Lemma 2, to which the thesis gives no value."""

RHO = 0.05
"""ρ of the theorems, "a small constant less than 1"."""

From = Literal["rated", "from I"]


def bounds(asked: Question, *, axis: Axis, similarity: str, k: int, epsilon: str, cases: int) -> list[dict[str, Any]]:
    """One row for each statement.

    Parameters
    ----------
    asked
        One split.
    axis, similarity, k, epsilon
        Of the choice of neighbors.
    cases
        How many pairs, and how many held-out ratings, are looked at; evenly spaced among all.

    Notes
    -----
    Lemmas 1 and 2 bound the change of a similarity when one co-rater leaves, which is measured by leaving each one out.
    Theorem 3.4.1: with probability 1 − ρ all chosen neighbors are as similar as s_k − w. Theorem 3.4.2: with
    probability 1 − ρ everybody more similar than s_k + w is chosen. w is that of the theorem, with the number of
    candidates for |v|. Targets with at most k candidates are left out: there is nothing to choose.
    """
    table = PairTable(asked.train, axis=axis, similarity=Similarity(similarity), form="lemma")  # type: ignore[arg-type]
    rows = _of_lemmas(asked, table, cases)
    for candidates in ("rated", "from I"):
        lists = _lists(asked, table, candidates, k=k, cases=cases)
        rows += of_theorems(lists, PNCF(k, epsilon=epsilon, rho=RHO), candidates)
    return rows


def _row(statement: str, among: str, measured: Floats, bound: Floats, within: Any, promised: float) -> dict[str, Any]:
    return {
        "statement": statement,
        "among": among,
        "cases": measured.size,
        "measured": float(measured.mean()) if measured.size else None,
        "bound": float(bound.mean()) if measured.size else None,
        "within": float(np.mean(within)) if measured.size else None,
        "promised": promised,
        "at least": promised - 2 * math.sqrt(promised * (1 - promised) / max(1, measured.size)),
    }


# Lemmas 1 and 2


def _of_lemmas(asked: Question, table: PairTable, cases: int) -> list[dict[str, Any]]:
    pairs = [_co_ratings(asked, table, *pair) for pair in _pairs(asked, table, cases)]
    measured = np.array([exact_sensitivity(*pair) for pair in pairs])
    derived = np.array([lemma_sensitivity(*pair) for pair in pairs])
    stated = {
        "Lemma 1": np.array([lemma_sensitivity(*pair, form="printed") for pair in pairs]),
        "Lemma 1 by (3.3.5)": derived,
        **{f"Lemma 2, β = {beta:g}": published_smooth_bound(derived, beta=beta) for beta in BETAS},
    }
    return [
        _row(statement, "pairs", measured, bound, measured <= bound * (1 + 1e-9), 1.0)
        for statement, bound in stated.items()
    ]


def _pairs(asked: Question, table: PairTable, cases: int) -> list[tuple[int, int]]:
    """Targets and candidates with a rating to offer."""
    user, item = codes_of(asked)
    pools = pools_of(asked.train, user, item, table)
    target = np.repeat(item if table.axis == "item" else user, np.diff(pools.starts))
    places = spaced(pools.other.size, cases)
    found = zip(target[places].tolist(), pools.other[places].tolist(), strict=True)
    return [(one, other) for one, other in found if one != other]


def _co_ratings(asked: Question, table: PairTable, one: int, other: int) -> tuple[Floats, Floats]:
    """What the co-raters gave to both, for Pearson after taking the means away."""
    matrix = asked.train.csc if table.axis == "item" else asked.train.csr
    columns = [slice(*matrix.indptr[code : code + 2]) for code in (one, other)]
    raters = [matrix.indices[part] for part in columns]
    _, first, second = np.intersect1d(raters[0], raters[1], return_indices=True)
    values = [matrix.data[part].astype(np.float64) for part in columns]
    if table.similarity.kind == "pearson":
        values = [value - entity_means(np.zeros(value.size, dtype=np.int64), value, 1)[0] for value in values]
    return values[0][first], values[1][second]


# Theorems 3.4.1 and 3.4.2


def _lists(asked: Question, table: PairTable, candidates: From, *, k: int, cases: int) -> CandidateLists:
    """The candidates of some held-out ratings, of which there are more than k."""
    user, item = (codes[spaced(codes.size, cases)] for codes in codes_of(asked))
    if candidates == "rated":
        pools = pools_of(asked.train, user, item, table)
    else:
        target = item if table.axis == "item" else user
        other, row = np.tile(np.arange(table.n), target.size), np.repeat(target, table.n)
        alike, sensitivity = table.at(row, other)
        starts = np.arange(target.size + 1, dtype=np.int64) * table.n
        pools = Pools(starts, other, alike, sensitivity, np.ones(other.size)).only((alike != 0) & (other != row))
    sizes = np.diff(pools.starts)
    kept = pools.only(np.repeat(sizes > k, sizes))
    return CandidateLists(kept.similarity, np.concatenate([[0], np.cumsum(sizes[sizes > k])]), kept.sensitivity)


def of_theorems(lists: CandidateLists, strategy: PNCF, candidates: str) -> list[dict[str, Any]]:
    """Both theorems in one draw from each list."""
    chosen = strategy.choose_many(lists)
    low, missed, floor = (np.zeros(len(lists)) for _ in range(3))
    for place in range(len(lists)):
        one, taken = lists[place], chosen[place]
        kth = float(np.sort(one.similarity)[-strategy.k])
        floor[place] = strategy.threshold(one)  # s_k − w
        low[place] = one.similarity[taken].min()
        above = one.similarity > 2 * kth - floor[place]  # s_k + w
        missed[place] = above.sum() - above[taken].sum()
    promised = 1 - strategy.rho
    return [
        _row(f"Theorem 3.4.1, ρ = {strategy.rho:g}", candidates, low, floor, low >= floor, promised),
        _row(f"Theorem 3.4.2, ρ = {strategy.rho:g}", candidates, missed, 0 * missed, missed == 0, promised),
    ]
