"""Topics of tags from a noisy matrix of which tags go together: post-processing, whatever the matrix cost.

References
----------
D. Kuang, C. Ding, H. Park: Symmetric nonnegative matrix factorization for graph clustering. SDM 2012.
M. Gavish, D. Donoho: Optimal shrinkage of singular values. IEEE Trans. Inf. Theory 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.common.arguments import require_whole
from discreet.common.arrays import Floats, Integers, Mask
from discreet.errors import UsageError

__all__ = ["MOST_TOPICS", "Topics", "topics_of_gram"]

MOST_TOPICS = 30
ROUNDS = 150
"""Steps of the factorization: it changes little from a hundred on."""

CLEAR = 1.1
"""How far beyond the edge of the noise an eigenvalue counts: of a hundred tags noise alone may exceed it by 5 %."""
FILLINGS = 8
"""How often the diagonal is filled in anew."""


@dataclass(frozen=True, eq=False)
class Topics:
    """A topic model of a list of tags: Pr(t | z), topics × tags; Pr(z | t), tags × topics; Pr(z); and the tags that
    something is known about. Rows sum to one; Pr(z | t) is uniform for a tag that nothing is known about.
    """

    tag_given_topic: Floats
    topic_given_tag: Floats
    share: Floats
    known: Mask

    @classmethod
    def of_weights(cls, weights: Floats) -> Topics:
        """From non-negative weights of tags × topics, proportional to Pr(t, z)."""
        if weights.ndim != 2 or not weights.shape[1] or not np.isfinite(weights).all() or (weights < 0).any():
            raise UsageError("topics are made of finite weights from 0, tags × topics.")
        mass = weights.sum(axis=0)
        total = mass.sum()
        share = mass / total if total > 0 else np.full(mass.size, 1 / mass.size)
        return cls(_shares(weights.T), _shares(weights), share, weights.max(axis=1) > 0)

    @property
    def n_topics(self) -> int:
        return int(self.share.size)

    @property
    def n_tags(self) -> int:
        return int(self.topic_given_tag.shape[0])

    @property
    def topic_of(self) -> Integers:
        """The most probable topic of each tag; the first of equals."""
        return self.topic_given_tag.argmax(axis=1)


def topics_of_gram(noisy_gram: Floats, noise_sd: float, *, most_topics: int = MOST_TOPICS) -> Topics:
    """Topics of the tags of a noisy Gram matrix: a free function of what was released.

    Noise is removed from the matrix by shrinking its eigenvalues. There are as many topics as eigenvalues above the
    edge of the noise. The entries off the diagonal are factored as Σ_z H_tz·H_sz with H ≥ 0; the diagonal, which says
    how often a tag occurs and not what it goes with, is not used.

    Parameters
    ----------
    noisy_gram
        Symmetric, tags × tags.
    noise_sd
        Standard deviation of the noise on the diagonal, √2 times that off it: public.
    most_topics
        The most topics to look for.

    Notes
    -----
    Of H Hᵀ with column sums m_z the joint weight of tag and topic is Pr(t, z) ∝ H_tz·m_z. The factorization starts
    from the eigenvectors, so equal matrices give equal topics.

    References
    ----------
    A. Zhang, T. Cai, Y. Wu: Heteroskedastic PCA. Ann. Statist. 2022 (filling in the diagonal).

    Examples
    --------
    >>> together = np.kron(np.eye(2), np.full((3, 3), 100.0))
    >>> topics = topics_of_gram(together, 1.0).topic_of
    >>> len(set(topics[:3].tolist())), len(set(topics[3:].tolist())), len(set(topics.tolist()))
    (1, 1, 2)
    """
    gram = np.asarray(noisy_gram, dtype=np.float64)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.isfinite(gram).all():
        raise UsageError("a Gram matrix is square and finite.")
    require_whole(most_topics, "most_topics")
    if not noise_sd >= 0:
        raise UsageError(f"noise_sd must be a number from 0, got {noise_sd!r}.")
    values, vectors = _above_noise(gram, noise_sd, most_topics)
    if not values.size:
        return Topics.of_weights(np.zeros((gram.shape[0], 1)))
    clean = np.maximum((vectors * values) @ vectors.T, 0)
    factor = _factored(clean, _start(values, vectors))
    weights = factor * factor.sum(axis=0)
    alive = weights.any(axis=0)
    return Topics.of_weights(weights[:, alive] if alive.any() else weights[:, :1])


def _above_noise(gram: Floats, noise_sd: float, most: int) -> tuple[Floats, Floats]:
    """The leading eigenvalues beyond the edge of the noise, shrunk for what noise added, and their vectors.

    Off-diagonal noise of deviation s/√2 has its spectrum within ±2τ, τ = s·√(V/2); an eigenvalue w beyond it is best
    replaced by √(w² − 4τ²). The diagonal is not looked at: it is filled in from the eigenvectors themselves.
    """
    edge = max(2 * noise_sd * np.sqrt(gram.shape[0] / 2), 1e-9 * float(np.abs(gram).max(initial=0.0)), 1e-12)
    filled = (gram + gram.T) / 2
    np.fill_diagonal(filled, 0.0)
    kept, directions = _leading(filled, edge, most)
    for _ in range(FILLINGS):
        np.fill_diagonal(filled, ((directions**2) * kept).sum(axis=1))
        kept, directions = _leading(filled, edge, most)
    return kept, directions


def _leading(matrix: Floats, edge: float, most: int) -> tuple[Floats, Floats]:
    values, vectors = np.linalg.eigh(matrix)
    leading = np.argsort(-values, kind="stable")[:most]
    leading = leading[values[leading] > CLEAR * edge]
    return np.sqrt(values[leading] ** 2 - edge**2), vectors[:, leading]


def _start(values: Floats, vectors: Floats) -> Floats:
    """The heavier side of each eigenvector, with a little of everything added so that no weight is stuck at zero."""
    positive, negative = np.maximum(vectors, 0), np.maximum(-vectors, 0)
    heavier = (positive**2).sum(axis=0) >= (negative**2).sum(axis=0)
    start = np.where(heavier, positive, negative) * np.sqrt(values)
    return start + 0.01 * start.mean() + 1e-12


def _factored(matrix: Floats, start: Floats) -> Floats:
    """H from 0 up with H Hᵀ near the matrix off the diagonal, by damped multiplicative steps."""
    target = matrix - np.diag(matrix.diagonal())
    factor = start
    for _ in range(ROUNDS):
        fitted = factor @ (factor.T @ factor) - (factor**2).sum(axis=1, keepdims=True) * factor
        factor = factor * (0.5 + 0.5 * (target @ factor) / np.maximum(fitted, 1e-12))
    return np.where(factor < 1e-6 * factor.max(initial=0.0), 0.0, factor)


def _shares(weights: Floats) -> Floats:
    """Rows that sum to one; uniform where there is nothing."""
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / weights.shape[1])
