"""What is popular, with whom and when: item counts, counts by context, pairs, top-K lists."""

from discreet.counting.caps import choose_cap, chosen_cap
from discreet.counting.catalog import discover_items
from discreet.counting.context_popularity import ContextPopularity
from discreet.counting.counts import top
from discreet.counting.estimation import expected_counts
from discreet.counting.finishing import finish_counts
from discreet.counting.item_counts import HybridCounts, ItemCounts
from discreet.counting.pairs import ItemPairs, bought_together
from discreet.counting.profiles import Profile
from discreet.counting.published.dft import DFT
from discreet.counting.published.fan_jin import HPA, LPA, SRA
from discreet.counting.published.gs import GS
from discreet.counting.streaming import StreamingBound
from discreet.counting.top_items import TopItems
from discreet.counting.top_plan import plan_top

__all__ = [
    "DFT",
    "GS",
    "HPA",
    "LPA",
    "SRA",
    "ContextPopularity",
    "HybridCounts",
    "ItemCounts",
    "ItemPairs",
    "Profile",
    "StreamingBound",
    "TopItems",
    "bought_together",
    "choose_cap",
    "chosen_cap",
    "discover_items",
    "expected_counts",
    "finish_counts",
    "plan_top",
    "top",
]
