"""Ids that a release cannot hold are refused before anything is spent."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.tagging import PTRJ, PTRS, PTRT, PriTop, PrivateTopics
from discreet.tagging.tag_method import TagMethod

WHOLE = [PTRJ(epsilon=1, delta="1e-6"), PTRS(epsilon=1, delta="1e-6", users=5)]
TOPICS = PrivateTopics(epsilon=1, delta="1e-6")
NAMED = [PTRT(epsilon=1, delta="1e-6"), PTRT(epsilon=1)]
TEXT = [("ann", "r1", "a"), ("bob", "r2", "b")]
ODD_USERS = {"tuples": [((1, 2), "r1", "a"), ((3, 4), "r2", "b")], "mixed": [(1, "r1", "a"), ("bob", "r2", "b")]}
ODD_TAGS = {"tuples": [("ann", "r1", ("a",)), ("bob", "r2", ("b",))], "mixed": [("ann", "r1", 1), ("bob", "r2", "b")]}
ODD_RESOURCES = [("ann", ("r", 1), "a"), ("bob", "r2", "b")]


def observed(triples: list) -> TagAssignments:
    return TagAssignments(triples, name="odd").with_vocabulary("observed").with_resources("observed")


def refused(tmp_path, method: TagMethod, data: TagAssignments, what: str) -> None:
    ledger = dc.Ledger(tmp_path / "b.db")
    ledger.open(data, epsilon=20, delta="1e-3", unit=str(method.plan(observed(TEXT)).unit.code))
    with pytest.raises(UsageError, match=f"the {what} ids here"):
        method.release(data, ledger=ledger)
    with pytest.raises(UsageError, match=f"the {what} ids here"):
        method.estimate(data)
    assert float(ledger.statement("odd").spent.epsilon) == 0


@pytest.mark.parametrize("method", NAMED, ids=lambda method: method.name)
@pytest.mark.parametrize("triples", ODD_USERS.values(), ids=ODD_USERS)
def test_users_that_are_shown(tmp_path, method, triples):
    refused(tmp_path, method, observed(triples), "user")


@pytest.mark.parametrize("method", [*WHOLE, TOPICS, *NAMED], ids=lambda method: method.name)
@pytest.mark.parametrize("triples", ODD_TAGS.values(), ids=ODD_TAGS)
def test_tags(tmp_path, method, triples):
    refused(tmp_path, method, observed(triples), "tag")


@pytest.mark.parametrize("method", [*WHOLE, *NAMED], ids=lambda method: method.name)
def test_resources(tmp_path, method):
    refused(tmp_path, method, observed(ODD_RESOURCES), "resource")


def test_what_is_not_shown_may_be_anything():
    for triples in ODD_USERS.values():
        for method in (*WHOLE, TOPICS):
            assert method.release(observed(triples)).parts
    assert TOPICS.release(observed(ODD_RESOURCES)).parts
    assert PTRJ(epsilon=1, delta="1e-6", resources=0).release(observed(ODD_RESOURCES)).parts


def test_the_published_method_shows_everything():
    for triples in (*ODD_USERS.values(), *ODD_TAGS.values(), ODD_RESOURCES):
        with pytest.raises(UsageError, match="ids here"):
            PriTop(epsilon=1, topics=2).release(observed(triples), allow_refuted=True)
