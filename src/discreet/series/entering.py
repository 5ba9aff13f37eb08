"""Who enters a series when: rules about one person's own records, so that nobody else changes when somebody enters.

``docs/proofs/series.md`` (Theorem 3) has what each rule bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.privacy import entropy
from discreet.privacy.choosing import record_words
from discreet.series.records import ITEM, PERSON, STEP, TIME, RecordShape

__all__ = ["Entering", "People", "enter_once", "enter_records"]

USED, HELD, COST, WORD = "used", "held", "cost", "word"


@dataclass(frozen=True, eq=False)
class People:
    """Who has entered and with which records, and who waits. **Secret.**

    Parameters
    ----------
    entered
        One row for each person who has entered, with the step.
    records
        The records that are in the sums, each with the step on which it entered.
    waiting
        The records of people who have not entered.
    """

    entered: pl.DataFrame
    records: pl.DataFrame
    waiting: pl.DataFrame

    @classmethod
    def nobody(cls, shape: RecordShape) -> People:
        return cls(
            pl.DataFrame(schema={PERSON: pl.String, STEP: pl.Int32}),
            pl.DataFrame(schema={**shape.schema, STEP: pl.Int32}),
            pl.DataFrame(schema=shape.schema),
        )

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        return {"entered": self.entered, "records": self.records, "waiting": self.waiting}


Prepare = Callable[[Interactions], Any]
"""What a method makes of records before it sums them up."""


@dataclass(frozen=True, eq=False)
class Entering:
    """The rules of one series; all of it is public.

    Parameters
    ----------
    shape
        Of the records.
    steps, settle
        How many steps there are, and the first that releases something.
    complete
        Whether every step is given all records so far.
    cap
        For counts: the largest squared length of one person's counts. None for models.
    enter_after
        For models: how many records a person has on entering.
    """

    shape: RecordShape
    steps: int
    settle: int
    complete: bool
    cap: int | None
    enter_after: int

    def entered(self, people: People | None, tonight: Interactions | Parted, number: int, prepare: Prepare) -> People:
        """The people after a step; the same where the records of the step come in parts."""
        people = people or People.nobody(self.shape)
        if self.cap is not None:
            return enter_records(people, tonight, self.shape, number, cap=self.cap, complete=self.complete)
        people, brought = enter_once(
            people,
            self._new(people, tonight, number),
            number,
            enter_after=self.enter_after,
            all_enter=number == self.steps - 1,
            complete=self.complete,
        )
        # Which of a person's records are used is settled here, once, where a method chooses some of them.
        prepared = prepare(self.shape.records(brought, may_repeat=True))
        chosen = self.shape.table(prepared) if isinstance(prepared, Interactions) else brought
        return replace(people, records=pl.concat([people.records, chosen.with_columns(_at(number))]))

    def _new(self, people: People, tonight: Interactions | Parted, number: int) -> pl.DataFrame:
        """The records of a step; of parts only those that may enter, in the order that they have in memory."""
        if not isinstance(tonight, Parted):
            return self.shape.table(tonight)
        entered, least = people.entered, 1 if number == self.steps - 1 else self.enter_after

        def new(part: Interactions) -> pl.DataFrame:
            rows = self.shape.table(part).join(entered, on=PERSON, how="anti")
            return rows.filter(pl.len().over(PERSON) >= least) if self.complete else rows

        # Users are sorted: whole numbers by size, then text.
        whole = pl.when(pl.col(PERSON).str.starts_with("int:")).then(pl.col(PERSON).str.slice(4))
        order = [whole.cast(pl.Int64), pl.col(PERSON)]
        return pl.concat(list(tonight.each(new))).sort(order, nulls_last=True, maintain_order=True)

    def groups(self, people: People, index: int, prepare: Prepare) -> list[Any | None]:
        """The prepared records of those who entered by each release, from the first on; None for nobody."""
        at = (pl.col(STEP) - self.settle).clip(lower_bound=0)
        parts = people.records.with_columns(at.alias(STEP)).partition_by(STEP, as_dict=True, include_key=False)
        repeats = self.cap is None or self.shape.may_repeat
        groups: list[Any | None] = []
        for place in range(index + 1):
            part = parts.get((place,))
            prepared = prepare(self.shape.public if part is None else self.shape.records(part, may_repeat=repeats))
            groups.append(None if part is None else prepared)
        return groups


def enter_once(
    people: People, tonight: pl.DataFrame, step: int, *, enter_after: int, all_enter: bool, complete: bool
) -> tuple[People, pl.DataFrame]:
    """Let those enter who have ``enter_after`` records; the new people, and the records that those bring.

    Each person enters on one step and never again. Their later records are not used.

    Parameters
    ----------
    all_enter
        Whether everybody who waits enters with what they have: on the last step.
    complete
        Whether these are all records of everybody, and not only the new ones.
    """
    new = tonight.join(people.entered, on=PERSON, how="anti")
    waiting = new if complete else pl.concat([people.waiting, new])
    enough = pl.len().over(PERSON) >= (1 if all_enter else enter_after)
    brought = waiting.filter(enough)
    # The next complete export has everything again.
    left = waiting.clear() if complete else waiting.filter(~enough)
    entering = brought.select(pl.col(PERSON).unique(maintain_order=True)).with_columns(_at(step))
    return replace(people, entered=pl.concat([people.entered, entering]), waiting=left), brought


def enter_records(
    people: People, tonight: Interactions | Parted, shape: RecordShape, step: int, *, cap: int, complete: bool
) -> People:
    """Let each person's first records enter, as long as the squared length of the person's counts is at most ``cap``.

    A record of an item of which the person has m already adds 2m + 1 to the squared length: without repeats these are
    the first ``cap`` records. Of one step's records those with earlier times come first, equal ones by a keyed hash of
    the record, as where records are chosen at random.
    """
    held = people.records.group_by(PERSON, ITEM).agg(pl.len().cast(pl.Int64).alias(HELD))
    used = held.group_by(PERSON).agg((pl.col(HELD) ** 2).sum().alias(USED))
    key = entropy.bounding_key()

    def brought(part: Interactions) -> pl.DataFrame:
        words = record_words(part, np.arange(len(part)), key)
        known = shape.items.encode(part.items.series, unknown="mark")[part.item] >= 0
        new = shape.table(part).with_columns(pl.Series(WORD, words[known]))
        if complete:
            new = _without_entered(new, people.records, shape)
        new = new.join(held, on=[PERSON, ITEM], how="left").join(used, on=PERSON, how="left")
        new = new.with_columns(pl.col(HELD).fill_null(0), pl.col(USED).fill_null(0))
        new = new.sort(PERSON, *([TIME] if shape.timed else []), WORD)
        before = pl.col(HELD) + pl.int_range(pl.len(), dtype=pl.Int64).over(PERSON, ITEM)
        if not shape.may_repeat:
            new = new.filter(before == 0)
        new = new.with_columns((2 * before + 1).alias(COST))
        kept = new.filter(pl.col(COST).cum_sum().over(PERSON) + pl.col(USED) <= cap)
        return kept.select(*shape.schema).with_columns(_at(step))

    if isinstance(tonight, Parted):
        entering = pl.concat(list(tonight.each(brought))).sort(PERSON, maintain_order=True)
    else:
        entering = brought(tonight)
    return replace(people, records=pl.concat([people.records, entering]))


def _without_entered(new: pl.DataFrame, entered: pl.DataFrame, shape: RecordShape) -> pl.DataFrame:
    """Of a complete export the records that have not entered: equal records are told apart by their number."""
    columns = list(shape.schema)
    number = pl.int_range(pl.len()).over(columns).alias("number")
    numbered = entered.select(columns).with_columns(number)
    return new.with_columns(number).join(numbered, on=[*columns, "number"], how="anti", nulls_equal=True).drop("number")


def _at(step: int) -> pl.Expr:
    return pl.lit(step, dtype=pl.Int32).alias(STEP)
