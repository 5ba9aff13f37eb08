"""Post-processing of noisy counts: histograms without negative counts, tables with given sums, synthetic rows.

Everything here works on what was released, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrays import AnyFloats, AnyIntegers, Floats, Integers
from discreet.data.domains import CategoricalDomain, Domain, as_domain
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy import entropy

if TYPE_CHECKING:
    from discreet.privacy.release import Release

__all__ = ["fit_to_sums", "iterative_proportional_fit", "onto_simplex", "synthetic_rows"]

MOST_SYNTHETIC = 10**8


def onto_simplex(values: AnyFloats | AnyIntegers, total: float) -> Floats:
    """The nearest counts that are not negative and add up to the total.

    Notes
    -----
    The set of such counts is convex and holds the true ones, so the nearest point of it is never further from them than
    the noisy counts were. It is max(v − c, 0) for one c, found by sorting (J. Duchi, S. Shalev-Shwartz, Y. Singer, T.
    Chandra: Efficient projections onto the ℓ1-ball. ICML 2008).

    Examples
    --------
    >>> onto_simplex(np.array([5, 3, -4]), 6)
    array([4., 2., 0.])
    """
    counts = np.asarray(values, dtype=np.float64)
    if not counts.size or total < 0 or not np.isfinite(counts).all():
        raise UsageError(f"{counts.size} finite counts cannot add up to {total}.")
    falling = np.sort(counts, axis=None)[::-1]
    cuts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    above = np.flatnonzero(falling > cuts)
    # With a total of 0 nothing needs to be above the cut.
    cut = cuts[above[-1]] if above.size else falling[0]
    return np.maximum(counts - cut, 0.0)


def iterative_proportional_fit(table: Floats, rows: Floats, columns: Floats, *, rounds: int = 50) -> Floats:
    """Iterative proportional fitting: a table scaled, rows and columns in turn, until its sums are the given ones.

    Cells that are 0 stay nearly 0. The given sums are above 0, with the same total.

    Examples
    --------
    >>> iterative_proportional_fit(np.ones((2, 2)), np.array([3.0, 1.0]), np.array([2.0, 2.0]))
    array([[1.5, 1.5],
           [0.5, 0.5]])
    """
    return fit_to_sums(table, [columns, rows], rounds=rounds)


def fit_to_sums(table: Floats, sums: Sequence[Floats], *, rounds: int = 50) -> Floats:
    """Iterative proportional fitting of a table of any number of axes: ``sums[a]`` is what its sum over axis a must be.

    A table of two axes meets them exactly: what the rounds leave is moved by the rounding of J. Altschuler, J. Weed, P.
    Rigollet (Near-linear time approximation algorithms for optimal transport. NeurIPS 2017). Where no table of more
    axes has all of these sums, the last ones in the order of the axes are met first.
    """
    total = float(sums[0].sum())
    # A table with a row of zeros could not be scaled at all.
    scaled = np.maximum(np.asarray(table, dtype=np.float64), 1e-9 * total / table.size)
    for _ in range(rounds):
        worst = 0.0
        for axis in reversed(range(scaled.ndim)):
            wanted, found = np.expand_dims(sums[axis], axis), scaled.sum(axis=axis, keepdims=True)
            worst = max(worst, float(np.abs(found - wanted).max()))
            scaled = scaled * (wanted / found)
        if worst <= 1e-9 * total:
            return scaled
    if scaled.ndim == 2:
        for axis in (0, 1):
            scaled *= np.minimum(np.expand_dims(sums[axis] / scaled.sum(axis=axis), axis), 1.0)
        missing = [np.maximum(wanted - scaled.sum(axis=axis), 0.0) for axis, wanted in enumerate(sums)]
        scaled += np.outer(missing[1], missing[0]) / max(float(missing[0].sum()), np.finfo(float).tiny)
    return scaled


def synthetic_rows(
    release: Release | NDArray[Any], domains: Mapping[str, Any], *, rows: int | None = None, name: str = "synthetic"
) -> Table:
    """Rows drawn from a release: each independently, with the chances that its histogram, or its tree, gives.

    Parameters
    ----------
    release
        A release of query answers with a histogram or a tree of marginals, or such a histogram.
    domains
        The public domains that it was made for.
    rows
        How many; as many as the release counts unless told.

    Privacy
    -------
    Post-processing of the release: its guarantee covers these rows, too.

    Examples
    --------
    >>> table = synthetic_rows(np.array([0.0, 12.0, 0.0]), {"answer": ["yes", "no", "unknown"]})
    >>> len(table), table.to_frame()["answer"].unique().to_list()
    (12, ['no'])
    """
    chosen = {attribute: as_domain(domain) for attribute, domain in domains.items()}
    if not isinstance(release, np.ndarray) and "tree_counts" in release.parts:
        from discreet.coupled.marginal_tables import codes_from_tree

        number = _rows(release.parameters["rows"] if rows is None else rows)
        sizes = {attribute: domain.size for attribute, domain in chosen.items()}
        tree, counts = release.table("tree"), release.array("tree_counts")
        drawn = codes_from_tree(tree, counts, sizes, number, entropy.public_uniforms)
        return _table(chosen, drawn.values(), name)
    counts = np.asarray(release if isinstance(release, np.ndarray) else release.array("histogram"), dtype=np.float64)
    flat, shape = counts.ravel(), tuple(domain.size for domain in chosen.values())
    if flat.size != np.prod(shape, dtype=object) or not np.isfinite(flat).all() or flat.min() < 0 or flat.sum() <= 0:
        raise UsageError(
            f"a histogram of {flat.size:,} cells does not fit the given domains.",
            remedy="Give the domains of the table, and counts that are not negative.",
        )
    number = _rows(round(float(flat.sum())) if rows is None else rows)
    running = np.cumsum(flat)
    cells = np.searchsorted(running, entropy.public_uniforms(number) * running[-1], side="right")
    return _table(chosen, np.unravel_index(np.minimum(cells, np.flatnonzero(flat)[-1]), shape), name)


def _rows(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST_SYNTHETIC:
        raise UsageError(f"{number!r} rows cannot be drawn.", remedy=f"Ask for 0 to {MOST_SYNTHETIC:,}.")
    return number


def _table(domains: Mapping[str, Domain], codes: Iterable[Integers], name: str) -> Table:
    """The table of rows with these codes, attribute by attribute."""
    columns = {one: _values(domain, code) for (one, domain), code in zip(domains.items(), codes, strict=True)}
    return Table(columns, domains=domains, name=name)


def _values(domain: Domain, codes: Integers) -> pl.Series:
    """A value of each code: of a bin the first number."""
    if isinstance(domain, CategoricalDomain):
        return pl.Series(list(domain.values)).gather(codes)
    return pl.Series(np.asarray(domain._firsts(), dtype=np.int64)[codes])
