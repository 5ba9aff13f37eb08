"""Histograms of one dimension like those of Hay et al. in Zhu's experiments: searches, hosts, friends.

A row is one search, one connection or one friendship; the attribute says when, to which host, or whose.

References
----------
M. Hay, V. Rastogi, G. Miklau, D. Suciu: Boosting the accuracy of differentially private histograms through
consistency. VLDB 2010.
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Section 5.6.1).
"""

from __future__ import annotations

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.data.splits import seeded
from discreet.data.synthetic.drawing import check_size, shared_out
from discreet.data.tables import Table

__all__ = ["friendships", "net_trace", "search_logs"]

MOST_BINS = 2**24


def search_logs(*, bins: int = 32_768, rows: int = 300_000, seed: int) -> Table:
    """Searches for one name in equal spans of time: daily waves, a slow rise, and peaks such as an election.

    Examples
    --------
    >>> search_logs(bins=256, rows=2_000, seed=1)
    Table('search-logs': 2,000 rows, 1 attributes, 256 cells)
    """
    number, n_rows = check_size(bins, "bins", least=1, most=MOST_BINS), check_size(rows, "rows", least=1)
    generator = seeded(seed, "search-logs")
    time = np.arange(number) / number
    rise = 0.02 + 0.3 / (1 + np.exp(-(time - 0.7) * 25))
    peaks = sum(
        height * np.exp(-np.abs(time - when) / width)
        for when, height, width in ((0.1, 0.2, 0.004), (0.55, 0.4, 0.006), (0.86, 6.0, 0.01), (0.9, 2.0, 0.015))
    )
    # 32,768 spans of 90 minutes: sixteen a day.
    day = 1 + 0.5 * np.sin(2 * np.pi * time * number / 16)
    return _table("search-logs", "time", _placed(n_rows, (rise + peaks) * day, generator))


def net_trace(*, bins: int = 65_536, rows: int = 26_000, largest: int = 1_423, seed: int) -> Table:
    """Connections to the hosts of a network: most hosts have none, a few have hundreds.

    Parameters
    ----------
    largest
        The most connections of one host.

    Examples
    --------
    >>> net_trace(bins=512, rows=800, largest=100, seed=1).histogram().max()
    np.int64(100)
    """
    number, most = check_size(bins, "bins", least=1, most=MOST_BINS), check_size(largest, "largest", least=1)
    n_rows = check_size(rows, "rows", least=1, most=number * most)
    generator = seeded(seed, "net-trace")
    weights = generator.pareto(0.9, number) * (generator.random(number) < 0.05) + 1e-12
    return _table("net-trace", "host", shared_out(n_rows, weights, least=0, most=most))


def friendships(*, bins: int = 32_768, rows: int = 900_000, largest: int = 1_678, seed: int) -> Table:
    """Friends of students: everybody has some, few have very many; the flattest of the six histograms.

    Parameters
    ----------
    largest
        The most friends of one student.

    Examples
    --------
    >>> friendships(bins=256, rows=5_000, seed=1)
    Table('friendships': 5,000 rows, 1 attributes, 256 cells)
    """
    number, most = check_size(bins, "bins", least=1, most=MOST_BINS), check_size(largest, "largest", least=1)
    n_rows = check_size(rows, "rows", least=1, most=number * most)
    generator = seeded(seed, "friendships")
    return _table(
        "friendships", "student", shared_out(n_rows, generator.lognormal(0.0, 0.7, number), least=0, most=most)
    )


def _placed(rows: int, weights: Floats, generator: np.random.Generator) -> Integers:
    return generator.multinomial(rows, weights / weights.sum())


def _table(name: str, attribute: str, counts: Integers) -> Table:
    values = np.repeat(np.arange(counts.size), counts)
    return Table({attribute: values}, domains={attribute: range(counts.size)}, name=name)
