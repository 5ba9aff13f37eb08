"""The kNN attack: invented users who look like somebody make a recommender give away what that somebody likes.

The games are played as they are defined: one target at a time, a fresh model for each, and every game a second time
with the target's records taken out. What the attacker gets there is what anybody could have guessed.

References
----------
J. Calandrino, A. Kilzer, A. Narayanan, E. Felten, V. Shmatikov: "You might also like": privacy risks of collaborative
filtering. IEEE S&P 2011.
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, chapters 3 and 5 (kNN and beta-kNN attacks).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.attacks.bounds import epsilon_ceiling, epsilon_lower_bound
from discreet.attacks.report import AttackReport, AttackRow
from discreet.data.interactions import Interactions
from discreet.errors import DataError, UsageError
from discreet.privacy.guarantees import Guarantee
from discreet.recommender import Recommender

__all__ = ["BetaSybilAttack", "SybilAttack"]

Choice = Literal["random", "rarest", "popular"]
Fillers = Literal["shifted", "copies"]
Sees = Literal["ratings", "list"]
Factory = Callable[[], Any]
Progress = Callable[[int, int], None]

CONTINUOUS = 200
"""On a scale without steps a guess is right within this part of its width."""


@dataclass(frozen=True)
class SybilAttack:
    """Some of somebody's ratings are known; k invented users copy them, and one of them asks for the rest.

    The observer has exactly the known ratings. The fillers occupy the observer's other places for neighbors, so that
    the target is the only real person whose ratings the observer's predictions are made of. Every hidden rating is
    guessed: the prediction, clipped to the scale and rounded to its step.

    Parameters
    ----------
    k
        Neighbors that the attacked model uses.
    known
        How many ratings of the target are known.
    choose
        Which: at random, those of the rarest items, or those of the most popular ones.
    fillers
        ``"shifted"``: copies with one rating one step off, so that a target who agrees with every known rating ranks
        before them; where there are no ratings, copies without one of the items. ``"copies"``: exact ones.
    beta
        There are beta·k sybils: the observer and beta·k − 1 fillers.
    sees
        What a client of the model sees: ``"ratings"`` it predicts, or the ``"list"`` it recommends; None for
        ratings where the model and the data have them.
    length
        How long a list is.

    Notes
    -----
    From a list the attacker learns which items the target has touched, not how they were rated: success is that a
    hidden item is on the observer's list.

    The bound on epsilon uses one hidden rating of each target, drawn before anything is asked, because what is read
    from one fit is not independent. It is a bound for the whole history of one user, present or absent; a promise about
    single ratings is not refuted by it, and a promise for each question covers one question.

    The list of items is public in this game: it is the same with the target and without. Users have numbers in place
    of their ids, in the same order, and the sybils come last, so that "lower id first" favors the target.

    The guess takes a prediction for a rating. A model that adds the observer's mean to what is above the neighbors' means
    shifts all its answers by the same amount, which this attacker does not undo; that is a limit of the attacker, not a
    protection.

    The attack asks through ``predict`` or ``recommend`` with the observer's own id and nothing else. Fits are not
    charged to any ledger: play it where the data are, and publish nothing but the shares.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.neighbors import PrivateItemKNN
    >>> films = dc.synthetic.films(users=120, items=40, seed=7)
    >>> report = SybilAttack(k=5, known=4).run(lambda: PrivateItemKNN(epsilon=1), films, targets=2, seed=1)
    >>> report.rows[0].model, report.rows[0].sybils, report.rows[0].targets
    ('private-item-knn', 5, 2)
    """

    name: ClassVar[str] = "sybil"

    k: int = 10
    known: int = 8
    choose: Choice = "random"
    fillers: Fillers = "shifted"
    beta: int = 1
    sees: Sees | None = None
    length: int = 10

    def __post_init__(self) -> None:
        for field in ("k", "known", "beta", "length"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{field} = {value!r} must be a whole number from 1 on.")
        for field, options in (
            ("choose", ("random", "rarest", "popular")),
            ("fillers", ("shifted", "copies")),
            ("sees", (None, "ratings", "list")),
        ):
            if getattr(self, field) not in options:
                raise UsageError(
                    f"{field} = {getattr(self, field)!r}?", remedy=f"Choose one of {', '.join(map(repr, options))}."
                )

    @property
    def sybils(self) -> int:
        """How many users are invented."""
        return self.beta * self.k

    def run(
        self,
        models: Factory | Mapping[str, Factory],
        data: Interactions,
        *,
        targets: int | Iterable[Hashable] = 20,
        seed: int = 0,
        delta: float = 0.0,
        confidence: float = 0.95,
        progress: Progress | None = None,
    ) -> AttackReport:
        """Play the game against models.

        Parameters
        ----------
        models
            What makes a fresh model: anything with ``fit(data)`` and ``predict(pairs)`` or ``recommend(users, n)``.
            Several by name.
        data
            The records. Each target costs two fits of each model.
        targets
            Ids of the users to attack, or how many to draw (fewer only where fewer have enough ratings).
        seed
            Draws targets, known ratings and fillers. The noise of private models is not seeded.
        delta, confidence
            For the bound on epsilon.
        progress
            Called with the number of fits done and of all fits.
        """
        self._check(data)
        games = self._games(data, targets, seed)
        named = models if isinstance(models, Mapping) else {_name(models()): models}
        if not named:
            raise UsageError("there is no model to attack.")
        rows: list[AttackRow] = []
        done, total = 0, 2 * len(games) * len(named)
        for name, factory in named.items():
            started, promise, sees = time.monotonic(), None, None
            outcomes: dict[bool, list[_Outcome]] = {True: [], False: []}
            for game in games:
                for present in (True, False):
                    model = factory()
                    sees = sees or self._view(model, data)
                    _favor(model, [game.target] if present else [])
                    promise = _fit(model, game.world(data, present=present))
                    outcomes[present].append(self._ask(model, game, data, sees))
                    done += 1
                    if progress is not None:
                        progress(done, total)
            present, absent = _Tally.of(outcomes[True]), _Tally.of(outcomes[False])
            rows.append(
                AttackRow(
                    model=name,
                    sees=str(sees),
                    sybils=self.sybils,
                    targets=len(games),
                    hidden=sum(game.hidden.size for game in games),
                    exact_present=present.exact,
                    exact_absent=absent.exact,
                    unanswered_present=present.unanswered,
                    unanswered_absent=absent.unanswered,
                    mae_present=present.mae,
                    mae_absent=absent.mae,
                    hits_present=present.hits,
                    hits_absent=absent.hits,
                    epsilon_lower=epsilon_lower_bound(
                        present.hits, len(games), absent.hits, len(games), delta=delta, confidence=confidence
                    ),
                    epsilon_ceiling=epsilon_ceiling(len(games), delta=delta, confidence=confidence),
                    promise=None if promise is None else str(promise.loss),
                    standing=None if promise is None else promise.standing.value,
                    seconds=time.monotonic() - started,
                )
            )
        settings = asdict(self) | {"seed": seed, "delta": delta, "confidence": confidence, "data": data.name}
        return AttackReport(self.name, settings, tuple(rows))

    # Preparing

    def _check(self, data: Interactions) -> None:
        if data.may_repeat:
            raise UsageError(
                "the attack needs one record of each item by each user; these records may repeat.",
                remedy="Choose duplicates='last' or call without_repeats().",
            )
        if data.rating is not None and data.scale is None:
            raise UsageError(
                "a rating cannot be guessed without knowing which ratings there are.",
                remedy="Declare the public scale: Interactions(…, scale='1:5').",
            )

    def _games(self, data: Interactions, targets: int | Iterable[Hashable], seed: int) -> list[_Game]:
        needed = self.known + 1
        if isinstance(targets, int):
            able = np.flatnonzero(data.records_per_user >= needed)
            if targets < 1 or able.size == 0:
                raise UsageError(
                    f"nobody has the {needed} ratings that it takes to know {self.known} and hide one."
                    if targets >= 1
                    else f"targets = {targets} must be at least 1."
                )
            codes = np.random.default_rng(seed).permutation(able)[:targets]
        else:
            ids = [targets] if isinstance(targets, str) else list(targets)
            if not ids:
                raise UsageError("there is no target.")
            codes = data.users.encode(ids)
            for identity, code in zip(ids, codes, strict=True):
                if data.records_per_user[code] < needed:
                    raise UsageError(
                        f"target {identity!r} has {data.records_per_user[code]} ratings; to know {self.known} and hide "
                        f"one takes {needed}.",
                        remedy="Choose another target, or know fewer.",
                    )
        # Each target has a stream of its own: the others do not change what is drawn for one.
        return [self._game(data, int(code), np.random.default_rng([seed, int(code)])) for code in codes]

    def _game(self, data: Interactions, target: int, draw: np.random.Generator) -> _Game:
        begin, end = data.user_starts[target : target + 2]
        items = data.item[begin:end]
        ratings = None if data.rating is None else data.rating[begin:end].astype(np.float64)
        order = draw.permutation(items.size)
        if self.choose != "random":
            # The target counts once for each of these items, so their order is the one without the target.
            counts = data.records_per_item[items[order]]
            order = order[np.argsort(counts if self.choose == "rarest" else -counts, kind="stable")]
        known, hidden = np.sort(order[: self.known]), np.sort(order[self.known :])
        copied = None if ratings is None else ratings[known]
        return _Game(
            target=target,
            hidden=items[hidden],
            truth=None if ratings is None else ratings[hidden],
            probe=int(draw.integers(hidden.size)),
            observer=data.n_users,
            sybils=self._sybils(items[known], copied, data),
        )

    def _sybils(
        self, items: NDArray[np.int32], ratings: NDArray[np.float64] | None, data: Interactions
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]:
        """Records of the sybils: user numbers from the first free one on (the observer), items, ratings."""
        rows = np.repeat(np.arange(self.sybils), items.size)
        columns = np.tile(np.arange(items.size), self.sybils)
        values = None if ratings is None else ratings[columns]
        if self.fillers == "shifted":
            # Filler j differs in the (j mod m)-th of the known items.
            off = (rows > 0) & (columns == rows % items.size)
            if values is not None:
                values = np.where(off, _one_step_off(values, data), values)
            elif items.size > 1:
                rows, columns = rows[~off], columns[~off]
        return rows + data.n_users, items[columns], values

    # Asking

    def _view(self, model: Any, data: Interactions) -> Sees:
        able: dict[Sees, bool] = {
            "ratings": callable(getattr(model, "predict", None)) and data.rating is not None,
            "list": callable(getattr(model, "recommend", None)),
        }
        wanted = [self.sees] if self.sees else list(able)
        for view in wanted:
            if able[view]:
                return view
        raise UsageError(
            f"{_name(model)} shows no {' and no '.join(wanted)} to a client.",
            remedy="A model needs predict (and data with ratings) or recommend.",
        )

    def _ask(self, model: Any, game: _Game, data: Interactions, sees: Sees) -> _Outcome:
        """What the observer is told about the hidden ratings, and how much of it is right."""
        names = data.items.decode(game.hidden)
        if sees == "list":
            shown = model.recommend([game.observer], n=self.length)["item_id"].to_list()
            listed = np.isin(game.hidden, data.items.encode(shown) if shown else [])
            return _Outcome(listed, np.full(game.hidden.size, bool(shown)), None, game.probe)
        told = model.predict([(game.observer, item) for item in names])["score"].cast(pl.Float64)
        answers = told.fill_null(float("nan")).to_numpy()
        if answers.size != game.hidden.size:
            raise DataError(f"{_name(model)} gave {answers.size} answers to {game.hidden.size} questions.")
        assert data.scale is not None
        assert game.truth is not None
        answered = np.isfinite(answers)
        clipped = np.clip(np.where(answered, answers, np.nan), float(data.scale.low), float(data.scale.high))
        errors = np.abs(clipped - game.truth)
        return _Outcome(_right(clipped, game.truth, data) & answered, answered, errors, game.probe)


@dataclass(frozen=True)
class BetaSybilAttack(SybilAttack):
    """The kNN attack with more and more sybils: beta'·k for beta' from 1 to beta + 1.

    A defense that spreads its neighbors over beta groups of k claims to cost an attacker beta·k sybils. The first row,
    with k of them, shows what the cheapest attacker gets.

    Parameters
    ----------
    beta
        The number of groups that the attacked model uses. For the others see ``SybilAttack``.
    """

    name: ClassVar[str] = "beta-sybil"

    beta: int = 4

    def run(
        self,
        models: Factory | Mapping[str, Factory],
        data: Interactions,
        *,
        targets: int | Iterable[Hashable] = 20,
        seed: int = 0,
        delta: float = 0.0,
        confidence: float = 0.95,
        progress: Progress | None = None,
    ) -> AttackReport:
        """Play every size; one row for each model and size. The targets are the same in all of them."""
        chosen = targets if isinstance(targets, int) else list(targets) if not isinstance(targets, str) else [targets]
        settings = asdict(self)
        steps = [SybilAttack(**settings | {"beta": beta}) for beta in range(1, self.beta + 2)]
        reports = []
        for number, step in enumerate(steps):
            shown = None if progress is None else _shifted(progress, number, len(steps))
            reports.append(
                step.run(models, data, targets=chosen, seed=seed, delta=delta, confidence=confidence, progress=shown)
            )
        return AttackReport.joined(self.name, {**reports[0].settings, **settings}, reports)


@dataclass(frozen=True)
class _Game:
    """One target: what is known, what is hidden, who is invented."""

    target: int
    hidden: NDArray[np.int32]
    truth: NDArray[np.float64] | None
    probe: int
    observer: int
    sybils: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]

    def world(self, data: Interactions, *, present: bool) -> Interactions:
        """The records with the sybils, and with or without the target."""
        kept = slice(None) if present else data.user != self.target
        user, item, rating = self.sybils
        columns: dict[str, Any] = {
            "user_id": np.concatenate([data.user[kept].astype(np.int64), user]),
            "item_id": data.items.take(np.concatenate([data.item[kept], item])),
        }
        if data.rating is not None and rating is not None:
            columns["rating"] = np.concatenate([data.rating[kept].astype(np.float64), rating])
        return Interactions(pl.DataFrame(columns), items=data.items, scale=data.scale, name=data.name)


@dataclass(frozen=True)
class _Outcome:
    """One game: which hidden ratings were guessed right, which were answered, how far off the answers were."""

    right: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    errors: NDArray[np.float64] | None
    probe: int


@dataclass(frozen=True)
class _Tally:
    """All games of one kind together."""

    exact: float
    unanswered: float
    mae: float | None
    hits: int

    @classmethod
    def of(cls, outcomes: list[_Outcome]) -> _Tally:
        right = np.concatenate([outcome.right for outcome in outcomes])
        answered = np.concatenate([outcome.answered for outcome in outcomes])
        errors = [o.errors[o.answered] for o in outcomes if o.errors is not None]
        flat = np.concatenate(errors) if errors else np.zeros(0)
        return cls(
            exact=float(right.mean()),
            unanswered=float(1 - answered.mean()),
            mae=float(flat.mean()) if flat.size else None,
            hits=sum(bool(outcome.right[outcome.probe]) for outcome in outcomes),
        )


def _favor(model: Any, users: list[int]) -> None:
    """Tell a model that breaks ties for the attacker whom the attacker wants to see among the neighbors."""
    if getattr(model, "ties", None) == "attacker" and hasattr(model, "attacker"):
        model.attacker = tuple(users)


def _fit(model: Any, world: Interactions) -> Guarantee | None:
    """Fit a model; what it says of its privacy."""
    if not isinstance(model, Recommender):
        model.fit(world)
        return None
    model.fit(world, allow_refuted=True)
    return model.guarantee


def _right(guesses: NDArray[np.float64], truth: NDArray[np.float64], data: Interactions) -> NDArray[np.bool_]:
    assert data.scale is not None
    if data.scale.step is None:
        return np.abs(guesses - truth) <= float(data.scale.width) / CONTINUOUS
    low, step = float(data.scale.low), float(data.scale.step)
    rounded = low + step * np.floor((guesses - low) / step + 0.5)
    return np.abs(rounded - truth) < step / 2


def _one_step_off(ratings: NDArray[np.float64], data: Interactions) -> NDArray[np.float64]:
    """The next rating above, or below for the highest."""
    assert data.scale is not None
    step = float(data.scale.step or data.scale.width / 10)
    return np.where(ratings + step <= float(data.scale.high) + step / 1000, ratings + step, ratings - step)


def _name(model: Any) -> str:
    return str(getattr(model, "name", None) or type(model).__name__)


def _shifted(progress: Progress, number: int, parts: int) -> Progress:
    """Progress of one part of several equal ones."""
    return lambda done, total: progress(number * total + done, parts * total)
