"""Study: many queries on coupled rows, Zhu's thesis chapter 5 (Figures 5.1 to 5.5, Table 5.2)."""

from discreet.studies.cim.experiment import builtin, run

__all__ = ["builtin", "run"]
