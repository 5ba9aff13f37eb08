"""The attack that the page shows, played for real on invented people, once.

An attacker knows some of a person's ratings, makes accounts that have the same ratings, and asks the recommender what
one of these accounts would say about a film that the person rated in secret. The attacker then computes by Bayes' rule
how likely each rating is: for every rating that the person may have given, the recommender is trained again with that
rating, several times where it draws noise, and it is counted how often its answer is the one that the attacker got.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet import __version__
from discreet.attacks import SybilAttack
from discreet.attacks.engine.foreign import as_tables, fit_any
from discreet.attacks.games.datasets import with_users
from discreet.attacks.games.observing import predicted
from discreet.data import Interactions, synthetic
from discreet.models.registry import create
from discreet.neighbors.similarity import Similarity

__all__ = ["Stage", "Story", "StoryKeeper", "told"]

USERS, ITEMS, SEED, KNOWN = 80, 40, 7, 8
SYBILS = (0, 2, 5, 10)
"""How many invented accounts there are, step by step."""

PERSON = "Robin"
"""What the person is called who is attacked."""

ASKS = 7
"""How often the attacker plays; beliefs are averaged where noise makes them differ."""

CAUTION = 4
"""So many cases of "the secret makes no difference" are added to what was counted: a few runs prove little."""

CERTAIN = 1e-3
"""How likely an answer is that a recommender without noise does not give."""

GAMES = 8
"""How many people are attacked for the table below the story."""

EPSILON, DELTA = "1", "1e-6"


@dataclass(frozen=True)
class Recommended:
    """A recommender that is attacked."""

    name: str
    words: str
    make: Callable[[], Any]
    fits: int
    """How often it is trained for each rating that may be the secret; 1 where it draws no noise."""
    is_gaussian: bool = False
    """Whether its answers are spread around a line, so that a line says more than counting."""


def recommenders() -> tuple[Recommended, ...]:
    """The usual one, the published protection of it, and ours."""
    # People with few films in common are not alike: without that a single common film would make anybody a neighbor.
    likeness = Similarity("cosine", shrinkage=5)
    neighbors: dict[str, Any] = {"k": 10, "axis": "user", "candidates": "all", "fallback": None, "similarity": likeness}
    return (
        Recommended(
            "kNN", "asks the 10 people most like you", lambda: create("knn", centering=None, **neighbors), fits=1
        ),
        Recommended(
            "PPNS",
            "chooses those people at random, with a published claim of ε = 1",
            lambda: create("ppns", epsilon=EPSILON, **neighbors),
            fits=30,
        ),
        Recommended(
            "discreet",
            "counts with noise, with a proof for ε = 1",
            lambda: create("private-item-knn", epsilon=EPSILON, delta=DELTA),
            fits=10,
            is_gaussian=True,
        ),
    )


@dataclass(frozen=True)
class Stage:
    """What the attacker believes with so many invented accounts.

    Attributes
    ----------
    answer
        What the recommender told the attacker, on average over the plays; None where it told nothing.
    beliefs
        How likely each rating is, from the lowest to the highest.
    """

    sybils: int
    answer: float | None
    beliefs: tuple[float, ...]


@dataclass(frozen=True)
class Story:
    """The whole attack.

    Attributes
    ----------
    person, film, truth
        Who is attacked, and the rating that is to be found out.
    known
        Titles and ratings that the attacker knows.
    ratings, prior
        The ratings there are, and how common each is among all others.
    stages
        By the name of the recommender.
    shares
        By the name of the recommender: how often the guess was right over many people, with them and without.
    """

    person: str
    film: str
    truth: float
    known: tuple[tuple[str, float], ...]
    ratings: tuple[float, ...]
    prior: tuple[float, ...]
    stages: dict[str, tuple[Stage, ...]]
    words: dict[str, str]
    shares: dict[str, tuple[float, float]]
    people: int
    games: int
    fixed: tuple[str, ...] = ()
    """The recommenders that draw no noise."""

    def to_json(self) -> dict[str, Any]:
        return {
            **{name: value for name, value in self.__dict__.items() if name != "stages"},
            "stages": {name: [vars(one) for one in stages] for name, stages in self.stages.items()},
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Story:
        stages = {
            name: tuple(Stage(one["sybils"], one["answer"], tuple(one["beliefs"])) for one in found)
            for name, found in given["stages"].items()
        }
        known = tuple((title, rating) for title, rating in given["known"])
        shares = {name: (with_, without) for name, (with_, without) in given["shares"].items()}
        return cls(**{**given, "stages": stages, "known": known, "shares": shares})


def told(*, most_fits: int = 30, games: int = GAMES) -> Story:
    """Play the attack; with fewer fits and games it is faster and less exact."""
    films = synthetic.films(users=USERS, items=ITEMS, seed=SEED)
    attack = SybilAttack(k=max(SYBILS), known=KNOWN, sees="ratings")
    target = attack.draw_targets(films, 1, SEED)[0]
    assert films.rating is not None
    assert films.scale is not None
    assert target.truth is not None
    low, high = float(films.scale.low), float(films.scale.high)
    ratings = tuple(float(one) for one in np.arange(low, high + 0.5, 1.0))
    begin, end = films.user_starts[target.target : target.target + 2]
    others = np.concatenate([films.rating[:begin], films.rating[end:]]).astype(float)
    prior = np.array([np.mean(others == one) for one in ratings])
    probe, own = int(target.hidden[target.probe]), films.item[begin:end]
    known = [place for place in range(own.size) if own[place] not in set(target.hidden.tolist())]
    stages = {}
    for one in recommenders():
        play = _Play(one, films, target, ratings, prior, min(one.fits, most_fits))
        stages[one.name] = tuple(play.stage(sybils) for sybils in SYBILS)
    models = {one.name: one.make for one in recommenders()}
    rows = attack.run(models, films, targets=games, seed=SEED).rows
    return Story(
        person=PERSON,
        film=films.titles(np.array([probe]))[0],
        truth=float(target.truth[target.probe]),
        known=tuple((films.titles(own[[p]])[0], float(films.rating[begin + p])) for p in known),
        ratings=ratings,
        prior=tuple(prior.tolist()),
        stages=stages,
        words={one.name: one.words for one in recommenders()},
        shares={row.model: (row.exact_present, row.exact_absent) for row in rows},
        people=USERS,
        games=rows[0].targets,
        fixed=tuple(one.name for one in recommenders() if one.fits == 1),
    )


@dataclass(frozen=True)
class _Play:
    """One recommender under attack."""

    recommended: Recommended
    films: Interactions
    target: Any
    ratings: tuple[float, ...]
    prior: Any
    fits: int

    def stage(self, sybils: int) -> Stage:
        """What the attacker believes after asking."""
        if not sybils:
            return Stage(0, None, tuple(self.prior.tolist()))
        truth = float(self.target.truth[self.target.probe])
        plays = [self.ask(sybils, truth) for _ in range(min(ASKS, self.fits))]
        answers = [one for one in plays if one is not None]
        if not answers:
            return Stage(sybils, None, tuple(self.prior.tolist()))
        told = [[self.ask(sybils, one) for _ in range(self.fits)] for one in self.ratings]
        weighed = [self._likelihoods(told, one) * self.prior for one in answers]
        beliefs = np.mean([one / one.sum() for one in weighed], axis=0)
        return Stage(sybils, float(np.mean(answers)), tuple(beliefs.tolist()))

    def _likelihoods(self, told: list[list[float | None]], answer: float) -> Any:
        """For each rating that may be the secret: how often the recommender then answers as it did."""
        seen = self._rounded(answer)
        same = np.array([sum(one is not None and self._rounded(one) == seen for one in row) for row in told])
        if self.recommended.fits == 1:
            return np.where(same > 0, 1.0, CERTAIN)
        if self.recommended.is_gaussian:
            return self._gaussian(told, answer)
        anyway = (same.sum() + 1) / (same.size * self.fits + 1)
        return (same + CAUTION * anyway) / (self.fits + CAUTION)

    def _gaussian(self, told: list[list[float | None]], answer: float) -> Any:
        """The same for answers with much noise: a line through all of them, and the spread around it.

        Counting would need thousands of runs to see a small difference; a line sees it in a few.
        """
        pairs = [
            (one, heard) for one, row in zip(self.ratings, told, strict=True) for heard in row if heard is not None
        ]
        secrets, heard = np.array(pairs).T
        slope, start = np.polyfit(secrets, heard, 1)
        spread = max(float(np.std(heard - start - slope * secrets, ddof=2)), 1e-6)
        away = (answer - start - slope * np.array(self.ratings)) / spread
        return np.exp(-(away**2) / 2)

    def _rounded(self, answer: float) -> float:
        return min(self.ratings, key=lambda one: abs(one - answer))

    def ask(self, sybils: int, secret: float) -> float | None:
        """Train the recommender with this secret and so many accounts, and ask for the film as one of them."""
        users, items, values = self.target.sybils
        kept = users < self.target.observer + sybils
        added = (users[kept], items[kept], None if values is None else values[kept])
        number = self.target.number
        data = with_users(self._with(secret), *added, without=None, number=number)
        model = as_tables(self.recommended.make())
        fit_any(model, data)
        film = self.films.items.decode(self.target.hidden[[self.target.probe]])
        found = float(predicted(model, number(self.target.observer), film, first=0)[0])
        return found if np.isfinite(found) else None

    def _with(self, secret: float) -> Interactions:
        """The records, with another rating where the secret is."""
        begin, end = self.films.user_starts[self.target.target : self.target.target + 2]
        place = begin + int(np.flatnonzero(self.films.item[begin:end] == self.target.hidden[self.target.probe])[0])
        assert self.films.rating is not None
        rating = np.array(self.films.rating, copy=True)
        rating[place] = secret
        return self.films.with_ratings(rating, self.films.scale)


class StoryKeeper:
    """Plays the attack once for a service, and keeps it in a file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / f"attack-{__version__}.json"
        self._lock, self._thread = threading.Lock(), None
        self.failed = False

    def story(self) -> Story | None:
        """The story; None while it is being played."""
        if self.file.is_file():
            return Story.from_json(json.loads(self.file.read_text()))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._play, name="discreet-attack", daemon=True)
                self._thread.start()
        return None

    def play(self) -> Story:
        """Play it now, where it was not played before."""
        if not self.file.is_file():
            self._play()
        return Story.from_json(json.loads(self.file.read_text()))

    def _play(self) -> None:
        try:
            text = json.dumps(told().to_json())
            aside = self.file.with_suffix(f".{os.getpid()}")
            aside.write_text(text)
            aside.replace(self.file)
        except BaseException:
            self.failed = True
            raise
