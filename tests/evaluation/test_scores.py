from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import polars as pl
import pytest

from discreet.errors import EvaluationError
from discreet.evaluation import Scores

SCORES = Scores(
    {"ndcg@10": 0.25, "mse": 123456.0},
    {"users": 1234, "without_a_list": 2},
    pl.DataFrame({"user_id": ["a", "b"], "ndcg@10": [0.5, None]}),
)


def test_prints_one_table() -> None:
    assert str(SCORES).splitlines() == [
        "ndcg@10     0.2500",
        "mse      1.235e+05",
        "users: 1,234 · without a list: 2",
    ]
    assert repr(SCORES) == "Scores(ndcg@10=0.2500, mse=1.235e+05; users=1,234, without_a_list=2)"


def test_other_shapes() -> None:
    assert json.loads(json.dumps(SCORES.to_dict())) == {
        "values": {"ndcg@10": 0.25, "mse": 123456.0},
        "counts": {"users": 1234, "without_a_list": 2},
    }
    assert SCORES.to_frame().rows() == [("ndcg@10", 0.25), ("mse", 123456.0)]
    assert Scores({}, {}).to_frame().schema == {"metric": pl.String, "value": pl.Float64}


def test_values_of_users() -> None:
    assert SCORES.of_users("ndcg@10").tolist() == pytest.approx([0.5, float("nan")], nan_ok=True)
    with pytest.raises(EvaluationError, match="no values of single users"):
        Scores({"mse": 1.0}, {}).of_users("mse")


def test_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SCORES.values = {}  # type: ignore[misc]
    with pytest.raises(TypeError):
        SCORES.values["mse"] = 1.0  # type: ignore[index]


def test_unknown_metric_names_the_known_ones() -> None:
    with pytest.raises(EvaluationError, match=r"no metric 'map' here. There are ndcg@10, mse"):
        SCORES["map"]


def test_import_is_light() -> None:
    heavy = "{'scipy.stats', 'sklearn', 'pandas', 'numba', 'rich'}"
    code = f"import sys, discreet.evaluation; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
