"""Benchmarks are run by hand: what they are about must at least be there."""

from __future__ import annotations

from benchmarks.audit import systems

from discreet.models.registry import names


def test_every_system_of_the_audit_can_be_made() -> None:
    made = {name: make() for name, (_, make) in systems().items()}
    assert {*names("recommender"), *names("counts"), *names("tags"), *names("answers")} <= set(made)
