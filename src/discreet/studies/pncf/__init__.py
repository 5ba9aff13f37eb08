"""Zhu's private neighbor collaborative filtering, run again."""

from discreet.studies.pncf.experiment import run

__all__ = ["run"]
