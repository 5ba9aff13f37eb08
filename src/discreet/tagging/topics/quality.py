"""How good topics are: what they make of held-out tags, and whether their tags belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["coherence", "perplexity"]

Floats = NDArray[np.float64]
Numbers = NDArray[np.integer[Any]]

CHUNK = 1 << 15


def perplexity(resource_topics: Floats, topic_tags: Floats, resource: Numbers, tag: Numbers) -> float:
    r"""The reciprocal of the geometric mean probability of these triples: how many equally likely tags are left.

    .. math:: \exp\Bigl(-\frac1n \sum_{(r, t)} \ln \sum_z \Pr(z \mid r) \Pr(t \mid z)\Bigr)

    Parameters
    ----------
    resource_topics, topic_tags
        Pr(z | r), resources × topics, and Pr(t | z), topics × tags.
    resource, tag
        Codes of each triple.
    """
    columns = np.ascontiguousarray(topic_tags.T)
    total = 0.0
    for begin in range(0, tag.size, CHUNK):
        some = slice(begin, begin + CHUNK)
        total += float(np.log(np.einsum("ij,ij->i", resource_topics[resource[some]], columns[tag[some]])).sum())
    return float(np.exp(-total / tag.size))


def coherence(topic_tags: Floats, resource: Numbers, tag: Numbers, *, n: int = 10) -> Floats:
    r"""Of each topic, the mean normalized pointwise mutual information (NPMI) of pairs of its n most probable tags.

    .. math:: \frac{\ln \frac{p(s, t)}{p(s)\, p(t)}}{-\ln p(s, t)}

    with p the share of the resources that have the tag, or both tags: 1 for tags that are always together, 0 for
    independent ones, −1 for those that never meet.

    Parameters
    ----------
    topic_tags
        Pr(t | z), topics × tags.
    resource, tag
        Codes of the triples to judge by; repeats count once.

    References
    ----------
    G. Bouma: Normalized (pointwise) mutual information in collocation extraction. GSCL 2009.
    """
    from scipy.sparse import csr_array

    top = np.argsort(-topic_tags, axis=1, kind="stable")[:, :n]
    listed, column = np.unique(top, return_inverse=True)
    column = column.reshape(top.shape)
    place = np.full(topic_tags.shape[1], -1)
    place[listed] = np.arange(listed.size)
    kept = place[tag] >= 0
    rows, n_resources = np.unique(resource[kept], return_inverse=True)[1], np.unique(resource).size
    occurs = csr_array((np.ones(rows.size), (rows, place[tag[kept]])), shape=(n_resources, listed.size))
    occurs.data[:] = 1.0  # repeats were added up
    together = (occurs.T @ occurs).toarray() / n_resources
    alone = np.diag(together)
    first, second = np.triu_indices(top.shape[1], k=1)
    pairs = together[column[:, first], column[:, second]]
    expected = alone[column[:, first]] * alone[column[:, second]]
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(pairs / expected) / -np.log(pairs)
    information = np.where(pairs == 0, -1.0, np.where(pairs == 1, 1.0, information))
    return information.mean(axis=1)
