"""Noise for the coupled sensitivity of Zhu's thesis is not differentially private.

Every error with its counterexample, from closed forms of the laws that the mechanisms themselves draw from.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.coupled import LMCS, LMGS, Coupling, queries_from_json
from discreet.coupled.published.sensitivities import (
    proved_group_sensitivity,
    proved_influence_sensitivity,
    published_coupled_sensitivity,
)
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.workload import GRID
from discreet.data import Table
from discreet.errors import PrivacyError
from discreet.privacy.guarantees import Standing
from discreet.testing import max_log_ratio, smallest_delta


def flu(*answers: str) -> Table:
    """One attribute: who has the flu, and who was not asked."""
    return Table({"flu": list(answers)}, domains={"flu": ["no", "yes", "away"]})


def numbers(*rows: tuple[int, int, int]) -> Table:
    """Rows of three numbers."""
    columns = dict(zip("abc", zip(*rows, strict=True), strict=True))
    return Table({name: list(column) for name, column in columns.items()}, domains=dict.fromkeys("abc", range(10)))


def setting(table: Table, questions: list[dict[str, object]], coupling: Coupling | None = None) -> QuerySetting:
    return QuerySetting.of(table, queries_from_json(table, questions), coupling)


def law(method: LMCS, table: Table, asked: QuerySetting) -> tuple[float, float]:
    """Center and scale of the noisy answer to the only query, in rows."""
    (scale,) = method.scales(table, asked)
    return float(asked.workload.true_answers(table)[0] / GRID), float(scale)


def log_density(at: float, center: float, scale: float) -> float:
    return -abs(at - center) / scale - math.log(2 * scale)


def on_a_grid(center: float, scale: float, *, reach: float = 300.0) -> NDArray[np.float64]:
    """Probabilities of intervals of length 1/100, fine enough for three digits of δ."""
    ends = np.arange(-reach, reach, 0.01)
    distribution = np.where(
        ends < center, np.exp(-np.abs(ends - center) / scale) / 2, 1 - np.exp(-np.abs(ends - center) / scale) / 2
    )
    return np.diff(distribution)


# Coupled sensitivity, first: the rows set the noise.


def test_one_correlated_row_more_doubles_the_noise() -> None:
    """D = {(1,2,3)} and D′ = {(1,2,3), (2,4,6)}, how many rows? The Pearson correlation is 1."""
    method, laws = LMCS(epsilon=1), []
    for table in (numbers((1, 2, 3)), numbers((1, 2, 3), (2, 4, 6))):
        coupling = Coupling.pearson(table)
        assert not coupling.public
        laws.append(law(method, table, setting(table, [{}], coupling)))
    assert laws == [(1.0, 1.0), (2.0, pytest.approx(2.0))]
    ratios = [log_density(at, *laws[1]) - log_density(at, *laws[0]) for at in (-20, -50)]
    assert ratios == [pytest.approx(9.3, abs=0.05), pytest.approx(24.3, abs=0.05)]
    assert smallest_delta(on_a_grid(*laws[0]), on_a_grid(*laws[1]), 1.0) == pytest.approx(0.142, abs=0.001)


def test_one_response_more_makes_the_noise_ten_times_as_large() -> None:
    """A public star of ten rows, and the one in the middle says yes instead of nothing."""
    method, laws = LMCS(epsilon=1), []
    for middle in ("away", "yes"):
        table = flu(middle, *["yes"] * 9)
        star = Coupling.from_graph(table, [(0, leaf) for leaf in range(1, 10)], public=True)
        laws.append(law(method, table, setting(table, [{"flu": "yes"}], star)))
    assert laws == [(9.0, 1.0), (10.0, 10.0)]
    assert smallest_delta(on_a_grid(*laws[0]), on_a_grid(*laws[1]), 1.0) == pytest.approx(0.627, abs=0.001)


def test_a_query_that_nobody_responds_to_is_answered_exactly() -> None:
    method = LMCS(epsilon=1)
    nobody, somebody = flu("no", "no"), flu("no", "yes")
    assert law(method, nobody, setting(nobody, [{"flu": "yes"}])) == (0.0, 0.0)
    queries = queries_from_json(nobody, [{"flu": "yes"}])
    answers = [method.release(nobody, queries, allow_refuted=True).table("answers")["answer"][0] for _ in range(3)]
    assert answers == [0.0, 0.0, 0.0]
    # With one response there is noise, and exactly 0 has no chance at all.
    assert law(method, somebody, setting(somebody, [{"flu": "yes"}])) == (1.0, 1.0)
    assert max_log_ratio({"exactly 0": 1.0}, {"exactly 0": 0.0, "else": 1.0}) == math.inf


def test_a_group_size_from_the_rows_sets_the_noise_of_lm_gs_as_well() -> None:
    method = LMGS(epsilon=1)
    for table, k in ((numbers((1, 2, 3)), 1), (numbers((1, 2, 3), (2, 4, 6)), 2)):
        coupling = Coupling.pearson(table)
        assert coupling.largest == k
        guarantee = method.plan(table, queries_from_json(table, [{}]), coupling=coupling).guarantee
        assert guarantee.standing is Standing.REFUTED


# Second: the maximum leaves out whom the query does not see.


def test_a_row_that_does_not_respond_moves_nine_that_do() -> None:
    """The middle of a star decides about nine rows; another row responds in both datasets."""
    method, laws = LMCS(epsilon=Fraction(1, 2)), []
    for ill in ("yes", "no"):
        table = flu("away", *[ill] * 9, "yes")
        star = Coupling.from_graph(table, [(0, leaf) for leaf in range(1, 10)], public=True)
        laws.append(law(method, table, setting(table, [{"flu": "yes"}], star)))
    assert laws == [(10.0, 2.0), (1.0, 2.0)]
    loss = log_density(20, *laws[0]) - log_density(20, *laws[1])
    assert loss == pytest.approx(9 * 0.5)


def test_over_all_rows_the_maximum_is_right() -> None:
    table = flu(*["no"] * 10)
    star = Coupling.from_graph(table, [(0, leaf) for leaf in range(1, 10)], public=True)
    weights = np.array([0.0] + [1.0] * 9)
    assert published_coupled_sensitivity(star.degrees, weights) == 1
    assert proved_influence_sensitivity(star, weights) == 9


# Third: a correlation is no bound on influence.


def mixture_loss(correlation: float, scale: float, *, rows: int = 10, ill: float = 0.01) -> float:
    """ln Pr[o | X₁ = 1]/Pr[o | X₁ = 0] for a count of the ill with Laplace noise, far above all counts.

    With this probability all rows are equal, otherwise they are independent: every two correlate by so much.
    """
    factor = 1 / scale
    others = (1 - ill + ill * math.exp(factor)) ** (rows - 1)
    known = correlation * math.exp(rows * factor) + (1 - correlation) * math.exp(factor) * others
    return math.log(known / (correlation + (1 - correlation) * others))


def mixed(correlation: float) -> Coupling:
    """Ten rows with this degree between every two, cut at the threshold of the thesis."""
    pairs = [(i, j, correlation) for i in range(10) for j in range(i)]
    return Coupling.from_graph(flu(*["no"] * 10), pairs, threshold=0.6 if correlation > 0.5 else 0.0, public=True)


@pytest.mark.parametrize(
    ("correlation", "sensitivity", "loss"), [(0.6, 6.4, 1.199), (0.3, 3.7, 1.670), (0.59, 1.0, 9.41)]
)
def test_correlated_rows_tell_more_than_their_correlation(correlation: float, sensitivity: float, loss: float) -> None:
    """At ε = 1; a correlation of 0.59 is below the threshold 0.6 and counts as none."""
    scale = published_coupled_sensitivity(mixed(correlation).degrees, np.ones(10))
    assert scale == pytest.approx(sensitivity)
    assert mixture_loss(correlation, scale) == pytest.approx(loss, abs=0.005)
    assert mixture_loss(correlation, scale) > 1


def test_noise_for_the_whole_group_is_enough() -> None:
    scale = proved_group_sensitivity(np.array([0, 1, 0]), mixed(0.6))
    assert scale == 10
    assert mixture_loss(0.6, scale) == pytest.approx(0.727, abs=0.0005)
    assert max(mixture_loss(correlation, scale) for correlation in np.linspace(0, 1, 101)) <= 1 + 1e-12


# What it says about itself


def test_coupled_sensitivity_says_so_and_refuses() -> None:
    method, table = LMCS(epsilon=1), flu("no", "yes", "yes")
    public = Coupling.from_graph(table, [(1, 2)], public=True)
    queries = queries_from_json(table, [{"flu": "yes"}])
    guarantee = method.plan(table, queries, coupling=public).guarantee
    assert guarantee.standing is Standing.REFUTED
    assert "tests/refutations/test_coupled.py" in guarantee.basis
    with pytest.raises(PrivacyError, match="refuted"):
        method.release(table, queries, coupling=public)
