"""What is kept in memory for a while, within bounds."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["MOMENT", "Bounded", "Recent"]

MOMENT = 2.0
"""So many seconds a row of the database is used without a look at it: what is changed or ended is noticed within."""

MOST_RECENT = 10_000

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values that are looked up again after a moment.

    Attributes
    ----------
    cleared : int
        How often everything was forgotten. What was looked up before and arrives after is not kept.
    """

    def __init__(self, seconds: float = MOMENT) -> None:
        self.seconds, self.cleared = seconds, 0
        self._known: dict[Hashable, tuple[float, Value]] = {}
        self._lock = threading.Lock()

    def get(self, name: Hashable) -> Value | None:
        """What was put in within the last moment."""
        known = self._known.get(name)
        return known[1] if known is not None and time.monotonic() < known[0] else None

    def put(self, name: Hashable, value: Value, *, since: int, seconds: float = MOMENT) -> Value:
        """Keep a value for so long, unless everything was forgotten ``since`` it was looked up."""
        with self._lock:
            if len(self._known) >= MOST_RECENT:
                self._known.clear()
            if since == self.cleared:
                self._known[name] = (time.monotonic() + min(seconds, self.seconds), value)
        return value

    def of(self, name: Hashable, look_up: Callable[[], Value]) -> Value:
        """What is known, or what the look-up finds."""
        known, since = self.get(name), self.cleared
        return self.put(name, look_up(), since=since) if known is None else known

    def clear(self) -> None:
        with self._lock:
            self.cleared += 1
            self._known.clear()


class Bounded(Generic[Value]):
    """Values of a total weight; those that were not used for longest go first.

    Parameters
    ----------
    most
        The largest total weight. A value that is heavier by itself is not kept.
    """

    def __init__(self, most: int) -> None:
        self.most, self.weight = most, 0
        self._known: OrderedDict[Hashable, tuple[int, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, name: Hashable) -> Value | None:
        with self._lock:
            known = self._known.get(name)
            if known is None:
                return None
            self._known.move_to_end(name)
            return known[1]

    def put(self, name: Hashable, value: Value, weight: int = 1) -> Value:
        with self._lock:
            self._drop(name)
            self._known[name] = (weight, value)
            self.weight += weight
            while self.weight > self.most:
                self._drop(next(iter(self._known)))
        return value

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self.weight = 0

    def _drop(self, name: Hashable) -> None:
        weight, _ = self._known.pop(name, (0, None))
        self.weight -= weight
