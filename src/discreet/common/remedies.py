"""Remedies that several packages give."""

from __future__ import annotations

from discreet.errors import Remedy

__all__ = ["DECLARE_SCALE", "KEEP_LATEST", "NO_REPEATS", "PUBLIC_CATALOG"]

DECLARE_SCALE = Remedy(
    'Declare it: Interactions(…, scale="1:5").', cli="Declare it with --scale LOW:HIGH[:STEP], for example --scale 1:5."
)
"""Where ratings have no public scale."""

KEEP_LATEST = Remedy("Choose duplicates='last' or call without_repeats().", cli="Give --duplicates last.")
"""Where a model takes one record of each user and item."""

NO_REPEATS = Remedy(
    "Read the data with duplicates='error', or protect whole users (unit='user').",
    cli="Give --duplicates error, or protect whole users with --unit user.",
)
"""Where a guarantee for one record needs one record of each user and item."""

PUBLIC_CATALOG = Remedy(
    "Give the catalog, Interactions(…, items=…) or data.with_catalog(ids), or declare that it is public knowledge "
    'which items occur: data.with_catalog("observed").',
    cli="Give --catalog FILE, or declare with --items-public that it is public knowledge which items occur.",
)
"""Where the list of items would be read off the records."""
