"""Study: many queries on coupled rows, Zhu's thesis chapter 5."""

from discreet.studies.cim.experiment import CIMStudy

__all__ = ["CIMStudy"]
