"""A forked process cannot use polars if its parent has: the threads that polars waits for are not in the fork."""

from __future__ import annotations

import os
import threading

import discreet
from discreet.errors import PrivacyError

__all__ = ["require_working_polars"]

_SECONDS = 10
"""How long polars may take to sort three numbers."""

_working_in = discreet.first_process  # the process in which polars is known to work


def require_working_polars() -> None:
    """Refuse to go on in a fork in which polars would wait forever.

    In a process that was not forked this costs nothing. In a fork polars is tried once, on three numbers, in a thread
    of its own. A parent that has only imported polars leaves it usable.
    """
    global _working_in
    if os.getpid() == _working_in:
        return
    trial = threading.Thread(target=_sort, daemon=True)
    trial.start()
    trial.join(_SECONDS)
    if trial.is_alive():
        raise PrivacyError(
            "this process was forked from one that had used polars already, and polars does not work in it; nothing "
            "was charged.",
            remedy='Start it with multiprocessing.get_context("spawn"), or fork before data are read.',
        )
    _working_in = os.getpid()


def _sort() -> None:
    import polars as pl

    # Both ways in which polars works: on its threads, and through the engine of lazy queries.
    pl.DataFrame({"number": [3, 1, 2]}).sort("number").lazy().select(pl.col("number") + 1).collect()
