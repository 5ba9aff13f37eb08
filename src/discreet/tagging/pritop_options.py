"""What the PriTop paper leaves open, as choices with names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

from discreet.errors import UsageError
from discreet.pairs.pair_sums import require_whole

if TYPE_CHECKING:
    from discreet.tagging.pritop import PriTop

__all__ = [
    "OPTIONS",
    "Assignment",
    "Candidates",
    "CountNoise",
    "InsertedLinks",
    "Links",
    "Members",
    "Model",
    "NoisyTopics",
    "Profile",
    "WeightScale",
    "check_options",
]

CountNoise = Literal["pair", "count"]
Assignment = Literal["likeliest", "drawn"]
Profile = Literal["tags", "assignments"]
WeightScale = Literal["equation", "proof"]
NoisyTopics = Literal["all", "own"]
Model = Literal["exact", "noisy"]
Members = Literal["assigned", "likeliest"]
Candidates = Literal["topic", "profile"]
Links = Literal["kept", "drawn"]
InsertedLinks = Literal["own", "drawn", "none"]

OPTIONS: dict[str, tuple[str, ...]] = {
    "noise_on": get_args(CountNoise),
    "assignment": get_args(Assignment),
    "profile": get_args(Profile),
    "weight_scale": get_args(WeightScale),
    "noisy_topics": get_args(NoisyTopics),
    "model": get_args(Model),
    "members": get_args(Members),
    "candidates": get_args(Candidates),
    "links": get_args(Links),
    "inserted_links": get_args(InsertedLinks),
}
"""The values that each option can take; the first is the default."""

MOST_EPSILON = 4096
"""Up to here the smallest weight of a candidate, e^(−ε/8), is a number."""

MOST_TOPICS = 10_000


def check_options(method: PriTop) -> None:
    """Refuse what cannot be run, before anything is charged."""
    if not 0 < method.epsilon <= MOST_EPSILON:
        raise UsageError(f"epsilon = {method.epsilon} must be above 0 and at most {MOST_EPSILON}.")
    require_whole(method.topics, "topics", least=1)
    require_whole(method.iterations, "iterations", least=1)
    if method.topics > MOST_TOPICS:
        raise UsageError(f"topics = {method.topics} are too many.", remedy=f"At most {MOST_TOPICS:,} are possible.")
    for name in ("alpha", "beta"):
        given = getattr(method, name)
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < math.inf:
            raise UsageError(f"{name} = {given!r} must be a number above 0.")
    for name, allowed in OPTIONS.items():
        given = getattr(method, name)
        if given not in allowed:
            raise UsageError(f"{name} = {given!r} is not known.", remedy=f"Choose {' or '.join(map(repr, allowed))}.")
    if method.model == "noisy" and method.noise_on == "pair":
        raise UsageError(
            "there is no noisy model where noise is fresh for every pair.",
            remedy='Choose noise_on="count" with model="noisy".',
        )
