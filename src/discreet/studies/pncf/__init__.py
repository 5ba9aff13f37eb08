"""Zhu's private neighbor collaborative filtering, run again."""

from discreet.studies.pncf.experiment import PNCFStudy

__all__ = ["PNCFStudy"]
