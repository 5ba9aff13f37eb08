"""Study: accuracy-assured PPNS, Figures 4.1 to 4.4 of Lu's thesis by their titles.

The chapter itself is not in the copy of the thesis at hand: there are its abstract, its metrics (section 3.5) and the
titles of its figures. What is measured is a construction after the abstract, not the authors' rule
(``selection.AssuredPPNS``): partition i gives f(i) = ⌈p·Rᵢ⌉ of the k neighbors, with Rᵢ those still to be found.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, abstract and sections 1.2, 3.5 and 7.
Z. Lu, H. Shen: An accuracy-assured privacy-preserving recommender system for Internet commerce. ComSIS 12 (2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.splits import seeded
from discreet.errors import UsageError
from discreet.neighbors import selection
from discreet.neighbors.selection import AssuredPPNS, Candidates, SelectionStrategy
from discreet.neighbors.similarity import Kind, Similarity
from discreet.studies.ppns import CELLS, KNOWN, MOST_USERS, sized
from discreet.studies.ppns_panel import Panel, RatingPool, attack_questions, left_out
from discreet.studies.study import Measurements, Settings, Steps, Study, one_rating_each

__all__ = ["AssuredPPNSStudy"]

READINGS: dict[str, Kind] = {"co-rated": "cosine", "full cosine": "cosine_full"}
"""Equation 3.2 as printed, and the cosine of whole rating lists."""

EPSILON = 1
P = "1/2"
"""What is not varied in a figure."""

LONG = 100_000
"""Members of a list that no p runs out of."""


class AssuredPPNSStudy(Study):
    """Accuracy and security of the construction over p, and its accuracy over k and ρ.

    Errors are those of ratings that were left out, by equation 3.5, as in the study of PPNS. "kept" is the summed
    similarity of the drawn neighbors over that of the k nearest, "assured" the least that every draw must keep.
    """

    name = "ppns-assured"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        one_rating_each(data)
        sampled = data.sample_users(MOST_USERS, seed=seed) if data.n_users > MOST_USERS else data
        settings = sized(settings, sampled.n_users)
        pool, rows = RatingPool(sampled), {number: [] for number in ("4.1", "4.2", "4.3", "4.4")}
        steps.expect(4 * len(READINGS))
        for reading, kind in READINGS.items():
            panel = Panel(pool, _questions(sampled, settings, seed), Similarity(kind))
            attack = Panel(pool, _attacks(sampled, settings, seed), Similarity(kind))
            for number, measured in (
                ("4.1", over_p(panel, settings)),
                ("4.2", attacked(attack, settings)),
                ("4.3", over_k(panel, settings)),
                ("4.4", over_rho(panel, settings)),
            ):
                rows[number] += [{"reading": reading, **row} for row in measured]
                steps.done(f"figure {number}, {reading}")
            if kind == "cosine":  # many others are as similar as can be: with and without the target before them
                first = attacked(attack, settings, favored=True)
                rows["4.2"] += [{"reading": f"{reading}, target first", **row} for row in first]
        sizes = {"users": sampled.n_users, "items": sampled.n_items, "records": len(sampled)}
        setting = {**sizes, "k": settings.k, "ks": settings.ks, "epsilon": EPSILON, "m": KNOWN}
        tables = {number: pl.DataFrame(found, infer_schema_length=None) for number, found in rows.items()}
        return Measurements(setting, tables, labels={"k": settings.k, "p": P})


def _questions(data: Interactions, settings: Settings, seed: int) -> list[Any]:
    able = np.flatnonzero(data.records_per_user > 1)
    if able.size == 0:
        raise UsageError("no user has two ratings, so none can be left out and predicted from the others.")
    people = seeded(seed, "ppns users").permutation(able)[: settings.people]
    return left_out(data, people, most=min(settings.questions, CELLS // data.n_users), seed=seed)


def _attacks(data: Interactions, settings: Settings, seed: int) -> list[Any]:
    able = np.flatnonzero(data.records_per_user > KNOWN)
    if able.size == 0:
        raise UsageError(f"nobody has the {KNOWN + 1} ratings that an attack takes.")
    targets = np.sort(seeded(seed, "ppns targets").permutation(able)[: settings.targets])
    ids = data.users.decode(targets)
    return attack_questions(data, known=KNOWN, choose="random", targets=ids, seed=seed)


def betas(k: int, p: Any, size: int) -> tuple[int, int]:
    """β in lists of a size, and in lists that are long enough."""
    return tuple(AssuredPPNS(k, p=p).counts(Candidates(np.zeros(n))).size for n in (size, LONG))  # type: ignore[return-value]


def over_p(panel: Panel, settings: Settings) -> list[dict[str, Any]]:
    """Figure 4.1: errors and alpha over p, beside methods that reach as far down the list."""
    k, size = settings.k, panel.pool.n_users - 1
    nearest = panel.alphas(selection.Nearest(k))
    knn = _error(panel, selection.Nearest(k))
    found = []
    for p in settings.shares:
        beta, long = betas(k, p, size)
        ours = AssuredPPNS(k, p=p, epsilon=EPSILON)
        drawn = panel.alphas(ours)
        least = np.array([ours.least_alpha(candidates) for candidates in panel.lists()])
        with np.errstate(invalid="ignore", divide="ignore"):
            kept, assured = (np.nanmean(np.where(nearest > 0, one / nearest, np.nan)) for one in (drawn, least))
        common = {"p": float(p), "β": beta, "β, long list": long}
        below = {"kept": kept, "assured": assured, "draws below": float((drawn < least - 1e-6).sum())}
        found.append(common | {"model": "assured PPNS"} | _error(panel, ours) | below)
        found.append(common | {"model": "nPNS"} | _error(panel, selection.Probabilistic(k, beta=beta)))
        pncf = selection.PNCF(k, epsilon=EPSILON, beta=beta, laplace=None)
        found.append(common | {"model": "PNCF"} | _error(panel, pncf))
        found.append(common | {"model": "PPNS"} | _error(panel, selection.PPNS(k, epsilon=EPSILON, beta=beta)))
        found.append(common | {"model": "kNN"} | knn)
    return found


def attacked(panel: Panel, settings: Settings, *, favored: bool = False) -> list[dict[str, Any]]:
    """Figure 4.2: β over p, and what the kNN attack recovers with k and with β·k sybils.

    ``favored`` if the target goes first among equals, then the sybils.
    """
    k, found = settings.k, []
    for p in settings.shares:
        beta, long = betas(k, p, panel.pool.n_users)
        ours = AssuredPPNS(k, p=p, epsilon=EPSILON, ties="id" if favored else "random")
        for sybils in dict.fromkeys((k, beta * k)):
            present, absent = (
                panel.ask(ours, draws=settings.draws, fillers=sybils - 1, present=there, favored=favored)
                for there in (True, False)
            )
            found.append(
                {
                    "p": float(p), "β": beta, "β, long list": long, "sybils": sybils, "MAE": present["MAE"],
                    "exact": present["exact"], "exact, absent": absent["exact"], "unanswered": present["unanswered"],
                }
            )  # fmt: skip
    return found


def over_k(panel: Panel, settings: Settings) -> list[dict[str, Any]]:
    """Figure 4.3: errors over k."""
    found = []
    for k in settings.ks:
        beta, _ = betas(k, P, panel.pool.n_users - 1)
        for name, strategy in (
            ("kNN", selection.Nearest(k)),
            ("assured PPNS", AssuredPPNS(k, p=P, epsilon=EPSILON)),
            ("nPNS", selection.Probabilistic(k, beta=beta)),
            ("PNCF", selection.PNCF(k, epsilon=EPSILON, beta=beta, laplace=None)),
        ):
            found.append({"model": name, "k": k, "β": beta, **_error(panel, strategy)})
    return found


def over_rho(panel: Panel, settings: Settings) -> list[dict[str, Any]]:
    """Figure 4.4: errors over ρ, and PNCF's width of truncation λ, which is all that ρ enters.

    λ/s_k is the mean over the questions: 1 where λ is the similarity of the k-th, so that nothing is truncated.
    """
    k = settings.k
    ours = _error(panel, AssuredPPNS(k, p=P, epsilon=EPSILON))
    found = []
    for rho in settings.rhos:
        found.append({"model": "assured PPNS", "ρ": rho, **ours})
        for name, laplace in (("PNCF", None), ("PNCF with noise", "2")):
            pncf = selection.PNCF(k, epsilon=EPSILON, rho=rho, laplace=laplace)  # type: ignore[arg-type]
            width = {"λ/s_k": _width(panel, pncf)} if laplace is None else {}
            found.append({"model": name, "ρ": rho, **_error(panel, pncf), **width})
    return found


def _width(panel: Panel, pncf: selection.PNCF) -> float:
    """Mean of λ/s_k over the lists whose k-th candidate is similar at all."""
    shares = []
    for candidates in panel.lists():
        kth = float(np.partition(candidates.similarity, -pncf.k)[-pncf.k])
        if kth > 0:
            shares.append((kth - pncf.threshold(candidates)) / kth)
    return float(np.mean(shares)) if shares else float("nan")


def _error(panel: Panel, strategy: SelectionStrategy) -> dict[str, float]:
    score = panel.ask(strategy, present=False)
    return {name: score[name] for name in ("MAE", "±", "unanswered")}
