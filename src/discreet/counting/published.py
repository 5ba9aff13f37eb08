"""What the published ways of counting share: numbers that are looked up in the records, which nobody should."""

from __future__ import annotations

from typing import Literal

from discreet.counting.cells import Cells
from discreet.privacy.bounding import check_cap

__all__ = ["Cap", "check_cap_or_data", "fewest_records", "most_records"]

Cap = int | Literal["data"]
"""A public number of records, or "data": looked up in the records, as the paper does."""


def check_cap_or_data(cap: Cap) -> None:
    """Refuse what is neither."""
    if cap != "data":
        check_cap(cap)


def most_records(cells: Cells) -> int:
    """M = max|T_u|: a fact about one person. At least 1, so that there is noise at all."""
    return max(1, int(cells.records_per_user.max(initial=1)))


def fewest_records(cells: Cells) -> int:
    """d = min|T_u| over users who have records: a fact about one person."""
    counts = cells.records_per_user
    return int(counts[counts > 0].min()) if counts.any() else 1
