"""The records and parameters of the study of counts from samples, its releases, and how far they are from the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers
from discreet.counting.cells import Cells, catalog_table
from discreet.counting.estimation import expected_counts
from discreet.counting.finishing import nonnegative
from discreet.counting.top_items import TopItems
from discreet.data.contexts import Context, contexts_of
from discreet.data.interactions import Interactions
from discreet.errors import DataError, DiscreetError
from discreet.evaluation.counts import count_mse, kl_original_to_released, kl_released_to_original, top_k_precision
from discreet.privacy.losses import mu_for, rho_for
from discreet.privacy.numbers import as_fraction
from discreet.privacy.release import Release
from discreet.studies.study import Settings, made, summarized

__all__ = [
    "CountingRun", "Counts", "Listed", "Measured", "Tick", "comparison", "half", "measure", "release_of", "scores_of",
]  # fmt: skip

METRICS = {
    "mse": ("squared error", "sd"),
    "kl_released": ("D(rel‖orig)", None),
    "kl_original": ("D(orig‖rel)", None),
    "top": ("top", "top sd"),
}
"""Headings of each metric and of its deviation: squared error, divergences, precision of the top list."""

Listed = Mapping[str, Any]
"""A method of the layout."""

Tick = Callable[[str], None]
"""Called with what was done."""

AGES = ("<25", "25-34", "35+")
"""The bands of section 6.3."""

FAVORED = ("M", "m", "male", "Male", "man", "<25", "Tuesday")
"""The paper's examples: lists are shown for these values."""

LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
TOP = 10
MANY, FEW = 30, 10
MANY_FROM = 20


