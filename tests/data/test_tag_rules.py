"""Public rules on tags: one tag in, one tag or none out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import TagRule
from discreet.errors import UsageError


@pytest.mark.parametrize(
    ("tag", "stays"),
    [
        ("Python", "python"),
        ("  tea ", "tea"),
        ("imported", None),
        (" Imported", None),
        ("PUBLIC", None),
        ("system:unfiled", None),
        ("System:Imported", None),
        ("for:ann", None),
        ("important", "important"),
        ("publication", "publication"),
        ("", None),
        ("   ", None),
        ("ÄPFEL", "äpfel"),
    ],
)
def test_the_usual_rule(tag, stays):
    assert TagRule()(tag) == stays


def test_each_part_can_be_left_out():
    assert TagRule(lower=False)("Python") == "Python"
    assert TagRule(lower=False)("Imported") == "Imported"
    assert TagRule(lower=False)("imported") is None
    assert TagRule(strip=False)(" a ") == " a "
    assert TagRule(drop=frozenset())("imported") == "imported"
    assert TagRule(drop_prefixes=())("system:x") == "system:x"


def test_what_goes_is_compared_without_case():
    assert TagRule(drop=frozenset({"ToRead"}), drop_prefixes=("Sys:",))("toread") is None
    assert TagRule(drop_prefixes=("Sys:",))("sys:a") is None
    assert TagRule(drop={"b", "a"}) == TagRule(drop=frozenset("ab"))  # type: ignore[arg-type]
    assert hash(TagRule()) == hash(TagRule())


def test_a_text_is_no_collection():
    with pytest.raises(UsageError):
        TagRule(drop_prefixes="system:")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        TagRule(drop="imported")  # type: ignore[arg-type]


@given(st.text())
def test_a_cleaned_tag_is_clean(tag):
    rule = TagRule()
    once = rule(tag)
    # Lower-casing can bring blanks to light only in a tag that had them: a second pass changes nothing.
    assert once is None or rule(once) == once
