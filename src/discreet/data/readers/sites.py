"""Check-ins of Gowalla, Brightkite and Foursquare; ratings of Douban, Book-Crossing and Jester.

References
----------
E. Cho, S. A. Myers and J. Leskovec, "Friendship and Mobility", KDD 2011 (Gowalla and Brightkite, from SNAP).
D. Yang, D. Zhang, V. W. Zheng and Z. Yu, "Modeling User Activity Preference by Leveraging User Spatial Temporal
Characteristics in LBSNs", IEEE Trans. SMC: Systems 45(1), 2015 (Foursquare, TSMC 2014).
H. Ma, D. Zhou, C. Liu, M. R. Lyu and I. King, "Recommender Systems with Social Regularization", WSDM 2011 (Douban).
F. Zhu, C. Chen, Y. Wang, G. Liu and X. Zheng, "DTCDR", CIKM 2019 (the reviews of Douban).
C.-N. Ziegler, S. M. McNee, J. A. Konstan and G. Lausen, "Improving Recommendation Lists Through Topic
Diversification", WWW 2005 (Book-Crossing).
K. Goldberg, T. Roeder, D. Gupta and C. Perkins, "Eigentaste: A Constant Time Collaborative Filtering Algorithm",
Information Retrieval 4(2), 2001 (Jester).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.formats import USER_ITEM_RATING, Format, Location, Source, published
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Origins, Records, with_seconds
from discreet.errors import DataError, UsageError

__all__ = ["FORMATS"]

# Check-ins: a user visits a place many times, so repeated records are kept

_USER, _TIME = Column("user_id", "integer"), Column("time")
_WHERE = (Column("latitude", "number"), Column("longitude", "number"))


def _gowalla_layout(path: Path, head: str) -> Layout:
    # Origins of Gowalla are numbers, those of Brightkite hashes.
    item = Column("item_id", "text" if "brightkite" in path.name.lower() else "integer")
    return Layout((_USER, _TIME, *_WHERE, item), separator="\t")


_GOWALLA = Source(
    ("loc-gowalla_totalCheckins.txt", "loc-brightkite_totalCheckins.txt", "*_totalCheckins.txt"),
    _gowalla_layout,
    lambda records, location, encoding: with_seconds(records, "time", "%Y-%m-%dT%H:%M:%SZ"),
)
_FOURSQUARE = Source(
    ("dataset_TSMC2014_NYC.txt", "dataset_TSMC2014_TKY.txt", "dataset_TSMC2014_*.txt"),
    Layout(
        (
            *(_USER, Column("item_id"), Column("category_id"), Column("category")),
            *(*_WHERE, Column("offset", "integer"), _TIME),
        ),
        separator="\t",
        encoding="latin-1",
    ),
    lambda records, location, encoding: with_seconds(records, "time", "%a %b %d %H:%M:%S %z %Y"),
)


def load_gowalla(place: Location, *, context: Sequence[str] = ()) -> InteractionsDraft:
    """Options: ``context``, some of weekday (Monday is 0, in UTC), latitude, longitude."""
    return _visits(_GOWALLA.read(place), context, local=pl.col("timestamp"))


def load_foursquare(place: Location, *, context: Sequence[str] = (), encoding: str | None = None) -> InteractionsDraft:
    """Options: ``context``, some of weekday (Monday is 0, local time), category, category_id, latitude, longitude."""
    records = _FOURSQUARE.read(place, encoding=encoding)
    return _visits(records, context, local=pl.col("timestamp") + 60 * pl.col("offset"))


def _visits(records: Records, context: Sequence[str], *, local: pl.Expr) -> InteractionsDraft:
    # The first day of 1970 was a Thursday.
    weekday = ((local // 86_400 + 3) % 7).cast(pl.Int8).alias("weekday")
    frame = records.frame.with_columns(weekday)
    wanted = [context] if isinstance(context, str) else list(context)
    offered = [name for name in frame.columns if name not in ("user_id", "item_id", "timestamp", "offset")]
    unknown = [name for name in wanted if name not in offered]
    if unknown:
        raise UsageError(f"there is no context column {unknown[0]!r}.", remedy=f"Choose from {', '.join(offered)}.")
    kept = records.with_frame(frame.select("user_id", "item_id", "timestamp", *wanted))
    return InteractionsDraft(kept, duplicates="keep", context=tuple(wanted))


# Ratings

# Douban


def _douban_layout(path: Path, head: str) -> Layout:
    """Reviews have a quoted header; uir.index has user, item and rating on a line."""
    if "user_id" not in head:
        return Layout(USER_ITEM_RATING, separator="\t" if "\t" in head else " ")
    user, _, rating = USER_ITEM_RATING
    item = Column("item_id", "integer", headers=("movie_id", "book_id", "music_id", "item_id"))
    return Layout((user, item, rating), separator="\t", header=True, quoted=True)


# Book-Crossing


def _books_layout(*columns: Column) -> Layout:
    return Layout(columns, separator=";", header=True, quoted=True, escaped=True, encoding="latin-1")


def _source(layout: Layout, *files: str) -> Source:
    """Copies of the data are separated by semicolons or by commas."""
    commas = Layout(layout.columns, header=True, quoted=True, escaped=True, encoding="latin-1")
    return Source(files, lambda path, head: layout if ";" in head else commas)


_READER = Column("user_id", "integer", headers=("User-ID",))
_BOOK = Column("item_id", headers=("ISBN",))
_BOOK_RATINGS = _source(
    _books_layout(_READER, _BOOK, Column("rating", "number", headers=("Book-Rating", "Rating"))),
    "BX-Book-Ratings.csv",
    "Ratings.csv",
)
_BOOKS = _source(
    _books_layout(
        _BOOK,
        Column("title", headers=("Book-Title", "Title"), blank=True),
        Column("author", headers=("Book-Author", "Author"), blank=True),
        Column("year", headers=("Year-Of-Publication", "Year"), blank=True),
    ),
    "BX-Books.csv",
    "Books.csv",
)
_READERS = _source(
    _books_layout(
        _READER,
        Column("location", headers=("Location",), blank=True, optional=True),
        Column("age", "number", headers=("Age",), blank=True, null="NULL"),
    ),
    "BX-Users.csv",
    "Users.csv",
)


def load_books(
    place: Location,
    *,
    feedback: Literal["all", "explicit", "implicit"] = "all",
    books: bool = False,
    encoding: str | None = None,
    tables: bool = True,
) -> InteractionsDraft:
    """Options: ``feedback`` and ``books``.

    A rating of 0 is a use of the book without a rating: ``feedback="explicit"`` reads
    only ratings from 1 to 10, ``"implicit"`` only the zeros, as records without a rating. Many rated books are missing
    in the file of books, so it is no catalog by default; ``books=True`` uses it as one (then complete it with
    ``items_public=True``).
    """
    require_choice(feedback, "feedback", ("all", "explicit", "implicit"))
    records = _BOOK_RATINGS.read(place, encoding=encoding)
    draft = InteractionsDraft(
        records,
        scale="0:10",
        items=_BOOKS.read_beside(place, encoding=encoding) if tables and books else None,
        users=_READERS.read_beside(place, encoding=encoding) if tables else None,
    )
    if feedback == "explicit":
        draft.records, draft.scale = records.filtered(records.frame["rating"] != 0), "1:10"
    elif feedback == "implicit":
        zeros = records.filtered(records.frame["rating"] == 0)
        draft.records, draft.scale = zeros.with_frame(zeros.frame.drop("rating")), None
    return draft


def _is_books(place: Location) -> bool:
    path = place.main(*_BOOK_RATINGS.files)
    return path is not None and "user-id" in first_line(path, encoding="latin-1").casefold()


# Jester

NOT_RATED = 99.0
_SEPARATORS = ("\t\t", "\t", ",")
_TRIPLETS = "jester_ratings.dat"
_MATRICES = ("jester-data-*.csv", "jester*cols.csv", "jester*.csv", "jester*.tsv")

# How many jokes the published matrices have; a column before them may say how many the user rated.
_WIDTHS = {width: jokes for jokes in (100, 140, 150, 158) for width in (jokes, jokes + 1)}


def load_jokes(place: Location) -> InteractionsDraft:
    """Ratings from triplets (user, joke, rating), or from all matrices of a folder (one row per user)."""
    matrices = place.mains(*_MATRICES)
    path = place.main(_TRIPLETS, *_MATRICES)
    if matrices and path is not None and _triplet_separator(path) is None:
        return _load_matrices(matrices)
    path = place.need(_TRIPLETS)
    layout = Layout(USER_ITEM_RATING, separator=_triplet_separator(path) or _SEPARATORS[0])
    return InteractionsDraft(read_delimited(path, layout), scale="-10:10:none")


def _triplet_separator(path: Path) -> str | None:
    head = first_line(path)
    return next((separator for separator in _SEPARATORS if len(head.split(separator)) == 3), None)


def _load_matrices(paths: list[Path]) -> InteractionsDraft:
    """Users are numbered in the order of the rows, from 1, through all files. The jokes are public."""
    parts: list[Records] = []
    users, jokes = 0, 0
    for path in paths:
        part, rows, jokes = _matrix(path, first_user=users + 1)
        parts.append(part)
        users += rows
    return InteractionsDraft(Records.joined(parts), scale="-10:10:none", items=range(1, jokes + 1))


def _matrix(path: Path, *, first_user: int) -> tuple[Records, int, int]:
    head = first_line(path)
    separator = next((s for s in (",", "\t", ";") if len(head.split(s)) in _WIDTHS), ",")
    width = len(head.split(separator))
    if width not in _WIDTHS:
        raise DataError(
            f"a row of {width} fields is no row of ratings of 100, 140, 150 or 158 jokes.",
            file=path,
            line=1,
            value=head,
            remedy="Save the workbook as CSV, without changing it.",
        )
    names = [f"joke {joke}" for joke in range(1, _WIDTHS[width] + 1)]
    counts = ["rated"] if width > len(names) else []
    columns = tuple(Column(name, "number") for name in (*counts, *names))
    rows = read_delimited(path, Layout(columns, separator=separator))
    values = rows.frame.select(names).to_numpy()
    wrong = (values != NOT_RATED) & (np.abs(values) > 10)
    if wrong.any():
        row, joke = (int(place[0]) for place in np.nonzero(wrong))
        what = "the rating is neither between -10 and 10 nor 99, which means that there is none."
        raise rows.error(row, what, column=names[joke], remedy="Correct it.")
    user, joke = np.nonzero(values != NOT_RATED)
    ids = {"user_id": (user + first_user).astype(np.int64), "item_id": (joke + 1).astype(np.int64)}
    # One line has many ratings.
    records = Records(pl.DataFrame({**ids, "rating": values[user, joke]}), Origins.without_lines(path))
    return records, rows.frame.height, len(names)


FORMATS = (
    Format(
        "gowalla",
        "Interactions",
        "Gowalla and Brightkite: check-ins with times; weekday, latitude, longitude as context=",
        "loc-gowalla_totalCheckins.txt",
        lambda place: place.main(*_GOWALLA.files) is not None,
        load_gowalla,
        aliases=("brightkite",),
    ),
    Format(
        "foursquare",
        "Interactions",
        "Foursquare (TSMC 2014, New York or Tokyo): check-ins with times; weekday, category … as context=",
        "dataset_TSMC2014_NYC.txt or dataset_TSMC2014_TKY.txt",
        lambda place: place.main(*_FOURSQUARE.files[:2]) is not None,
        load_foursquare,
    ),
    published(
        "douban",
        "Douban: ratings 1:5 of films, books or music",
        "uir.index, or moviereviews_cleaned.txt, bookreviews_cleaned.txt, musicreviews_cleaned.txt",
        records=Source(
            ("uir.index", *(f"{what}reviews_cleaned.txt" for what in ("movie", "book", "music"))), _douban_layout
        ),
        scale="1:5",
        duplicates="last",
    ),
    Format(
        "book-crossing",
        "Interactions",
        "Book-Crossing: ratings 0:10 of books, where 0 is implicit; users (location, age)",
        "BX-Book-Ratings.csv",
        _is_books,
        load_books,
        aliases=("bx",),
    ),
    Format(
        "jester",
        "Interactions",
        "Jester: ratings of jokes, −10 to 10, continuous",
        "jester_ratings.dat, or jester-data-*.csv (the workbooks saved as CSV)",
        lambda place: place.main(_TRIPLETS, *_MATRICES) is not None,
        load_jokes,
    ),
)
