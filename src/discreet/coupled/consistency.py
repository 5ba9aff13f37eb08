"""Post-processing of noisy counts: histograms without negative counts, tables with given sums, synthetic rows.

Everything here works on what was released, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.domains import CategoricalDomain, Domain, as_domain
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy import entropy

if TYPE_CHECKING:
    from discreet.privacy.release import Release

__all__ = ["iterative_proportional_fit", "onto_simplex", "synthetic_rows"]


Floats = NDArray[np.float64]

MOST_SYNTHETIC = 10**8


def onto_simplex(values: NDArray[np.floating] | NDArray[np.integer], total: float) -> Floats:
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
    # A table with a row of zeros could not be scaled at all.
    scaled = np.maximum(np.asarray(table, dtype=np.float64), 1e-9 * float(rows.sum()) / table.size)
    for _ in range(rounds):
        scaled = scaled * (rows / scaled.sum(axis=1))[:, None]
        sums = scaled.sum(axis=0)
        scaled = scaled * (columns / sums)
        if np.abs(sums - columns).max() <= 1e-9 * float(rows.sum()):
            break
    return scaled


def synthetic_rows(
    release: Release | NDArray[Any], domains: Mapping[str, Any], *, rows: int | None = None, name: str = "synthetic"
) -> Table:
    """Rows drawn from a released histogram: each independently, with the chances that its counts give.

    Parameters
    ----------
    release
        A release of query answers with a histogram, or such a histogram.
    domains
        The public domains that it was made for.
    rows
        How many; as many as the histogram counts unless told.

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
    counts = np.asarray(release if isinstance(release, np.ndarray) else release.array("histogram"), dtype=np.float64)
    flat, shape = counts.ravel(), tuple(domain.size for domain in chosen.values())
    if flat.size != np.prod(shape, dtype=object) or not np.isfinite(flat).all() or flat.min() < 0 or flat.sum() <= 0:
        raise UsageError(
            f"a histogram of {flat.size:,} cells does not fit the given domains.",
            remedy="Give the domains of the table, and counts that are not negative.",
        )
    number = round(float(flat.sum())) if rows is None else rows
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST_SYNTHETIC:
        raise UsageError(f"{number!r} rows cannot be drawn.", remedy=f"Ask for 0 to {MOST_SYNTHETIC:,}.")
    running = np.cumsum(flat)
    cells = np.searchsorted(running, entropy.public_uniforms(number) * running[-1], side="right")
    codes = np.unravel_index(np.minimum(cells, np.flatnonzero(flat)[-1]), shape)
    columns = {name: _values(domain, code) for (name, domain), code in zip(chosen.items(), codes, strict=True)}
    return Table(columns, domains=chosen, name=name)


def _values(domain: Domain, codes: NDArray[np.int64]) -> pl.Series:
    """A value of each code: of a bin the first number."""
    if isinstance(domain, CategoricalDomain):
        return pl.Series(list(domain.values)).gather(codes)
    return pl.Series(np.asarray(domain._firsts(), dtype=np.int64)[codes])
