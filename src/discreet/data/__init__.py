"""Records, their readers, splits and synthetic worlds."""

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale

__all__ = ["IdMap", "Interactions", "RatingScale"]
