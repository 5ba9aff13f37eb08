"""A short version of ``make crash``: real servers and workers, killed at random moments, on both databases."""

from __future__ import annotations

import pytest
from tests.service.crash import crash, schema_of


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_whatever_is_killed_nothing_is_overspent_and_every_job_is_in_a_true_state(
    kind: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    place = url and schema_of(url, "crash")
    with crash(place, seed=3, spenders=6, servers=1, workers=2) as one:
        one.round(kills=3)
        assert not one.mistakes
        assert one.counts["jobs"] > 0
