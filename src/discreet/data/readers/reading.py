"""Reading a dataset from a folder or a file."""

from __future__ import annotations

import inspect
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.common.foreign import foreign_errors
from discreet.data.interactions import Interactions
from discreet.data.readers import (
    films,
    folksonomies,
    generic,
    histograms,
    lists,
    questionnaires,
    recbole,
    sites,
    stored,
)
from discreet.data.readers.drafts import Draft, InteractionsDraft, TableDraft, TagsDraft
from discreet.data.readers.formats import Format, Location
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, DuplicatesWarning, Remedy, UsageError

__all__ = ["detect", "formats", "read"]

# The order in which they are tried: formats that fit almost any file come last.
_FORMATS: tuple[Format, ...] = (
    *stored.FORMATS,
    *films.FORMATS,
    *folksonomies.FORMATS,
    *sites.FORMATS,
    *recbole.FORMATS,
    *questionnaires.FORMATS,
    *histograms.FORMATS,
    *lists.FORMATS,
    *generic.FORMATS,
)

FETCHED = ("ml-1m", "ml-100k", "ciao", "adult")
"""Public datasets that ``make data`` fetches into the cache."""


def read(
    path: str | Path, *, format: str | None = None, name: str | None = None, **options: Any
) -> Interactions | TagAssignments | Table:
    """Read a dataset from a folder or a file.

    Parameters
    ----------
    path
        The folder as it was published, or the file with the records. Gzip files are unpacked. The names "ml-1m",
        "ml-100k", "ciao" and "adult", where nothing of that name is here, stand for what ``make data`` fetched into
        the cache ($XDG_CACHE_HOME or ~/.cache, below it discreet/data).
    format
        The name of the format (see ``formats()``); recognized by default.
    name
        What the dataset is called; by default the name of the folder or file.
    **options
        For interactions: ``scale``, ``duplicates``, ``catalog`` (file, table, ids or "observed"), ``items_public``,
        ``public_user_columns``, ``window`` and ``time_zone`` (the days that count, and where they begin). For tables:
        ``domains``, and ``group`` (the column that says which rows belong together). For most formats: ``encoding``,
        ``missing`` ("error", or "drop": rows that lack a value in a column that is used are left out), and
        ``tables=False`` to skip the files of items and users. For CSV, TSV, Parquet and Arrow: ``user``, ``item``,
        ``rating``, ``timestamp``, ``context``, ``resource``, ``tag`` (names of columns), ``what`` ("interactions",
        "tags", "table"). For CSV and TSV: ``ids`` ("text" unless "number" declares whole numbers, for all ids or for
        some as in ``"user=number"``), ``separator``, ``header``. Others are those of the format.

    Returns
    -------
    Interactions, TagAssignments or Table
        Every line of the file is a record, or an error was raised: nothing is skipped and nothing half-read. With a
        ``window`` the records of other times are left out, and with ``missing="drop"`` rows with missing values.

    Raises
    ------
    RecordsError
        Everything that is wrong with the records: each kind of problem with the number of rows, the first of them
        (file, line or row, column as the file calls it, value), and what to do about it. ``report()`` gives it as JSON.
    DataError
        Where the file as a whole cannot be read.

    Warns
    -----
    MissingWarning
        How many rows were left out because a value is missing, as in ``dropped_missing`` of the dataset.
    DuplicatesWarning
        How many rows were merged or left out because they repeat others, as in ``dropped_duplicates`` of the dataset.
        None of these numbers is private.

    Privacy
    -------
    Reading releases nothing. How a value is read depends on that value and on what was declared, never on other rows:
    ids and contexts of text files are text, published formats have the types that they are published with, attributes
    of tables have those of their domains, and Parquet and Arrow files declare types. Whether a row lacks a value
    depends on that row alone, so promises about users and about the presence of a record hold after
    ``missing="drop"``. Promises about replaced users or about values of records are refused: whether a record is there
    at all then depends on its value.

    A file of items counts as public; a file of users is secret unless its columns are named in ``public_user_columns``.
    Without a file of items the list of items is as secret as the records, unless ``catalog`` or ``items_public``
    declares it public.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "shop.csv").write_text("user,item,stars\\nann,tea,5\\nbob,tea,3\\n")
    ...     read(f"{folder}/shop.csv", scale="1:5")
    Interactions('shop': 2 records, 2 users, 1 items, ratings 1:5:1)
    """
    with foreign_errors(lambda words: DataError(f"this cannot be understood: {words}.", file=path)):
        return _read(path, format=format, name=name, **options)


