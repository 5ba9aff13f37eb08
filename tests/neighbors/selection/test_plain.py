"""The nearest, anybody, and by similarity."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.neighbors.selection import Candidates, Nearest, Probabilistic, Uniform

FILMS = Candidates(np.array([0.5, 0.9, 0.5, 0.5, 0.1]))


def test_nearest_with_ties() -> None:
    assert Nearest(2).law(FILMS) == pytest.approx({(0, 1): 1 / 3, (1, 2): 1 / 3, (1, 3): 1 / 3})
    assert Nearest(2, ties="id").law(FILMS) == {(0, 1): 1.0}
    assert Nearest(2, ties="id").choose(FILMS).tolist() == [1, 0]
    assert Nearest(2).inclusion(FILMS, exact=False) == pytest.approx([1 / 3, 1, 1 / 3, 1 / 3, 0])


def test_uniform_does_not_look_at_similarities() -> None:
    law = Uniform(2).law(FILMS)
    assert list(law.values()) == pytest.approx([0.1] * 10)


def test_probabilistic_goes_by_similarity() -> None:
    law = Probabilistic(1).law(Candidates(np.array([0.6, 0.3, -0.4, 0.1])))
    assert law == pytest.approx({(0,): 0.6, (1,): 0.3, (3,): 0.1})


def test_without_weight_nobody_is_chosen() -> None:
    films = Candidates(np.array([0.6, 0.0, -0.4]))
    assert Probabilistic(2).law(films) == {(0,): 1.0}
    assert Probabilistic(2).choose(films).tolist() == [0]
    assert Probabilistic(2).reach(films) == 1
    assert Probabilistic(2, floor=0.1).reach(films) == 3


def test_only_among_the_most_similar() -> None:
    law = Probabilistic(1, beta=2).law(FILMS)
    assert law[(1,)] == pytest.approx(0.9 / 1.4)
    assert law[(0,)] == pytest.approx(0.5 / 1.4 / 3)
    assert (4,) not in law


@pytest.mark.parametrize("options", [{"beta": 0}, {"floor": -0.1}, {"ties": "attacker"}])
def test_bad_options_are_refused(options) -> None:
    with pytest.raises(UsageError):
        Probabilistic(2, **options)
