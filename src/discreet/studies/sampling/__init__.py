"""Counts from samples after Fan and Jin, run again beside counts that do without sampling."""

from discreet.studies.sampling.experiment import run

__all__ = ["run"]
