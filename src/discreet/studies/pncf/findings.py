"""What `study pncf` shows, in paragraphs whose numbers come from the run."""

from __future__ import annotations

from itertools import product

from discreet.studies.pncf.grid import AXES, PRIVATE, SIMILARITIES, UNIFORM, Cell
from discreet.studies.pncf.measuring import Measured
from discreet.studies.published import published_table

__all__ = ["findings"]

CERTAIN = 0.001
"""Differences with a p-value below this count as seen: a study makes dozens of tests."""


def findings(measured: Measured) -> tuple[str, ...]:
    """One paragraph a question."""
    parts = (_level, _selection, _truncation, _uniform, _naive, _budget, _proved, _tests)
    return tuple(text for part in parts if (text := part(measured)))


def _level(measured: Measured) -> str:
    """Where the methods stand to each other, here and in the thesis."""
    cells = list(product(AXES, SIMILARITIES, measured.plan.sizes))
    between = sum(
        measured.mae("non-private", *at) < measured.mae("PNCF", *at) < measured.mae("DP", *at) for at in cells
    )
    was = {row[:4]: row[4] for row in published_table("pncf").select("axis", "similarity", "k", "method", "mae").rows()}
    told = [was[(*at, "non-private")] < was[(*at, "PNCF")] < was[(*at, "DP")] for at in cells if (*at, "PNCF") in was]
    gaps = [measured.mae("non-private", *at) - was[(*at, "non-private")] for at in cells if (*at, "PNCF") in was]
    text = f"PNCF's error lies between the non-private one and that of DP in {between} of {len(cells)} places"
    if not told:
        return f"{text}."
    level = "above" if sum(gaps) > 0 else "below"
    return (
        f"{text} of the grid, and in {sum(told)} of {len(told)} as published. The published figures are of another "
        "data set (Netflix), so levels are not to be compared digit by digit: without privacy ours lie "
        f"{abs(sum(gaps)) / len(gaps):.3f} {level} them on average."
    )


def _selection(measured: Measured) -> str:
    """Whether the choice of neighbors can be told from a uniform one."""
    plan = measured.plan
    settings = {pair: chosen for pair, chosen in measured.choices.items() if chosen}
    if not settings:
        return f"Nobody has more than {plan.size} candidates here, so nothing is chosen at k = {plan.size}."

    def differences(method: str) -> str:
        tests = [
            measured.errors.gain_over_users(
                *(Cell(name, *pair, plan.size, plan.epsilon, noise=False) for name in (method, UNIFORM))
            )
            for pair in settings
        ]
        seen = sum(test.p_value < CERTAIN for test in tests)
        each = ", ".join(
            f"{-test.difference:+.4f} ({axis} {SIMILARITIES[similarity]}, p = {test.p_value:.2g})"
            for test, (axis, similarity) in zip(tests, settings, strict=True)
        )
        return f"{each}: told apart in {seen} of {len(tests)} settings"

    nearest = ", ".join(
        f"{chosen['PNCF'].nearest:.1%} ({axis} {SIMILARITIES[similarity]}, by chance {chosen[UNIFORM].nearest:.1%})"
        for (axis, similarity), chosen in settings.items()
    )
    return (
        f"The choice alone, without noise on the weights, at epsilon {plan.epsilon} and k = {plan.size}. The error of "
        f"DP's choice less that of a uniform one is {differences('DP')}. That of PNCF's is {differences('PNCF')}. Of "
        f"PNCF's neighbors, {nearest} are among the k nearest. PNCF lets all negative similarities stand as one "
        f"candidate; with a candidate for each of them the differences are {differences('PNCF, C0 each')}."
    )


def _truncation(measured: Measured) -> str:
    """Whether truncated similarities ever matter."""
    epsilon = float(measured.plan.epsilon)
    cuts = {pair: cut for pair, cut in measured.truncations.items() if cut.begins.size}
    if not cuts:
        return ""
    asked = sum(cut.begins.size for cut in cuts.values())
    acting = sum(cut.acting(epsilon) * cut.begins.size for cut in cuts.values())
    begins = ", ".join(
        f"{cut.median:,.0f} ({axis} {SIMILARITIES[similarity]})" for (axis, similarity), cut in cuts.items()
    )
    negative = ", ".join(
        f"{cut.negative:.0%} ({axis})" for (axis, similarity), cut in cuts.items() if similarity == "pearson"
    )
    verb = "never acts" if acting == 0 else f"acts in {acting / asked:.2%} of the questions"
    return (
        f"With the width of Theorem 3.4.1 truncation {verb} at epsilon {measured.plan.epsilon} ({asked:,} questions "
        f"with more than k candidates): the median epsilon from which it would is {begins}. What is left of it is that "
        f"negative similarities count as one candidate together; those are {negative} of the candidates with PCC and "
        "none with COS."
    )


