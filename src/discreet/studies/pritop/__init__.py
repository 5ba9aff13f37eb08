"""Study: tagging releases, Zhu's thesis chapter 4."""

from discreet.studies.pritop.experiment import PriTopStudy

__all__ = ["PriTopStudy"]
