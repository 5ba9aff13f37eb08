"""Contexts: values are declared or known to everybody, never those that occur."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.contexts import Context, context_of, contexts_of
from discreet.errors import UsageError


def with_day(days, **more) -> dc.Interactions:
    frame = pl.DataFrame({"user_id": [f"u{n}" for n in range(len(days))], "item_id": ["a"] * len(days), "day": days})
    return dc.Interactions(frame, context=["day"], items=["a"], **more)


def test_declared_values_in_their_order() -> None:
    context = context_of("day = wet , dry")
    assert context == Context("day", ("wet", "dry"))
    assert context.code("dry") == 1
    with pytest.raises(UsageError, match="wet, dry"):
        context.code("fog")


def test_the_calendar_is_public() -> None:
    assert context_of("weekday").values[:2] == ("Monday", "Tuesday")
    assert len(context_of("hour").values) == 24


def test_weekdays_follow_from_times() -> None:
    data = dc.Interactions([("u", "a", 1.0, 0), ("v", "a", 1.0, 86_400 * 4)], items=["a"])
    (context,) = contexts_of(["weekday"], data)
    assert context.codes(data).tolist() == [3, 0]
    (weekend,) = contexts_of(["weekday=Sunday,Monday"], data)
    assert weekend.codes(data).tolist() == [-1, 1]


def test_values_that_occur_are_not_looked_up() -> None:
    with pytest.raises(UsageError, match="secret"):
        contexts_of(["day"], with_day(["dry", "wet"]))


def test_an_enum_declares_its_values() -> None:
    days = pl.Series(["wet", "wet"], dtype=pl.Enum(["dry", "wet", "fog"]))
    data = with_day(days)
    (context,) = contexts_of(["day"], data)
    assert context.values == ("dry", "wet", "fog")
    with pytest.raises(UsageError, match="dry, wet, fog"):
        contexts_of(["day=wet,snow"], data)
    numbered = with_day(pl.Series(["20", "60"], dtype=pl.Enum(["60", "20"])))
    assert contexts_of(["day=<25,25+"], numbered)[0].codes(numbered).tolist() == [0, 1]
    assert context.codes(data).tolist() == [1, 1]


def test_unknown_and_missing_values_have_no_place() -> None:
    data = with_day(["dry", "snow", None])
    (context,) = contexts_of(["day=dry,wet"], data)
    assert context.codes(data).tolist() == [0, -1, -1]


def test_bands_of_numbers() -> None:
    people = pl.DataFrame({"user_id": list("abcde"), "age": [24, 25, 44, 45, None]})
    rows = [(user, "x") for user in "abcde"]
    data = dc.Interactions(rows, items=["x"], users=people)
    (context,) = contexts_of(["age=<25,25-44,45+"], data)
    assert context.of_user
    assert context.codes(data).tolist() == [0, 1, 1, 2, -1]


def test_facts_about_users_follow_the_user() -> None:
    people = pl.DataFrame({"user_id": ["a", "b"], "sex": ["f", "m"]})
    data = dc.Interactions([("b", "x"), ("a", "x"), ("a", "y")], items=["x", "y"], users=people)
    (context,) = contexts_of(["sex=f,m"], data)
    np.testing.assert_array_equal(context.codes(data), np.array([0, 1])[data.user])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["moon=full,new"], "no context 'moon'"),
        (["day=dry", "day=wet"], "named twice"),
        (["=dry"], "no context"),
        (["day=dry,dry"], "names a value twice"),
        (["hour"], "no context 'hour'"),
        (["day="], "empty value"),
        (["day=dry,,wet"], "empty value"),
    ],
)
def test_mistakes_are_named(given: list[str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        contexts_of(given, with_day(["dry", "wet"]))


def test_a_context_has_values() -> None:
    with pytest.raises(UsageError):
        Context("day", ())


@pytest.mark.parametrize("name", ["count", "rank", "title"])
def test_names_of_our_own_columns_are_taken(name: str) -> None:
    frame = pl.DataFrame({"user_id": ["u"], "item_id": ["a"], name: ["x"]})
    data = dc.Interactions(frame, context=[name], items=["a"])
    with pytest.raises(UsageError, match="called"):
        contexts_of([f"{name}=x,y"], data)


def test_values_that_no_calendar_has_are_refused() -> None:
    """Otherwise all records would be left out without a word."""
    data = dc.Interactions([("u", "a", 1.0, 0)], items=["a"])
    with pytest.raises(UsageError, match="Monday, Tuesday"):
        contexts_of(["weekday=Mon,Tue"], data)


def test_a_context_of_very_many_values() -> None:
    values = tuple(f"v{n}" for n in range(40_000))
    data = with_day(["v39999", "v0", "w"])
    (context,) = contexts_of([Context("day", values)], data)
    assert context.codes(data).tolist() == [39_999, 0, -1]
    assert context.codes(data).dtype == np.int32
    assert Context("day", values[:100]).codes(data).dtype == np.int16


@pytest.mark.parametrize("written", [["<25", "25-44", "45+", "x"], [24, 25, 99, None], ["24", "25", "99", "x"]])
def test_bands_are_numbers_or_written_out(written) -> None:
    (context,) = contexts_of(["day=<25,25-44,45+"], with_day(written))
    assert context.codes(with_day(written)).tolist() == [0, 1, 2, -1]


def test_one_odd_value_moves_no_other() -> None:
    """Whatever type the column gets for one user's sake, the others stay where they are."""
    plain, odd = with_day([30, 50]), with_day(["30", "50", "do not ask"])
    (context,) = contexts_of(["day=<25,25-44,45+"], plain)
    assert context.codes(plain).tolist() == context.codes(odd).tolist()[:2] == [1, 2]


def test_bands_and_words_may_be_mixed() -> None:
    (context,) = contexts_of(["day=<25,25+,unknown"], with_day(["30", "unknown", "x"]))
    assert context.codes(with_day(["30", "unknown", "x"])).tolist() == [1, 2, -1]


def test_values_of_public_facts_are_declared_too() -> None:
    """What each user's value is may be public; that somebody with it has records is not."""
    people = pl.DataFrame({"user_id": ["a"], "sex": ["f"]})
    data = dc.Interactions([("a", "x")], items=["x"], users=people, public_user_columns=["sex"])
    with pytest.raises(UsageError, match="secret"):
        contexts_of(["sex"], data)
    assert contexts_of(["sex=f,m"], data)[0].of_user


@pytest.mark.parametrize("odd", [None, 2.5, "x", 3])
def test_one_odd_value_does_not_change_how_the_others_are_written(odd: object) -> None:
    """A column of whole numbers becomes one of floats, text or anything by a single value of a single user."""
    values = [1, 2] * 10
    plain = dc.Interactions(
        {"user_id": list(range(20)), "item_id": ["x"] * 20, "device": values}, context=["device"], items=["x"]
    )
    mixed = (
        pl.Series([*values, odd], dtype=pl.Object) if isinstance(odd, str) else pl.Series([*values, odd], strict=False)
    )
    more = dc.Interactions(
        pl.DataFrame({"user_id": list(range(21)), "item_id": ["x"] * 21, "device": mixed}),
        context=["device"],
        items=["x"],
    )
    context = context_of("device=1,2")
    assert context.codes(plain).tolist() == context.codes(more).tolist()[:20] == [0, 1] * 10
    assert context.codes(more)[20] == -1
