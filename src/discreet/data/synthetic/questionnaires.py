"""Tables like the three of Zhu's experiments with attributes: a census, disabilities in old age, network connections.

Each is a mixture: a row belongs to one of a few kinds, and its attributes are drawn independently given the kind.
Numbers of rows are those of the thesis; there are as many attributes as a histogram of all cells allows.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014 (Section 5.6.1).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.data.splits import seeded
from discreet.data.synthetic.drawing import WeightedRows, check_size, zipf_weights
from discreet.data.tables import Table

__all__ = ["census", "connections", "disabilities"]

CENSUS = {"age": 6, "workclass": 8, "education": 4, "marital-status": 7, "race": 5, "sex": 2, "income": 2}
CONNECTIONS = {"protocol": 3, "service": 12, "flag": 6, "logged-in": 2, "bytes": 8, "count": 6, "label": 4}


def census(*, rows: int = 30_162, seed: int) -> Table:
    """People in a census, similar to Adult: a third in a few dozen cells, the others spread out.

    Examples
    --------
    >>> census(rows=500, seed=1)
    Table('census': 500 rows, 7 attributes, 26,880 cells)
    """
    return _mixture("census", CENSUS, rows=rows, kinds=12, evenness=0.4, seed=seed)


def disabilities(*, rows: int = 21_574, activities: int = 16, seed: int) -> Table:
    """Who needs help with which activities, similar to NLTCS: most with none, some with nearly all.

    Parameters
    ----------
    activities
        Number of yes-or-no questions.

    Examples
    --------
    >>> disabilities(rows=500, activities=10, seed=1)
    Table('disabilities': 500 rows, 10 attributes, 1,024 cells)
    """
    number = check_size(activities, "activities", least=1, most=24)
    n_rows = check_size(rows, "rows", least=1)
    generator = seeded(seed, "disabilities")
    # From hardly any help to help with nearly everything; activities differ in how hard they are.
    shares, frailty = np.array([0.55, 0.2, 0.12, 0.08, 0.05]), np.array([-4.5, -2.5, -1.0, 0.5, 2.0])
    hardness = generator.normal(0.0, 1.0, number)
    kind = generator.choice(shares.size, n_rows, p=shares)
    chance = 1 / (1 + np.exp(-(frailty[kind][:, None] + hardness[None, :])))
    answers = generator.random((n_rows, number)) < chance
    columns = {f"activity-{place + 1}": answers[:, place].astype(np.int64) for place in range(number)}
    return Table(columns, domains=dict.fromkeys(columns, range(2)), name="disabilities")


def connections(*, rows: int = 40_124, seed: int) -> Table:
    """Connections in a network, similar to the KDD Cup 1999 data: most rows are alike.

    Examples
    --------
    >>> connections(rows=500, seed=1)
    Table('connections': 500 rows, 7 attributes, 82,944 cells)
    """
    return _mixture("connections", CONNECTIONS, rows=rows, kinds=8, evenness=0.08, seed=seed)


def _mixture(name: str, sizes: Mapping[str, int], *, rows: int, kinds: int, evenness: float, seed: int) -> Table:
    """Rows of a few kinds; the less even the distributions of a kind, the more rows are alike."""
    n_rows = check_size(rows, "rows", least=1)
    generator = seeded(seed, name)
    kind = generator.choice(kinds, n_rows, p=zipf_weights(kinds))
    columns = {
        attribute: WeightedRows(generator.dirichlet(np.full(size, evenness), kinds) + 1e-3).draw(kind, generator)
        for attribute, size in sizes.items()
    }
    return Table(columns, domains={attribute: range(size) for attribute, size in sizes.items()}, name=name)
