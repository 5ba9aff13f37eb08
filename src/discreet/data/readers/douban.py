"""Douban: ratings of films, books and music.

Two layouts: uir.index (user, item and rating on a line, as published with the social regularization paper) and
the review files moviereviews_cleaned.txt, bookreviews_cleaned.txt, musicreviews_cleaned.txt (tabs, a quoted header).

References
----------
H. Ma, D. Zhou, C. Liu, M. R. Lyu and I. King, "Recommender Systems with Social Regularization", WSDM 2011.
F. Zhu, C. Chen, Y. Wang, G. Liu and X. Zheng, "DTCDR", CIKM 2019.
"""

from __future__ import annotations

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.formats import Format, Place
from discreet.data.readers.layout import Column, Layout

__all__ = ["FORMATS"]

_REVIEWS = ("moviereviews_cleaned.txt", "bookreviews_cleaned.txt", "musicreviews_cleaned.txt")


def load(place: Place, *, encoding: str = "utf-8") -> InteractionsDraft:
    """Ratings from 1 to 5; of several by one user of one item, the last."""
    path = place.need("uir.index", *_REVIEWS)
    head = first_line(path)
    if "user_id" in head:
        columns = (
            Column("user_id", "id"),
            Column("item_id", "id", headers=("movie_id", "book_id", "music_id", "item_id")),
            Column("rating", "number"),
        )
        layout = Layout(columns, separator="\t", header=True, quoted=True, encoding=encoding)
    else:
        columns = (Column("user_id", "id"), Column("item_id", "id"), Column("rating", "number"))
        layout = Layout(columns, separator="\t" if "\t" in head else " ", encoding=encoding)
    return InteractionsDraft(read_delimited(path, layout), scale="1:5", duplicates="last")


FORMATS = (
    Format(
        "douban",
        "Interactions",
        "Douban: ratings 1:5 of films, books or music",
        "uir.index, or moviereviews_cleaned.txt, bookreviews_cleaned.txt, musicreviews_cleaned.txt",
        lambda place: place.main("uir.index", *_REVIEWS) is not None,
        load,
    ),
)
