"""Guarantees: sentences, composition, comparison, conversion of units."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Interactions
from discreet.errors import PrivacyError, UsageError
from discreet.privacy import Approximate, Concentrated, GaussianLoss, Guarantee, Pure, Standing, Unit
from discreet.privacy.bounding import BoundedInteractions, cap_records
from discreet.privacy.losses import mu_for


def guarantee(epsilon="1/2", unit="user", standing=Standing.PROVED, **more) -> Guarantee:
    return Guarantee(
        loss=Pure(Fraction(epsilon)),
        unit=Unit.of(unit),
        standing=standing,
        basis="Theorem 1",
        subject="noisy counts",
        **more,
    )


def test_the_description_says_everything_in_labelled_lines() -> None:
    lines = guarantee(caps=("each user has at most 3 records",), not_covered=("the catalog",), joint=True).describe()
    said = dict(line.split(":", 1) for line in lines.splitlines())
    assert list(said) == ["released", "protected", "strength", "not covered", "proved by"]
    assert "noisy counts" in said["released"]
    assert "the whole history of one user" in said["protected"]
    assert "at most 3 records" in said["protected"]
    assert "against all others together" in said["protected"]
    assert "ε = 0.5. Even odds of a guess about it become at most 1.65 to 1." in said["strength"]
    assert said["not covered"].strip() == "the catalog"
    assert said["proved by"].strip() == "Theorem 1"


def test_odds_are_stated_with_the_probability_of_an_exception() -> None:
    lines = Guarantee(GaussianLoss(mu_for(1, "1e-6") ** 2), Unit(), Standing.PROVED, "Theorem 1", "counts").describe()
    assert "at most 2.72 to 1, except with probability 1e-6" in lines


def test_one_line_is_short() -> None:
    line = str(guarantee().compose(replace(guarantee(), subject="noisy counts of items " * 20)))
    assert len(line) <= 160
    assert "\n" not in line
    assert line.startswith("PROVED: ε = 1 for the whole history of one user")


@pytest.mark.parametrize(
    ("standing", "words"),
    [(Standing.REFUTED, "was claimed, which does not hold"), (Standing.AS_PUBLISHED, "not proved")],
)
def test_standings_are_plain_in_the_sentence(standing: Standing, words: str) -> None:
    assert words in str(guarantee(standing=standing))
    assert "Even odds" not in guarantee(standing=standing).describe()


def test_composition_adds_losses_and_keeps_the_weakest_standing() -> None:
    both = guarantee().compose(guarantee("1/4", standing=Standing.AS_PUBLISHED, caps=("a cap",)))
    assert both.loss == Pure(Fraction(3, 4))
    assert both.standing is Standing.AS_PUBLISHED
    assert both.caps == ("a cap",)


def test_guarantees_for_different_units_do_not_add_up() -> None:
    with pytest.raises(PrivacyError, match="for_users"):
        guarantee().compose(guarantee(unit="record"))


def test_units_convert_one_way() -> None:
    record = guarantee(unit="record")
    bounded = cap_records(Interactions([("a", "x"), ("a", "y"), ("b", "x")]), 10)
    user = record.for_users(bounded)
    assert user.loss == Pure(Fraction(5))
    assert user.unit == Unit("user")
    assert guarantee().for_replacement().loss == Pure(Fraction(1))
    assert guarantee().for_records().loss == Pure(Fraction(1))
    assert guarantee(unit="user/replace").for_records().loss == Pure(Fraction(1, 2))
    for impossible in (
        lambda: guarantee().for_users(bounded),
        lambda: guarantee(unit="score/value").for_records(),
        lambda: guarantee(unit="user/replace").for_replacement(),
        lambda: record.for_records(),
    ):
        with pytest.raises(PrivacyError):
            impossible()


@pytest.mark.parametrize("cap", [1, 10, 10**6, "10", None])
def test_a_number_shows_no_cap(cap: object) -> None:
    with pytest.raises(UsageError, match="nothing shows that they were held to it"):
        guarantee(unit="record").for_users(cap)  # type: ignore[arg-type]


def test_what_bounding_did_is_part_of_the_guarantee() -> None:
    crowd = Interactions([("a", item) for item in range(18)])
    guaranteed = guarantee(unit="record").for_users(cap_records(crowd, 5))
    assert guaranteed.loss == Pure(Fraction(5, 2))
    assert guaranteed.caps == ("each user's records were cut to 5 at random",)
    with pytest.raises(UsageError, match="more records than this says"):
        guarantee(unit="record").for_users(BoundedInteractions(crowd, 1, 1, ()))


def test_groups_convert_to_their_records() -> None:
    assert guarantee(unit="group:4").for_records().loss == Pure(Fraction(1))
    assert guarantee(unit="group:4").for_records().unit == Unit("record")
    assert guarantee(unit="group/replace:4").for_records().loss == Pure(Fraction(1, 2))
    assert guarantee(unit="group/replace:4").for_records().unit == Unit("record", "replace")


def test_at_delta() -> None:
    stated = replace(guarantee(), loss=Concentrated(Fraction(1, 50))).at_delta("1e-6")
    assert isinstance(stated.loss, Approximate)
    assert 0.8 < stated.loss.epsilon < 1


@given(
    st.fractions(min_value="1/100", max_value=10),
    st.sampled_from(["user", "record", "user/replace", "record/value", "group:4", "group/replace:3", "score/value:2"]),
    st.sampled_from(list(Standing)),
    st.lists(st.text(min_size=1, max_size=20), max_size=3),
    st.booleans(),
)
def test_json_round_trip(epsilon, unit, standing, caps, joint) -> None:
    original = guarantee(str(epsilon), unit, standing, caps=tuple(caps), joint=joint)
    assert Guarantee.from_json(original.to_json()) == original


@pytest.mark.parametrize(
    "text", ["person", "user/often", "group:0", "user:3", "group:x", "user/value", "score", "score/replace"]
)
def test_units_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError):
        Unit.of(text)


@pytest.mark.parametrize(
    "text", ["user/add-remove", "record/add-remove", "group/replace:4", "record/value", "score/value"]
)
def test_unit_codes_round_trip(text: str) -> None:
    assert Unit.of(text).code == text


def test_a_guarantee_needs_a_basis() -> None:
    with pytest.raises(UsageError):
        replace(guarantee(), basis="")
