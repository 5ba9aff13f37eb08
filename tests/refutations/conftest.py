"""Small datasets of co-ratings, from which the published strategies choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from discreet.neighbors.selection import Candidates
from discreet.neighbors.sensitivity import lemma_sensitivity, pair_cosine

Pairs = Sequence[tuple[float, float]]
Dataset = Callable[..., Candidates]


@pytest.fixture
def dataset() -> Dataset:
    """Candidates of one target, each given by its co-ratings: (rating of the target, rating of the candidate)."""

    def build(*candidates: Pairs, sensitivity: Callable[..., float] = lemma_sensitivity) -> Candidates:
        pairs = [([first for first, _ in pairs], [second for _, second in pairs]) for pairs in candidates]
        return Candidates(
            np.array([pair_cosine(*pair) for pair in pairs]), np.array([sensitivity(*pair) for pair in pairs])
        )

    return build
