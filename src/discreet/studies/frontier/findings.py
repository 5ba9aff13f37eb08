"""What the study of the frontier shows, in paragraphs whose numbers come from the run."""

from __future__ import annotations

import polars as pl

from discreet.studies.frontier.contestants import BIASES, BY_RATING, COMPETITOR, FEATURED, RATINGS
from discreet.studies.frontier.measuring import RANKING_METRICS
from discreet.studies.frontier.results import RECALL, Results
from discreet.studies.frontier.setting import MAIN, TUNED
from discreet.studies.frontier.targets import UNMEASURED, targets_table

__all__ = ["findings"]


def findings(results: Results) -> tuple[str, ...]:
    """One paragraph a question."""
    parts = [
        _targets(results),
        _share(results),
        _best(results),
        _features(results),
        _crossover(results),
        _tail(results),
        _ratings(results),
        _strength(results),
        _unit(results),
        _limits(results),
    ]
    return tuple(part for part in parts if part)


def _listed(results: Results, values: list[float], form: str) -> str:
    return ", ".join(f"{value:{form}} at {epsilon:g}" for epsilon, value in zip(results.epsilons, values, strict=True))


def _targets(results: Results) -> str:
    table = targets_table(results)
    if table is None:
        return "Targets were set for MovieLens 1M alone; these are other data, and there is none to meet."
    said = []
    for stage, what in (("target", "targets"), ("beyond", "marks beyond the targets")):
        measured = table.filter((pl.col("stage") == stage) & (pl.col("met") != UNMEASURED))
        missed = measured.filter(met="NO")
        said.append(
            f"Of {measured.height} {what} that can be measured here, {measured.height - missed.height} are met."
        )
        said += [
            f"{row['model']} misses one at ε = {row['ε']}: its {row['metric']} is {row['measured']:.4f}, "
            f"asked for is {row['target']}."
            for row in missed.iter_rows(named=True)
        ]
    left = table.filter(met=UNMEASURED).height
    if left:
        said.append(
            f"{left} more ask for public genres and years, which this copy of the records comes without: they are not "
            "measured, and nothing is said about them."
        )
    return " ".join(said)


def _share(results: Results) -> str:
    shares = [results.share(MAIN, epsilon) for epsilon in results.epsilons]
    references = ", ".join(
        f"{name} {results.ranking.mean(name, None, RECALL):.3f}" for name in results.references(results.ranking)
    )
    return (
        f"{MAIN} reaches this share of the {RECALL} of {results.setting.yardstick}, which protects nobody: "
        f"{_listed(results, shares, '.0%')}. Without privacy: {references}."
    )


def _best(results: Results) -> str:
    """Who is ahead at each ε among models that protect users, and by how much against the published competitor."""
    users = results.private(results.ranking, protects="user")
    ahead = {e: max(users, key=lambda name: results.ranking.mean(name, e, RECALL)) for e in results.epsilons}
    named = "; ".join(
        f"{name} at {', '.join(f'{e:g}' for e, best in ahead.items() if best == name)}"
        for name in dict.fromkeys(ahead.values())
    )
    gains = [
        results.ranking.mean(MAIN, e, RECALL) / results.ranking.mean(COMPETITOR, e, RECALL) - 1
        for e in results.epsilons
    ]
    return (
        f"The best {RECALL} of those that protect whole users: {named}. {MAIN} against private alternating least "
        f"squares, the published competitor with everything charged: {_listed(results, gains, '+.0%')}."
    )


def _features(results: Results) -> str:
    if FEATURED not in results.ranking.models:
        return ""
    gains = [
        results.ranking.mean(FEATURED, e, RECALL) - results.ranking.mean(MAIN, e, RECALL) for e in results.epsilons
    ]
    return (
        f"Public columns of the catalog ({', '.join(results.setting.features)}) change the {RECALL} of {MAIN} by "
        f"{_listed(results, gains, '+.3f')}; the deviation between splits is "
        f"{max(results.ranking.deviation(MAIN, e, RECALL) for e in results.epsilons):.3f} at most."
    )


