"""What is popular, with whom and when: item counts, counts by context, pairs, top-K lists."""

from discreet.counting.cap_choice import choose_cap, chosen_cap
from discreet.counting.caps import best_cap, best_cap_as_published, best_cap_over_items, best_weight
from discreet.counting.catalog import discover_items
from discreet.counting.clipped_counts import ClippedCounts
from discreet.counting.context_popularity import ContextPopularity
from discreet.counting.dft import DFT
from discreet.counting.estimation import expected_counts
from discreet.counting.finishing import Finish, finish_counts
from discreet.counting.gs import GS
from discreet.counting.head_tail import HeadTailCounts, least_variance_share
from discreet.counting.hpa import HPA
from discreet.counting.hybrid import HybridCounts
from discreet.counting.item_counts import ItemCounts, item_counts
from discreet.counting.lists import also, top
from discreet.counting.lpa import LPA
from discreet.counting.methods import METHODS, count_method, method_class, usual_method
from discreet.counting.pairs import ItemPairs
from discreet.counting.profiles import Profile
from discreet.counting.sra import SRA
from discreet.counting.streaming import StreamingBound
from discreet.counting.top_items import TopItems, top_items
from discreet.counting.top_plan import TopPlan, plan_top

__all__ = [
    "DFT",
    "GS",
    "HPA",
    "LPA",
    "METHODS",
    "SRA",
    "ClippedCounts",
    "ContextPopularity",
    "Finish",
    "HeadTailCounts",
    "HybridCounts",
    "ItemCounts",
    "ItemPairs",
    "Profile",
    "StreamingBound",
    "TopItems",
    "TopPlan",
    "also",
    "best_cap",
    "best_cap_as_published",
    "best_cap_over_items",
    "best_weight",
    "choose_cap",
    "chosen_cap",
    "count_method",
    "discover_items",
    "expected_counts",
    "finish_counts",
    "item_counts",
    "least_variance_share",
    "method_class",
    "plan_top",
    "top",
    "top_items",
    "usual_method",
]