def _read(
    path: str | Path, *, format: str | None, name: str | None, **options: Any
) -> Interactions | TagAssignments | Table:
    place = _place(path, trusted=format is not None)
    if format is None:
        chosen, place = _recognized(place)
        if chosen in lists.FORMATS and not place.is_folder and set(options) - _known_options(chosen):
            chosen = _named("csv")  # separator=, header= and names of columns tell how such a file is to be read
    else:
        chosen = _named(format)
    if {"domains", "group"} & set(options) and "what" in chosen.options:
        options = {"what": "table", **options}  # nothing but a table has domains or groups
    _refuse_unknown(chosen, set(options))
    draft: Draft = chosen.load(place, **{key: value for key, value in options.items() if key in chosen.options})
    rest = {key: value for key, value in options.items() if key not in chosen.options}
    misplaced = set(rest) - _options_of(type(draft))
    if misplaced:
        raise UsageError(f"{path} takes no {' and no '.join(sorted(misplaced))}.", remedy="Leave it out.")
    data = draft.build(name=draft.name or _stem(place) if name is None else name, **rest)
    if draft.problems is not None:
        draft.problems.tell_dropped(place.path, stacklevel=4)
    kept = "their quantities were added up" if rest.get("duplicates") == "sum" else "the latest of each was kept"
    _tell_duplicates(place.path, draft.records.frame.height - len(data), draft, kept)
    return data


def _tell_duplicates(path: Path, left_out: int, draft: Draft, kept: str) -> None:
    if left_out > 0:
        what = (
            "a triple of user, resource and tag; each triple counts once"
            if isinstance(draft, TagsDraft)
            else f"the user and item of another; {kept}"
        )
        rows = "1 row repeats" if left_out == 1 else f"{left_out:,} rows repeat"
        warnings.warn(f"{path}: {rows} {what}.", DuplicatesWarning, stacklevel=4)


def detect(path: str | Path) -> Format:
    """The format of a folder or a file.

    Raises
    ------
    DataError
        When it is not a known format, with the files that were found.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "u.data").write_text("1\\t7\\t5\\t881250949\\n")
    ...     detect(folder).name
    'movielens-100k'
    """
    return _recognized(_place(path))[0]


def formats() -> tuple[Format, ...]:
    """The known formats, in the order in which they are tried.

    Examples
    --------
    >>> next(format for format in formats() if format.name == "netflix").recognized
    'combined_data_*.txt, mv_*.txt, or the folder training_set'
    """
    return _FORMATS


def _place(path: str | Path, *, trusted: bool = False) -> Location:
    try:
        given = Path(path).expanduser()
        exists = given.exists()
    except (TypeError, ValueError, RuntimeError, OSError):
        raise UsageError(f"{path!r} is no path.", remedy="Give the path of a folder or a file.") from None
    if not exists and str(given) in FETCHED:
        given = _fetched(str(given))
    elif not exists:
        raise DataError("there is no such file or folder.", file=given, remedy="Check the path.")
    return Location(given, trusted=trusted)


def _fetched(name: str) -> Path:
    """The folder of a public dataset in the cache that ``make data`` fills."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discreet" / "data"
    folder = cache / name
    if not folder.is_dir():
        raise DataError(
            f"there is no such file or folder here, and {name} was not fetched into {cache}.",
            file=name,
            remedy="Run make data in the repository of discreet, or give the path of the data.",
        )
    return folder


def _named(name: str) -> Format:
    for format in _FORMATS:
        if name in format.names:
            return format
    names = ", ".join(format.name for format in _FORMATS)
    raise UsageError(f"there is no format {name!r}.", remedy=f"Choose from {names}.")


def _recognized(place: Location) -> tuple[Format, Location]:
    """The format, and its location: a folder that holds no known file and one other folder is entered."""
    for format in _FORMATS:
        if format.recognize(place):
            return format, place
    if place.is_folder:
        inner = [path for path in place.folder.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))]
        if len(inner) == 1:
            with suppress(DataError):  # the files of this folder are named, not those of the other one
                return _recognized(Location(inner[0]))
    names = [path.name for path in place.files[:12]] if place.is_folder else [place.path.name]
    found = ", ".join(names) + (", …" if place.is_folder and len(place.files) > 12 else "")
    known = ", ".join(format.name for format in _FORMATS)
    several = any(Path(name).suffix in (".parquet", ".csv", ".tsv", ".arrow") for name in names) and place.is_folder
    raise DataError(
        f"the format is not recognized; found {found or 'no file'}.",
        file=place.path,
        remedy=Remedy(
            ("Read one of these files, or all with discreet.scan. " if several else "")
            + f"Name the format with format=: {known}.",
            cli=("Give one of these files. " if several else "")
            + "Name the format with --format NAME; `discreet data list` describes them.",
        ),
    )


def _options_of(draft: type[Draft]) -> set[str]:
    return set(inspect.signature(draft.build).parameters) - {"self", "name"}


def _known_options(format: Format) -> set[str]:
    """The options of a format and of its datasets."""
    drafts = {"Interactions": InteractionsDraft, "TagAssignments": TagsDraft, "Table": TableDraft}
    return set(format.options).union(*(_options_of(drafts[name]) for name in drafts if name in format.returns))


def _refuse_unknown(format: Format, options: set[str]) -> None:
    """Refuse, before anything is read, an option of neither the format nor its datasets."""
    known = _known_options(format)
    if unknown := options - known:
        raise UsageError(
            f"the format {format.name} has no option {', '.join(sorted(unknown))}.",
            remedy=f"Its options are {', '.join(sorted(known))}.",
        )


def _stem(place: Location) -> str:
    return place.path.resolve().name if place.is_folder else place.path.name.removesuffix(".gz").partition(".")[0]
