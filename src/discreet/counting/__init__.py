"""Item counts and top-K lists."""

from discreet.counting.catalog import discover_items
from discreet.counting.item_counts import ItemCounts, item_counts
from discreet.counting.top_items import TopItems, top, top_items

__all__ = ["ItemCounts", "TopItems", "discover_items", "item_counts", "top", "top_items"]
