"""Guarantees: sentences, composition, comparison, conversion of units."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import PrivacyError, UsageError
from discreet.privacy import Approximate, Concentrated, Guarantee, Pure, Standing, Unit


def promise(epsilon="1/2", unit="user", standing=Standing.PROVED, **more) -> Guarantee:
    return Guarantee(
        loss=Pure(Fraction(epsilon)),
        unit=Unit.of(unit),
        standing=standing,
        basis="Theorem 1",
        subject="noisy counts",
        **more,
    )


def test_the_sentence_says_everything() -> None:
    sentence = str(promise(caps=("each user was held to 3 records",), not_covered=("the catalog",), joint=True))
    for part in ("PROVED (Theorem 1)", "noisy counts", "ε = 0.5", "the whole history of one user", "held to 3 records"):
        assert part in sentence
    assert "against all others together" in sentence
    assert sentence.endswith("not covered: the catalog.")


@pytest.mark.parametrize(
    ("standing", "words"),
    [(Standing.REFUTED, "was claimed, which does not hold"), (Standing.AS_PUBLISHED, "not proved")],
)
def test_standings_are_plain_in_the_sentence(standing: Standing, words: str) -> None:
    assert words in str(promise(standing=standing))


def test_composition_adds_losses_and_keeps_the_weakest_standing() -> None:
    both = promise().compose(promise("1/4", standing=Standing.AS_PUBLISHED, caps=("a cap",)))
    assert both.loss == Pure(Fraction(3, 4))
    assert both.standing is Standing.AS_PUBLISHED
    assert both.caps == ("a cap",)


def test_promises_for_different_units_do_not_add_up() -> None:
    with pytest.raises(PrivacyError, match="for_users"):
        promise().compose(promise(unit="record"))


def test_comparison() -> None:
    assert promise("1/2").implies(promise("1"))
    assert not promise("1").implies(promise("1/2"))
    assert not promise(unit="record").implies(promise())
    assert not promise(standing=Standing.REFUTED).implies(promise())
    assert not replace(promise(), joint=True).implies(promise())
    assert promise().implies(replace(promise(), joint=True))


def test_units_convert_one_way() -> None:
    record = promise(unit="record")
    user = record.for_users(10)
    assert user.loss == Pure(Fraction(5))
    assert user.unit == Unit("user")
    assert promise().for_replacement().loss == Pure(Fraction(1))
    assert promise().for_records().loss == Pure(Fraction(1))
    assert promise(unit="user/replace").for_records().loss == Pure(Fraction(1, 2))
    for impossible in (
        lambda: promise().for_users(3),
        lambda: promise(unit="user/replace").for_replacement(),
        lambda: record.for_records(),
    ):
        with pytest.raises(PrivacyError):
            impossible()


def test_at_delta() -> None:
    stated = replace(promise(), loss=Concentrated(Fraction(1, 50))).at_delta("1e-6")
    assert isinstance(stated.loss, Approximate)
    assert 0.8 < stated.loss.epsilon < 1


@given(
    st.fractions(min_value="1/100", max_value=10),
    st.sampled_from(["user", "record", "user/replace", "record/value", "group:4", "group/replace:3"]),
    st.sampled_from(list(Standing)),
    st.lists(st.text(min_size=1, max_size=20), max_size=3),
    st.booleans(),
)
def test_json_round_trip(epsilon, unit, standing, caps, joint) -> None:
    original = promise(str(epsilon), unit, standing, caps=tuple(caps), joint=joint)
    assert Guarantee.from_json(original.to_json()) == original


@pytest.mark.parametrize("text", ["person", "user/often", "group:0", "user:3", "group:x", "user/value"])
def test_units_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError):
        Unit.of(text)


@pytest.mark.parametrize("text", ["user/add-remove", "record/add-remove", "group/replace:4", "record/value"])
def test_unit_codes_round_trip(text: str) -> None:
    assert Unit.of(text).code == text


def test_a_guarantee_needs_a_basis() -> None:
    with pytest.raises(UsageError):
        replace(promise(), basis="")
