"""Data that have an account since version 0.1, which inferred the types of columns, are found in the ledger."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.data import CategoricalDomain
from discreet.data.readers import write
from discreet.errors import BudgetError
from discreet.privacy import Guarantee, Ledger, Standing, Unit
from discreet.privacy.losses import Pure

# File, options, and the fingerprint that version 0.1 gave it.
FILES: dict[str, tuple[str, dict[str, Any], str]] = {
    "numbers": (
        "user,item,rating,time,device,price\n10,7,3,100,2,1.50\n9,8,4,200,10,0.10\n9,7,1,300,2,12\n",
        {"context": ["device", "price"]},
        "8cd111ff22386f68350dde908a81e286a5c89fcb0b2ff6886ee8d9685d1aeced",
    ),
    "tags": (
        "user,resource,tag\n10,7,sea\n9,8,sky\n9,7,1\n",
        {},
        "b0b8aad9292d53ccfda63f08525805e3361491cc1808e7cf0a1dfbc839f8bec2",
    ),
    "mixed": ("user,item\n10,a\n9,7\n", {}, "a3b774c4b2d085c7001ac485b496293095fe7516b4a789316347cb6cb3055d3a"),
    "table": (
        "sex,age\nF,30\nM,4\n",
        {"what": "table", "domains": {"sex": CategoricalDomain(("F", "M")), "age": range(100)}},
        "ced1a70dc5811491df87f775f367f4f01460af528465ef5ac6abffffa32faf3b",
    ),
}


def file_of(case: str, folder: Path) -> Any:
    content, options, _ = FILES[case]
    path = folder / f"{case}.csv"
    path.write_text(content)
    return dc.read(path, **options)


def names(data: Any) -> set[str]:
    return {data.fingerprint, *getattr(data, "earlier_fingerprints", ())}


@pytest.mark.parametrize("case", list(FILES))
def test_files_are_known_under_their_earlier_fingerprint(tmp_path: Path, case: str) -> None:
    assert FILES[case][2] in names(file_of(case, tmp_path))


def test_python_values_and_ids_of_several_types() -> None:
    objects = dc.Interactions([("b", "x"), (10, "x"), (9, "y"), ((1, 2), "y")])
    assert objects.fingerprint == "87686e4b45f6121842c5d28537d34f304f3f6c1d2de45a9fb039bafce69b1883"
    assert objects.users.ids() == [9, 10, "b", (1, 2)]
    columns = {"user_id": ["a", "b"], "item_id": [1, 2], "day": [10, 9], "price": [1.5, 2.0], "vip": [True, False]}
    untyped = dc.Interactions(columns, context=["day", "price", "vip"])
    assert "ad6343ebe4ace43b179ec2c96a594a00a1e9b3a3f61561ce58c051dc4c69a499" in untyped.earlier_fingerprints


@pytest.mark.parametrize("case", list(FILES))
def test_the_ledger_finds_the_account_and_charges_it(tmp_path: Path, case: str) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(FILES[case][2], epsilon=1, unit="user" if case != "table" else "record", name="old")
    data = file_of(case, tmp_path)
    unit = Unit("record") if case == "table" else Unit("user")
    guarantee = Guarantee(Pure(Fraction(3, 4)), unit, Standing.PROVED, "a theorem", "a number")
    with ledger.charge(data, guarantee, mechanism="test"):
        pass
    assert ledger.statement(data).account.name == "old"
    with pytest.raises(BudgetError):
        ledger.charge(data, guarantee, mechanism="test")


@pytest.mark.parametrize("case", ["numbers", "tags"])
def test_parts_and_copies_belong_to_the_account_of_the_whole(tmp_path: Path, case: str) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(FILES[case][2], epsilon=1, name="old")
    data = file_of(case, tmp_path)
    part = data.filter(data.user > 0, independent=True)
    assert ledger.statement(part).account.name == "old"
    copy = dc.read(write(data, tmp_path / "copy.parquet"))
    assert copy.fingerprint == data.fingerprint
    assert ledger.statement(copy).account.name == "old"


def test_declared_numbers_have_the_earlier_fingerprint(tmp_path: Path) -> None:
    content, options, earlier = FILES["tags"]
    (tmp_path / "tags.csv").write_text(content)
    assert dc.read(tmp_path / "tags.csv", ids="number", **options).fingerprint == earlier


def test_other_data_are_not_found(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(FILES["numbers"][2], epsilon=1, name="old")
    with pytest.raises(BudgetError, match="no account"):
        ledger.statement(file_of("mixed", tmp_path))
