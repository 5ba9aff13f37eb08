"""Checks that every mechanism and model is put through; yours can be, too."""

from discreet.testing.coupled import CoupledRunError, coupled_run
from discreet.testing.laws import (
    additive_log_ratio,
    additive_renyi,
    fits_law,
    max_log_ratio,
    renyi_divergence,
    smallest_delta,
)
from discreet.testing.methods import check_method
from discreet.testing.neighboring import interaction_pairs, table_pairs, tag_pairs
from discreet.testing.parts import require_sums_add_up
from discreet.testing.tiny_datasets import neighboring_datasets, tiny_histories

__all__ = [
    "CoupledRunError",
    "additive_log_ratio",
    "additive_renyi",
    "check_method",
    "coupled_run",
    "fits_law",
    "interaction_pairs",
    "max_log_ratio",
    "neighboring_datasets",
    "renyi_divergence",
    "require_sums_add_up",
    "smallest_delta",
    "table_pairs",
    "tag_pairs",
    "tiny_histories",
]
