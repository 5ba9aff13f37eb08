"""Private top-k sets: the published birth-death chain, the exact sampler, and lists that onlookers may see."""

from discreet.subsets.accounting import RowChange, accounting_table
from discreet.subsets.chain import BirthDeathChain
from discreet.subsets.laws import inclusion_probabilities, relative_entropy, total_variation
from discreet.subsets.onlookers import ScreenList, ScreenLists
from discreet.subsets.samplers import GumbelTopK, KSubset, PermuteAndFlipTopK
from discreet.subsets.showing import recommend_privately
from discreet.subsets.states import States, all_states, printed_swap, swap, window_states

__all__ = [
    "BirthDeathChain",
    "GumbelTopK",
    "KSubset",
    "PermuteAndFlipTopK",
    "RowChange",
    "ScreenList",
    "ScreenLists",
    "States",
    "accounting_table",
    "all_states",
    "inclusion_probabilities",
    "printed_swap",
    "recommend_privately",
    "relative_entropy",
    "swap",
    "total_variation",
    "window_states",
]
