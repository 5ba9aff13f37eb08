"""Rating scales of datasets that travel in formats which do not declare one.

A scale is a public fact about a site. It is known by the name of the dataset, never taken from the ratings.
"""

from __future__ import annotations

__all__ = ["scale_of"]

_SCALES = {
    "ml-100k": "1:5",
    "ml100k": "1:5",
    "ml-1m": "1:5",
    "ml1m": "1:5",
    "ml-10m": "0.5:5:0.5",
    "ml-20m": "0.5:5:0.5",
    "ml-25m": "0.5:5:0.5",
    "ml-32m": "0.5:5:0.5",
    "netflix": "1:5",
    "ciao": "1:5",
    "ciaodvd": "1:5",
    "epinions": "1:5",
    "douban": "1:5",
    "book-crossing": "0:10",
    "jester": "-10:10:none",
}


def scale_of(name: str) -> str | None:
    """The scale of a dataset of this name, or None when it is not known.

    Examples
    --------
    >>> scale_of("ML-1M"), scale_of("my-shop")
    ('1:5', None)
    """
    return _SCALES.get(name.casefold())
