"""Compiled steps of a birth-death chain. Import it inside the function that needs it: numba is heavy."""

from __future__ import annotations

from numba import njit

from discreet.common.arrays import Floats, Integers

__all__ = ["evolve", "walk"]


@njit(cache=True)
def walk(up: Floats, down: Floats, uniforms: Floats, visits: Integers, state: int) -> int:
    """One step for each uniform number, counting visits to states; returns the last state."""
    for i in range(uniforms.size):
        u = uniforms[i]
        if u < up[state]:
            state += 1
        elif u < up[state] + down[state]:
            state -= 1
        visits[state] += 1
    return state


@njit(cache=True)
def evolve(up: Floats, down: Floats, law: Floats, steps: int) -> None:
    """The distribution of the state after a number of steps from state 0, in place."""
    size = law.size
    for step in range(steps):
        most = min(step + 2, size)
        before = 0.0  # what state j − 1 had before this step
        for j in range(most):
            here = law[j]
            above = law[j + 1] * down[j + 1] if j + 1 < size else 0.0
            below = before * up[j - 1] if j > 0 else 0.0
            law[j] = here * (1.0 - up[j] - down[j]) + above + below
            before = here
