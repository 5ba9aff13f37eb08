from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from discreet.data import Interactions, TagAssignments
from discreet.data.readers import detect, read
from discreet.errors import DataError

FIXTURES = Path(__file__).parent / "fixtures"


def test_plays_of_lastfm() -> None:
    data = read(FIXTURES / "hetrec-lastfm")
    assert isinstance(data, Interactions)
    assert data.scale is None
    assert data.to_frame().rows() == [(2, 51, 13883.0), (2, 52, 11690.0), (3, 51, 345.0)]
    assert data.titles([1]) == ['Björn "Bo" Ström']


def test_tags_by_file_or_by_name() -> None:
    by_file = read(FIXTURES / "hetrec-lastfm/user_taggedartists.dat")
    by_name = read(FIXTURES / "hetrec-lastfm", format="hetrec-lastfm-tags")
    assert isinstance(by_file, TagAssignments)
    assert by_file.fingerprint == by_name.fingerprint
    assert by_file.to_frame().rows() == [(2, 52, "chillout"), (2, 52, "déjà vu"), (3, 51, "chillout")]


def test_a_folder_with_tags_alone() -> None:
    data = read(FIXTURES / "hetrec-tags-only")
    assert isinstance(data, TagAssignments)
    assert data.to_frame().rows() == [(2, 52, "chillout"), (2, 52, "downtempo"), (3, 63, "chillout")]


def test_delicious_is_tags() -> None:
    assert detect(FIXTURES / "hetrec-delicious").name == "hetrec-delicious-tags"
    data = read(FIXTURES / "hetrec-delicious")
    assert data.to_frame().rows() == [
        (8, 1, "collection_development"),
        (8, 2, "collection_development"),
        (9, 1, "bücher"),
    ]


def test_ratings_with_dates_and_with_milliseconds_agree() -> None:
    dates = read(FIXTURES / "hetrec-movielens/user_ratedmovies.dat")
    stamps = read(FIXTURES / "hetrec-movielens/user_ratedmovies-timestamps.dat")
    assert isinstance(dates, Interactions)
    assert dates.fingerprint == stamps.fingerprint == read(FIXTURES / "hetrec-movielens").fingerprint
    assert str(dates.scale) == "0.5:5:0.5"
    assert dates.item_table is not None
    assert dates.item_table.rows() == [
        ("Grumpy Sailors", 1995, "Comedy|Romance"),
        ('Twelve "Clocks"', None, "Sci-Fi"),
        ("Unseen", 1990, None),
    ]


def test_movie_tags() -> None:
    data = read(FIXTURES / "hetrec-movielens", format="hetrec-movielens-tags")
    assert data.to_frame()["tag"].to_list() == ["mar de niños", "moody"]


@pytest.fixture
def lastfm(tmp_path: Path) -> Path:
    return shutil.copytree(FIXTURES / "hetrec-lastfm", tmp_path / "lastfm")


def test_a_tag_without_a_word_names_its_line(lastfm: Path) -> None:
    (lastfm / "tags.dat").write_text("tagID\ttagValue\n13\tchillout\n")
    with pytest.raises(DataError, match=r"not in tags\.dat") as caught:
        read(lastfm, format="hetrec-lastfm-tags")
    assert (caught.value.line, caught.value.value) == (3, 15)


def test_a_word_that_is_there_twice(lastfm: Path) -> None:
    (lastfm / "tags.dat").write_text("tagID\ttagValue\n13\tchillout\n13\tchill\n15\tx\n")
    with pytest.raises(DataError, match="more than once"):
        read(lastfm, format="hetrec-lastfm-tags")


def test_tags_need_their_words(lastfm: Path) -> None:
    (lastfm / "tags.dat").unlink()
    with pytest.raises(DataError, match=r"tags\.dat is missing"):
        read(lastfm, format="hetrec-lastfm-tags")


def test_a_date_that_is_none(tmp_path: Path) -> None:
    header = "userID\tmovieID\trating\tdate_day\tdate_month\tdate_year\tdate_hour\tdate_minute\tdate_second\n"
    (tmp_path / "user_ratedmovies.dat").write_text(f"{header}75\t3\t1\t31\t2\t2006\t23\t17\t16\n")
    with pytest.raises(DataError, match="not a time") as caught:
        read(tmp_path)
    assert (caught.value.line, caught.value.value) == (2, "2006-2-31 23:17:16")
