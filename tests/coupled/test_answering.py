"""New questions to a release of answers are answered from what was released, and from nothing else."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from discreet.coupled import (
    HistogramRelease,
    MeasuredMarginals,
    TreeMarginals,
    all_marginals,
    queries_from_json,
    random_queries,
)
from discreet.coupled.answering import answers_from, answers_more
from discreet.coupled.published.laplace import LMGS
from discreet.data import IntegerDomain, Table, synthetic
from discreet.errors import LedgerError, ReleaseError, UsageError
from discreet.privacy import Ledger, Release

TABLE = synthetic.survey(households=60, seed=3)
QUESTIONS = [{}, {"gender": "F"}, {"gender": "F", "age": [18, 29]}, {"age": {"ranges": [[0, 17], [60, 74]]}}]


def cells_of_tree(release: Release, table: Table) -> np.ndarray:
    """The histogram that a tree stands for, cell by cell."""
    names = list(table.domains)
    sizes = {name: table.domains[name].size for name in names}
    counts, tree = release.array("tree_counts"), release.table("tree").rows()
    cells = []
    for codes in product(*(range(sizes[name]) for name in names)):
        at, value = dict(zip(names, codes, strict=True)), float(release.parameters["rows"])
        for attribute, parent, start in tree:
            begin = start + (0 if parent is None else at[parent] * sizes[attribute])
            row = counts[begin : begin + sizes[attribute]]
            value *= row[at[attribute]] / row.sum() if row.sum() > 0 else 1 / sizes[attribute]
        cells.append(value)
    return np.array(cells)


def small() -> Table:
    draw = np.random.default_rng(1)
    a = draw.integers(0, 3, 400)
    columns = {"a": a, "b": (a + draw.integers(0, 2, 400)) % 3, "c": draw.integers(0, 2, 400)}
    return Table(columns, domains={"a": range(3), "b": range(3), "c": range(2)})


def test_a_tree_answers_as_the_histogram_that_it_stands_for() -> None:
    table = small()
    asked = queries_from_json(table, [{}, {"a": 1}, {"a": [0, 1], "b": 2}, {"b": 1, "c": 0}, {"a": 2, "b": 0, "c": 1}])
    release = MeasuredMarginals(epsilon=2).release(table, all_marginals(table, 2))
    assert "tree" in release.parts
    answers, source = answers_from(release, asked)
    assert source == "tree"
    assert np.allclose(answers, asked.answers(cells_of_tree(release, table)))


@pytest.mark.parametrize("method", [HistogramRelease(epsilon=4), TreeMarginals(epsilon=4)])
def test_a_histogram_answers_anything(method: HistogramRelease) -> None:
    release = method.release(TABLE, all_marginals(TABLE, 1))
    answers, source = answers_from(release, queries_from_json(TABLE, QUESTIONS))
    assert source == "histogram"
    assert answers[0] == pytest.approx(len(TABLE))
    assert answers[1] >= answers[2]


def test_what_has_answers_alone_answers_nothing_else() -> None:
    release = LMGS(epsilon=1).release(TABLE, all_marginals(TABLE, 1))
    assert not answers_more(release)
    with pytest.raises(ReleaseError, match="nothing that other questions"):
        answers_from(release, queries_from_json(TABLE, QUESTIONS))


def test_questions_about_another_table_are_refused() -> None:
    release = HistogramRelease(epsilon=1).release(TABLE, all_marginals(TABLE, 1))
    with pytest.raises(UsageError, match="another table"):
        answers_from(release, queries_from_json(small(), [{}]))


@pytest.mark.parametrize(
    "others",
    [
        lambda table: all_marginals(table, 2)[:5],
        lambda table: random_queries(table, 5, seed=2),
        lambda table: random_queries(table, 5, seed=1, kind="weighted"),
        lambda table: random_queries(table, 6, seed=1)[1:],
    ],
)
def test_other_queries_under_one_key_are_refused(others, tmp_path: Path) -> None:
    """A run that is tried again gets its release only for what it asked: as many other queries are another run."""
    rows = synthetic.survey(households=50, seed=7)
    ledger = Ledger(tmp_path / "budget.db")
    ledger.open(rows, population="homes", epsilon=9, unit="record/replace")
    method, asked = HistogramRelease(1), random_queries(rows, 5, seed=1)
    first = method.release(rows, asked, ledger=ledger.keyed("monday"))
    first.save(tmp_path / "release")
    with pytest.raises(LedgerError, match="something else was asked for under the key"):
        method.release(rows, others(rows), ledger=ledger.keyed("monday"))
    assert method.release(rows, asked, ledger=ledger.keyed("monday")).id == first.id
    assert len(ledger.statement("homes").entries) == 1


def test_other_bins_under_one_key_are_refused(tmp_path: Path) -> None:
    """The same rows and the same codes with other ends of the bins are other questions."""
    ages, ledger, method = {"age": [3, 20, 70]}, Ledger(tmp_path / "budget.db"), HistogramRelease(1)
    first, other = (Table(ages, domains={"age": IntegerDomain(0, 99, bins=(0, end))}) for end in (18, 65))
    ledger.open(first, population="people", epsilon=9, unit="record/replace")
    method.release(first, all_marginals(first, 1), ledger=ledger.keyed("monday")).save(tmp_path / "release")
    with pytest.raises(LedgerError, match="something else was asked for under the key"):
        method.release(other, all_marginals(other, 1), ledger=ledger.keyed("monday"))
