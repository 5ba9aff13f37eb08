"""Histories that remember whose they are, so that nobody is taken for a neighbor of oneself."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from discreet.common.arrays import Integers

__all__ = ["Histories", "person"]


class Histories(csr_array):
    """Rows over the items of a model, with the code of the user to whom each row belongs.

    Attributes
    ----------
    who : int64 array or None
        Codes of the users; −1 for somebody who is not in the data. None where nothing is known: all are strangers.

    Examples
    --------
    >>> rows = Histories(np.eye(3))
    >>> rows.who = np.array([7, 8, 9])
    >>> rows[1:3, :].who
    array([8, 9])
    """

    who: Integers | None = None

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if isinstance(part, Histories) and self.who is not None:
            part.who = np.atleast_1d(self.who[key[0] if isinstance(key, tuple) else key])
        return part


def person(rows: csr_array, who: Integers, row: int) -> int | bytes:
    """What to remember somebody by: the code of a user, or a digest of a stranger's history."""
    if who[row] >= 0:
        return int(who[row])
    part = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
    indices, values = rows.indices[part].astype(np.int64), rows.data[part].astype(np.float64)
    return blake2b(indices.tobytes() + values.tobytes(), digest_size=16).digest()
