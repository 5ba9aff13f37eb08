"""Laplace noise on every query, with the group bound (proved) and with coupled sensitivity (as published)."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.coupled import LMCS, LMGS, Coupling, queries_from_json
from discreet.coupled.bounds import all_sums
from discreet.coupled.published.laplace import CoupledCells
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.builders import RandomWorkload
from discreet.coupled.workloads.workload import GRID
from discreet.data import Table
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.units import Unit
from discreet.testing import additive_log_ratio

QUESTIONS = [{"day": 0}, {"day": {"in": [1, 2]}}]


def homes(*days: int) -> Table:
    """Three rows: the first two share a home."""
    return Table({"day": list(days), "home": [1, 1, 2]}, domains={"day": range(3)}, group="home")


def answers(table: Table, coupling: Coupling | None):
    setting = QuerySetting.of(table, queries_from_json(table, QUESTIONS), coupling)
    return all_sums(setting.workload.true_answers(table), setting)


def group_loss(mechanism: LaplaceMechanism, *, coupled: bool) -> float:
    """The largest loss over all pairs of tables that differ in one group, on the first two days."""
    groups = [(0, 1), (2,)] if coupled else [(0,), (1,), (2,)]
    sums = {}
    for days in itertools.product(range(2), repeat=3):
        table = homes(*days)
        sums[days] = answers(table, Coupling.by_group(table) if coupled else None)
    pairs = {}
    for one, other in itertools.combinations(sums, 2):
        changed = {row for row in range(3) if one[row] != other[row]}
        if any(changed <= set(group) for group in groups):
            pairs[(*sums[one].values.tolist(), *sums[other].values.tolist())] = (sums[one], sums[other])
    return max(additive_log_ratio(mechanism, *pair) for pair in pairs.values())


@pytest.mark.parametrize("coupled", [False, True])
def test_lm_gs_keeps_its_guarantee_for_groups_and_for_rows(coupled: bool) -> None:
    mechanism = LMGS(epsilon=1)._mechanism
    assert group_loss(mechanism, coupled=coupled) == pytest.approx(1.0)
    # The same test finds a tenth less noise.
    assert group_loss(LaplaceMechanism(mechanism.epsilon * Fraction(10, 9)), coupled=coupled) > 1.1


def test_lm_gs_says_what_it_guarantees() -> None:
    table = homes(0, 1, 2)
    queries = queries_from_json(table, QUESTIONS)
    guarantee = LMGS(epsilon="1/2").plan(table, queries, coupling=Coupling.by_group(table)).guarantee
    assert guarantee.standing is Standing.PROVED
    assert guarantee.loss == Pure(Fraction(1, 2))
    assert guarantee.unit == Unit("group", "replace", 2)
    assert LMGS(epsilon=1).plan(table, queries).guarantee.unit == Unit("record", "replace")
    facts = LMGS(epsilon="1/2").estimate(table, queries, coupling=Coupling.by_group(table))
    assert facts["scale"] == 2 * 2 * 2
    assert facts["noise_sd"] == pytest.approx(8 * np.sqrt(2), rel=1e-3)


def test_lm_gs_measures(fixed_bits) -> None:
    """Noise of scale k·L/ε around the truth: 2000 answers, mean |noise| = scale."""
    table = homes(0, 1, 2)
    workload = RandomWorkload(table.domains, 2000, seed=1, kind="weighted")
    release = LMGS(epsilon=100).release(table, workload, coupling=Coupling.by_group(table))
    assert set(release.table("answers")["source"]) == {"measured"}
    noise = release.table("answers")["answer"].to_numpy() - workload.true_answers(table) / GRID
    assert np.abs(noise).mean() == pytest.approx(2 * 2000 / 100, rel=0.1)


def test_lm_gs_with_a_secret_coupling_is_refuted() -> None:
    table = homes(0, 1, 2)
    secret = Coupling.by_attribute(table, "day")
    queries = queries_from_json(table, QUESTIONS)
    with pytest.raises(PrivacyError, match="looked up in the secret rows"):
        LMGS(epsilon=1).release(table, queries, coupling=secret)
    # The largest group of a secret coupling is a fact about the rows.
    with pytest.raises(PrivacyError, match="an estimate cannot use this coupling"):
        LMGS(epsilon=1).estimate(table, queries, coupling=secret)
    release = LMGS(epsilon=1).release(table, queries, coupling=secret, allow_refuted=True)
    assert release.guarantee.standing is Standing.REFUTED


def test_too_many_queries_for_the_noise_are_refused_before_the_charge() -> None:
    table = homes(0, 1, 2)
    with pytest.raises(UsageError, match="scales"):
        LMGS(epsilon="1e-12").plan(table, queries_from_json(table, QUESTIONS))


def test_lm_cs_takes_each_query_for_itself(fixed_bits) -> None:
    """A query about coupled rows gets more noise than one about a row that is alone."""
    table = homes(0, 0, 1)
    queries = queries_from_json(table, [{"day": 0}, {"day": 1}, {"day": 2}])
    coupling = Coupling.by_group(table)
    setting = QuerySetting.of(table, queries, coupling)
    assert LMCS(epsilon=3).scales(table, setting).tolist() == [2.0, 1.0, 0.0]
    release = LMCS(epsilon=3).release(table, queries, coupling=coupling, allow_refuted=True)
    assert release.table("answers")["answer"][2] == 0.0


def test_lm_cs_draws_the_noise_it_says(fixed_bits) -> None:
    rng = np.random.default_rng(1)
    table = Table({"day": rng.integers(0, 20, 100)}, domains={"day": range(20)})
    coupling = Coupling.from_graph(table, [(0, 1, 0.5), (1, 2, -0.75)], public=True)
    workload = RandomWorkload(table.domains, 3000, seed=1, kind="weighted")
    method = LMCS(epsilon=1)
    scales = method.scales(table, QuerySetting.of(table, workload, coupling))
    assert scales == pytest.approx(CoupledCells.of(table, coupling).coupled_sensitivities(workload) * 3000)
    release = method.release(table, workload, coupling=coupling, allow_refuted=True)
    noise = release.table("answers")["answer"].to_numpy() - workload.true_answers(table) / GRID
    assert np.abs(noise / scales).mean() == pytest.approx(1, abs=0.1)
    assert np.sign(noise).mean() == pytest.approx(0, abs=0.1)
