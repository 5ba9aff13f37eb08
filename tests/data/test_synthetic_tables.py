"""Tables and traces of the shapes of Zhu's experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from discreet.data import Table, synthetic
from discreet.errors import UsageError

DATASETS: dict[str, Callable[..., Table]] = {
    "census": partial(synthetic.census, rows=400),
    "disabilities": partial(synthetic.disabilities, rows=400, activities=6),
    "connections": partial(synthetic.connections, rows=400),
    "search_logs": partial(synthetic.search_logs, bins=256, rows=400),
    "net_trace": partial(synthetic.net_trace, bins=256, rows=400),
    "friendships": partial(synthetic.friendships, bins=256, rows=400),
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_seed_makes_a_dataset(name: str) -> None:
    make = DATASETS[name]
    assert len(make(seed=1)) == 400
    assert make(seed=1).fingerprint == make(seed=1).fingerprint
    assert make(seed=1).fingerprint != make(seed=2).fingerprint


@pytest.mark.parametrize("name", DATASETS)
def test_what_cannot_be(name: str) -> None:
    for wrong in (0, -3, 2.5, True):
        with pytest.raises(UsageError, match="rows"):
            DATASETS[name](rows=wrong, seed=1)
    with pytest.raises(UsageError, match="seed"):
        DATASETS[name](seed=-1)


def test_sizes_of_the_thesis() -> None:
    assert len(synthetic.disabilities(seed=1)) == 21_574
    trace = synthetic.net_trace(seed=1)
    assert trace.shape == (65_536,)
    assert trace.histogram().max() == 1_423


def test_how_even_they_are() -> None:
    """Friends are the flattest; hosts and disabilities are the most crowded."""
    share = {}
    for name in ("friendships", "search_logs", "net_trace"):
        counts = np.sort(getattr(synthetic, name)(bins=1024, rows=8_000, seed=3).histogram())[::-1]
        share[name] = counts[:50].sum() / counts.sum()
    assert share["friendships"] < 0.3 < share["search_logs"] < share["net_trace"]
    help_needed = synthetic.disabilities(seed=1).histogram()
    assert help_needed.max() > 0.1 * help_needed.sum()
