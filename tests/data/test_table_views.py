"""The same rows under other domains."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.data import IntegerDomain, Table, synthetic
from discreet.errors import DataError, UsageError


@pytest.fixture(scope="module")
def survey() -> Table:
    return synthetic.survey(households=40, seed=1)


def test_rows_and_groups_stay(survey: Table) -> None:
    view = survey.with_attributes(["gender", "age"])
    assert view.attributes == ("gender", "age")
    assert survey.group is not None
    np.testing.assert_array_equal(view.group, survey.group)
    np.testing.assert_array_equal(view.histogram(), survey.histogram(["gender", "age"]))


def test_wider_bins_are_the_same_data(survey: Table) -> None:
    domains = {**survey.domains, "age": IntegerDomain(0, 99, bins=2)}
    view = survey.with_domains(domains)
    assert view.fingerprint == survey.fingerprint
    assert view.lineage == (survey.fingerprint,)
    assert view.shape[survey.attributes.index("age")] == 2


def test_a_part_remembers_the_whole(survey: Table) -> None:
    view = survey.with_attributes(["age"])
    assert view.fingerprint != survey.fingerprint
    assert view.lineage == (survey.fingerprint,)
    assert view.with_attributes(["age"]).lineage == (survey.fingerprint, view.fingerprint)


def test_what_cannot_be(survey: Table) -> None:
    for wrong in ([], ["age", "age"]):
        with pytest.raises(UsageError, match="each once"):
            survey.with_attributes(wrong)
    with pytest.raises(UsageError, match="nobody"):
        survey.with_attributes(["nobody"])
    with pytest.raises(DataError, match="outside"):
        survey.with_domains({"age": range(5)})
