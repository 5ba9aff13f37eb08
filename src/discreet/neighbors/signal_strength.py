"""How far what users have in common stands out of the noise: what neighbor models choose their size by."""

from __future__ import annotations

import math

from discreet.models.item_statistics import ItemStatistics
from discreet.privacy.budget import Budget
from discreet.privacy.losses import Loss, Pure
from discreet.privacy.units import Unit

__all__ = ["head_size", "strength_of"]

SHARE_OF_HEAD = 1 / 8
"""How much of the head a user has usually touched: for the rule only."""


def head_size(first: ItemStatistics, budget: Budget) -> float:
    """How many items of the largest weight are worth comparing: the square root of the signal times a constant.

    The constants were chosen on MovieLens: more items share the same signal, fewer leave some of it unused.
    """
    unit = Unit.of(budget.unit)
    strength = strength_of(first, budget.loss, unit, head=1)
    if unit.what == "record":
        return 5 * math.sqrt(strength)
    # At pure ε the signal falls with the size, so size = 8.5·√(signal/size) asks for a third root.
    return (8.5**2 * strength) ** (1 / 3) if budget.is_pure else 8.5 * math.sqrt(strength)


def strength_of(first: ItemStatistics, loss: Loss, unit: Unit, *, head: int) -> float:
    """Signal over noise: users × the length of a usual user's matrix ÷ the noise on an entry.

    With n items in the head, the weights of ``item_gram`` give a matrix of length 1, 2/n, √n and 1; the noise on an
    entry is taken for the whole budget and for two matrices.
    """
    users = first.users
    if isinstance(loss, Pure):
        deviation = math.sqrt(2) / float(loss.epsilon)
        if unit.what == "record":
            return users / (3 * deviation)
        return users * 2 / (SHARE_OF_HEAD * head) / (2 * deviation)
    concentrated = loss.concentrated()
    assert concentrated is not None
    deviation = 1 / math.sqrt(2 * concentrated.rho)
    if unit.what == "user":
        return users / deviation
    records = max(users, float(first.weights.sum()))
    return math.sqrt(users * records) / (math.sqrt(2) * deviation)
