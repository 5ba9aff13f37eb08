"""Study: partitioned probabilistic neighbor selection (PPNS) under the kNN attacks, Lu's thesis chapter 5."""

from discreet.studies.ppns.experiment import PPNSStudy

__all__ = ["PPNSStudy"]
