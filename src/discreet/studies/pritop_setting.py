"""What the study of tagging releases is run on, and with which parameters."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import polars as pl

from discreet.data.tags import TagAssignments
from discreet.errors import DataError, UsageError
from discreet.evaluation.tag_protocol import PostQuestions, leave_one_post_out

__all__ = ["KINDEST", "Setting", "builtin", "setting_of"]

DELTA = Fraction(1, 10**6)
QUICK_USERS = 120

KINDEST: dict[str, Any] = {
    "candidates": "profile",
    "profile": "assignments",
    "noisy_topics": "own",
    "inserted_links": "none",
}
"""The reading of PriTop that recommends best: tags are exchanged for tags of the same person, and none is added."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Triples, of which one post of each user is left out, and the parameters of section 4.5.

    Parameters
    ----------
    data
        The triples; which tags and resources occur is taken for public.
    seed
        Draws the posts that are left out.
    topics
        K of Figure 4.1.
    chosen_topics
        K of all others.
    iterations
        Of the topic model, at most.
    losses, published, ours
        ε of Figure 4.1, of PriTop in Figure 4.4, and of the proved releases.
    sampled
        Of so many users released tags are paired with true ones.
    """

    data: TagAssignments
    seed: int
    topics: tuple[int, ...] = tuple(range(10, 101, 10))
    chosen_topics: int = 100
    iterations: int = 500
    losses: tuple[Fraction, ...] = tuple(Fraction(tenths, 10) for tenths in (1, 3, 5, 7, 10))
    published: tuple[Fraction, ...] = tuple(Fraction(tenths, 10) for tenths in (1, 3, 5, 7, 10))
    ours: tuple[Fraction, ...] = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(5, 2))
    sampled: int = 200
    lengths: tuple[int, ...] = tuple(range(1, 11))
    delta: Fraction = DELTA

    @cached_property
    def questions(self) -> PostQuestions:
        """What is left to learn from, and what is asked for."""
        return leave_one_post_out(self.data, seed=self.seed)

    @property
    def train(self) -> TagAssignments:
        return self.questions.train


def setting_of(data: TagAssignments, *, seed: int, quick: bool) -> Setting:
    """The setting for these triples, without tags that no person chose; mistakes are found here."""
    if not isinstance(data, TagAssignments):
        raise UsageError(f"this study runs on TagAssignments, not on {type(data).__name__}.")
    if data.n_tags and data.tags.series.dtype == pl.String:
        data = data.cleaned()
    if quick and data.n_users > QUICK_USERS:
        data = data.sample_users(QUICK_USERS, seed=seed)
    if len(data) == 0:
        raise DataError("there are no triples to study.")
    # What was cleaned and drawn are the data of the study; who tagged what is public in some of its releases.
    data = TagAssignments(data.to_frame(), name=data.name).with_vocabulary("observed").with_resources("observed")
    if not quick:
        return Setting(data, seed)
    few = (Fraction(1, 2), Fraction(1))
    return Setting(
        data,
        seed,
        (5, 20),
        20,
        iterations=30,
        losses=few,
        published=few,
        ours=(Fraction(1), Fraction(5, 2)),
        sampled=20,
    )


def builtin(*, quick: bool) -> TagAssignments:
    """The built-in listeners: of the size of Last.fm, or a few of them."""
    from discreet.data import synthetic

    if quick:
        return synthetic.listeners(users=QUICK_USERS, resources=900, vocabulary=800, seed=7)
    return synthetic.listeners(seed=7)
