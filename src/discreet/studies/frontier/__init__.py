"""Study: accuracy of proved private recommenders over epsilon."""

from discreet.studies.frontier.experiment import FrontierStudy

__all__ = ["FrontierStudy"]
