"""What the paper says in words, and whether it holds in this run. Means over the runs decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from discreet.studies.published import published
from discreet.studies.sampling.results import Results
from discreet.studies.sampling.ways import EXISTING

__all__ = ["statements"]

Verdict = tuple[bool, str]

CLOSE = 2.0
"""Within twice the best counts as close to it: the paper gives no number."""

FAILS = 0.2
"""Lists with at most two of ten right count as failures."""

SAMPLERS = ("SRA", "HPA")
LEVELS = ("items", "edges")


def statements(results: Results) -> pl.DataFrame:
    """One row for each statement that these data can tell about."""
    rows = []
    for said in published("sampling")["statements"]:
        found = VERDICTS[said["name"]](results)
        if found is not None:
            holds, measured = found
            rows.append(
                {
                    "where": said["where"],
                    "says": said["says"],
                    "about": said["about"],
                    "here": "holds" if holds else "does not hold",
                    "measured": measured,
                }
            )
    return pl.DataFrame(rows)


def _popularity(results: Results) -> Verdict | None:
    found = results.look.filter(pl.col("first look").str.contains("fewest"), K=20)["precision"]
    return None if found.is_empty() else (found.item() > 0.6, f"{found.item():.0%}")


def _error_over_caps(results: Results, way: str, level: str) -> list[float]:
    return [measured.mean(way, level, "mse") for measured in results.caps.values()]


def _least_cap(results: Results, way: str, level: str) -> int:
    return list(results.caps)[int(np.argmin(_error_over_caps(results, way, level)))]


def _small_l(results: Results) -> Verdict:
    caps = list(results.caps)
    best = {way: _least_cap(results, way, "items") for way in SAMPLERS}
    return all(caps[0] < cap < caps[-1] for cap in best.values()), f"least at l = {_each(best)} of {caps[0]}–{caps[-1]}"


def _smaller_l(results: Results) -> Verdict:
    items, edges = ({way: _least_cap(results, way, level) for way in SAMPLERS} for level in LEVELS)
    return all(edges[way] < items[way] for way in SAMPLERS), f"items {_each(items)}; edges {_each(edges)}"


def _worst(metric: str) -> Callable[[Results], Verdict]:
    def verdict(results: Results) -> Verdict:
        others = [name for name in (*SAMPLERS, *EXISTING) if name != "LPA"]
        holds, said = True, []
        for level in LEVELS:
            largest = max(others, key=lambda name: results.main.mean(name, level, metric))
            lpa, next_one = (results.main.mean(name, level, metric) for name in ("LPA", largest))
            holds = holds and lpa > next_one
            said.append(f"{level} {lpa:.3g}, next {largest} {next_one:.3g}")
        return holds, "; ".join(said)

    return verdict


def _gs_against_dft(results: Results) -> Verdict:
    """For at least one width the same in items and edges."""
    dft = {level: results.main.mean("DFT", level, "mse") for level in LEVELS}
    groups = [name for name in EXISTING if name.startswith("GS")]
    errors = {name: {level: results.main.mean(name, level, "mse") for level in LEVELS} for name in groups}
    holds = any(all(errors[name][level] <= dft[level] for level in LEVELS) for name in groups)
    said = [f"{name} {errors[name]['items']:.3g}, {errors[name]['edges']:.3g}" for name in groups]
    return holds, f"items, edges: DFT {dft['items']:.3g}, {dft['edges']:.3g}; {'; '.join(said)}"


def _least_error(results: Results) -> Verdict:
    holds, said = True, []
    for level in LEVELS:
        (ours, error), (other, best) = (results.main.best(names, level, "mse") for names in (SAMPLERS, EXISTING))
        holds = holds and error < best
        said.append(f"{level}: {ours} {error:.3g}, {other} {best:.3g}")
    return holds, "; ".join(said)


def _sra_nearer(results: Results) -> Verdict:
    pairs = {level: tuple(results.main.mean(name, level, "kl_original") for name in SAMPLERS) for level in LEVELS}
    said = "; ".join(f"{level} {sra:.2f} against {hpa:.2f}" for level, (sra, hpa) in pairs.items())
    return all(sra < hpa for sra, hpa in pairs.values()), f"D(original ‖ released): {said}"


def _comparable(results: Results) -> Verdict:
    holds, said = True, []
    for level in LEVELS:
        other, best = results.main.best(EXISTING, level, "kl_original")
        worst = max(results.main.mean(name, level, "kl_original") for name in SAMPLERS)
        holds = holds and worst <= CLOSE * best
        said.append(f"{level}: at most {worst:.2f}, {other} {best:.2f}")
    return holds, f"D(original ‖ released): {'; '.join(said)}"


def _existing_fail(results: Results) -> Verdict:
    name, best = results.main.best(EXISTING, "items", "top")
    return best <= FAILS, f"best of them {name} {best:.0%}"


def _superior(level: str) -> Callable[[Results], Verdict]:
    def verdict(results: Results) -> Verdict:
        name, best = results.main.best(EXISTING, level, "top")
        found = {way: results.main.mean(way, level, "top") for way in SAMPLERS}
        said = ", ".join(f"{way} {value:.0%}" for way, value in found.items())
        return all(value > 2 * best for value in found.values()), f"{said}; {name} {best:.0%}"

    return verdict


def _ahead(level: str, first: str, second: str, factor: float) -> Callable[[Results], Verdict]:
    def verdict(results: Results) -> Verdict:
        one, other = (results.main.mean(name, level, "top") for name in (first, second))
        return one > factor * other, f"{first} {one:.0%}, {second} {other:.0%}"

    return verdict


def _first_item(results: Results) -> Verdict:
    hpa = results.main.mean("HPA", "items", "top 1")
    name, best = results.main.best(EXISTING, "items", "top 1")
    return hpa == 1 and best == 0, f"HPA {hpa:.0%}; best of the others {name} {best:.0%}"


def _falling(results: Results) -> Verdict | None:
    first, last = (f"top {length}" for length in (results.setting.lengths[0], results.setting.lengths[-1]))
    ends = {
        name: (results.main.mean(name, "items", first), results.main.mean(name, "items", last))
        for name in (*SAMPLERS, *EXISTING)
    }
    holds = all((ends[name][1] < ends[name][0]) == (name in SAMPLERS) for name in ends)
    said = ", ".join(f"{name} {start:.0%}→{end:.0%}" for name, (start, end) in ends.items())
    return holds, f"K = {results.setting.lengths[0]}→{results.setting.lengths[-1]}: {said}"


def _up_to_100(results: Results) -> Verdict:
    lengths = [length for length in results.setting.lengths if length <= 100]
    behind = [
        length
        for length in lengths
        if min(results.main.mean(name, "items", f"top {length}") for name in SAMPLERS)
        <= results.main.best(EXISTING, "items", f"top {length}")[1]
    ]
    return not behind, "ahead everywhere" if not behind else f"not at K = {', '.join(map(str, behind))}"


def _reduction(results: Results) -> Verdict:
    share = results.reduction["share"][1]
    return share < 0.5, f"{share:.0%} of the records"


def _weekly(results: Results) -> Verdict | None:
    if results.weekly is None:
        return None
    sra, hpa = ((results.weekly[f"{name}, sample"] - results.weekly["original"]).abs().to_numpy() for name in SAMPLERS)
    return bool((sra <= hpa).all()), f"nearer on {int((sra < hpa).sum())} of {sra.size} days"


def _list(results: Results) -> Verdict:
    sra, hpa = results.shared("SRA"), results.shared("HPA")
    return hpa > sra, f"{results.setting.place_name}: HPA {hpa}, SRA {sra} of {results.setting.top}"


def _each(values: dict[str, int]) -> str:
    return ", ".join(f"{value} ({name})" for name, value in values.items())


VERDICTS: dict[str, Callable[[Results], Verdict | None]] = {
    "popularity": _popularity,
    "small l": _small_l,
    "smaller l for edges": _smaller_l,
    "LPA worst": _worst("mse"),
    "GS against DFT": _gs_against_dft,
    "least error": _least_error,
    "LPA farthest": _worst("kl_original"),
    "SRA nearer": _sra_nearer,
    "comparable": _comparable,
    "existing fail": _existing_fail,
    "superior items": _superior("items"),
    "superior edges": _superior("edges"),
    "SRA items": _ahead("items", "SRA", "HPA", 1),
    "HPA edges": _ahead("edges", "HPA", "SRA", 2),
    "first item": _first_item,
    "falling": _falling,
    "up to 100": _up_to_100,
    "reduction": _reduction,
    "weekly": _weekly,
    "list": _list,
}
