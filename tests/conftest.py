"""Fixtures that several rooms share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings

from discreet.privacy import entropy

# Machines are shared: a slow moment is not a failure.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


@pytest.fixture
def fixed_bits(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Replace the operating system's entropy by a reproducible stream: statistical tests that never flicker."""

    def fix(seed: int) -> None:
        stream = np.random.default_rng(seed)
        monkeypatch.setattr(entropy, "random_bytes", lambda n: np.frombuffer(stream.bytes(n), dtype=np.uint8))

    fix(20240607)
    return fix
