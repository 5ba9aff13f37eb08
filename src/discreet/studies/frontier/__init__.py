"""Study: how accurate proved private recommenders are, over epsilon and over users × μ."""

from discreet.studies.frontier.experiment import run

__all__ = ["run"]