def _crossover(results: Results) -> str:
    said = [f"by {metric} {_from_where(results, metric)}" for metric in RANKING_METRICS[:2]]
    return f"{MAIN} against private popularity with the same budget: {'; '.join(said)}."


def _from_where(results: Results, metric: str) -> str:
    place, worst = results.crossover(metric), min(results.gain(e, metric) for e in results.epsilons)
    if place is None:
        return f"popularity is ahead at the largest budget, and at worst by {-worst:.3f}"
    if place == 0:
        return f"it is ahead at every budget here, from users × μ = {results.strength(results.epsilons[0]):,.0f} up"
    return f"it is ahead from users × μ = {place:,.0f} on, and behind by {-worst:.3f} at most below that"


def _tail(results: Results) -> str:
    measured, reference = results.ranking, results.setting.yardstick
    shown = [measured.mean(MAIN, e, "catalog@20") for e in results.epsilons]
    popular = [measured.mean(MAIN, e, "popularity@20") for e in results.epsilons]
    return (
        f"Privacy costs the tail first. {reference} shows {measured.mean(reference, None, 'catalog@20'):.1%} of the "
        f"catalog in anybody's first 20, at a mean popularity percentile of "
        f"{measured.mean(reference, None, 'popularity@20'):.3f}; {MAIN} shows {_listed(results, shown, '.1%')}, at "
        f"percentiles of {_listed(results, popular, '.3f')}."
    )


def _ratings(results: Results) -> str:
    measured = results.ratings
    if measured is None:
        return ""
    errors = [measured.mean(RATINGS, e, "RMSE") for e in results.epsilons]
    plain = measured.mean(BIASES, None, "RMSE")
    better = [e for e, error in zip(results.epsilons, errors, strict=True) if error <= plain]
    said = (
        f"from ε = {better[0]:g} on it errs less than exact offsets do"
        if better and better == results.epsilons[-len(better) :]
        else "it does not err less than exact offsets do, not even at the largest of these budgets"
    )
    references = ", ".join(f"{name} {measured.mean(name, None, 'RMSE'):.4f}" for name in results.references(measured))
    weaker = [measured.mean(f"{RATINGS}, {BY_RATING}", e, "RMSE") for e in results.epsilons]
    return (
        f"{RATINGS}, whole users: RMSE {_listed(results, errors, '.4f')}; without privacy {references}; {said}. "
        f"Where one rating alone is protected: {_listed(results, weaker, '.4f')}."
    )


def _strength(results: Results) -> str:
    found = results.collapse()
    if not found.points:
        return ""
    counts = ", ".join(f"{results.ranking.users(float(share)):,}" for share in results.setting.shares)
    return (
        f"Accuracy is a matter of users × μ more than of ε. {MAIN} learned from {counts} users. At equal ε the "
        f"{RECALL} with fewer users lies {found.at_equal_epsilon:.3f} from that with all on the average, at equal "
        f"users × μ {found.at_equal_strength:.3f} ({found.points} comparisons)."
    )


def _unit(results: Results) -> str:
    names = results.private(results.ranking, protects="rating")
    gains = {
        name: [results.ranking.mean(name, e, RECALL) - results.ranking.mean(MAIN, e, RECALL) for e in results.epsilons]
        for name in names
    }
    said = "; ".join(f"{name} against {MAIN}: {_listed(results, values, '+.3f')}" for name, values in gains.items())
    return (
        "Models that protect one rating promise much less: everything that a person did together is not covered. What "
        f"that buys in {RECALL}: {said}."
    )


def _limits(results: Results) -> str:
    setting = results.setting
    catalog = (
        ""
        if setting.declared
        else " No catalog came with the records, so that the items that occur were taken for public."
    )
    return (
        f"Every model has δ = {float(setting.delta):g} for comparability; for more users than 1/δ take a smaller one. "
        f"Splits have the seeds {', '.join(map(str, setting.seeds))}; the constants of the models were settled on "
        f"split {TUNED} of MovieLens 1M, whose users the other splits of it share: figures for it may flatter, figures "
        f"for other data do not.{catalog} Bands and deviations are over splits, each with fresh noise. Nothing here is "
        "private: accuracy was measured on the records themselves."
    )
