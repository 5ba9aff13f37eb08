"""Input data: their three types, readers, splits and synthetic data."""

from discreet.data.domains import CategoricalDomain, IntegerDomain
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.readers import read
from discreet.data.scales import RatingScale
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments, TagRule

__all__ = [
    "CategoricalDomain",
    "IdMap",
    "IntegerDomain",
    "Interactions",
    "RatingScale",
    "Table",
    "TagAssignments",
    "TagRule",
    "read",
]
