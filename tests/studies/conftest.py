"""What the tests of studies share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from discreet.studies import published
from discreet.studies.claims import kind_of, verdicts
from discreet.studies.study import Measurements

Judge = Callable[..., list[str]]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """The verdicts on one claim of a study, by its key: one for each case, without reasons and whatever the size."""

    def judged(
        study: str,
        key: str,
        found: Measurements | Mapping[str, pl.DataFrame],
        *,
        labels: Mapping[str, Any] | None = None,
    ) -> list[str]:
        (claim,) = (claim for claim in published(study)["claims"] if claim["key"] == key)
        measured = found if isinstance(found, Measurements) else Measurements({}, dict(found), {}, dict(labels or {}))
        # Sizes and settings that the test says nothing of are not asked for.
        claim["on"] = {name: value for name, value in claim.get("on", {}).items() if name in measured.labels}
        told = verdicts([claim], measured.all_tables(), labels=measured.labels)["verdict"]
        return [kind_of(verdict) for verdict in told]

    return judged
