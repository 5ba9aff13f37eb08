"""How a list of popular items is made, chosen directly or from noisy counts: decided before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.counting.item_counts import ItemCounts
from discreet.counting.profiles import Profile
from discreet.counting.top_items import TopItems
from discreet.data.contexts import Context
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.privacy.numbers import Rational

__all__ = ["TopPlan", "Way", "plan_top"]

Way = Literal["selection", "counts"]


@dataclass(frozen=True)
class TopPlan:
    """Two ways to a list, side by side, and which one is taken.

    Attributes
    ----------
    way
        The one that is expected to find more.
    reason
        Why, in words.
    selection, counting
        Both mechanisms, ready for ``release(data, contexts=…, ledger=…)``.
    noise_sd
        Standard deviation of the noise that each way puts on a count.
    precision
        Share of the k truly most popular items that each way is expected to find under the assumed profile.
    """

    way: Way
    reason: str
    selection: TopItems
    counting: ItemCounts
    noise_sd: dict[Way, float]
    precision: dict[Way, float]
    profile: Profile
    loss: str
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def chosen(self) -> TopItems | ItemCounts:
        return self.selection if self.way == "selection" else self.counting

    def to_json(self) -> dict[str, Any]:
        return {
            **self.facts,
            "way": self.way,
            "reason": self.reason,
            "noise_sd": dict(self.noise_sd),
            "expected_precision": dict(self.precision),
            "assumed": str(self.profile),
            "loss": self.loss,
        }


def plan_top(
    data: Interactions | Parted,
    k: int = 10,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    cap: int = 30,
    contexts: Sequence[Context | str] = (),
    way: Way | None = None,
    profile: Profile | None = None,
    count_share: Rational = 0,
    one_context_each: bool = False,
) -> TopPlan:
    """Compare both ways to the k most popular items, from public values alone: nothing is spent.

    Parameters
    ----------
    data
        The records; only their catalog and the values of contexts are looked at.
    k, epsilon, delta, contexts
        What is wanted, and for how much.
    cap
        Of ``ItemCounts``, where counts are made.
    way
        Which way to go, whatever the rule says.
    profile
        The popularity to work the expected precision out for.
    count_share, one_context_each
        As in ``TopItems``.

    Notes
    -----
    The way of the higher expected precision is taken; of the smaller noise where both are expected to find the same.

    The usual rule compares noise alone: for one list π/√6·k/ε against √2·cap/ε, which prefers selection up to k ≈
    1.1·cap, and with delta π/√6·√(k/8ρ) against √(cap/2ρ), up to k ≈ 2.4·cap. That leaves out that a cap takes from the
    counts as well, by cap/records or its root, while selection counts every item of a user in full: for users with
    many records, selection is better for much longer lists than that. The price is that an assumption about the
    records is needed; where it is far off, the other way may be better, and no guarantee depends on it.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=60, items=400, seed=7)
    >>> plan_top(films, 10, epsilon="1/2", cap=30).way, plan_top(films, 100, epsilon="1/2", cap=30).way
    ('selection', 'counts')
    """
    assumed = profile or Profile()
    selection = TopItems(epsilon, k, delta, count_share=count_share, one_context_each=one_context_each)
    counting = ItemCounts(epsilon, cap, delta)
    public = data.public if isinstance(data, Parted) else data
    facts = selection.estimate(public, contexts=contexts, profile=assumed)
    counted = counting.estimate(public, contexts=contexts, profile=assumed, k=k)
    word = "edge_" if contexts else ""
    noise: dict[Way, float] = {"selection": facts["noise_sd"], "counts": counted[f"{word}noise_sd"]}
    precision: dict[Way, float] = {
        "selection": facts["expected_precision"],
        "counts": counted[f"{word}expected_precision"],
    }
    chosen = way or max(noise, key=lambda one: (precision[one], -noise[one]))
    return TopPlan(
        way=chosen,
        reason=_reason(chosen, precision, noise, asked=way is not None),
        selection=selection,
        counting=counting,
        noise_sd=noise,
        precision=precision,
        profile=assumed,
        loss=facts["loss"] if chosen == "selection" else counted["loss"],
        facts={name: facts[name] for name in ("k", "items", "lists", "picks_charged")} | {"cap": cap},
    )


def _reason(way: Way, precision: dict[Way, float], noise: dict[Way, float], *, asked: bool) -> str:
    shares = {one: f"{share:.0%}" for one, share in precision.items()}
    found = f"choosing directly is expected to find {shares['selection']} of the list, counts {shares['counts']}"
    if asked:
        return f"it was asked for; {found}"
    if shares["selection"] != shares["counts"]:
        return found
    other: Way = "counts" if way == "selection" else "selection"
    return (
        f"both are expected to find {shares[way]} of the list, with noise of {noise[way]:,.1f} on each number this way "
        f"and of {noise[other]:,.1f} the other"
    )
