"""Small worlds with a public catalog: where one person more is easy to see, and a fit takes milliseconds."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.data.interactions import Interactions

__all__ = ["OBSERVER", "Record", "background", "crafted"]

Record = tuple[str, str, int]

OBSERVER = "observer"
"""A user of every small world, whom the attacker controls."""

SCALE = "1:5"


def crafted(records: Iterable[Record], *, items: int) -> Interactions:
    """Records over the items i0, i1 …, all of which are in the public catalog."""
    return Interactions(list(records), items=[f"i{item}" for item in range(items)], scale=SCALE, name="a crafted world")


def background_records(*, items: int, users: int) -> list[Record]:
    """Two tastes over all items but the last two, and an observer who shares the first of them.

    Everybody but the observer touches about a third of the items, by a rule without chance.
    """
    common = max(1, items - 2)
    rows = [
        (f"u{user}", f"i{item}", 5 if (user - item) % 2 == 0 else 2)
        for user in range(users)
        for item in range(common)
        if (user + 2 * item) % 3 == 0 or item == user % common
    ]
    own = [(OBSERVER, f"i{item}", 5 if item % 2 == 0 else 2) for item in range(max(1, items // 3))]
    return [*rows, *own]


def background(*, items: int, users: int) -> Interactions:
    """The world without a secret.

    Examples
    --------
    >>> background(items=6, users=3)
    Interactions('a crafted world': 6 records, 4 users, 6 items, ratings 1:5:1)
    """
    return crafted(background_records(items=items, users=users), items=items)
