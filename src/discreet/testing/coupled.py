"""The coupled run: one check for everything that is PROVED, and for mechanisms of your own.

A mechanism is run on two neighboring datasets. The first run is recorded: each use of randomness, what went in, the
scale of the noise, what came out. The second run gets the results of the first one in place of fresh ones. If the
mechanism is what its guarantee says, then from outside nothing differs: the same draws in the same order with the same
scales, the same files, messages and errors. And what went in differs by so little that the laws of all draws together
are within the guarantee.

This finds what a law test of a single mechanism does not see: a share of the budget that is spent twice, a cap or a
shape that follows from the records, a step that uses records without a charge.

Examples
--------
>>> import discreet as dc
>>> from discreet.counting import ItemCounts
>>> rows = [("ann", "tea"), ("ann", "rum"), ("bob", "tea")]
>>> first, second = (dc.Interactions(part, items=["tea", "rum"]) for part in (rows, rows[:2]))
>>> method = ItemCounts(epsilon=1, cap=1)
>>> print(coupled_run(lambda data, ledger: method.release(data, ledger=ledger), first, second))
1 mechanism, 1 draw; spent ε = 1, ρ = 0.5 of ε = 1
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import numpy as np
import polars as pl

from discreet.errors import DiscreetError
from discreet.privacy import entropy
from discreet.privacy.draws import Draw, Spend, watched
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.release import Release
from discreet.testing.actual_losses import Spent, actual_loss, declared_loss

__all__ = ["CoupledResult", "CoupledRunError", "coupled_run"]

T = TypeVar("T")

Run = Callable[[Any, Any], Any]


class CoupledRunError(AssertionError):
    """Two runs on neighboring datasets differ in something that must not differ."""


@dataclass(frozen=True)
class CoupledResult:
    """What a coupled run found, where nothing was wrong.

    Attributes
    ----------
    draws : int
        How often randomness met secret values.
    spent : Spent
        What the two datasets really are apart in.
    guarantee : Guarantee or None
        What was promised; None where both runs refused with the same error.
    refusal : str
        That error.
    """

    draws: int
    mechanisms: int
    spent: Spent
    guarantee: Guarantee | None
    refusal: str = ""

    def __str__(self) -> str:
        if self.guarantee is None:
            return f"refused in both runs: {self.refusal}"
        counted = [_number(self.mechanisms, "mechanism"), _number(self.draws, "draw")]
        return f"{', '.join(counted)}; spent {self.spent} of {self.guarantee.loss}"


def coupled_run(run: Run, first: Any, second: Any) -> CoupledResult:
    """Run a mechanism on two neighboring datasets and compare everything; a ``CoupledRunError`` says what differs.

    Parameters
    ----------
    run
        Called with a dataset and a ledger that records what it is charged. Returns what becomes public: a ``Release``,
        a fitted model with ``guarantee`` and ``release_``, a table, an array, or a mapping or list of these. At least
        one of them has a guarantee.
    first, second
        Neighbors in the unit of the guarantee.
    """
    before = _Watch(None)
    one = before.observe(run, first)
    after = _Watch(before)
    two = after.observe(run, second)
    _require_same("the error", one.error, two.error)
    _require_same("what was printed", one.printed, two.printed)
    _require_same("the warnings", one.warnings, two.warnings)
    _require_same("the number of draws", len(before.draws), len(after.draws))
    _require_same("the number of keys for bounding", before.keys, after.keys)
    _require_same("what the ledger was charged", one.charges, two.charges)
    _require_same("the order of draws, charges and steps", before.events, after.events)
    if one.error:
        return CoupledResult(len(before.draws), 0, Spent(), None, one.error)
    _require_same_views(one.result, two.result)
    return _compared(before, after, _promise(one.result))


# What happens in one run


@dataclass
class _Outcome:
    result: Any = None
    error: str = ""
    printed: str = ""
    warnings: tuple[str, ...] = ()
    charges: tuple[str, ...] = ()


@dataclass
class _Charge:
    """A charge of the ledger that only records: what is released for it may be saved."""

    release: str | None = None
    saved: bool = False

    def settle(self, release_id: str | None = None) -> None:
        self.release = release_id

    def note_saved(self, place: str | None = None) -> None:
        self.saved = True


class _Watch:
    """Watches one run; the second one hands out what the first one drew."""

    def __init__(self, earlier: _Watch | None) -> None:
        self.earlier = earlier
        self.draws: list[Draw] = []
        self.outputs: list[Any] = []
        self.events: list[str] = []
        self.charges: list[Guarantee] = []
        self.steps: dict[int, str] = {}
        self.keys = 0
        self._names = 0
        self._inside = False

    # As an observer of draws

    def drawn(self, draw: Draw, sample: Callable[[], T]) -> T:
        place = len(self.draws)
        self.draws.append(_kept(draw))
        self.events.append("draw")
        if self.earlier is None:
            self._inside = True
            try:
                output = sample()
            finally:
                self._inside = False
        else:
            if place >= len(self.earlier.draws):
                raise CoupledRunError(f"the second run draws once more than the first: {draw.law}")
            _require_same_public(self.earlier.draws[place], draw, place)
            output = self.earlier.outputs[place]
        self.outputs.append(copy.deepcopy(output))
        return copy.deepcopy(output)

    # As the source of randomness

    def random_bytes(self, n: int) -> np.ndarray:
        if n and not self._inside:
            raise CoupledRunError("randomness was used outside of a mechanism (entropy.random_bytes)")
        return _URANDOM(n)

    def bounding_key(self) -> tuple[int, int]:
        self.keys += 1
        return 0x5DEECE66D, self.keys

    def public_bytes(self, n: int) -> np.ndarray:
        self._names += 1
        return np.frombuffer(hashlib.shake_256(b"%d" % self._names).digest(n), dtype=np.uint8)

    # As a ledger

    @contextlib.contextmanager
    def charge(self, data: Any, guarantee: Guarantee, **facts: Any) -> Iterator[_Charge]:
        from discreet.privacy.charging import require_allowed

        require_allowed(guarantee, allow_refuted=facts.get("allow_refuted", False))
        self.events.append("charge")
        self.charges.append(guarantee)
        yield _Charge()

    def series_charge(self, series: str) -> int | None:
        return None

    def series_steps(self, series: str) -> dict[int, str]:
        return dict(self.steps)

    def record_step(self, charge: int | None, series: str, number: int, release: str, *, missed: bool) -> None:
        self.events.append(f"step {number}")
        self.steps[number] = release

    def observe(self, run: Run, data: Any) -> _Outcome:
        """The outcome of a run under watch."""
        outcome, text = _Outcome(), io.StringIO()
        with contextlib.ExitStack() as stack:
            for name in ("random_bytes", "bounding_key", "public_bytes"):
                stack.enter_context(mock.patch.object(entropy, name, getattr(self, name)))
            stack.enter_context(watched(self))
            caught = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            stack.enter_context(contextlib.redirect_stdout(text))
            stack.enter_context(contextlib.redirect_stderr(text))
            try:
                outcome.result = run(data, self)
            except CoupledRunError:
                raise
            except DiscreetError as error:
                outcome.error = f"{type(error).__name__}: {error}"
        outcome.printed = text.getvalue()
        outcome.warnings = tuple(str(one.message) for one in caught)
        outcome.charges = tuple(str(one.to_json()) for one in self.charges)
        return outcome


_URANDOM = entropy.random_bytes


def _kept(draw: Draw) -> Draw:
    """The draw with a copy of what went in: later steps may change it in place."""
    return Draw(draw.law, copy.deepcopy(draw.secret), draw.parameter, draw.public, draw.spend)


# Comparing two runs


def _require_same(what: str, one: Any, two: Any) -> None:
    if one != two:
        raise CoupledRunError(f"{what} differs:\n  first run:  {one!r}\n  second run: {two!r}")


def _require_same_public(one: Draw, two: Draw, place: int) -> None:
    where = f"of draw {place} ({one.law})"
    _require_same(f"the law {where}", one.law, two.law)
    _require_same(f"the parameter {where}", one.parameter, two.parameter)
    if not isinstance(one.secret, Mapping):
        _require_same(f"the shape {where}", np.shape(one.secret), np.shape(two.secret))
    _require_same(f"the public settings {where}", _described(one.public), _described(two.public))
    spends = [None if d.spend is None else (d.spend.name, d.spend.loss, d.spend.concentrated) for d in (one, two)]
    _require_same(f"what is said to be spent {where}", *spends)


def _described(public: Sequence[Any]) -> list[Any]:
    """Public settings as something that can be compared; a channel is its law."""
    return [one.law().tolist() if hasattr(one, "law") else one for one in public]


def _compared(before: _Watch, after: _Watch, promise: Guarantee) -> CoupledResult:
    """What all draws cost, mechanism by mechanism and together."""
    groups: dict[int, list[tuple[Draw, Draw, Any]]] = {}
    spends: dict[int, Spend | None] = {}
    for place, pair in enumerate(zip(before.draws, after.draws, before.outputs, strict=True)):
        # Draws that nobody says the price of stand alone.
        group = id(pair[0].spend) if pair[0].spend is not None else -place - 1
        groups.setdefault(group, []).append(pair)
        spends[group] = pair[0].spend
    total, declared = Spent(), Spent()
    for group, pairs in groups.items():
        spent, spend = actual_loss(pairs), spends[group]
        total += spent
        if spend is None:
            declared += spent
            continue
        declared += declared_loss(spend)
        if not spent.within(spend.loss) or (
            spend.concentrated is not None and (spent.rho is None or spent.rho > spend.concentrated.rho)
        ):
            raise CoupledRunError(f"{spend.name} spends {spent}, and says that it spends {spend.loss}")
    if not total.within(promise.loss):
        raise CoupledRunError(f"all draws together spend {total}; the guarantee says {promise.loss}")
    if not declared.within(promise.loss):
        raise CoupledRunError(
            f"all mechanisms together are said to spend {declared}; the guarantee says {promise.loss}"
        )
    _require_charged(before, promise, declared)
    return CoupledResult(len(before.draws), len(groups), total, promise)


def _require_charged(watch: _Watch, promise: Guarantee, declared: Spent) -> None:
    """The ledger is charged before the first draw, for the unit of the guarantee, and for all that is spent."""
    if "draw" not in watch.events:
        return
    if not watch.charges or watch.events.index("draw") < watch.events.index("charge"):
        raise CoupledRunError("randomness was used before the ledger was charged")
    charged = watch.charges[0].compose(*watch.charges[1:])
    _require_same("the unit of the guarantee and of the charge", promise.unit, charged.unit)
    if not declared.within(charged.loss):
        raise CoupledRunError(f"the ledger was charged {charged.loss}; all mechanisms together spend {declared}")


def _promise(result: Any) -> Guarantee:
    """The guarantee of what became public; several add up."""
    found = list(_guarantees(result))
    if not found:
        raise CoupledRunError("nothing that became public has a guarantee")
    return found[0].compose(*found[1:])


def _guarantees(result: Any) -> Iterator[Guarantee]:
    if isinstance(result, Guarantee):
        yield result
    elif isinstance(getattr(result, "guarantee", None), Guarantee):
        yield result.guarantee
    elif isinstance(result, Mapping):
        for one in result.values():
            yield from _guarantees(one)
    elif isinstance(result, list | tuple):
        for one in result:
            yield from _guarantees(one)


def _require_same_views(one: Any, two: Any, where: str = "result") -> None:
    """Everything that became public is the same, to the last bit."""
    _require_same(f"the type of {where}", type(one), type(two))
    if isinstance(one, Mapping):
        _require_same(f"the names of {where}", list(one), list(two))
        for name in one:
            _require_same_views(one[name], two[name], f"{where}[{name!r}]")
    elif isinstance(one, list | tuple):
        _require_same(f"the length of {where}", len(one), len(two))
        for place, pair in enumerate(zip(one, two, strict=True)):
            _require_same_views(*pair, f"{where}[{place}]")
    elif isinstance(one, Release):
        _require_same_releases(one, two, where)
    elif isinstance(one, pl.DataFrame):
        _require_same(f"the columns of {where}", one.schema, two.schema)
        # Columns of Python objects (ids of several types) are compared value by value.
        same = one.rows() == two.rows() if pl.Object in one.dtypes else one.equals(two, null_equal=True)
        if not same:
            raise CoupledRunError(f"{where} differs:\n{one}\n{two}")
    elif isinstance(one, np.ndarray):
        _require_same(f"type and shape of {where}", (one.dtype, one.shape), (two.dtype, two.shape))
        if not np.array_equal(one, two, equal_nan=one.dtype.kind == "f"):
            raise CoupledRunError(f"{where} differs:\n{one}\n{two}")
    elif isinstance(getattr(one, "release_", None), Release):
        _require_same_releases(one.release_, two.release_, f"{where}.release_")
        _require_same(f"the guarantee of {where}", one.guarantee.to_json(), two.guarantee.to_json())
    elif isinstance(one, Guarantee):
        _require_same(where, one.to_json(), two.to_json())
    else:
        _require_same(where, one, two)


def _require_same_releases(one: Release, two: Release, where: str) -> None:
    for name in ("kind", "mechanism", "dataset", "version", "nonce"):
        _require_same(f"{name} of {where}", getattr(one, name), getattr(two, name))
    _require_same(f"the guarantee of {where}", one.guarantee.to_json(), two.guarantee.to_json())
    _require_same(f"the parameters of {where}", str(one.parameters), str(two.parameters))
    _require_same_views(dict(one.parts), dict(two.parts), where)
    _require_same(f"the files of {where}", _files(one), _files(two))


def _files(release: Release) -> dict[str, int]:
    """Names and sizes of the files that a release is saved as."""
    with tempfile.TemporaryDirectory() as folder:
        made = release.save(Path(folder) / "release")
        return {path.relative_to(made).as_posix(): path.stat().st_size for path in sorted(made.rglob("*"))}


def _number(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")
