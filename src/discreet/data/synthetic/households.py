"""Coupled records: a survey of people in households, who answer alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.common.arrays import AnyFloats, Codes, Integers
from discreet.data.domains import CategoricalDomain, IntegerDomain
from discreet.data.splits import seeded
from discreet.data.synthetic.drawing import WeightedRows, check_size, drawn, numbered, owners
from discreet.data.tables import Table

__all__ = ["SurveyTruth", "survey", "survey_world"]

DOMAINS = {
    "city": CategoricalDomain(("Ashford", "Brookhaven", "Claymont", "Dunwich", "Elmira", "Fairmont")),
    "income": CategoricalDomain(("low", "lower middle", "middle", "upper middle", "high")),
    "housing": CategoricalDomain(("rents", "owns")),
    "age": IntegerDomain(0, 99, bins=(0, 18, 30, 45, 60, 75)),
    "gender": CategoricalDomain(("F", "M")),
    "education": CategoricalDomain(("at school", "school", "vocational", "university")),
    "commute": CategoricalDomain(("none", "on foot or by bicycle", "public transport", "car")),
}

# Households: how many people, and what they share.
_SIZES = np.array([0.34, 0.31, 0.14, 0.13, 0.06, 0.02])
_CITY = np.array([0.30, 0.24, 0.18, 0.13, 0.10, 0.05])
_INCOME_BY_CITY = np.array(
    [
        [0.14, 0.20, 0.28, 0.23, 0.15],
        [0.18, 0.24, 0.30, 0.19, 0.09],
        [0.25, 0.28, 0.27, 0.14, 0.06],
        [0.12, 0.22, 0.34, 0.22, 0.10],
        [0.30, 0.30, 0.24, 0.12, 0.04],
        [0.08, 0.14, 0.26, 0.28, 0.24],
    ]
)
_OWNS_BY_INCOME = np.array([0.15, 0.30, 0.50, 0.68, 0.82])

# People: an adult by income or by city, a child whatever these are.
_EDUCATION_BY_INCOME = np.array(
    [[0.03, 0.52, 0.33, 0.12], [0.02, 0.38, 0.40, 0.20], [0.02, 0.27, 0.40, 0.31], [0.01, 0.17, 0.32, 0.50],
     [0.01, 0.10, 0.19, 0.70]]
)  # fmt: skip
_COMMUTE_BY_CITY = np.array(
    [[0.28, 0.22, 0.38, 0.12], [0.30, 0.18, 0.24, 0.28], [0.33, 0.14, 0.13, 0.40], [0.31, 0.26, 0.15, 0.28],
     [0.38, 0.12, 0.08, 0.42], [0.29, 0.09, 0.12, 0.50]]
)  # fmt: skip
_EDUCATION_OF_CHILD = np.array([0.92, 0.08, 0.0, 0.0])
_COMMUTE_OF_CHILD = np.array([0.35, 0.40, 0.20, 0.05])
_AGES = np.arange(100)
_HEAD_AGE = np.where((_AGES >= 20) & (_AGES < 95), np.exp(-(((_AGES - 47) / 22.0) ** 2)), 0.0)
_HEAD_AGE /= _HEAD_AGE.sum()
_AGE_GAP = np.arange(-6, 7)
_AGE_GAP_WEIGHTS = np.array([1, 2, 4, 7, 11, 15, 20, 15, 11, 7, 4, 2, 1]) / 100
_SAME_GENDER = 0.05


@dataclass(frozen=True)
class SurveyTruth:
    """The parameters that the answers were drawn with.

    Attributes
    ----------
    probabilities
        Probability of each cell of the product domain for one person; the shape of the table.
    largest_household
        The largest number of members of a household: the public bound that a guarantee for households needs.
    shared
        Attributes on which all members of a household agree.
    """

    probabilities: AnyFloats
    largest_household: int
    shared: tuple[str, ...]


def survey(*, households: int = 1_500, seed: int) -> Table:
    """Answers of people in households, with declared domains; ``group`` says who lives together.

    Parameters
    ----------
    households
        Number of households; about 2.3 people live in each, six at most.
    seed
        The same seed gives the same data.

    Notes
    -----
    Members share city, income and housing; partners are of similar age. One person's answers reveal those of the
    others, so protecting a single row protects nobody who lives with others.

    Examples
    --------
    >>> survey(households=100, seed=7)
    Table('survey': 244 rows, 7 attributes, 11,520 cells, 100 groups)
    """
    return survey_world(households=households, seed=seed)[0]


def survey_world(*, households: int = 1_500, seed: int) -> tuple[Table, SurveyTruth]:
    """The same answers as ``survey``, and the parameters that they were drawn with."""
    n_households = check_size(households, "households", least=1, most=2**31 // _SIZES.size)
    generator = seeded(seed, "survey")

    size = 1 + drawn(_SIZES, n_households, generator)
    city = drawn(_CITY, n_households, generator)
    income = WeightedRows(_INCOME_BY_CITY).draw(city, generator)
    owns = (generator.random(n_households) < _OWNS_BY_INCOME[income]).astype(np.int64)

    home = owners(size)
    place = np.arange(home.size) - np.repeat(np.cumsum(size) - size, size)
    age, gender = _ages_and_genders(home, place, n_households, generator)
    adult = age >= 18
    education = WeightedRows(np.vstack([_EDUCATION_OF_CHILD, _EDUCATION_BY_INCOME]))
    commute = WeightedRows(np.vstack([_COMMUTE_OF_CHILD, _COMMUTE_BY_CITY]))
    codes = {
        "city": city[home],
        "income": income[home],
        "housing": owns[home],
        "gender": gender,
        "education": education.draw(adult * (1 + income[home]), generator),
        "commute": commute.draw(adult * (1 + city[home]), generator),
    }
    columns = {name: _values(name, codes[name]) if name in codes else pl.Series(age) for name in DOMAINS}
    columns["household"] = numbered("h", n_households).gather(home)
    table = Table(columns, domains=DOMAINS, group="household", name="survey")
    return table, SurveyTruth(_probabilities(), _SIZES.size, ("city", "income", "housing"))


def _ages_and_genders(
    home: Codes, place: Integers, n_households: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """The first member is the head, the second the partner, the others are children."""
    head_age = drawn(_HEAD_AGE, n_households, generator)
    partner_age = np.clip(head_age + _AGE_GAP[drawn(_AGE_GAP_WEIGHTS, n_households, generator)], 18, 99)
    head_gender = generator.integers(0, 2, n_households)
    partner_gender = head_gender ^ (generator.random(n_households) >= _SAME_GENDER)
    child_age, child_gender = generator.integers(0, 18, home.size), generator.integers(0, 2, home.size)
    roles = [place == 0, place == 1]
    return (
        np.select(roles, [head_age[home], partner_age[home]], child_age),
        np.select(roles, [head_gender[home], partner_gender[home]], child_gender),
    )


def _probabilities() -> AnyFloats:
    """Probability of each cell for one person: the conditional tables multiplied out."""
    size = np.arange(1, _SIZES.size + 1)
    members = _SIZES @ size
    heads, partners = 1 / members, _SIZES[size > 1].sum() / members
    partner_age = np.zeros(100)
    for gap, weight in zip(_AGE_GAP, _AGE_GAP_WEIGHTS, strict=True):
        np.add.at(partner_age, np.clip(_AGES + gap, 18, 99), weight * _HEAD_AGE)
    age = heads * _HEAD_AGE + partners * partner_age
    age[:18] += (1 - heads - partners) / 18
    bands = np.bincount(DOMAINS["age"].encode(pl.Series(_AGES)), weights=age)

    child = np.arange(bands.size) == 0
    shared = (_CITY[:, None] * _INCOME_BY_CITY)[:, :, None] * np.stack([1 - _OWNS_BY_INCOME, _OWNS_BY_INCOME], axis=1)
    education = np.where(child[None, :, None], _EDUCATION_OF_CHILD, _EDUCATION_BY_INCOME[:, None, :])
    commute = np.where(child[None, :, None], _COMMUTE_OF_CHILD, _COMMUTE_BY_CITY[:, None, :])
    # c city, i income, h housing, a age, g gender, e education, t transport
    return np.einsum("cih,a,g,iae,cat->cihaget", shared, bands, np.full(2, 0.5), education, commute)


def _values(name: str, codes: Integers) -> pl.Series:
    return pl.Series(DOMAINS[name].labels()).gather(codes)
