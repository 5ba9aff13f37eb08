"""Book-Crossing: ratings of books, most of them implicit.

References
----------
C.-N. Ziegler, S. M. McNee, J. A. Konstan and G. Lausen, "Improving Recommendation Lists Through Topic
Diversification", WWW 2005.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.formats import Format, Place
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Records
from discreet.errors import UsageError

__all__ = ["FORMATS"]

_RATINGS = (
    Column("user_id", "integer", headers=("User-ID",)),
    Column("item_id", headers=("ISBN",)),
    Column("rating", "number", headers=("Book-Rating", "Rating")),
)
_BOOKS = (
    Column("item_id", headers=("ISBN",)),
    Column("title", headers=("Book-Title", "Title"), blank=True),
    Column("author", headers=("Book-Author", "Author"), blank=True),
    Column("year", headers=("Year-Of-Publication", "Year"), blank=True),
)
_USERS = (
    Column("user_id", "integer", headers=("User-ID",)),
    Column("location", headers=("Location",), blank=True, optional=True),
    Column("age", "number", headers=("Age",), blank=True, null="NULL"),
)


def load(
    place: Place,
    *,
    feedback: Literal["all", "explicit", "implicit"] = "all",
    books: bool = False,
    encoding: str = "latin-1",
    tables: bool = True,
) -> InteractionsDraft:
    """Options: ``feedback`` and ``books``.

    A rating of 0 says that the user dealt with the book, not that they disliked it: ``feedback="explicit"`` reads
    only ratings from 1 to 10, ``"implicit"`` only the zeros, as records without a rating. Many rated books are not in
    the file of books, so that it is no catalog; ``books=True`` takes it for one (then complete it with
    ``items_public=True``).
    """
    records = _read(place.need("BX-Book-Ratings.csv", "Ratings.csv"), _RATINGS, encoding)
    catalog = place.beside("BX-Books.csv", "Books.csv") if tables and books else None
    users = place.beside("BX-Users.csv", "Users.csv") if tables else None
    draft = InteractionsDraft(
        records,
        scale="0:10",
        items=None if catalog is None else _read(catalog, _BOOKS, encoding).frame,
        users=None if users is None else _read(users, _USERS, encoding).frame,
    )
    if feedback == "explicit":
        draft.records, draft.scale = records.filtered(records.frame["rating"] != 0), "1:10"
    elif feedback == "implicit":
        zeros = records.filtered(records.frame["rating"] == 0)
        draft.records, draft.scale = zeros.with_frame(zeros.frame.drop("rating")), None
    elif feedback != "all":
        raise UsageError(f"feedback={feedback!r}?", remedy="Choose 'all', 'explicit' or 'implicit'.")
    return draft


def _read(path: Path, columns: tuple[Column, ...], encoding: str) -> Records:
    separator = ";" if ";" in first_line(path) else ","
    layout = Layout(columns, separator=separator, header=True, quoted=True, escaped=True, encoding=encoding)
    return read_delimited(path, layout)


def _is_here(place: Place) -> bool:
    path = place.main("BX-Book-Ratings.csv", "Ratings.csv")
    return path is not None and "user-id" in first_line(path, encoding="latin-1").casefold()


FORMATS = (
    Format(
        "book-crossing",
        "Interactions",
        "Book-Crossing: ratings 0:10 of books, where 0 is implicit; users (location, age)",
        "BX-Book-Ratings.csv",
        _is_here,
        load,
        aliases=("bx",),
    ),
)
