"""What the thesis says of PriTop, what comes out, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.evaluation.significance import PairedTTest, compare, paired_t_test
from discreet.studies.pritop_measures import Measured
from discreet.studies.pritop_setting import Setting
from discreet.studies.published import published_table

__all__ = ["Found", "claims_table", "paragraphs"]

TOP = 10
SUPPRESSION_LOSS = 0.2
FURTHEST = 0.0758
"""How far below the figures without privacy the thesis finds PriTop, at most, as a share."""

LEAST_T = 6.0
PRITOP, KIND = "PriTop", "PriTop, kindest reading"
STRONG, WEAK = "tag suppression, σ = 0.6", "tag suppression, σ = 0.8"


@dataclass(frozen=True, eq=False)
class Found:
    """Everything that was measured.

    Attributes
    ----------
    losses
        Semantic loss by K and epsilon.
    ways
        All ways to release and to recommend.
    """

    setting: Setting
    losses: pl.DataFrame
    ways: tuple[Measured, ...]

    def way(self, name: str, epsilon: float | None = None) -> Measured:
        """One of them."""
        return next(
            way
            for way in self.ways
            if way.name == name and (None if way.epsilon is None else float(way.epsilon)) == epsilon
        )

    def curve(self, name: str, epsilon: float | None = None, metric: str = "recall") -> list[float]:
        """Recall or precision for every N."""
        scores = self.way(name, epsilon).scores
        return [scores[f"{metric}@{n}"] for n in self.setting.lengths]

    def at_ten(self, name: str, epsilon: float | None = None, metric: str = "recall") -> float:
        return self.way(name, epsilon).scores[f"{metric}@{TOP}"]

    def test_over_lengths(self, ours: Measured, theirs: Measured, metric: str) -> PairedTTest:
        """As in the thesis: the pairs are the values for N = 1 … 10."""
        values = [[way.scores[f"{metric}@{n}"] for n in self.setting.lengths] for way in (ours, theirs)]
        return paired_t_test(values[0], against=values[1])

    @staticmethod
    def test_over_users(ours: Measured, theirs: Measured, metric: str) -> PairedTTest:
        """The pairs are the users."""
        test = compare(ours.scores, against=theirs.scores, metric=f"{metric}@{TOP}")
        assert isinstance(test, PairedTTest)
        return test


def claims_table(found: Found) -> pl.DataFrame:
    """Every claim beside what was measured, for PriTop as published and in its kindest reading."""
    plain, kind = _judged(found, PRITOP), _judged(found, KIND)
    rows = []
    for claim in published_table("pritop").iter_rows(named=True):
        measured, holds = plain[claim["key"]]
        other = kind.get(claim["key"])
        rows.append(
            {
                "figure": claim["figure"],
                "claim": claim["claim"],
                "measured": measured,
                "verdict": _verdict(holds),
                "kindest reading": "" if other is None else _verdict(other[1]),
            }
        )
    return pl.DataFrame(rows)


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _judged(found: Found, name: str) -> dict[str, tuple[str, bool]]:
    """What was measured for each claim about recommendations, and for the published reading about topics."""
    without = found.at_ten("FolkRank, no privacy")
    one, half = found.at_ten(name, 1.0), found.at_ten(name, 0.5)
    by_epsilon = [found.at_ten(name, float(epsilon)) for epsilon in found.setting.published]
    below = 1 - one / without if without else 0.0
    tests = [
        found.test_over_lengths(found.way(name, 1.0), found.way(WEAK), metric).statistic
        for metric in ("recall", "precision")
    ]
    judged = {
        "one": _every(found.curve(name, 1.0), found.curve(STRONG)),
        "half": (f"{half:.3f} against {found.at_ten(WEAK):.3f}", half > found.at_ten(WEAK)),
        "near": (f"{below:.1%} below", below <= FURTHEST),
        "precision": _every(found.curve(name, 1.0, "precision"), found.curve(STRONG, metric="precision")),
        "tests": (", ".join(f"t = {value:.1f}" for value in tests), min(tests) > LEAST_T),
        "epsilon": (f"{by_epsilon[0]:.3f} to {by_epsilon[-1]:.3f}", bool((np.diff(by_epsilon) > 0).all())),
    }
    return judged if name == KIND else judged | _judged_losses(found.losses)


def _every(ours: Sequence[float], theirs: Sequence[float]) -> tuple[str, bool]:
    above = sum(a > b for a, b in zip(ours, theirs, strict=True))
    return f"for {above} of {len(ours)} N; {ours[-1]:.3f} against {theirs[-1]:.3f} at the last", above == len(ours)


def _judged_losses(losses: pl.DataFrame) -> dict[str, tuple[str, bool]]:
    least, most = float(losses["loss"].min()), float(losses["loss"].max())  # type: ignore[arg-type]
    replaced = float(losses["loss_of_replaced"].max())  # type: ignore[arg-type]
    ends = losses.filter(pl.col("K").is_in([losses["K"].min(), losses["K"].max()]))
    falls = [bool(part.sort("K")["loss"][-1] < part.sort("K")["loss"][0]) for _, part in ends.group_by("epsilon")]
    return {
        "loss": (
            f"{least:.2f} to {most:.2f}; up to {replaced:.2f} if deleted tags cost nothing",
            most < SUPPRESSION_LOSS,
        ),
        "topics": (f"from the fewest to the most topics it falls for {sum(falls)} of {len(falls)} ε", all(falls)),
    }


def paragraphs(found: Found) -> tuple[str, ...]:
    """What a run shows; every number in it is from the run."""
    return (_about_pritop(found), _about_kindest(found), _about_losses(found), _about_ours(found), _about_tests(found))


def _about_pritop(found: Found) -> str:
    way, beside = found.way(PRITOP, 1.0), found.way("PriTop and own posts", 1.0)
    return (
        f"Without privacy FolkRank finds {found.at_ten('FolkRank, no privacy'):.3f} of a post's tags among ten. On "
        f"what PriTop publishes at ε = 1 it finds {way.scores['recall@10']:.3f}; the ten most popular tags, the same "
        f"for everybody, {found.at_ten('popular tags'):.3f}. The selection gives every tag of a topic nearly the same "
        f"chance, and noise on {found.setting.chosen_topics} weights of every user adds tags that nobody gave: "
        f"{way.triples:,} triples are published in place of {len(found.setting.train):,}, and {way.true or 0:.1%} of "
        f"them are true. With one's own posts put back beside it recall is {beside.scores['recall@10']:.3f}; one's own "
        f"tags alone, without any release, give {found.at_ten('own tags alone'):.3f}."
    )


def _about_kindest(found: Found) -> str:
    way, first = found.way(KIND, 1.0), float(found.setting.published[0])
    return (
        f"In the kindest reading a tag is exchanged for another one of the same person and topic, and none is added. "
        f"Recall is {way.scores['recall@10']:.3f} at ε = 1 and {found.at_ten(KIND, first):.3f} at ε = {first:g}. But "
        f"then {way.true or 0:.0%} of the published triples are true, each beside the id of its user, and every "
        f"tag beside a user is one that the user gave. No reading keeps the promise (tests/refutations/test_pritop.py)."
    )


def _about_losses(found: Found) -> str:
    last = found.losses.filter(pl.col("K") == found.losses["K"].max(), pl.col("epsilon") == 1.0).row(0, named=True)
    return (
        f"With K = {last['K']} and ε = 1 the semantic loss is {last['loss']:.2f}: {last['deleted']:.0%} of the triples "
        f"lose their tag to noise on the weights, and the others lose {last['loss_of_replaced']:.2f}. Suppression "
        f"at σ = 0.8 loses {SUPPRESSION_LOSS} by its definition."
    )


def _about_ours(found: Found) -> str:
    alone, parts = found.at_ten("own tags alone"), []
    for name in dict.fromkeys(way.name for way in found.ways if way.kind == "ours"):
        values = [
            f"{found.at_ten(name, float(epsilon)):.3f} at ε = {float(epsilon):g}" for epsilon in found.setting.ours
        ]
        hides = found.way(name, float(found.setting.ours[0])).hides
        parts.append(f"{name} (hides {hides}) {', '.join(values)}")
    return f"Proved releases, each with one's own tags beside it (these alone: {alone:.3f}): {'; '.join(parts)}."


def _about_tests(found: Found) -> str:
    ours, theirs = found.way(PRITOP, 1.0), found.way(WEAK)
    lengths, users = (
        found.test_over_lengths(ours, theirs, "recall"),
        found.test_over_users(ours, theirs, "recall"),
    )
    return (
        f"Table 4.3 has 9 degrees of freedom: its pairs are the ten lengths N of the same lists, which depend on each "
        f"other. Counted that way PriTop against suppression at σ = 0.8 has t = {lengths.statistic:.1f}; over "
        f"{users.n:,} users at N = 10, t = {users.statistic:.1f} (a difference of {users.difference:+.3f})."
    )
