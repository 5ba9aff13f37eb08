"""What was measured on the records, as people read it: a headline, charts and tables for each kind of report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from sqlalchemy.engine import Row

from discreet.privacy.losses import loss_from_json
from discreet.service.pages import charts
from discreet.service.pages.words import as_epsilon
from discreet.service.releases import guarantee_lines

__all__ = ["accuracy_curve", "accuracy_points", "found_in", "risk_curves", "short"]

NAMES = {"audit": "Audit", "attack": "Attack", "risk": "Risk over ε", "frontier": "Accuracy over ε"}
VERDICTS = {
    "refuted": ("bad", "claim refuted"),
    "consistent": ("good", "within the claim"),
    "inconclusive": ("plain", "too few runs, or nothing seen"),
    "no claim": ("plain", "no claim about this"),
}
"""What an attack of an audit found, as a badge."""

MEASURES = {
    "recall@20": "hits in 20",
    "recall@100": "hits in 100",
    "ndcg@20": "order of 20",
    "ndcg@100": "order of 100",
    "catalog@20": "items shown",
    "popularity@20": "popularity",
    "rmse": "root mean squared error",
    "mae": "mean error",
}


def short(row: Row[Any], datasets: Mapping[str, str]) -> dict[str, Any]:
    """One report in a list."""
    found = row.report
    return {
        "id": row.id,
        "kind": row.kind,
        "title": NAMES.get(row.kind, row.kind),
        "words": _headline(row.kind, found) or row.summary,
        "created": row.created,
        "who": row.who,
        "model": found.get("model", "") or _first_model(found),
        "dataset": datasets.get(row.dataset or "", ""),
        "refuted": found.get("refuted"),
    }


def _share(value: float) -> str:
    """A share that was measured, rounded."""
    return f"{100 * value:.0f} %"


def _first_model(found: Mapping[str, Any]) -> str:
    names = [one["model"] for one in found.get("rows") or [] if one.get("epsilon", 0) is not None]
    return ", ".join(dict.fromkeys(names))


def found_in(row: Row[Any]) -> dict[str, Any]:
    """What the page of a report shows."""
    found = row.report
    shown: dict[str, Any] = {"found": found, "lines": None, "charts": [], "table": None, "scores": [], "remarks": []}
    if isinstance(found.get("guarantee"), dict):
        shown["lines"] = guarantee_lines(found["guarantee"])
    part = {"audit": _audit, "attack": _attack, "risk": _risk, "frontier": _frontier}.get(row.kind)
    return shown if part is None else {**shown, **part(found)}


def _headline(kind: str, found: Mapping[str, Any]) -> str:
    """What came out, in one or two sentences."""
    if kind == "audit":
        return _audit_headline(found)
    if kind == "attack":
        rows = [one for one in found.get("rows") or [] if one.get("exact_present") is not None]
        told = [f"{one['model']} {_share(one['exact_present'])} and {_share(one['exact_absent'])}" for one in rows]
        words = "Hidden ratings that were guessed, with the person in the data and without"
        return f"{words}: {', '.join(told)}." if told else ""
    if kind == "frontier" and (points := accuracy_points(found)):
        at = min((epsilon for epsilon, _ in points), key=lambda one: abs(one - 1))
        return f"At ε = {at:g} about {_share(dict(points)[at])} of the hits of a model without privacy are left."
    if kind == "risk" and (best := found.get("recommended")):
        return f"ε = {best['epsilon']:g} is the best compromise between what is gained and what is risked."
    return ""


def _audit_headline(found: Mapping[str, Any]) -> str:
    scores = [one for one in found.get("scores") or [] if one.get("claimed") is not None]
    if not scores:
        return ""
    best = max(scores, key=lambda one: (one["verdict"] == "refuted", one["epsilon_lower"]))
    claimed, sure = _claimed(best), found.get("confidence", 0.95)
    if found.get("refuted"):
        return (
            f"The claim does not hold: the attack “{best['game']}” shows at least ε = {best['epsilon_lower']:.3g}, and "
            f"{claimed} was claimed. Such a finding is wrong in less than {_share(1 - sure)} of audits."
        )
    tried = len(scores)
    return (
        f"No attack got past the claim of {claimed}: {tried} {'was' if tried == 1 else 'were'} tried, and they show at "
        f"least ε = {best['epsilon_lower']:.3g} ({_share(sure)} sure). That is no proof that there is no better attack."
    )


def _claimed(score: Mapping[str, Any]) -> str:
    claimed = score.get("claimed")
    return "" if not isinstance(claimed, dict) else as_epsilon(str(loss_from_json(dict(claimed["loss"]))))


# Each kind


def _audit(found: Mapping[str, Any]) -> dict[str, Any]:
    scores = sorted(found.get("scores") or [], key=lambda one: (one.get("claimed") is None, -one["epsilon_lower"]))
    shown = [
        {
            "name": one["game"],
            "view": one["view"],
            "unit": one["unit"],
            "lower": one["epsilon_lower"],
            "claimed": _claimed(one),
            "badge": VERDICTS.get(one["verdict"], ("plain", one["verdict"])),
        }
        for one in scores
    ]
    untested = [f"Not attacked: {what}." for what in found.get("not_tested") or {}]
    return {"scores": shown, "remarks": [*untested, *map(str, found.get("notes") or [])]}


def _attack(found: Mapping[str, Any]) -> dict[str, Any]:
    rows, drawn = [], []
    for one in found.get("rows") or []:
        present, absent = one.get("exact_present"), one.get("exact_absent")
        rows.append(
            {
                "Recommender": one["model"],
                "Promises": as_epsilon(one.get("promise") or "nothing"),
                "Right, person in the data": "–" if present is None else _share(present),
                "Right, person not in the data": "–" if absent is None else _share(absent),
                "Remark": one.get("obstacle") or "",
            }
        )
        if present is not None and absent is not None:
            drawn += [
                charts.Bar(one["model"], round(100 * present), marked=True),
                charts.Bar("without the person", round(100 * absent)),
            ]
    label = "How many of 100 hidden ratings were guessed, with the person in the data and without"
    figures = [(charts.bars(drawn, label, most=100), f"{label}.")] if drawn else []
    return {"charts": figures, "table": _table(rows)}


def _risk(found: Mapping[str, Any]) -> dict[str, Any]:
    curves = found.get("curves") or []
    figures = risk_curves(curves[0]) if curves else []
    rows = [
        {
            "ε": one["epsilon"],
            "Lists that stay the same": _share(one["utility"]),
            "Attacker right": _share(one["risk"]),
            "Sure to lie between": f"{_share(one['risk_low'])} and {_share(one['risk_high'])}",
            "Any attacker at most": "–" if one.get("limit") is None else _share(one["limit"]),
        }
        for one in (curves[0]["points"] if curves else [])
    ]
    remarks = [f"The attacker is somebody {curves[0]['attacker']}."] if curves else []
    best = found.get("recommended") or {}
    return {
        "charts": figures,
        "table": _table(rows),
        "remarks": [*remarks, *([best["words"]] if "words" in best else [])],
    }


def risk_curves(curve: Mapping[str, Any], at: float | None = None) -> list[tuple[Markup, str]]:
    """What is left of the lists and how often the attacker was right, over epsilon; each chart with its words."""
    points = [point for point in curve["points"] if point["epsilon"] > 0]
    if len(points) < 2:
        return []
    utility = [(point["epsilon"], point["utility"]) for point in points]
    risk = [(point["epsilon"], point["risk"]) for point in points]
    band = [(point["epsilon"], point["risk_low"], point["risk_high"]) for point in points]
    limit = [(point["epsilon"], point["limit"]) for point in points if point.get("limit") is not None]
    right = "How often an attacker guessed right, as measured on the records"
    right += "; dashed: the most that any attacker can be right." if limit else "."
    same = "How much of each list is as it would be without noise, as measured on the records."
    return [
        (charts.curve(risk, right, at=at, band=band, other=limit), right),
        (charts.curve(utility, same, at=at), same),
    ]


def _frontier(found: Mapping[str, Any]) -> dict[str, Any]:
    rows = [
        {"ε": f"without privacy ({one['model']})" if one["epsilon"] is None else one["epsilon"]}
        | {MEASURES.get(name) or str(name): value for name, value in one["values"].items()}
        for one in found.get("rows") or []
    ]
    figure = accuracy_curve(found, None)
    return {"charts": [figure] if figure else [], "table": _table(rows)}


def accuracy_curve(found: Mapping[str, Any], at: float | None, model: str = "") -> tuple[Markup, str] | None:
    """Accuracy at each epsilon as a share of that without privacy, with its words; None where it cannot be drawn."""
    points = accuracy_points(found, model)
    words = "Hits as a share of the hits without privacy, as measured on held-out people of the dataset."
    return (charts.curve(points, words, at=at), words) if len(points) > 1 else None


def accuracy_points(found: Mapping[str, Any], model: str = "") -> list[tuple[float, float]]:
    """Epsilons with the share of the accuracy without privacy; nothing where none can be told."""
    rows = found.get("rows", [])
    plain = next((one["values"] for one in rows if one["epsilon"] is None), {})
    name = next((one for one in plain if plain[one]), None)
    if found.get("measure") != "rankings" or name is None:
        return []
    mine = [one for one in rows if one["epsilon"] is not None and model in ("", one["model"])]
    return sorted((float(one["epsilon"]), one["values"][name] / plain[name]) for one in mine)


def _table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """A table without columns that are empty."""
    if not rows:
        return None
    columns = [name for name in rows[0] if any(row.get(name) not in (None, "") for row in rows)]
    return {"columns": columns, "rows": [[row.get(name) for name in columns] for row in rows]}
