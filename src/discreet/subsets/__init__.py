"""Private top-k sets: the published birth-death chain, exact mechanisms, and lists that others may see."""

from discreet.subsets.chain import BirthDeathChain
from discreet.subsets.laws import inclusion_probabilities, relative_entropy, total_variation
from discreet.subsets.onlookers import ScreenLists, recommend_privately
from discreet.subsets.samplers import GumbelTopK, KSubset, PermuteAndFlipTopK, RowChange

__all__ = [
    "BirthDeathChain",
    "GumbelTopK",
    "KSubset",
    "PermuteAndFlipTopK",
    "RowChange",
    "ScreenLists",
    "inclusion_probabilities",
    "recommend_privately",
    "relative_entropy",
    "total_variation",
]
