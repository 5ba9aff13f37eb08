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
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.attacks.bounds import epsilon_ceiling, epsilon_lower_bound
from discreet.attacks.games import Game, Outcome, Tally, guessed_right, one_step_off
from discreet.attacks.report import AttackReport, AttackRow
from discreet.data.interactions import Interactions
from discreet.errors import BudgetError, DataError, UsageError
from discreet.privacy.guarantees import Guarantee
from discreet.recommender import Recommender

__all__ = ["BetaSybilAttack", "SybilAttack"]

Choice = Literal["random", "rarest", "popular"]
Fillers = Literal["shifted", "copies"]
Sees = Literal["ratings", "list"]
Factory = Callable[[], Any]
Progress = Callable[[int, int], None]


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
    of their ids, in the same order, and the sybils come last, so that "lower id first" favors the target. Times and
    contexts of the records are left out.

    The guess takes a prediction for a rating. A model that centers ratings on the means of their users shifts all its
    answers by the same amount, which this attacker does not undo; that is a limit of the attacker, not a protection.

    A model with ``ties="attacker"`` is told to prefer the target and the sybils: the most that ties can give away.

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
        if seed < 0:
            raise UsageError(f"seed = {seed} must not be below 0.")
        games = self._games(data, targets, seed)
        named = models if isinstance(models, Mapping) else {_name(models()): models}
        if not named:
            raise UsageError("there is no model to attack.")
        fits = 2 * len(games) * len(named)
        rows = []
        for number, (name, factory) in enumerate(named.items()):
            report = None if progress is None else partial(_report, progress, number * 2 * len(games), fits)
            rows.append(self._row(name, factory, data, games, delta, confidence, report))
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

    def _games(self, data: Interactions, targets: int | Iterable[Hashable], seed: int) -> list[Game]:
        needed = self.known + 1
        if isinstance(targets, int | np.integer):
            if targets < 1:
                raise UsageError(f"targets = {targets} must be at least 1.")
            able = np.flatnonzero(data.records_per_user >= needed)
            if able.size == 0:
                raise UsageError(f"nobody has the {needed} ratings that it takes to know {self.known} and hide one.")
            codes = np.random.default_rng(seed).permutation(able)[:targets]
        else:
            ids = _listed(targets)
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

    def _game(self, data: Interactions, target: int, draw: np.random.Generator) -> Game:
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
        return Game(
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
                assert data.scale is not None
                values = np.where(off, one_step_off(values, data.scale), values)
            elif items.size > 1:
                rows, columns = rows[~off], columns[~off]
        return rows + data.n_users, items[columns], values

    # Playing

    def _row(
        self,
        name: str,
        factory: Factory,
        data: Interactions,
        games: list[Game],
        delta: float,
        confidence: float,
        progress: Callable[[int], None] | None,
    ) -> AttackRow:
        """All games against one model, each in both worlds."""
        started, promise, sees = time.monotonic(), None, self._view(factory(), data)
        outcomes: dict[bool, list[Outcome]] = {True: [], False: []}
        for number, game in enumerate(games):
            for present in (True, False):
                model = factory()
                _favor(model, game, present=present)
                promise = _fit(model, game.world(data, present=present))
                outcomes[present].append(self._ask(model, game, data, sees))
                if progress is not None:
                    progress(2 * number + (1 if present else 2))
        present, absent, n = Tally.of(outcomes[True]), Tally.of(outcomes[False]), len(games)
        return AttackRow(
            model=name,
            sees=sees,
            sybils=self.sybils,
            targets=n,
            hidden=sum(game.hidden.size for game in games),
            exact_present=present.exact,
            exact_absent=absent.exact,
            unanswered_present=present.unanswered,
            unanswered_absent=absent.unanswered,
            mae_present=present.mae,
            mae_absent=absent.mae,
            hits_present=present.hits,
            hits_absent=absent.hits,
            epsilon_lower=epsilon_lower_bound(present.hits, n, absent.hits, n, delta=delta, confidence=confidence),
            epsilon_ceiling=epsilon_ceiling(n, delta=delta, confidence=confidence),
            promise=None if promise is None else str(promise.loss),
            standing=None if promise is None else promise.standing.value,
            seconds=time.monotonic() - started,
        )

    def _view(self, model: Any, data: Interactions) -> Sees:
        able: dict[Sees, bool] = {
            "ratings": callable(getattr(model, "predict", None)) and data.rating is not None,
            "list": callable(getattr(model, "recommend", None)),
        }
        wanted: list[Sees] = [self.sees] if self.sees else ["ratings", "list"]
        for view in wanted:
            if able[view]:
                return view
        raise UsageError(
            f"{_name(model)} shows no {' and no '.join(wanted)} to a client.",
            remedy="A model needs predict (and data with ratings) or recommend.",
        )

    def _ask(self, model: Any, game: Game, data: Interactions, sees: Sees) -> Outcome:
        """What the observer is told about the hidden ratings, and how much of it is right."""
        names = data.items.decode(game.hidden)
        if sees == "list":
            shown = model.recommend([game.observer], n=self.length)["item_id"].to_list()
            listed = np.isin(game.hidden, data.items.encode(shown) if shown else [])
            return Outcome(listed, np.full(game.hidden.size, bool(shown)), None, game.probe)
        answers = _answers(model, game.observer, names, game.probe)
        assert data.scale is not None
        assert game.truth is not None
        answered = np.isfinite(answers)
        clipped = np.clip(np.where(answered, answers, np.nan), float(data.scale.low), float(data.scale.high))
        errors = np.abs(clipped - game.truth)
        return Outcome(guessed_right(clipped, game.truth, data.scale) & answered, answered, errors, game.probe)


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
        chosen = targets if isinstance(targets, int | np.integer) else _listed(targets)
        steps = [self._with(beta) for beta in range(1, self.beta + 2)]
        reports = []
        for number, step in enumerate(steps):
            shown = None if progress is None else partial(_report_part, progress, number, len(steps))
            reports.append(
                step.run(models, data, targets=chosen, seed=seed, delta=delta, confidence=confidence, progress=shown)
            )
        return AttackReport.joined(self.name, {**reports[0].settings, "beta": self.beta}, reports)

    def _with(self, beta: int) -> SybilAttack:
        """The plain attack with so many times k sybils."""
        return SybilAttack(
            k=self.k,
            known=self.known,
            choose=self.choose,
            fillers=self.fillers,
            beta=beta,
            sees=self.sees,
            length=self.length,
        )


def _favor(model: Any, game: Game, *, present: bool) -> None:
    """Tell a model that breaks ties for the attacker whom the attacker wants to see among the neighbors."""
    if getattr(model, "ties", None) == "attacker" and hasattr(model, "attacker"):
        sybils = np.unique(game.sybils[0]).tolist()
        model.attacker = (game.target, *sybils) if present else tuple(sybils)


def _fit(model: Any, world: Interactions) -> Guarantee | None:
    """Fit a model; what it says of its privacy."""
    if not isinstance(model, Recommender):
        model.fit(world)
        return None
    model.fit(world, allow_refuted=True)
    return model.guarantee


def _answers(model: Any, observer: int, items: list[Any], probe: int) -> NDArray[np.float64]:
    """What the observer is told; NaN where there is no answer.

    A model that allows only so many questions is asked one by one, the one that counts first, until it refuses.
    """
    try:
        return _predicted(model, observer, items)
    except BudgetError:
        answers = np.full(len(items), np.nan)
        for place in [probe, *(place for place in range(len(items)) if place != probe)]:
            try:
                answers[place] = _predicted(model, observer, [items[place]])[0]
            except BudgetError:
                break
        return answers


def _predicted(model: Any, observer: int, items: list[Any]) -> NDArray[np.float64]:
    told = model.predict([(observer, item) for item in items])["score"]
    if len(told) != len(items):
        raise DataError(f"{_name(model)} gave {len(told)} answers to {len(items)} questions.")
    return told.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _listed(targets: Iterable[Hashable]) -> list[Hashable]:
    """Each id once; a single text is one id."""
    return [targets] if isinstance(targets, str) else list(dict.fromkeys(targets))


def _name(model: Any) -> str:
    return str(getattr(model, "name", None) or type(model).__name__)


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _report_part(progress: Progress, number: int, parts: int, done: int, total: int) -> None:
    """Progress of one part of several equal ones."""
    progress(number * total + done, parts * total)
