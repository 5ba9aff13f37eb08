"""Study: counts from samples, Fan and Jin (2015)."""

from discreet.studies.sampling.experiment import SamplingStudy

__all__ = ["SamplingStudy"]
