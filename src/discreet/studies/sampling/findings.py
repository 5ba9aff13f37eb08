"""What the study of counts from samples shows, in paragraphs whose numbers come from the run."""

from __future__ import annotations

import numpy as np

from discreet.studies.sampling.measuring import BETTER_LESS, METRICS
from discreet.studies.sampling.results import Results
from discreet.studies.sampling.statements import statements

__all__ = ["findings"]

NAMES = {
    "mse": "squared error",
    "kl_released": "D(released ‖ original)",
    "kl_original": "D(original ‖ released)",
    "top": "precision of the top list",
}


def findings(results: Results) -> tuple[str, ...]:
    """One paragraph a question."""
    parts = [
        _statements(results),
        _ours_against_the_best(results, "ε"),
        _ours_against_the_best(results, "ε, δ"),
        _one_release(results),
        _order(results),
        _first_look(results),
        _nothing(results),
        _lists(results),
        _standing(results),
    ]
    return tuple(part for part in parts if part)


def _statements(results: Results) -> str:
    table = statements(results)
    failing = table.filter(here="does not hold")
    held = table.height - failing.height
    text = f"Of {table.height} statements of the paper that these data can tell about, {held} hold"
    if failing.is_empty():
        return f"{text}."
    return f"{text}. Those that do not: {'; '.join(f'{says} ({m})' for says, m in failing['says', 'measured'].rows())}."


def _ours_against_the_best(results: Results, budget: str) -> str:
    """Every metric: the best of ours with one kind of budget against the best of the paper's."""
    paper, ours = results.names("paper"), results.names("ours", budget)
    said, ahead, places = [], 0, 0
    for level in ("items", "edges"):
        for metric in METRICS:
            (theirs, best), (name, mine) = (results.main.best(names, level, metric) for names in (paper, ours))
            better = mine < best if metric in BETTER_LESS else mine > best
            ahead, places = ahead + better, places + 1
            sign = "" if better else "NOT better: "
            said.append(
                f"{level.capitalize()}, {NAMES[metric]}: {sign}{mine:.3g} ({name}) against {best:.3g} ({theirs})"
            )
    kind = "pure" if budget == "ε" else f"with delta {float(results.setting.delta):g}"
    return (
        f"The best of our {len(ours)} ways, {kind}, is ahead of the best of the paper's {len(paper)} in {ahead} of "
        f"{places} metrics at the same epsilon {results.setting.epsilon}. {'. '.join(said)}."
    )


def _one_release(results: Results) -> str:
    single, setting = results.single, results.setting
    paper = [name for name, way in single.ways.items() if way.origin == "paper"]
    ours = [name for name, way in single.ways.items() if way.origin == "ours"]
    (theirs, error), (name, mine) = (single.best(names, "items", "mse") for names in (paper, ours))
    (their_list, found), (list_name, precision) = (single.best(names, "items", "top") for names in (paper, ours))
    both = next(one for one, way in single.ways.items() if way.second is not None)
    return (
        f"One release of item counts at a total of {setting.single}: the least squared error is {mine:.3g} ({name}), "
        f"of the paper's {error:.3g} ({theirs}); the best top {setting.top} has {precision:.1%} right ({list_name}), "
        f"of the paper's {found:.1%} ({their_list}). A list and counts that share the budget have "
        f"{single.mean(both, 'items', 'top'):.1%} and {single.mean(both, 'items', 'mse'):.3g}."
    )


def _order(results: Results) -> str:
    """What DFT owes to the order of the items."""
    came = results.as_they_came
    if came is None:
        return ""
    said = [
        f"{level} {came.mean('DFT', level, 'mse'):.3g} (D(released ‖ original) "
        f"{came.mean('DFT', level, 'kl_released'):.3g}, D(original ‖ released) "
        f"{came.mean('DFT', level, 'kl_original'):.3g}) instead of {results.main.mean('DFT', level, 'mse'):.3g}"
        for level in ("items", "edges")
    ]
    return (
        "No catalog was declared, so items were numbered at random: ids may have been given in the order in which "
        "items occur, which tells of their popularity. In the order of their ids DFT's squared error is "
        f"{'; '.join(said)}. The other methods do not depend on the order, but for ties."
    )


def _first_look(results: Results) -> str:
    look = results.look.filter(K=results.setting.top)
    said = "; ".join(f"{row['first look']}: {row['precision']:.1%}" for row in look.iter_rows(named=True))
    return (
        f"How much of the true top {results.setting.top} is in HPA's first look: {said}. Where that is little, HPA "
        "does not work by picking popular items: any fixed preference puts the records of many users on the same few."
    )


def _nothing(results: Results) -> str:
    """Whether a method is better than saying nothing."""
    said = []
    for level, true in (("items", results.setting.items), ("edges", results.setting.edges)):
        zeros = float(np.square(true).mean())
        worse = [name for name in results.main.ways if results.main.mean(name, level, "mse") >= zeros]
        said.append(f"{level} {zeros:.3g}" + (f" (no better: {', '.join(worse)})" if worse else ""))
    return f"Releasing zeros has a squared error of {'; '.join(said)}."


def _lists(results: Results) -> str:
    counts = ", ".join(f"{name} {results.shared(name)}" for name in results.lists if name != "original")
    name, length = results.setting.place_name, results.setting.top
    return f"The list for {name}, last run: of the original {length} there are in {counts}."


def _standing(results: Results) -> str:
    setting = results.setting
    return (
        "HPA takes d from the records here, LPA, DFT and GS take M from them, as the paper does: these promises are "
        "refuted, and their errors are shown for comparison only. With public numbers SRA and HPA keep theirs. Ours "
        "have caps that are fixed multiples of l; these (3, and 6 beside a list) were settled on MovieLens 1M, whose "
        "figures may flatter them. “Expected” is an estimate from the release alone, which costs nothing. Those "
        f"with “ε, δ” spend ({setting.epsilon}, {float(setting.delta):g}) where the paper's claim pure "
        f"{setting.epsilon}."
    )
