from __future__ import annotations

import numpy as np
import pytest

from discreet.common.arguments import require_choice
from discreet.errors import EvaluationError
from discreet.evaluation.checks import as_numbers, check_confidence, check_lengths


def test_numbers_of_any_kind_become_floats() -> None:
    for values in ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.int8), [True, 2]):
        assert as_numbers(values, what="counts").tolist() == [1.0, 2.0]


def test_the_first_wrong_number_is_named() -> None:
    with pytest.raises(EvaluationError, match=r"2 of the 4 counts are not finite; the first is nan at position 1, 0"):
        as_numbers([[1, 2], [float("nan"), float("inf")]], what="counts")
    with pytest.raises(EvaluationError, match="1 of the 2 counts are not finite; the first is -inf at position 1"):
        as_numbers([float("nan"), float("-inf")], what="counts", allow_nan=True)


@pytest.mark.parametrize("values", [[1, "two"], [[1], [1, 2]], [None, object()]])
def test_what_is_no_number_is_refused(values: object) -> None:
    with pytest.raises(EvaluationError, match="the counts are not all numbers"):
        as_numbers(values, what="counts")


def test_lengths() -> None:
    assert check_lengths(np.int64(3)) == [3]
    assert check_lengths(range(1, 4)) == [1, 2, 3]
    with pytest.raises(EvaluationError, match="k='a' is not a list length"):
        check_lengths("a")


@pytest.mark.parametrize("confidence", [0, 1, -0.5, float("nan"), None])
def test_confidence(confidence: object) -> None:
    with pytest.raises(EvaluationError, match="is not between 0 and 1"):
        check_confidence(confidence)  # type: ignore[arg-type]


def test_choices_are_listed() -> None:
    with pytest.raises(EvaluationError, match="ties must be one of 'random', 'id', got 'first'"):
        require_choice("first", "ties", ("random", "id"), error=EvaluationError)
