"""What the tests of studies share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from discreet.studies import published
from discreet.studies.claims import verdicts
from discreet.studies.study import Measurements

Judge = Callable[..., list[str]]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """The verdicts on one claim of a study, by its key: one for each case."""

    def judged(
        study: str,
        key: str,
        found: Measurements | Mapping[str, pl.DataFrame],
        *,
        labels: Mapping[str, Any] | None = None,
    ) -> list[str]:
        (claim,) = (claim for claim in published(study)["claims"] if claim["key"] == key)
        measured = found if isinstance(found, Measurements) else Measurements({}, dict(found), {}, dict(labels or {}))
        return verdicts([claim], measured.all_tables(), labels=measured.labels)["verdict"].to_list()

    return judged