def _uniform(measured: Measured) -> str:
    """Neighbors at random against PNCF."""
    said = []
    for axis, similarity in product(AXES, SIMILARITIES):
        sizes = measured.plan.sizes
        gaps = [measured.mae("PNCF", axis, similarity, k) - measured.mae(UNIFORM, axis, similarity, k) for k in sizes]
        said.append(
            f"{axis} {SIMILARITIES[similarity]} in {sum(gap > 0 for gap in gaps)} of {len(sizes)} values of k "
            f"(PNCF − uniform from {min(gaps):+.4f} to {max(gaps):+.4f})"
        )
    return "Random neighbors with their true similarities have a lower error than PNCF for " + "; ".join(said) + "."


def _naive(measured: Measured) -> str:
    """PNCF against the exponential mechanism with the same sensitivity (figures 3.4 and 3.5)."""
    plan, said = measured.plan, []
    for similarity, name in SIMILARITIES.items():
        for axis in AXES:
            wins = sum(
                measured.mae("PNCF", axis, similarity, k) < measured.mae("RS&NM", axis, similarity, k)
                for k in plan.sizes
            )
            ours, theirs = (measured.cell(method, axis, similarity, plan.size) for method in ("PNCF", "RS&NM"))
            test = measured.errors.gain_over_users(ours, theirs)
            seen = "seen" if test.p_value < CERTAIN else "not to be told from chance"
            said.append(
                f"{axis} {name}: lower at {wins} of {len(plan.sizes)} values of k; the difference at k = {plan.size} "
                f"is {-test.difference:+.4f} (p = {test.p_value:.2g}, {seen})"
            )
    return (
        "The thesis has PNCF ahead of RS&NM in all configurations. Here, " + "; ".join(said) + ". With COS the two are "
        "the same mechanism as long as truncation does not act, so that only the draws differ."
    )


def _budget(measured: Measured) -> str:
    """The shape of figure 3.6."""
    plan = measured.plan
    said = []
    for axis in AXES:
        curves = {
            method: [measured.errors.mae(cell) for cell in plan.sweep_cells(axis) if cell.method == method]
            for method in ("PNCF", "DP")
        }
        ours, theirs = curves["PNCF"], curves["DP"]
        fall = ours[0] - ours[-1]
        early = ""
        if "0.4" in plan.budgets and fall > 0:
            share = (ours[0] - ours[plan.budgets.index("0.4")]) / fall
            late = ours[-1] - ours[plan.budgets.index("0.7")]
            early = f", {share:.0%} of the fall up to 0.4, and {late:+.4f} from 0.7 on"
        said.append(
            f"{axis} neighbors: PNCF {ours[0]:.4f} → {ours[-1]:.4f}{early}; DP {theirs[0]:.4f} → {theirs[-1]:.4f}"
        )
    budgets = f"{plan.budgets[0]} to {plan.budgets[-1]}"
    return (
        f"From epsilon {budgets} (PCC, k = {plan.sweep_size}), "
        + "; ".join(said)
        + ". The thesis has errors fall fast "
        "up to 0.4 and stable from 0.7 on."
    )


def _proved(measured: Measured) -> str:
    """What the proved model gets."""
    sizes, item = measured.plan.sizes, "item"
    ours = [measured.mae(PRIVATE, item, "own", k) for k in sizes]

    def beaten(method: str) -> str:
        cells = list(product(AXES, SIMILARITIES, sizes))
        wins = sum(measured.mae(PRIVATE, *at) < measured.mae(method, *at) for at in cells)
        return f"{method} in {wins} of {len(cells)}"

    rivals = ", ".join(map(beaten, ("DP", "PNCF", "non-private")))
    return (
        f"{PRIVATE}, whose promise for all ratings of a user is proved and covers any number of questions, has an "
        f"error of {min(ours):.4f} to {max(ours):.4f}. It is lower than that of {rivals} places of the grid. The "
        "promises of DP, RS&NM and PNCF are for one question at a time, and refuted even there."
    )


def _tests(measured: Measured) -> str:
    return (
        "The published tests pair the errors at different k. These come from the same data, the same split and partly "
        "the same neighbors, so they are no independent sample, and a large t says little; the tests over users, one "
        "pair a person, are the ones to go by."
    )
