"""Files with blanks between the fields: user, item and rating on a line (FilmTrust), or a user with all items.

References
----------
G. Guo, J. Zhang and N. Yorke-Smith, "A Novel Bayesian Similarity Measure for Recommender Systems", IJCAI 2013
(FilmTrust).
X. He, K. Deng, X. Wang, Y. Li, Y. Zhang and M. Wang, "LightGCN: Simplifying and Powering Graph Convolution Network for
Recommendation", SIGIR 2020 (the lists).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import polars as pl

from discreet.common.arguments import require_choice
from discreet.data.id_forms import IdKinds, declared_ids
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.files import blocks, first_line
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.generic import id_column
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Origins, Records
from discreet.data.values import number_in
from discreet.errors import DataError, Remedy

__all__ = ["FORMATS"]

# Triples

_FILMTRUST, _EPINIONS = "ratings.txt", "ratings_data.txt"


def load_triples(place: Location, *, ids: IdKinds = "text", encoding: str = "utf-8") -> InteractionsDraft:
    """Options: the type of the ids, and the encoding. The scale of the ratings is declared by the caller."""
    path = place.need(_EPINIONS, _FILMTRUST)
    head = first_line(path, encoding=encoding)
    separator = "\t" if "\t" in head else " "
    if (fields := len(head.split(separator))) != 3:
        raise DataError(
            f"there are {fields} fields; a line is a user, an item and a rating, with one blank or tab between them.",
            file=path,
            line=1,
            value=head,
            remedy=Remedy(
                "Remove the others. Files of other columns: read(…, format='csv', separator=' ', header=False).",
                cli="Remove the others, or save the file as CSV with a header.",
            ),
        )
    kinds = declared_ids(ids, ("user", "item"), "text")
    columns = (*(id_column(role, kinds, text="id") for role in ("user_id", "item_id")), Column("rating", "number"))
    draft = InteractionsDraft(read_delimited(path, Layout(columns, separator=separator, encoding=encoding)))
    draft.ids = kinds
    return draft


def load_filmtrust(place: Location) -> InteractionsDraft:
    """Ratings from half a star to four; the ids are whole numbers. A few ratings are there twice."""
    draft = load_triples(place, ids="number")
    draft.scale, draft.duplicates = "0.5:4:0.5", "last"
    return draft


def _has_numbers(path: Path | None) -> bool:
    """Whether a file begins with numbers that have blanks between them, and so has no header.

    A file of which this line is none of the records would be read as CSV, and refused: it has no usual columns.
    """
    if path is None:
        return False
    fields = first_line(path, encoding="latin-1").split()
    return bool(fields) and all(number_in(field) is not None for field in fields)


# A line for each user

_LISTS = {"train": "train.txt", "test": "test.txt"}
_LINE = re.compile(rb"[0-9]{1,18}(?: [0-9]{1,18})* ?")


def load_lists(place: Location, *, part: Literal["train", "test", "all"] = "train") -> InteractionsDraft:
    """Options: ``part``, which of the files of a folder is read; a file that is given by itself is read as it is."""
    require_choice(part, "part", (*_LISTS, "all"))
    wanted = [_LISTS[part]] if part != "all" else list(_LISTS.values())
    paths = [place.need(name) for name in wanted] if place.is_folder else [place.need(*_LISTS.values())]
    return InteractionsDraft(Records.joined(map(_lists, paths)))


def _lists(path: Path) -> Records:
    """A record for every item of every line."""
    users: list[int] = []
    items: list[int] = []
    for block in blocks(path):
        for number, line in enumerate(block.text.removesuffix(b"\n").split(b"\n"), start=block.first_line):
            line = line.removesuffix(b"\r")
            if not _LINE.fullmatch(line):
                raise _no_list(path, number, line)
            user, *liked = map(int, line.split())
            if not liked:
                raise DataError(
                    f"user {user} has no items.",
                    file=path,
                    line=number,
                    value=line.decode(),
                    remedy="Remove the line: somebody without records is not in the data.",
                )
            users += [user] * len(liked)
            items += liked
    frame = pl.DataFrame({"user_id": users, "item_id": items}, schema={"user_id": pl.Int64, "item_id": pl.Int64})
    # One line has many records.
    return Records(frame, Origins.without_lines(path))


def _no_list(path: Path, number: int, line: bytes) -> DataError:
    if not line.strip():
        return DataError("the line is blank.", file=path, line=number, remedy="Remove it.")
    return DataError(
        "a line is a user and that user's items: whole numbers from 0 with one blank between them.",
        file=path,
        line=number,
        value=line.decode(errors="replace"),
        remedy="Correct it, or check the format.",
    )


FORMATS = (
    Format(
        "filmtrust",
        "Interactions",
        "FilmTrust: ratings 0.5:4:0.5, with blanks between user, item and rating",
        "ratings.txt that begins with numbers",
        lambda place: _has_numbers(place.main(_FILMTRUST)),
        load_filmtrust,
    ),
    Format(
        "triples",
        "Interactions",
        "User, item and rating with blanks or tabs between them and no header, such as Epinions",
        "ratings_data.txt (any other file by name of the format)",
        lambda place: _has_numbers(place.main(_EPINIONS)),
        load_triples,
    ),
    Format(
        "lightgcn",
        "Interactions",
        "Lists of LightGCN and NGCF: on a line a user and that user's items, without ratings",
        "train.txt or test.txt that begins with numbers; of a folder train.txt is read",
        lambda place: _has_numbers(place.main(*(list(_LISTS.values())[: 1 if place.is_folder else 2]))),
        load_lists,
    ),
)
