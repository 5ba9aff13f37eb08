"""New questions to a release of answers, from the histogram or the tree of counts that it holds: post-processing."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.common.arrays import Floats
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import Workload
from discreet.errors import ReleaseError, UsageError

if TYPE_CHECKING:
    from discreet.privacy.release import Release

__all__ = ["answers_from", "answers_more"]


def answers_more(release: Release) -> bool:
    """Whether a release can answer questions that it was not made for."""
    return "histogram" in release.parts or {"tree", "tree_counts"} <= set(release.parts)


def answers_from(release: Release, workload: Workload) -> tuple[Floats, str]:
    """Answers in records to any queries about the same table, and where they come from: "histogram" or "tree".

    Costs nothing: only the release is read. A question that the release has an answer to may get another one here,
    where that answer was measured by itself.

    Parameters
    ----------
    workload
        Queries over the domains of the table that the release is about.

    Examples
    --------
    >>> from discreet.coupled import HistogramRelease, queries_from_json, random_queries
    >>> from discreet.data.synthetic import survey
    >>> table = survey(households=100, seed=7)
    >>> release = HistogramRelease(epsilon=1).release(table, random_queries(table, 5, seed=1))
    >>> answers, source = answers_from(release, queries_from_json(table, [{}, {"gender": "F"}]))
    >>> round(answers[0]) == len(table), bool(answers[1] <= answers[0]), source
    (True, True, 'histogram')
    """
    if not answers_more(release):
        raise ReleaseError(
            "this release has answers and nothing that other questions could be answered from.",
            remedy="Release with histogram, shrunk-histogram, tree, marginals, pmw or mwem.",
        )
    shape = release.parameters.get("shape")
    if shape is not None and list(shape) != list(workload.shape):
        raise UsageError(
            "the queries are about another table than the release.", remedy="Give the domains of its table."
        )
    if "histogram" in release.parts:
        histogram = release.array("histogram").astype(np.float64).ravel()
        if histogram.size != workload.n_cells:
            raise UsageError(
                "the queries are about another table than the release.", remedy="Give the domains of its table."
            )
        return np.asarray(workload.answers(histogram), dtype=np.float64), "histogram"
    if not isinstance(workload, ProductWorkload):
        raise UsageError(
            "random queries cannot be answered from a tree of counts.",
            remedy="Ask for values and ranges of attributes.",
        )
    return _from_tree(release, workload), "tree"


def _from_tree(release: Release, workload: ProductWorkload) -> Floats:
    """Σ over all cells of weight × what the tree expects there, one attribute after the other, children first.

    In a tree every attribute depends on its parent alone, so the sum over a child, given the value of the parent, is a
    factor in the sum over the parent.
    """
    tree, counts = release.table("tree"), release.array("tree_counts")
    sizes = dict(zip(workload.domains, workload.shape, strict=True))
    weights = {
        name: rows[which] for name, (rows, which) in zip(workload.domains, workload.weights_by_attribute(), strict=True)
    }
    expected = sum(
        prod(sizes.get(one, 0) for one in row if one is not None) for row in tree.select("attribute", "parent").rows()
    )
    if set(tree["attribute"]) != set(sizes) or expected != counts.size:
        raise UsageError(
            "the queries are about another table than the release.", remedy="Give the domains of its table."
        )
    answers = np.full(len(workload), float(release.parameters["rows"]))
    for attribute, parent, start in reversed(tree.rows()):  # parents come before children
        height = 1 if parent is None else sizes[parent]
        table = counts[start : start + height * sizes[attribute]].reshape(height, sizes[attribute])
        total = table.sum(axis=1, keepdims=True)
        even = np.full_like(table, 1 / sizes[attribute])
        shares = np.divide(table, total, out=even, where=total > 0)
        given = weights[attribute] @ shares.T  # query × value of the parent
        if parent is None:
            answers *= given[:, 0]
        else:
            weights[parent] = weights[parent] * given
    return answers
