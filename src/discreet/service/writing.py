"""Many lists of recommendations as JSON, faster than from an object for each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import orjson

from discreet.common.arrays import Floats

__all__ = ["ListWriter"]


class ListWriter:
    r"""Writes the lists of a model.

    What an answer says of an item is the same each time: it is written once, and put together with scores and ranks.

    Parameters
    ----------
    ids
        Of the items, in the order of their codes.
    titles
        Of those that have one.

    Examples
    --------
    >>> writer = ListWriter(["tea", "milk"], {"tea": "Tea"})
    >>> text = writer.entries(np.array([[0], [1]]), np.array([[0.5], [2.0]]), {1: ["ale"]}).decode()
    >>> print(text.replace("},{", "},\n{"))
    [{"items":[{"item_id":"tea","score":0.5,"rank":1,"title":"Tea"}],"ignored":[]},
    {"items":[{"item_id":"milk","score":2.0,"rank":1}],"ignored":["ale"]}]
    """

    def __init__(self, ids: Sequence[Any], titles: Mapping[Any, str]) -> None:
        self.ids, self.titles = ids, titles

    @cached_property
    def _before(self) -> np.ndarray:
        """Of every item: what stands before its score."""
        return _column(b'{"item_id":%b,"score":' % orjson.dumps(item, default=str) for item in self.ids)

    @cached_property
    def _after(self) -> np.ndarray:
        """Of every item: what stands after its rank."""
        titles = (self.titles.get(item) for item in self.ids)
        return _column(b"}," if title is None else b',"title":%b},' % orjson.dumps(title) for title in titles)

    def entries(self, best: np.ndarray, scores: Floats, ignored: Mapping[int, Sequence[Any]]) -> bytes:
        """A list of answers.

        Parameters
        ----------
        best, scores
            Codes of items, best first, and their scores, which are finite: a row for each answer.
        ignored
            What was ignored, of the answers where something was.
        """
        many, length = best.shape
        if not many or not length:
            lists = [b""] * many
        else:
            flat = np.ascontiguousarray(scores, dtype=np.float64).ravel()
            parts: list[Any] = [None] * (4 * many * length)
            parts[0::4] = self._before[best].ravel().tolist()
            parts[1::4] = orjson.dumps(flat, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
            parts[2::4] = [b',"rank":%d' % rank for rank in range(1, length + 1)] * many
            parts[3::4] = self._after[best].ravel().tolist()
            width = 4 * length
            lists = [b"".join(parts[start : start + width])[:-1] for start in range(0, len(parts), width)]
        ends = {place: orjson.dumps(list(items), default=str) for place, items in ignored.items()}
        if not ends:
            return b"[%b]" % b",".join([b'{"items":[%b],"ignored":[]}' % one for one in lists])
        rows = [b'{"items":[%b],"ignored":%b}' % (one, ends.get(at, b"[]")) for at, one in enumerate(lists)]
        return b"[%b]" % b",".join(rows)


def _column(values: Any) -> np.ndarray:
    return np.array(list(values), dtype=object)
