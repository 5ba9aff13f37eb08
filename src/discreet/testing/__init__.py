"""Checks that every mechanism and model is put through; yours can be, too."""

from discreet.testing.laws import (
    additive_log_ratio,
    additive_renyi,
    fits_law,
    max_log_ratio,
    renyi_divergence,
    smallest_delta,
)
from discreet.testing.worlds import neighboring_worlds, tiny_histories

__all__ = [
    "additive_log_ratio",
    "additive_renyi",
    "fits_law",
    "max_log_ratio",
    "neighboring_worlds",
    "renyi_divergence",
    "smallest_delta",
    "tiny_histories",
]
