"""What Lu's fifth chapter says of its figures, and whether a run bears it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.studies.ppns_arena import Plan
from discreet.studies.ppns_figures import Figure
from discreet.studies.published import published_table

__all__ = ["FAR", "LEAK", "TRIED", "claims_table", "curve"]

Floats = NDArray[np.float64]

CLOSE = 0.01
"""Differences in MAE up to this mean nothing where nobody attacks: all methods are asked the same."""

FAR = 0.05
"""… and up to this under an attack, where neighbors are drawn for each method anew."""

NOTHING = 0.02
"""An MAE up to this is no error."""

LEAK = 0.1
"""So much more of the hidden ratings recovered with the target than without counts as giving ratings away."""

TRIED = 100.0
"""Budgets beyond this are for the table only: nobody calls them private."""

VERDICTS = {True: "holds", False: "does not hold", None: "cannot tell"}
DEFENSES = ("nPNS", "PNCF", "PPNS")


@dataclass(frozen=True)
class Verdict:
    """One claim under one reading: the numbers that decide, and whether it holds; None if nobody can tell."""

    reading: str
    measured: str
    holds: bool | None


Judge = Callable[[pl.DataFrame, str, str], tuple[str, bool | None]]
"""Judges one reading of a table over the parameter of its figure; None where there are too few values to tell."""


def claims_table(figures: Mapping[str, Figure]) -> pl.DataFrame:
    """Every claim, one line for each reading that it was measured under."""
    rows = []
    for claim in published_table("ppns").iter_rows(named=True):
        if claim["key"] not in JUDGES:
            rows.append(_line(claim, "", "the data of this figure are not at hand", "not run"))
            continue
        verdicts = _judged(figures[claim["figure"]].table, JUDGES[claim["key"]])
        rows += [_line(claim, each.reading, each.measured, VERDICTS[each.holds]) for each in verdicts]
    return pl.DataFrame(rows)


def curve(table: pl.DataFrame, model: str, column: str = "MAE", *, reading: str) -> Floats:
    """One column of a model under a reading, in the order of the figure; NaN where nothing was answered."""
    found = table.filter((pl.col("reading") == reading) & (pl.col("model") == model))[column]
    return found.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _line(claim: Mapping[str, Any], reading: str, measured: str, verdict: str) -> dict[str, str]:
    return {
        "figure": claim["figure"],
        "claim": claim["claim"],
        "reading": reading,
        "measured": measured,
        "verdict": verdict,
    }


def _judged(table: pl.DataFrame, judge: Judge) -> list[Verdict]:
    over = table.columns[2]
    readings = table["reading"].unique(maintain_order=True).to_list()
    return [Verdict(reading, *judge(table, over, reading)) for reading in readings]


def _values(table: pl.DataFrame, over: str, reading: str, model: str) -> Floats:
    return curve(table, model, over, reading=reading)


def _list(values: Floats) -> str:
    return " ".join("–" if np.isnan(value) else f"{value:.2f}" for value in values)


# Nobody attacks


def _more_accurate(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    ours = curve(table, "PPNS", reading=reading).max()
    others = [curve(table, model, reading=reading)[0] for model in ("nPNS", "PNCF")]
    return f"PPNS at most {ours:.3f}; nPNS {others[0]:.3f}, PNCF {others[1]:.3f}", bool(ours < min(others) - CLOSE)


def _beta_costs(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    errors = curve(table, "PPNS", reading=reading)
    betas = _values(table, over, reading, "PPNS")
    measured = f"PPNS {errors[0]:.3f} at β = {betas[0]:.0f}, {errors[-1]:.3f} at β = {betas[-1]:.0f}"
    return measured, bool(errors[-1] > errors[0] + CLOSE)


def _first_is_knn(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    ours, plain = curve(table, "PPNS", reading=reading)[0], curve(table, "kNN", reading=reading)[0]
    error = curve(table, "kNN", "±", reading=reading)[0]
    # Both break ties by coins of their own.
    return f"PPNS {ours:.3f}, kNN {plain:.3f} ± {error:.3f}", bool(abs(ours - plain) <= CLOSE + 2 * error)


# Under attack


def _errs_less(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    errors = {model: curve(table, model, reading=reading) for model in DEFENSES}
    best = np.fmin(errors["nPNS"], errors["PNCF"])
    measured = "; ".join(f"{model} {_list(errors[model])}" for model in DEFENSES)
    return measured, bool(np.all(errors["PPNS"] < best - FAR))


def _knn_errs_by_nothing(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    errors = curve(table, "kNN", reading=reading)
    return f"kNN {_list(errors)}", bool(np.all(errors <= NOTHING))


def _error_grows(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    errors = curve(table, "PPNS", reading=reading)
    return f"PPNS {_list(errors)}", bool(errors[-1] > errors[0] + FAR)


def _error_falls(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    errors = curve(table, "PPNS", reading=reading)
    return f"PPNS {_list(errors)}", _falls(errors)


def _errors_fall_with_epsilon(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    measured, holds = [], True
    for model in ("PNCF", "PPNS"):
        tried = _values(table, over, reading, model) <= TRIED
        errors = curve(table, model, reading=reading)[tried]
        measured.append(f"{model} {_list(errors)}")
        holds = holds and _falls(errors)
    return f"{'; '.join(measured)} up to ε = {TRIED:.0f}", holds


def _falls(errors: Floats) -> bool:
    return bool(errors[-1] < errors[0] - FAR and np.all(np.diff(errors) <= FAR))


def _eight_are_needed(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    errors, known = curve(table, "kNN", reading=reading), _values(table, over, reading, "kNN")
    enough = known >= Plan.MAIN_KNOWN
    zero = errors <= NOTHING  # false where nothing was answered
    measured = f"kNN {_list(errors)} for m = {' '.join(f'{m:.0f}' for m in known)}"
    return measured, bool(np.all(zero[enough]) and not np.any(zero[~enough]))


def _knowing_helps(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    errors = {model: curve(table, model, reading=reading) for model in ("kNN", *DEFENSES)}
    measured = "; ".join(f"{model} {each[0]:.2f} to {each[-1]:.2f}" for model, each in errors.items())
    return measured, all(_falls(each) for each in errors.values())


def _gives_nothing_away(table: pl.DataFrame, over: str, reading: str, *, models: tuple[str, ...]) -> tuple[str, bool]:
    measured, holds = [], True
    for model in models:
        present, absent = (curve(table, model, column, reading=reading) for column in ("exact", "exact, absent"))
        worst = int(np.argmax(present - absent))
        measured.append(f"{model} {present[worst]:.0%} ({absent[worst]:.0%} absent)")
        holds = holds and bool(present[worst] - absent[worst] < LEAK)
    return f"recovered: {', '.join(measured)}", holds


def _k_sybils_find_nothing(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    return _gives_nothing_away(table, over, reading, models=("PPNS",))


def _defenses_give_nothing_away(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    return _gives_nothing_away(table, over, reading, models=DEFENSES)


def _safe_up_to_beta(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    within = table.filter(pl.col(over) <= BETA)
    return _gives_nothing_away(within, over, reading, models=DEFENSES)


def _lost_beyond_beta(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    beyond = table.filter(pl.col(over) > BETA)
    errors = {model: curve(beyond, model, reading=reading) for model in DEFENSES}
    answered = {model: 1 - curve(beyond, model, "unanswered", reading=reading) for model in DEFENSES}
    measured = "; ".join(f"{model} {_list(errors[model])}, {answered[model].max():.0%} answered" for model in DEFENSES)
    return measured, all(bool(np.all(each <= NOTHING)) for each in errors.values())


def _moves_less(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    spread = {model: float(np.ptp(curve(table, model, reading=reading))) for model in DEFENSES}
    measured = "range of " + ", ".join(f"{model} {each:.2f}" for model, each in spread.items())
    return measured, spread["PPNS"] < min(spread["nPNS"], spread["PNCF"])


def _lead_grows(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool | None]:
    below = table.filter(pl.col(over) < Plan.MAIN_KNOWN)
    ours = curve(below, "PPNS", reading=reading)
    lead = np.fmin(curve(below, "nPNS", reading=reading), curve(below, "PNCF", reading=reading)) - ours
    return f"lead {_list(lead)}", bool(lead[-1] > lead[0] + FAR) if lead.size > 1 else None


def _k_does_not_matter(table: pl.DataFrame, over: str, reading: str) -> tuple[str, bool]:
    errors = curve(table, "PPNS", reading=reading)
    return f"PPNS {_list(errors)}", bool(np.ptp(errors) <= FAR)


BETA = Plan.beta
JUDGES: dict[str, Judge] = {
    "5.4a": _more_accurate,
    "5.4b": _beta_costs,
    "5.4c": _first_is_knn,
    "5.5a": _more_accurate,
    "5.5b": _beta_costs,
    "5.5c": _first_is_knn,
    "5.7a": _errs_less,
    "5.7b": _knn_errs_by_nothing,
    "5.7c": _error_grows,
    "5.7d": _k_sybils_find_nothing,
    "5.8": _error_falls,
    "5.9": _errors_fall_with_epsilon,
    "5.10a": _eight_are_needed,
    "5.10b": _knowing_helps,
    "5.10c": _defenses_give_nothing_away,
    "5.11a": _errs_less,
    "5.11b": _knn_errs_by_nothing,
    "5.11c": _moves_less,
    "5.12a": _safe_up_to_beta,
    "5.12b": _lost_beyond_beta,
    "5.13a": _eight_are_needed,
    "5.13b": _lead_grows,
    "5.14": _k_does_not_matter,
    "5.15": _errors_fall_with_epsilon,
}
