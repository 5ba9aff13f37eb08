"""The ledger: what it charges, what it refuses, what it says; in SQLite and in PostgreSQL."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sql
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.common import renaming
from discreet.data import Interactions
from discreet.errors import BudgetError, LedgerError, PrivacyError, UsageError
from discreet.privacy.accounting import VIEWS
from discreet.privacy.bounding import cap_records
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import Ledger
from discreet.privacy.ledger import store as ledger_store
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure
from discreet.privacy.units import Unit

MILLIONTH = Fraction(1, 10**6)


@dataclass(frozen=True)
class Data:
    """As much of a dataset as a ledger sees."""

    fingerprint: str
    lineage: tuple[str, ...] = ()
    name: str = "films"


FILMS = Data("f1")


def guarantee(
    loss: Loss | str = "1/2", *, unit: str = "user", standing: Standing = Standing.PROVED, basis: str = "a theorem"
) -> Guarantee:
    loss = Pure(Fraction(loss)) if isinstance(loss, str) else loss
    return Guarantee(loss, Unit.of(unit), standing, basis, "noisy counts")


def spend(ledger: Ledger, loss: Loss | str, data: Data | str = FILMS) -> bool:
    try:
        with ledger.charge(data, guarantee(loss), mechanism="test"):
            return True
    except BudgetError:
        return False


@pytest.fixture
def ledger(place: str) -> Ledger:
    ledger = Ledger(place, who="ann@desk")
    ledger.open(FILMS, epsilon=2, delta="1e-6")
    return ledger


class TestAccounts:
    def test_opening_fixes_the_terms(self, place: str) -> None:
        ledger = Ledger(place)
        account = ledger.open(FILMS, epsilon="1/3", delta="1e-6", unit="user/replace", name="movies", view="pld")
        assert (account.name, account.limit.epsilon, account.limit.delta) == ("movies", Fraction(1, 3), MILLIONTH)
        assert (account.unit, account.view, account.fingerprints) == (Unit("user", "replace"), "pld", ("f1",))
        assert Ledger(place).datasets() == (account,)

    def test_a_second_opening_shows_the_first(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match=r"films: at most ε = 2, δ = 1e-6 on the basic sum"):
            ledger.open(FILMS, epsilon=100)
        assert ledger.datasets()[0].limit.epsilon == 2

    def test_the_name_of_other_data_is_refused_with_the_way_out(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match=r"ledger\.attach\(data, 'films'\)"):
            ledger.open(Data("f2"), population="films", epsilon=1)
        assert ledger.open(Data("f2"), epsilon=1, name="other films").name == "other films"

    @pytest.mark.parametrize(
        "terms",
        [
            {"epsilon": 0},
            {"epsilon": -1},
            {"epsilon": "much"},
            {"epsilon": 1, "delta": 1},
            {"epsilon": 1, "unit": "family"},
            {"epsilon": 1, "view": "gaussian"},
            {"epsilon": 1, "view": "pld"},
        ],
    )
    def test_terms_that_make_no_sense_open_nothing(self, place: str, terms: dict[str, object]) -> None:
        ledger = Ledger(place)
        with pytest.raises(UsageError):
            ledger.open(FILMS, **terms)  # type: ignore[arg-type]
        assert ledger.datasets() == ()

    def test_without_an_account_nothing_can_be_charged(self, place: str) -> None:
        ledger = Ledger(place)
        for _ in ("no account yet", "an account, but not of these data"):
            with pytest.raises(BudgetError, match=r"has no account.*ledger\.open\(data"):
                ledger.charge(FILMS, guarantee(), mechanism="test")
            with pytest.raises(BudgetError, match="has no account"):
                ledger.statement(FILMS)
            with pytest.raises(BudgetError, match="has no account"):
                ledger.link(Data("new"), "films")
            if not ledger.datasets():
                ledger.open(Data("other", name="other"), epsilon=1)

    def test_something_without_a_fingerprint(self, ledger: Ledger) -> None:
        with pytest.raises(UsageError, match="a list has no fingerprint"):
            ledger.statement([1, 2])  # type: ignore[arg-type]

    def test_real_interactions(self, place: str) -> None:
        shop = Interactions([("ann", "tea"), ("bob", "tea"), ("ann", "rum")], name="shop")
        ledger = Ledger(place)
        ledger.open(shop, epsilon=1)
        with ledger.charge(shop.filter(shop.user == 0, independent=True), guarantee("1/4"), mechanism="test"):
            pass
        assert ledger.statement(shop).spent.epsilon == Fraction(1, 4)
        assert ledger.statement("shop").spent.epsilon == Fraction(1, 4)
        assert ledger.statement(shop.fingerprint).spent.epsilon == Fraction(1, 4)


class TestLineage:
    def test_a_part_that_was_cut_with_everybody_in_view_is_refused(self, place: str) -> None:
        shop = Interactions([("ann", "tea"), ("bob", "tea"), ("ann", "rum")], name="shop")
        ledger = Ledger(place)
        ledger.open(shop, epsilon=1)
        popular = shop.filter(shop.records_per_item[shop.item] > 1)
        with pytest.raises(PrivacyError, match="look at everybody"):
            ledger.charge(popular, guarantee("1/4"), mechanism="test")
        with pytest.raises(PrivacyError, match="look at everybody"):
            ledger.charge(popular.filter(popular.user == 0, independent=True), guarantee("1/4"), mechanism="test")
        assert ledger.statement(shop).entries == ()
        ledger.link(popular, "shop")
        with ledger.charge(popular, guarantee("1/4"), mechanism="test"):
            pass

    def test_equal_rows_of_another_account_do_not_take_the_charge(self, place: str) -> None:
        whole = Interactions([("ann", "tea"), ("bob", "rum")], name="whole")
        equal = Interactions([("ann", "tea")], name="equal")
        ledger = Ledger(place)
        ledger.open(whole, epsilon=1)
        ledger.open(equal, population="equal", epsilon=1000)
        with pytest.raises(LedgerError, match="several accounts"):
            ledger.charge(whole.filter(whole.user == 0, independent=True), guarantee("1/4"), mechanism="test")

    def test_statements_do_not_show_fingerprints(self, place: str) -> None:
        shop = Interactions([("ann", "tea")])
        ledger = Ledger(place)
        account = ledger.open(shop, epsilon=1)
        shown = json.dumps([account.to_json(), ledger.statement(shop).to_json()]) + str(account) + account.name
        assert shop.fingerprint[:8] not in shown

    def test_a_part_is_charged_to_the_whole(self, ledger: Ledger) -> None:
        part_of_part = Data("f3", lineage=("f1", "f2"), name="part")
        assert spend(ledger, "1/2", part_of_part)
        assert ledger.statement(FILMS).spent.epsilon == Fraction(1, 2)

    def test_a_part_gets_no_second_account(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match="have an account already: films"):
            ledger.open(Data("f2", lineage=("f1",), name="part"), epsilon=1)

    def test_an_account_of_a_part_stands_for_the_whole_and_its_other_parts(self, place: str) -> None:
        ledger = Ledger(place)
        ledger.open(Data("part", lineage=("whole",)), epsilon=1)
        with pytest.raises(LedgerError, match="account already"):
            ledger.open(Data("whole", name="whole"), epsilon=1)
        assert spend(ledger, "1/2", Data("whole"))
        assert spend(ledger, "1/2", Data("other part", lineage=("whole",)))
        assert not spend(ledger, "1/100", Data("part", lineage=("whole",)))

    def test_linked_data_share_the_account(self, ledger: Ledger) -> None:
        tomorrow = Data("t1", name="films of tomorrow")
        account = ledger.link(tomorrow, "films")
        assert set(account.fingerprints) == {"f1", "t1"}
        assert ledger.link(tomorrow, FILMS) == account
        assert spend(ledger, "1", tomorrow)
        assert spend(ledger, "1", Data("t2", lineage=("t1",)))
        assert not spend(ledger, "1/1000", FILMS)

    def test_data_with_an_account_cannot_be_linked_elsewhere(self, ledger: Ledger) -> None:
        ledger.open(Data("g1"), population="games", epsilon=1)
        for data in (Data("g1"), Data("g2", lineage=("g1",))):
            with pytest.raises(LedgerError, match="an account of their own: games"):
                ledger.link(data, "films")

    def test_data_from_two_accounts_are_charged_to_neither(self, ledger: Ledger) -> None:
        ledger.open(Data("g1"), population="games", epsilon=1)
        with pytest.raises(LedgerError, match="several accounts: films, games"):
            ledger.charge(Data("joined", lineage=("f1", "g1")), guarantee(), mechanism="test")


class TestCharging:
    def test_the_charge_stands_before_the_block_runs(self, ledger: Ledger, place: str) -> None:
        with ledger.charge(FILMS, guarantee("1/2"), mechanism="item_counts", parameters={"cap": 30}) as spend:
            inside = Ledger(place).statement(FILMS)
            assert (inside.spent.epsilon, inside.reserved.epsilon, inside.left.epsilon) == (
                0,
                Fraction(1, 2),
                Fraction(3, 2),
            )
            spend.settle("release-7")
        statement = ledger.statement(FILMS)
        assert (statement.spent.epsilon, statement.reserved.epsilon) == (Fraction(1, 2), 0)
        (entry,) = statement.entries
        assert (entry.mechanism, entry.parameters, entry.release) == ("item_counts", {"cap": 30}, "release-7")
        assert (entry.state, entry.who, entry.guarantee) == ("settled", "ann@desk", guarantee("1/2"))

    def test_leaving_the_block_settles(self, ledger: Ledger) -> None:
        assert spend(ledger, "1/2")
        (entry,) = ledger.statement(FILMS).entries
        assert (entry.state, entry.release) == ("settled", None)

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
    def test_an_exception_leaves_the_charge(self, ledger: Ledger, error: type[BaseException]) -> None:
        with pytest.raises(error), ledger.charge(FILMS, guarantee("1/2"), mechanism="test"):
            raise error
        statement = ledger.statement(FILMS)
        assert (statement.spent.epsilon, statement.reserved.epsilon) == (0, Fraction(1, 2))
        assert statement.left.epsilon == Fraction(3, 2)
        assert "reserved, never settled" in str(statement)

    def test_charged_even_if_never_entered(self, ledger: Ledger) -> None:
        ledger.charge(FILMS, guarantee("1/2"), mechanism="test")
        assert ledger.statement(FILMS).reserved.epsilon == Fraction(1, 2)

    def test_settled_once(self, ledger: Ledger) -> None:
        with ledger.charge(FILMS, guarantee(), mechanism="test") as spend:
            spend.settle("first")
            with pytest.raises(LedgerError, match="settled already"):
                spend.settle("second")
        assert ledger.statement(FILMS).entries[0].release == "first"

    def test_limits_are_exact(self, place: str) -> None:
        ledger = Ledger(place)
        ledger.open(FILMS, epsilon=1)
        for _ in range(10):
            assert spend(ledger, "0.1")
        assert ledger.statement(FILMS).left.epsilon == 0
        assert not spend(ledger, Pure(Fraction(1, 10**40)))

    def test_parameters_that_cannot_be_written(self, ledger: Ledger) -> None:
        with pytest.raises(UsageError, match="cannot be written down"):
            ledger.charge(FILMS, guarantee(), mechanism="test", parameters={"threshold": float("nan")})
        with ledger.charge(FILMS, guarantee(), mechanism="test", parameters={"epsilon": Fraction(1, 2)}):
            pass
        assert ledger.statement(FILMS).entries[0].parameters == {"epsilon": "1/2"}


class TestRefusals:
    def test_a_refusal_names_the_numbers_costs_nothing_and_ends_nothing(self, ledger: Ledger) -> None:
        assert spend(ledger, "3/2")
        with pytest.raises(BudgetError) as refusal:
            ledger.charge(FILMS, guarantee("3/4"), mechanism="test")
        text = str(refusal.value)
        assert "requested ε = 0.75" in text
        assert "left ε = 0.5" in text
        assert "shortfall is ε = 0.25" in text
        assert len(ledger.statement(FILMS).entries) == 1
        assert spend(ledger, "1/2")
        assert ledger.statement(FILMS).left.epsilon == 0

    def test_the_estimate_says_the_same_and_writes_nothing(self, ledger: Ledger) -> None:
        assert spend(ledger, "3/2")
        yes, no = ledger.estimate(FILMS, guarantee("1/2")), ledger.estimate(FILMS, guarantee("3/4"))
        assert yes.fits
        assert not no.fits
        assert no.shortfall is not None
        assert no.shortfall.epsilon == Fraction(1, 4)
        assert (no.spent.epsilon, no.reserved.epsilon, no.left.epsilon) == (Fraction(3, 2), 0, Fraction(1, 2))
        assert no.requested == Pure(Fraction(3, 4))
        assert json.loads(json.dumps(no.to_json()))["fits"] is False
        assert len(ledger.statement(FILMS).entries) == 1

    def test_delta_runs_out_too(self, ledger: Ledger) -> None:
        assert spend(ledger, Approximate(Fraction(1, 10), Fraction(7, 10**7)))
        with pytest.raises(BudgetError, match=r"left ε = 1\.9, δ = 3e-7.*shortfall is δ = 4e-7"):
            ledger.charge(FILMS, guarantee(Approximate(Fraction(1, 10), Fraction(7, 10**7))), mechanism="test")
        assert spend(ledger, Approximate(Fraction(1, 10), Fraction(3, 10**7)))
        assert ledger.statement(FILMS).left.delta == 0

    def test_soft_losses_need_a_delta(self, place: str) -> None:
        ledger = Ledger(place)
        ledger.open(FILMS, epsilon=10)
        for loss in (Concentrated(Fraction(1, 100)), GaussianLoss(Fraction(1, 100))):
            assert not ledger.estimate(FILMS, guarantee(loss)).fits
            with pytest.raises(BudgetError, match="no finite epsilon is known"):
                ledger.charge(FILMS, guarantee(loss), mechanism="test")
        assert spend(ledger, "10")

    def test_what_is_left_is_never_rounded_up(self, ledger: Ledger) -> None:
        assert spend(ledger, Pure(Fraction(10**12 + 1, 10**12)))
        text = str(ledger.statement(FILMS))
        assert "left      ε ≈ 0.999999" in text
        assert spend(ledger, "0.999999")


class TestViews:
    def test_basic_adds_zcdp_among_itself_and_converts_once(self, ledger: Ledger) -> None:
        loss = Concentrated(Fraction(1, 100))
        assert spend(ledger, loss)
        assert spend(ledger, loss)
        assert spend(ledger, "1/10")
        expected = Concentrated(Fraction(2, 100)).epsilon_at(MILLIONTH) + Fraction(1, 10)
        assert ledger.statement(FILMS).spent.epsilon == expected
        assert expected < 2 * loss.epsilon_at(MILLIONTH)

    def test_a_stated_delta_makes_converted_losses_dearer(self, ledger: Ledger) -> None:
        assert spend(ledger, Concentrated(Fraction(1, 100)))
        before = ledger.statement(FILMS).spent.epsilon
        assert spend(ledger, Approximate(Fraction(1, 10**6), Fraction(9, 10**7)))
        after = ledger.statement(FILMS).spent.epsilon
        assert after == Concentrated(Fraction(1, 100)).epsilon_at(Fraction(1, 10**7)) + Fraction(1, 10**6)
        assert after > before
        # All of delta would leave the zCDP loss without any: no finite epsilon.
        assert not spend(ledger, Approximate(Fraction(1, 10**6), Fraction(1, 10**7)))

    @pytest.mark.parametrize("view", ["concentrated", "pld"])
    def test_a_tight_view_admits_more(self, place: str, view: str) -> None:
        ledger = Ledger(place)
        ledger.open(FILMS, epsilon="0.7", delta="1e-6", view=view)
        for _ in range(40):
            ledger.charge(FILMS, guarantee("1/50"), mechanism="test")
        statement = ledger.statement(FILMS)
        assert statement.views["basic"].epsilon == Fraction(4, 5)
        assert (
            statement.reserved.epsilon
            == VIEWS[view]([(Pure(Fraction(1, 50)), 40)], MILLIONTH).epsilon
            < Fraction(7, 10)
        )
        with pytest.raises(BudgetError, match=r"does not fit: the shortfall is ε"):
            ledger.charge(FILMS, guarantee("1"), mechanism="test")


class TestUnits:
    def test_present_or_absent_serves_an_account_of_replacements(self, place: str) -> None:
        ledger = Ledger(place)
        ledger.open(FILMS, epsilon=1, unit="user/replace")
        assert spend(ledger, "1/2")
        assert ledger.statement(FILMS).left.epsilon == 0
        (entry,) = ledger.statement(FILMS).entries
        assert (entry.loss, entry.guarantee.loss) == (Pure(Fraction(1)), Pure(Fraction(1, 2)))

    @pytest.mark.parametrize(
        ("unit", "account", "steps"),
        [
            ("user", "record", 2),
            ("user/replace", "record/value", 1),
            ("record", "record/replace", 2),
            ("group:3", "group:3", 1),
        ],
    )
    def test_guarantees_that_say_more_are_converted(self, place: str, unit: str, account: str, steps: int) -> None:
        ledger = Ledger(place)
        ledger.open(FILMS, epsilon=2, unit=account)
        assert ledger.estimate(FILMS, guarantee("1/2", unit=unit)).requested == Pure(Fraction(steps, 2))

    @pytest.mark.parametrize(
        ("unit", "remedy"),
        [
            ("record", r"guarantee\.for_users\(bounded\)"),
            ("user/replace", "Convert the promise"),
            ("group:4", "Convert"),
        ],
    )
    def test_guarantees_that_say_less_are_refused(self, ledger: Ledger, unit: str, remedy: str) -> None:
        with pytest.raises(PrivacyError, match=remedy):
            ledger.charge(FILMS, guarantee(unit=unit), mechanism="test")
        assert ledger.statement(FILMS).entries == ()

    def test_a_record_guarantee_that_the_caller_converted(self, ledger: Ledger) -> None:
        with ledger.charge(
            FILMS,
            guarantee("1/10", unit="record").for_users(cap_records(Interactions([("a", "x")]), 5)),
            mechanism="test",
        ):
            pass
        assert ledger.statement(FILMS).spent.epsilon == Fraction(1, 2)


class TestStanding:
    REFUTED = guarantee("1/10", standing=Standing.REFUTED, basis="two users tell it apart")

    def test_refuted_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(PrivacyError, match="two users tell it apart"):
            ledger.charge(FILMS, self.REFUTED, mechanism="pncf")
        with pytest.raises(PrivacyError, match="allow_refuted=True"):
            ledger.estimate(FILMS, self.REFUTED)
        assert ledger.statement(FILMS).refuted == ()

    def test_refuted_by_request_stands_apart_and_in_no_sum(self, ledger: Ledger) -> None:
        assert spend(ledger, "2")
        assert ledger.estimate(FILMS, self.REFUTED, allow_refuted=True).fits
        for name in ("pncf", "pritop"):
            with ledger.charge(FILMS, self.REFUTED, mechanism=name, allow_refuted=True):
                pass
        statement = ledger.statement(FILMS)
        assert statement.spent.epsilon == statement.views["basic"].epsilon == 2
        assert len(statement.entries) == 1
        assert [entry.mechanism for entry in statement.refuted] == ["pncf", "pritop"]
        assert statement.refuted[0].loss == Pure(Fraction(1, 10))
        assert "does not cover 2 releases" in str(statement)
        assert statement.to_json()["refuted"][0]["counted"] is False

    def test_as_published_is_charged_and_marked(self, ledger: Ledger) -> None:
        with ledger.charge(FILMS, guarantee("1/2", standing=Standing.AS_PUBLISHED), mechanism="test"):
            pass
        statement = ledger.statement(FILMS)
        assert statement.spent.epsilon == Fraction(1, 2)
        assert "claimed, not proved" in str(statement)


class TestStatement:
    def test_in_words(self, ledger: Ledger) -> None:
        for _ in range(20):
            assert spend(ledger, "1/20")
        with pytest.raises(RuntimeError), ledger.charge(FILMS, guarantee("1/4"), mechanism="top_items"):
            raise RuntimeError
        text = str(ledger.statement(FILMS))
        assert "limit     ε = 2, δ = 1e-6 on the basic sum" in text
        assert "spent     ε = 1\n" in text
        assert "reserved  ε = 0.25 (1 never settled, still counted)" in text
        assert "left      ε = 0.75, δ = 1e-6" in text
        assert "basic sum ε = 1.25 | tight (PLD) ε ≈ 1." in text
        assert text.count("ann@desk") == 21

    def test_as_json(self, ledger: Ledger) -> None:
        assert spend(ledger, "1/3")
        data = json.loads(json.dumps(ledger.statement(FILMS).to_json()))
        assert data["spent"] == {"epsilon": "1/3", "delta": "0"}
        assert data["left"] == {"epsilon": "5/3", "delta": "1/1000000"}
        assert data["account"]["limit"]["epsilon"] == "2"
        assert set(data["views"]) == {"basic", "concentrated", "pld"}
        assert data["entries"][0]["guarantee"]["sentence"].startswith("PROVED")

    def test_a_clock_that_goes_backwards_changes_no_order(self, place: str) -> None:
        times = (datetime(2030, 1, 1, tzinfo=UTC) - timedelta(days=day) for day in range(1000))
        ledger = Ledger(place, clock=lambda: next(times))
        ledger.open(FILMS, epsilon=1)
        for number in range(5):
            with ledger.charge(FILMS, guarantee("1/10"), mechanism=f"step {number}"):
                pass
        entries = ledger.statement(FILMS).entries
        assert [entry.mechanism for entry in entries] == [f"step {number}" for number in range(5)]
        stamps = [entry.reserved_at for entry in entries]
        assert stamps == sorted(stamps, reverse=True)
        assert all(entry.settled_at is not None and entry.settled_at < entry.reserved_at for entry in entries)
        assert stamps[0].endswith("Z")


class TestTogether:
    def test_of_two_that_fit_alone_one_wins(self, ledger: Ledger, place: str) -> None:
        for number in range(5):
            name = f"round {number}"
            ledger.open(Data(name), population=name, epsilon=1)
            barrier = threading.Barrier(4)

            def try_it(_: int, name: str = name, barrier: threading.Barrier = barrier) -> bool:
                own = Ledger(place)
                barrier.wait()
                return spend(own, "3/5", name)

            with ThreadPoolExecutor(4) as pool:
                assert sum(pool.map(try_it, range(4))) == 1
            assert ledger.statement(name).spent.epsilon == Fraction(3, 5)

    def test_one_ledger_object_serves_many_threads(self, ledger: Ledger) -> None:
        with ThreadPoolExecutor(8) as pool:
            won = sum(pool.map(lambda _: spend(ledger, "1/10"), range(32)))
        assert won == 20
        assert ledger.statement(FILMS).left.epsilon == 0

    def test_opened_by_many_at_once_there_is_one_account(self, place: str) -> None:
        barrier = threading.Barrier(6)

        def open_it(_: int) -> bool:
            own = Ledger(place)
            barrier.wait()
            try:
                own.open(FILMS, epsilon=1)
            except LedgerError as error:
                return "account already" not in str(error)
            return True

        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(open_it, range(6))) == 1
        assert len(Ledger(place).datasets()) == 1


REQUESTS = st.one_of(
    st.fractions(0, 2, max_denominator=30).map(Pure),
    st.builds(
        Approximate, st.fractions(0, 1, max_denominator=20), st.integers(0, 12).map(lambda n: Fraction(n, 10**7))
    ),
    st.fractions("1/1000", "1/10", max_denominator=1000).map(Concentrated),
    st.fractions("1/1000", "1/10", max_denominator=1000).map(GaussianLoss),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    requests=st.lists(st.tuples(REQUESTS, st.booleans()), max_size=8), view=st.sampled_from(["basic", "concentrated"])
)
def test_whatever_is_asked_for_the_total_stays_within_the_limit(
    tmp_path: Path, requests: list[tuple[Loss, bool]], view: str
) -> None:
    """Against a model that keeps its own list: same verdicts, and the total never passes the limit."""
    ledger = Ledger(tmp_path / "budget.db")
    name = f"account {len(ledger.datasets())}"
    ledger.open(name, epsilon=2, delta="1e-6", view=view)
    held: list[Loss] = []
    for loss, crashes in requests:
        fits = ledger.estimate(name, guarantee(loss)).fits
        try:
            with ledger.charge(name, guarantee(loss), mechanism="test"):
                held.append(loss)
                if crashes:
                    raise RuntimeError
        except BudgetError:
            assert not fits
        except RuntimeError:
            assert fits
        total = VIEWS[view](held, "1e-6")
        assert total.epsilon <= 2
        assert total.delta <= MILLIONTH
    statement = ledger.statement(name)
    assert [entry.loss for entry in statement.entries] == held
    assert statement.spent.epsilon + statement.reserved.epsilon == VIEWS[view](held, "1e-6").epsilon


class TestPlaces:
    def test_the_file_is_for_its_owner_alone(self, tmp_path: Path) -> None:
        Ledger(tmp_path / "budget.db").open(FILMS, epsilon=1)
        files = sorted(tmp_path.iterdir())
        assert [path.name for path in files] == ["budget.db", "budget.db.head"]
        assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600, 0o600]

    def test_looking_makes_no_file(self, tmp_path: Path) -> None:
        ledger = Ledger(tmp_path / "budget.db")
        assert ledger.datasets() == ()
        with pytest.raises(BudgetError):
            ledger.statement(FILMS)
        assert list(tmp_path.iterdir()) == []

    def test_the_place_does_not_move_with_the_working_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        ledger = Ledger("budget.db")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        ledger.open(FILMS, epsilon=1)
        assert (tmp_path / "budget.db").exists()

    def test_a_commit_is_flushed(self, tmp_path: Path) -> None:
        store = ledger_store.SqliteStore(tmp_path / "budget.db")
        store.create()
        with store.write() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"

    def test_sqlite_by_url(self, tmp_path: Path) -> None:
        Ledger(f"sqlite:///{tmp_path}/budget.db").open(FILMS, epsilon=1)
        assert (tmp_path / "budget.db").exists()

    @pytest.mark.parametrize(
        "place", ["", ":memory:", "mysql://host/db", "://", "sqlite://", "a\0b", "~nobody-of-that-name/budget.db"]
    )
    def test_places_that_are_none(self, place: str) -> None:
        with pytest.raises(UsageError):
            Ledger(place)

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="is not a file"):
            Ledger(tmp_path)

    def test_a_folder_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="is not a folder"):
            Ledger(tmp_path / "missing" / "budget.db")

    def test_a_folder_that_may_not_be_written(self, tmp_path: Path) -> None:
        # The folder of the kernel is closed even to root.
        folder = Path("/proc") if os.geteuid() == 0 else tmp_path
        if folder == tmp_path:
            tmp_path.chmod(0o500)
        with pytest.raises(LedgerError, match="cannot be used"):
            Ledger(folder / "budget.db").open(FILMS, epsilon=1)
        tmp_path.chmod(0o700)

    def test_without_hard_links(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_link(*_: object, **__: object) -> None:
            raise PermissionError("not on this file system")

        monkeypatch.setattr(renaming, "_system_call", lambda: None)
        monkeypatch.setattr(os, "link", no_link)
        ledger = Ledger(tmp_path / "budget.db")
        ledger.open(FILMS, epsilon=1)
        assert spend(ledger, "1")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["budget.db", "budget.db.head"]

    def test_postgres_without_its_driver(self) -> None:
        code = (
            "import sys; sys.modules['psycopg'] = None\n"
            "from discreet.privacy.ledger import Ledger\n"
            "from discreet.errors import MissingExtraError\n"
            "try:\n    Ledger('postgresql://host/db')\n"
            "except MissingExtraError as error:\n    sys.exit(0 if 'discreet[postgres]' in str(error) else 3)\n"
            "sys.exit(4)\n"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    def test_postgres_that_does_not_answer(self) -> None:
        ledger = Ledger("postgresql://user:secret@127.0.0.1:1/db")
        with pytest.raises(LedgerError, match="failed") as error:
            ledger.open(FILMS, epsilon=1)
        assert "secret" not in str(error.value)
        assert "secret" not in repr(ledger)

    def test_postgres_answers_after_writing_whatever_the_server_is_set_to(self, postgres_place: str) -> None:
        store = ledger_store.store_at(postgres_place + "%20-csynchronous_commit%3Doff")
        with store.read() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
        with store.write() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"

    def test_postgres_with_a_stricter_default_isolation_still_sees_the_last_holder(self, postgres_place: str) -> None:
        place = postgres_place + "%20-cdefault_transaction_isolation%3Dserializable"
        ledger = Ledger(place)
        ledger.open(FILMS, epsilon=1)
        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(lambda _: spend(Ledger(place), "3/5"), range(6))) == 1


class TestNewerAndForeign:
    def test_a_book_of_a_newer_version_is_left_alone(self, ledger: Ledger, place: str) -> None:
        store = ledger_store.store_at(place)
        with store.write() as connection:
            connection.execute(sql.text("UPDATE discreet_book SET version = 99"))
        for use in (
            lambda: Ledger(place).open(Data("new", name="new"), epsilon=1),
            lambda: Ledger(place).charge(FILMS, guarantee(), mechanism="test"),
            lambda: Ledger(place).statement(FILMS),
        ):
            with pytest.raises(LedgerError, match=r"version 99.*Upgrade discreet"):
                use()

    def test_a_book_that_says_no_version(self, ledger: Ledger, place: str) -> None:
        with ledger_store.store_at(place).write() as connection:
            connection.execute(sql.text("DELETE FROM discreet_book"))
        with pytest.raises(LedgerError, match="does not say which version"):
            Ledger(place).statement(FILMS)

    def test_an_entry_that_was_tampered_with(self, ledger: Ledger, place: str) -> None:
        assert spend(ledger, "1/2")
        with ledger_store.store_at(place).write() as connection:
            connection.execute(sql.text("UPDATE discreet_spends SET loss = 'nothing'"))
        with pytest.raises(LedgerError, match="cannot be read"):
            ledger.statement(FILMS)
        with pytest.raises(LedgerError, match="cannot be read"):
            ledger.charge(FILMS, guarantee("1/4"), mechanism="test")

    @staticmethod
    def _attempts(path: Path) -> None:
        """Everything that might write, each refused."""
        for use in (
            lambda: Ledger(path),
            lambda: Ledger(path).open(FILMS, epsilon=1),
            lambda: Ledger(path).charge(FILMS, guarantee(), mechanism="test"),
            lambda: Ledger(path).statement(FILMS),
        ):
            with pytest.raises(LedgerError, match=r"left as it is|damaged"):
                use()

    @pytest.mark.parametrize(
        "content", [b"", b"dear diary\n", b"SQLite format 3\x00", b"\x00" * 5000, os.urandom(4096)]
    )
    def test_a_file_that_is_no_ledger_is_left_as_it_is(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "budget.db"
        path.write_bytes(content)
        self._attempts(path)
        assert path.read_bytes() == content
        assert [found.name for found in tmp_path.iterdir()] == ["budget.db"]

    @pytest.mark.parametrize("mode", ["DELETE", "WAL"])
    def test_the_database_of_another_program_is_left_as_it_is(self, tmp_path: Path, mode: str) -> None:
        path = tmp_path / "other.db"
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE theirs (a)")
        connection.commit()
        connection.close()
        before = path.read_bytes()
        self._attempts(path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("damage", ["half", "first page", "middle", "header", "old entries"])
    def test_a_damaged_book_is_reported_and_left_as_it_is(self, tmp_path: Path, damage: str) -> None:
        path = tmp_path / "budget.db"
        ledger = Ledger(path)
        ledger.open(FILMS, epsilon=1000)
        for _ in range(30):
            assert spend(ledger, "1")
        content = bytearray(path.read_bytes())
        if damage == "half":
            content = content[: len(content) // 2]
        elif damage == "first page":
            content[100:4096] = b"\xab" * 3996
        elif damage == "middle":
            content[4096:-4096] = b"\xab" * (len(content) - 8192)
        elif damage == "old entries":
            # A page that neither a sum nor a new entry touches: without a look at the whole it would go unseen.
            start = next(page for page in range(4096, len(content), 4096) if b"sentence" in content[page : page + 4096])
            content[start : start + 100] = b"\xab" * 100
        else:
            content[:16] = b"\xab" * 16
        path.write_bytes(content)
        self._attempts(path)
        assert path.read_bytes() == bytes(content)