@dataclass(frozen=True)
class CountingRun:
    """Records with a catalog and contexts, and the parameters of section 6.

    Parameters
    ----------
    data
        The records, their catalog declared public.
    contexts
        What edges are counted by.
    cap
        l: 30 where everybody has 20 records or more, as in MovieLens, otherwise 10.
    caps
        Values of l that are tried.
    runs
        Releases of each method.
    epsilon, delta
        The budget of items and edges together.
    as_they_came
        The records before their items were renumbered, where no catalog was declared.
    """

    data: Interactions
    contexts: tuple[Context, ...]
    cap: int
    caps: tuple[int, ...]
    runs: int
    epsilon: Fraction
    delta: Fraction
    as_they_came: Interactions | None = None

    @classmethod
    def of(cls, data: Interactions, settings: Settings, *, seed: int) -> CountingRun:
        """These records with their contexts and parameters; records that cannot be counted are refused."""
        if len(data) == 0:
            raise DataError("there are no records to count.")
        contexts = contexts_of(_contexts(data), data)
        as_they_came = None
        if not data.catalog_is_public:
            as_they_came = data.with_catalog("observed")
            data = _renumbered(data, np.random.default_rng(seed).permutation(data.n_items))
        fewest = int(data.records_per_user[data.records_per_user > 0].min())
        return cls(
            data=data,
            contexts=contexts,
            cap=MANY if fewest >= MANY_FROM else FEW,
            caps=tuple(cap for cap in settings.caps if cap <= int(data.records_per_user.max())),
            runs=settings.runs,
            epsilon=Fraction(settings.epsilon),
            delta=Fraction(settings.delta),
            as_they_came=as_they_came,
        )

    def values(self) -> dict[str, Any]:
        """What the layout refers to where it lists methods."""
        caps = {"cap": self.cap, "3 caps": 3 * self.cap, "6 caps": 6 * self.cap}
        budgets = {"epsilon": self.epsilon, "half": half(self.epsilon, self.delta), "delta": self.delta}
        return {**budgets, **caps, "top": self.top}

    @cached_property
    def cells(self) -> Cells:
        return Cells.of(self.data, self.contexts)

    @cached_property
    def items(self) -> Integers:
        """True counts of items."""
        return self.cells.totals("items")

    @cached_property
    def edges(self) -> Integers:
        """True counts of edges, one row an item."""
        return self.cells.totals("edges").reshape(self.cells.n_items, self.cells.n_places)

    @cached_property
    def code_of(self) -> dict[Any, int]:
        """Codes by the ids that releases have."""
        return {item: code for code, item in enumerate(catalog_table(self.data)["item_id"])}

    @property
    def top(self) -> int:
        """How long lists are."""
        return min(TOP, self.data.n_items)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The K of top-K lists."""
        return tuple(length for length in LENGTHS if length <= self.data.n_items)

    @property
    def has_days(self) -> bool:
        return self.data.timestamp is not None or "weekday" in self.data.context.columns

    @property
    def place(self) -> int:
        """The combination of values that lists are shown for."""
        codes = [next((one.code(v) for v in FAVORED if v in one.values), 0) for one in self.contexts]
        return int(np.ravel_multi_index(codes, [len(one.values) for one in self.contexts]))

    @property
    def place_name(self) -> str:
        codes = np.unravel_index(self.place, [len(one.values) for one in self.contexts])
        return ", ".join(f"{one.name} {one.values[int(code)]}" for one, code in zip(self.contexts, codes, strict=True))


def _renumbered(data: Interactions, number: Integers) -> Interactions:
    """The same records with new numbers for items, and their ids as titles.

    Items that nobody declared may be numbered in the order they occurred, which is by popularity more or less. The
    Fourier transform goes by the order of the catalog and would profit from that.
    """
    users = None
    if data.user_table is not None:
        users = data.user_table.with_columns(data.users.series.alias("user_id"))
    return Interactions(
        data.to_frame().with_columns(pl.Series("item_id", number[data.item])),
        context=data.context.columns,
        scale=data.scale,
        duplicates="keep" if data.may_repeat else "error",
        items=pl.DataFrame({"item_id": number, "title": data.titles(np.arange(data.n_items))}),
        users=users,
        name=data.name,
    )


def _contexts(data: Interactions) -> list[Context | str]:
    """Gender and age where they are known, otherwise the day of the week, otherwise a column with declared values.

    A study may look the values of gender up: it is for the owner of the records, who knows them.
    """
    about_users: list[Context | str] = []
    users = data.user_table
    if users is not None and "gender" in users.columns:
        values = users["gender"].drop_nulls().cast(pl.String).unique().sort()
        about_users.append(Context("gender", tuple(values)))
    if users is not None and "age" in users.columns and users["age"].cast(pl.Float64, strict=False).is_not_null().any():
        about_users.append(Context("age", AGES))
    if about_users:
        return about_users
    if data.timestamp is not None or "weekday" in data.context.columns:
        return ["weekday"]
    for name, kind in data.context.schema.items():
        if isinstance(kind, pl.Enum):
            return [name]
    raise DataError(
        "these records have no context to count by.",
        remedy="The study needs times, a table of users with gender or age, or a context column with declared values.",
    )


@cache
def half(epsilon: Fraction, delta: Fraction) -> Fraction:
    """ε′ such that a list and counts of (ε′, δ) spend at most (ε, δ) together: their ρ add up.

    Examples
    --------
    >>> 0.6 < float(half(Fraction(1), Fraction(1, 10**6))) < 0.8
    True
    """
    whole, low, high = rho_for(epsilon, delta), Fraction(0), epsilon
    for _ in range(20):
        middle = (low + high) / 2
        # Normal noise of μ is (μ²/2)-zCDP.
        both = rho_for(middle, delta) + mu_for(middle, delta) ** 2 / 2
        low, high = (middle, high) if both <= whole else (low, middle)
    return low


# Releases


@dataclass(frozen=True)
class Counts:
    """What came out of a release: counts where there are any, and scores that lists are made by."""

    items: Floats | None
    edges: Floats | None
    item_scores: Floats
    edge_scores: Floats | None
    popularity: Integers | None = None
    longest: int | None = None
    """The longest list that was released, where that is all there is."""


@dataclass(frozen=True)
class Measured:
    """What the releases of some methods came to.

    Parameters
    ----------
    scores
        Means and deviations over the runs, by method, level and metric.
    last
        The last counts of each method that ran.
    refused
        Why methods did not run, by their names.
    """

    scores: pl.DataFrame
    last: Mapping[str, Counts]
    refused: Mapping[str, str]


def measure(run: CountingRun, methods: Sequence[Listed], tick: Tick) -> Measured:
    """Make every release as often as the run says, and score it. A method that is refused stops none of the others.

    Parameters
    ----------
    methods
        As the layout lists them; ``after`` is what is done to the counts of a release, ``second`` a release that is
        made beside the first one, of which the list is taken.
    """
    rows: list[tuple[str, str, str, float]] = []
    last: dict[str, Counts] = {}
    refused: dict[str, str] = {}
    for one in methods:
        name = one["name"]
        for _ in range(run.runs):
            if name not in refused:
                try:
                    last[name] = release_of(run, one)
                except DiscreetError as error:
                    refused[name] = str(error)
                else:
                    rows += [(name, *key, value) for key, value in scores_of(run, last[name]).items()]
            tick(name)
    return Measured(summarized(rows, dict.fromkeys(("method", "level", "metric"), pl.String)), last, refused)


def comparison(measured: Measured, methods: Sequence[Listed]) -> pl.DataFrame:
    """One row for each level and method, one column for each metric, and why methods did not run where some did not."""
    scores = measured.scores
    about = pl.DataFrame([{"method": one["name"], "from": one["from"], "spends": one["spends"]} for one in methods])
    levels = pl.DataFrame({"level": [level for level in ("items", "edges") if level in scores["level"]]})
    table = levels.join(about, how="cross")
    for metric, (heading, sd) in METRICS.items():
        named = {"value": heading} | ({"sd": sd} if sd else {})
        found = scores.filter(metric=metric).select("level", "method", *named).rename(named)
        table = table.join(found, on=["level", "method"], how="left", maintain_order="left")
    if not measured.refused:
        return table
    why = [measured.refused.get(name, "") for name in table["method"]]
    return table.with_columns(pl.Series("did not run", why, dtype=pl.String))


def release_of(run: CountingRun, one: Listed) -> Counts:
    """One release, with what is done to it afterwards. Nothing is charged: it goes to the owner of the records."""
    values = run.values()
    method = made(one, values)
    if isinstance(method, TopItems):
        return _lists(run, method)
    release = method.release(run.data, contexts=run.contexts, allow_refuted=True)
    items, edges = _finished(release, one.get("after", ""))
    popularity = release.array("popularity") if "popularity" in release.parts else None
    counts = Counts(items, edges, items, edges, popularity)
    if "second" not in one:
        return counts
    # The list comes first, whatever its items' counts; what follows it is by counts.
    chosen = _lists(run, made(one["second"], values)).item_scores
    return replace(counts, item_scores=np.where(chosen > 0, items.max() + chosen, items))


def _finished(release: Release, after: str) -> tuple[Floats, Floats | None]:
    if after == "expected":
        return expected_counts(release)
    items = release.table("counts")["count"].to_numpy()
    edges = release.table("edges")["count"].to_numpy().reshape(items.size, -1) if "edges" in release.parts else None
    if after == "nonnegative":
        return nonnegative(items), None if edges is None else nonnegative(edges)
    return items, edges


def _lists(run: CountingRun, method: TopItems) -> Counts:
    """Lists as scores: the first of k items has k, the next one k − 1, the others 0; of items, and of each place."""
    if not run.contexts:
        return Counts(None, None, _ranks(run, method, ()).ravel(), None, longest=method.k)
    # The list of items and those of the places have half of the budget each, as the counts have.
    epsilon, delta = as_fraction(method.epsilon), as_fraction(method.delta)
    share = half(epsilon, delta) if delta else epsilon / 2
    part = TopItems(k=method.k, epsilon=share, delta=method.delta)
    return Counts(None, None, _ranks(run, part, ()).ravel(), _ranks(run, part, run.contexts), longest=method.k)


def _ranks(run: CountingRun, method: TopItems, contexts: Sequence[Context]) -> Floats:
    lists = method.release(run.data, contexts=contexts).table("top")
    place = np.zeros(lists.height, dtype=np.int64)
    for one in contexts:
        place = place * len(one.values) + np.array([one.code(value) for value in lists[one.name].cast(pl.String)])
    scores = np.zeros((run.data.n_items, run.cells.n_places if contexts else 1))
    scores[[run.code_of[item] for item in lists["item_id"]], place] = method.k + 1 - lists["rank"].to_numpy()
    return scores


def scores_of(run: CountingRun, counts: Counts) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    levels = (
        ("items", counts.items, counts.item_scores, run.items),
        ("edges", counts.edges, counts.edge_scores, run.edges),
    )
    for level, released, scores, original in levels:
        if released is not None:
            found[level, "mse"] = count_mse(released.ravel(), original=original.ravel())
            found[level, "kl_released"] = kl_released_to_original(released.ravel(), original=original.ravel())
            found[level, "kl_original"] = kl_original_to_released(released.ravel(), original=original.ravel())
        if scores is not None:
            found[level, "top"] = top_k_precision(scores.T, original=original.T, k=run.top)
    for length in run.lengths:
        if counts.longest is None or length <= counts.longest:
            found["items", f"top {length}"] = top_k_precision(counts.item_scores, original=run.items, k=length)
    return found
