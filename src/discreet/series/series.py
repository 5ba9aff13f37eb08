"""One series of releases over time, such as a model that is fitted every night, at one price for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import polars as pl

from discreet.common.arguments import require_choice, require_whole
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.data.periods import Window
from discreet.errors import LedgerError, ReleaseError, Remedy, UsageError
from discreet.models.registry import create
from discreet.privacy import entropy
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.method import Method
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.series.folder import SeriesFolder
from discreet.series.opened import OpenSeries, Settings, priced_method
from discreet.series.records import RecordShape
from discreet.series.settling import settling_step
from discreet.series.state import Recorder, State, Step, require_covered
from discreet.series.steps import Packed

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["Series"]


class Series:
    """Releases of one method over time: every step has the total of all records so far, and all steps have one price.

    Parameters
    ----------
    method
        ``ItemCounts``, ``ContextPopularity``, ``PrivateRecommender``, ``PrivateRatings`` or ``PrivateItemKNN``: with
        its settings, as a class, or by its name on the command line.
    steps
        How many steps there are: 365 for a year of nights.
    epsilon, delta
        The price of the whole series, unless the method has them; delta above 0.
    contexts
        For ``ItemCounts``: what to count by, as in ``ItemCounts.release``.
    folder
        Where the state is kept. **It is as secret as the records.** A folder of a series with the same settings is
        continued. None keeps it in memory.
    records
        What each step is given: "new" records only, or "all" records so far (a full export).
    enter_after
        For models: a person enters, once, on the step on which they have so many records; on the last step with what
        they have. Public.
    settle
        For models: the step that settles which items the sums are about, and the first that releases something; public.
        Without it the first step settles, whose records should be a history; or ``expected`` decides.
    expected
        For models that begin without a history: how many people are expected to have come by the last step; public. The
        step that settles follows from it (``series.settling``).
    people
        The most people that are expected to come; public. Sums of more would overflow, which harms no privacy.
    population
        Whose records these are, as the account in the ledger is called; those of the first step are attached to it.
        Unless given, the account of the first step's records is charged.
    window, time_zone
        The days that all steps are about, such as "2026", and where days begin (UTC by default). Records of other times
        are left out one by one, in every step. An account per period is charged for every period that the window meets.

    Attributes
    ----------
    id : str
        A name for the series; public.
    last : int
        The latest step that was taken, from 0; −1 before the first.
    missed : tuple of int
        Steps that were left out and made up for later, without new records.

    Privacy
    -------
    Unit: one user, present or absent, with all records of all steps. All releases together spend what a single release
    of the method spends at the same ε and δ, also where people's later records depend on earlier releases
    (``docs/proofs/series.md``). The ledger is charged once, when the series opens, and records every step before it is
    shown. Not covered: what the method does not cover; how many steps there were and when.

    Notes
    -----
    Noise in units of a single release at the same price is 2.32 at the end of 52 steps and 2.94 at the end of 365; if
    each step paid for itself it would be 7.2 and 19.1. People's later records do not count: counts take the first
    records up to the cap of the method, models the records that a person had on entering.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=40, seed=7)
    >>> series = dc.Series(dc.counting.ItemCounts, steps=3, epsilon=4, delta="1e-6")
    >>> early, late = (films.filter((films.timestamp % 2) == day, independent="record") for day in (0, 1))
    >>> for tonight in (early, late):
    ...     release = series.advance(tonight)
    >>> release.parameters["series"]["step"], release.table("counts").height
    (1, 40)
    """

    def __init__(
        self,
        method: Method | type[Any] | str,
        *,
        steps: int,
        epsilon: Rational | None = None,
        delta: Rational | None = None,
        contexts: Sequence[Any] = (),
        folder: str | Path | None = None,
        records: Literal["new", "all"] = "new",
        enter_after: int = 10,
        settle: int | None = None,
        expected: int | None = None,
        people: int = 10_000_000,
        population: str | None = None,
        window: Window | str | Sequence[str] | None = None,
        time_zone: str | None = None,
    ) -> None:
        require_choice(records, "records", ("new", "all"))
        for name, value in (("steps", steps), ("enter_after", enter_after), ("people", people)):
            require_whole(value, name)
        priced = priced_method(method, epsilon, delta)
        if not priced.enters:
            raise UsageError(f"{priced.name} has no series.", remedy="Take weighted counts or a proved model.")
        declared = tuple(str(context) for context in contexts)
        days = Window.declared(window, time_zone)
        first = settling_step(priced, steps, settle, expected)
        self.settings = Settings(priced, steps, declared, records, enter_after, first, people, days)
        self.population = population
        self._charge: int | None = None
        self._place: str | None = None  # of the ledger; empty where there is none, None before the charge
        self._opened: OpenSeries | None = None
        self._state = State()
        self._folder = None if folder is None else SeriesFolder(folder)
        if self._folder is not None and self._folder.is_there():
            self._continue(self._folder)

    @classmethod
    def resume(cls, folder: str | Path) -> Self:
        """Go on with a series whose method is registered, with the settings in its folder."""
        store = SeriesFolder(folder)
        if not store.is_there():
            raise ReleaseError(f"{folder} holds no series.", remedy="Open one first.")
        facts, _ = store.settings()
        settings = dict(facts["settings"])
        method = create(settings.pop("method"), **settings.pop("parameters"))
        return cls(method, folder=folder, population=facts["population"], **settings)

    def __repr__(self) -> str:
        return f"Series({self.settings.method.name}, {self.last + 1} of {self.settings.steps} steps)"

    @property
    def id(self) -> str:
        return self._open_series.id

    @property
    def last(self) -> int:
        return self._state.last

    @property
    def missed(self) -> tuple[int, ...]:
        return tuple(step.number for step in self._state.steps if step.missed)

    @property
    def window(self) -> Window | None:
        """The days that all steps are about; None where none were declared."""
        return self.settings.window

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about all steps together; known when the series is open."""
        return self._open_series.guarantee

    # What everybody calls

    def estimate(self, data: Interactions | Parted) -> dict[str, Any]:
        """What to expect, from public values alone: no record is read, nothing is spent.

        The noise of the first and of the last step, in units of a single release at the price of the whole series, and
        the epsilon at which a single release has as much; beside them the same if every step paid for itself.
        """
        rounds = OpenSeries("", self.settings, self.settings.shape_of(data)).rounds
        last = rounds.steps - 1
        return {
            "method": self.settings.method.name,
            "steps": self.settings.steps,
            "loss": str(rounds.price),
            "standing": rounds.plan(self.settings.method).standing.value,
            "noise_factor": {"first": rounds.noise_factor(0), "last": rounds.noise_factor(last)},
            "noise_factor_if_each_step_pays": math.sqrt(rounds.steps),
            "single_release_epsilon": {"first": str(rounds.epsilon(0)), "last": str(rounds.epsilon(last))},
            "last_step": dict(rounds.planned(last)[1].expected),
        }

    def open(self, data: Interactions | Parted, *, ledger: Ledger | None = None) -> Self:
        """Settle what is public about the records and charge the whole series; ``advance`` does it where needed.

        Parameters
        ----------
        data
            The records of the first step. Only what is public about them is looked at, and the account of the ledger
            is found by them.
        """
        with self._locked():
            self._open(data, ledger)
        return self

    def advance(
        self, tonight: Interactions | Parted, *, ledger: Ledger | None = None, step: int | None = None
    ) -> Release | None:
        """Take the records of the next step, and release the total of all steps so far.

        The step is on the disk, and in the ledger, before this returns. After a crash, call it again.

        Parameters
        ----------
        tonight
            New records, or a full export, as ``records`` of the series says; in memory, or in parts (``scan``).
        ledger
            The ledger; required for all steps where the series was charged to one.
        step
            The number of the step, from 0; the next one unless given. A step that was taken is returned again, so a job
            that gives the number can be run twice. Steps that are left out are made up for, without new records.

        Returns
        -------
        Release or None
            None for steps before ``settle``, which only collect records.
        """
        with self._locked():
            opened = self._open(tonight, ledger)
            recorder = Recorder(ledger, opened.id)
            finished = self._finish_draft(recorder)
            recorder.require_known(self._state.steps)
            number = self.last + (0 if finished else 1) if step is None else step
            if not 0 <= number < self.settings.steps:
                raise UsageError(f"this series has the steps 0 to {self.settings.steps - 1}; {number} is none of them.")
            if number <= self.last:
                return self.release(number)
            require_covered(tonight, self.window, charged=ledger is not None)
            recorder.require_people(tonight, self._charge)
            for missed in range(self.last + 1, number):
                self._take(opened, opened.shape.public, missed, recorder, missed=True)
            return self._take(opened, tonight, number, recorder, missed=False)

    def release(self, step: int | None = None) -> Release | None:
        """The release of a step that was taken; the latest unless given."""
        number = self.last if step is None else step
        if not 0 <= number <= self.last:
            raise UsageError(f"step {number} was not taken; the latest is {self.last}.")
        if number < self.settings.settle:
            return None
        place = number - self.settings.settle
        return self._open_series.release(self._state.steps[place], self._state.steps[:place], self._stored)

    def show(self) -> dict[str, Any]:
        """Where the series stands, from public values alone; JSON-able."""
        settings, opened, released = self.settings, self._opened, self._state.steps
        return {
            "series": None if opened is None else opened.id,
            **settings.to_json(),
            "last": self.last,
            "left": settings.steps - 1 - self.last,
            "missed": list(self.missed),
            "noise_factor": opened.rounds.noise_factor(len(released) - 1) if opened and released else None,
            "charge": self._charge,
            "ledger": self._place,
            "guarantee": None if opened is None else opened.guarantee.to_json(),
            "releases": [{"step": one.number, "release": one.release, "created": one.created} for one in released],
        }

    # Opening

    @property
    def _open_series(self) -> OpenSeries:
        if self._opened is None:
            raise UsageError("this series is not open.", remedy="Call open(data) or advance(data) first.")
        return self._opened

    def _locked(self) -> Any:
        return nullcontext() if self._folder is None else self._folder.locked()

    def _open(self, data: Interactions | Parted, ledger: Ledger | None) -> OpenSeries:
        if isinstance(data, Parted):
            data.require_sums(self.settings.method)
        if self._opened is None and self._folder is not None and self._folder.is_there():
            self._continue(self._folder)  # another process has opened it
        if self._opened is None:
            name = entropy.public_bytes(16).tobytes().hex()
            opened = OpenSeries(name, self.settings, self.settings.shape_of(data))
            opened.rounds.check()
            if self._folder is not None:
                self._folder.create(self._facts(opened), opened.shape.catalog)
            self._opened = opened
        if self._place is None:
            method = self.settings.method
            described = {**method._described(), "steps": self.settings.steps}
            self._charge, promised = Recorder(ledger, self._opened.id).charged(
                data, self.population, self.window, self._opened.guarantee, f"series of {method.name}", described
            )
            self._opened = replace(self._opened, promised=promised)
            self._place = "" if ledger is None else str(getattr(ledger, "place", "a ledger"))
            if self._folder is not None:
                self._folder.write_settings({**self._folder.settings()[0], **self._facts(self._opened)})
        elif ledger is None and self._place:
            raise LedgerError(
                f"this series was charged in {self._place}, which records its steps.",
                remedy=Remedy("Give ledger=….", cli="Give --ledger."),
            )
        return self._opened

    def _continue(self, folder: SeriesFolder) -> None:
        """Take over what is in the folder, if it is a series with these settings."""
        facts, catalog = folder.settings()
        mine, theirs = self.settings.to_json(), facts["settings"]
        if differing := [name for name in mine if mine[name] != theirs[name]]:
            if facts["ledger"] is None:
                return  # it was never charged, say because it was refused: these settings take its place
            name = differing[0]
            raise UsageError(
                f"{folder.path} holds a series with {name} = {theirs[name]!r}, not {mine[name]!r}.",
                remedy="Give the same settings, or a new folder.",
            )
        self._charge, self._place = facts["charge"], facts["ledger"]
        promised = None if facts["guarantee"] is None else Guarantee.from_json(facts["guarantee"])
        shape = RecordShape.from_json(facts["shape"], catalog)
        self._opened = OpenSeries(facts["id"], self.settings, shape, promised)
        self._load(folder.state())

    def _load(self, found: tuple[dict[str, Any], dict[str, pl.DataFrame]] | None) -> None:
        if found is not None:
            self._state = State.of(*found)

    def _facts(self, opened: OpenSeries) -> dict[str, Any]:
        return {
            "id": opened.id,
            "settings": self.settings.to_json(),
            "shape": opened.shape.to_json(),
            "population": self.population,
            "guarantee": None if opened.promised is None else opened.promised.to_json(),
            "charge": self._charge,
            "ledger": self._place,
        }

    # A step

    def _take(
        self, opened: OpenSeries, tonight: Interactions | Parted, number: int, recorder: Recorder, *, missed: bool
    ) -> Release | None:
        """Let people enter, draw the noise, write the step, record it, and only then return it."""
        people = opened.entered(self._state.people, tonight, number)
        steps, release, arrays = self._state.steps, None, []
        if number >= self.settings.settle:
            arrays = opened.drawn(people, number, self._stored)
            drawn, index = Step(number, missed, arrays), len(steps)
            release = opened.release(
                drawn, steps, lambda at, place: arrays[place] if at == index else self._stored(at, place)
            )
            drawn.release, drawn.nonce = release.id, release.nonce
            drawn.created, drawn.version = release.created, release.version
            steps = (*steps, drawn)
        state = State(number, steps, people)
        if self._folder is not None:
            described = self._folder.write_draft(state.to_json(), people.tables, arrays)
            if release is not None:
                steps[-1].arrays = described
        if release is not None:
            recorder.record(self._charge, steps[-1])
        if self._folder is not None:
            self._folder.finish()
        self._state = state
        return release

    def _stored(self, index: int, number: int) -> Sequence[Packed]:
        """What a round released at an index."""
        arrays = self._state.steps[index].arrays[number]
        return arrays if self._folder is None else [self._folder.array(described) for described in arrays]

    def _finish_draft(self, recorder: Recorder) -> bool:
        """Finish a step that a crash interrupted: it is on the disk, and nobody has seen it. Whether there was one."""
        if self._folder is None:
            return False
        self._load(self._folder.state())
        draft = self._folder.draft()
        if draft is None:
            return False
        state = State.of(*draft)
        if state.steps and state.steps[-1].number == state.last:
            recorder.record(self._charge, state.steps[-1])
        self._folder.finish()
        self._load(self._folder.state())
        return True
