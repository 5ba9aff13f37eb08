"""What to expect before you start: recall of the default recommender over the number of users and the budget.

python benchmarks/users.py --write docs/charts        chart and table of docs/guides/accuracy.md, in 5 minutes
python benchmarks/users.py --data ml-1m --splits 1

Models learn from a part of the people (1/16 to all of them) at several ε, and recommend to people whom they did not
learn from. The best model without privacy learns from all. Points are laid over users × μ, where μ is the budget in
Gaussian differential privacy: what ε and δ come to for normal noise.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.data import Interactions
from discreet.evaluation.protocols import run_model, strong_generalization
from discreet.factors import EASE, Popularity
from discreet.privacy.losses import mu_for
from discreet.reports import COLORS, svg
from discreet.studies.frontier import likes_of, on_fewer

EPSILONS = ("1/2", "1", "2", "4", "8")
SHARES = ("1/16", "1/8", "1/4", "1/2", "1")
DELTA = "1e-6"
NAMES = {"ml-1m": "MovieLens 1M", "films": "synthetic films", "ml-100k": "MovieLens 100K"}


def dataset(name: str) -> Interactions:
    if name == "films":
        return dc.synthetic.films(users=12_000, items=600, seed=7)
    data = dc.read(name)
    assert isinstance(data, Interactions)
    return data.with_catalog("observed")


def measured(name: str, splits: int) -> pl.DataFrame:
    """One row for each share of the people and each ε: the mean recall over splits."""
    likes = likes_of(dataset(name))
    held_out = min(1_000, math.ceil(likes.n_users / 10))
    rows: list[dict[str, Any]] = []
    for seed in range(1, splits + 1):
        asked = strong_generalization(likes, seed, held_out, 0.8, 5, None)
        found = {
            model: run_model(model, made, asked, [20]) for model, made in (("best", EASE()), ("pop", Popularity()))
        }
        best, popular = (float(found[model].scores["recall@20"]) for model in ("best", "pop"))
        for share in SHARES:
            fewer = on_fewer(asked, Fraction(share), seed)
            for epsilon in EPSILONS:
                model = dc.PrivateRecommender(epsilon=epsilon, delta=DELTA)
                recall = float(run_model("private", model, fewer, [20]).scores["recall@20"])
                mu = float(mu_for(Fraction(epsilon), DELTA))
                rows.append({"data": NAMES[name], "users": fewer.train.n_users, "epsilon": float(Fraction(epsilon)),
                             "users_mu": fewer.train.n_users * mu, "recall": recall, "best": best,
                             "popularity": popular})  # fmt: skip
            print(f"{name}, split {seed}, {fewer.train.n_users:,} people: {rows[-1]['recall']:.3f}", file=sys.stderr)
    return pl.DataFrame(rows).group_by("data", "users", "epsilon", maintain_order=True).mean()


def chart(points: pl.DataFrame) -> Any:
    """Points of every dataset over users × μ, as shares of the best recall without privacy, and means of neighbors."""
    import altair as alt

    shown = points.with_columns(kept=pl.col("recall") / pl.col("best"), floor=pl.col("popularity") / pl.col("best"))
    octave = (pl.col("users_mu").log(2) - 0.5).floor()
    means = shown.group_by("data", octave.alias("octave"), maintain_order=True)
    means = means.agg(pl.col("users_mu").log().mean().exp(), pl.col("kept").mean()).sort("data", "users_mu")
    names = shown["data"].unique(maintain_order=True).to_list()
    legend = alt.Legend(orient="bottom", title=None, symbolOpacity=1, labelFontSize=16)
    color = alt.Color("data:N", scale=alt.Scale(domain=names, range=list(COLORS[: len(names)])), legend=legend)
    words: dict[str, Any] = {"labelFontSize": 16, "titleFontSize": 16}
    x = alt.X("users_mu:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(title="users × μ", **words))
    kept = alt.Axis(format="%", title="of the recall without privacy", **words)
    y = alt.Y("kept:Q", axis=kept, scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(alt.Data(values=shown.to_dicts()))
    dots = base.mark_point(filled=True, size=40, opacity=0.7).encode(x=x, y=y, color=color)
    line = alt.Chart(alt.Data(values=means.to_dicts())).mark_line(strokeWidth=2.5, interpolate="monotone")
    floor = base.mark_rule(strokeDash=[4, 4], opacity=0.7).encode(y="mean(floor):Q", color=color)
    drawn = alt.layer(line.encode(x=x, y=y, color=color), floor, dots)
    title = alt.Title(
        "What is kept of the recall", subtitle="dashed: popularity without privacy", fontSize=18, subtitleFontSize=16
    )
    return drawn.properties(width=400, height=300, title=title)


def table(points: pl.DataFrame) -> str:
    """Expected shares by users × μ in Markdown: the points of each band, averaged."""
    edges = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600]
    lines = ["| users × μ | " + " | ".join(points["data"].unique(maintain_order=True)) + " |"]
    lines.append("| --- " * (1 + points["data"].n_unique()) + "|")
    for low, high in pairwise(edges):
        cells = []
        for (_,), part in points.group_by("data", maintain_order=True):
            inside = part.filter(pl.col("users_mu").is_between(low, high, closed="left"))
            kept = (inside["recall"] / inside["best"]).to_numpy()
            cells.append(f"{np.mean(kept):.0%}" if kept.size else "–")
        if any(cell != "–" for cell in cells):
            lines.append(f"| {low:,} to {high:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["ml-1m", "films"], choices=list(NAMES))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--write", type=Path, help="The folder for users.csv and users.svg.")
    parser.add_argument("--again", action="store_true", help="Draw from the users.csv that is there.")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.again:
        points = pl.read_csv(given.write / "users.csv")
    else:
        points = pl.concat([measured(name, given.splits) for name in given.data])
    print(points)
    print(table(points))
    if given.write is not None:
        given.write.mkdir(parents=True, exist_ok=True)
        points.write_csv(given.write / "users.csv", float_precision=4)
        (given.write / "users.svg").write_text(svg(chart(points)), encoding="utf-8")


if __name__ == "__main__":
    main()
