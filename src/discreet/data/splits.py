"""Training and test parts of the same records: seeded, and the same for any number of threads and any row order.

Splits are for experiments. They release nothing and protect nothing.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import ceil
from typing import Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from discreet.common.splitmix import GOLDEN, splitmix
from discreet.data.fingerprints import canonical_order
from discreet.data.ids import IdMap, stable_text
from discreet.data.interactions import Interactions
from discreet.errors import Remedy, UsageError

__all__ = [
    "GeneralizationSplit",
    "Split",
    "all_but_one",
    "choose_users",
    "k_fold_records",
    "k_fold_users",
    "leave_one_out",
    "seeded",
    "strong_generalization",
    "temporal",
]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """Records to fit a model on, and records to predict. Both parts remember the whole, which the ledger charges."""

    train: Interactions
    test: Interactions


@dataclass(frozen=True)
class GeneralizationSplit:
    """Records of the users who were not held out; of the others, records that the model gets and records to predict."""

    train: Interactions
    fold_in: Interactions
    target: Interactions


def all_but_one(data: Interactions, *, seed: int) -> Split:
    """Hold out one record of each user, chosen at random; a user's only record stays in training.

    The protocol that the papers on private neighborhood recommenders call *All-But-One*.

    Examples
    --------
    >>> data = Interactions([("ann", "tea"), ("ann", "rum"), ("ann", "gin"), ("bob", "tea")])
    >>> split = all_but_one(data, seed=1)
    >>> len(split.train), split.test.users.ids()
    (3, ['ann'])
    """
    return _split(data, _one_of_each_user(data, seed, "all_but_one"), independent=True)


def leave_one_out(
    data: Interactions, *, without_times: Literal["error", "random"] = "error", seed: int | None = None
) -> Split:
    """Hold out the latest record of each user; a user's only record stays in training.

    Parameters
    ----------
    without_times
        What to do with records without times: ``"error"``, or hold out a ``"random"`` record instead.
    seed
        For random ties and random records. Without it the last item in code order is held out.

    Examples
    --------
    >>> data = Interactions([("ann", "tea", 1, 20), ("ann", "rum", 1, 30), ("ann", "gin", 1, 10)])
    >>> leave_one_out(data).test.to_frame()["item_id"].to_list()
    ['rum']
    """
    if without_times not in ("error", "random"):
        raise UsageError(f"without_times must be 'error' or 'random', got {without_times!r}.")
    if data.timestamp is None:
        if without_times == "error":
            raise UsageError(
                "these records have no times, so none of them is the latest.",
                remedy=Remedy(
                    "Choose without_times='random' with a seed, or all_but_one.", cli="Choose --how all-but-one."
                ),
            )
        if seed is None:
            raise UsageError("random records need a seed.", remedy="Give seed=.")
        return _split(data, _one_of_each_user(data, seed, "leave_one_out"), independent=True)
    order = _order(data)
    tie_break = np.arange(len(data)) if seed is None else _keys(data, order, seed, "leave_one_out")
    by_time = np.lexsort((tie_break, data.timestamp[order], data.user[order]))
    last = by_time[data.user_starts[1:] - 1]
    mask = np.zeros(len(data), dtype=bool)
    mask[order[last[data.records_per_user > 1]]] = True
    return _split(data, mask, independent=True)


def k_fold_records(data: Interactions, k: int = 5, *, seed: int) -> Iterator[Split]:
    """Each record is tested once: ``k`` splits with test parts of equal size, up to one record.

    Examples
    --------
    >>> data = Interactions([(user, item) for user in "abc" for item in range(4)])
    >>> [len(split.test) for split in k_fold_records(data, 5, seed=1)]
    [3, 3, 2, 2, 2]
    """
    fold = np.empty(len(data), dtype=np.int64)
    fold[_order(data)] = _folds(len(data), k, "records", seeded(seed, "k_fold_records"))
    return (_split(data, fold == number) for number in range(k))


def k_fold_users(data: Interactions, k: int = 5, *, seed: int) -> Iterator[Split]:
    """Each user is tested once, with all of their records: ``k`` splits by user.

    Examples
    --------
    >>> data = Interactions([(user, item) for user in "abc" for item in range(4)])
    >>> sorted(split.test.users.ids() for split in k_fold_users(data, 3, seed=1))
    [['a'], ['b'], ['c']]
    """
    fold = _folds(data.n_users, k, "users", seeded(seed, "k_fold_users"))
    return (_split(data, (fold == number)[data.user]) for number in range(k))


def temporal(data: Interactions, *, at: int | date | datetime | None = None, fraction: float | None = None) -> Split:
    """Train on the past, test on the future.

    Parameters
    ----------
    at
        The first time of the test part: seconds since 1970, a date or a datetime (UTC without a zone).
    fraction
        Instead of a time, the largest share of the records for training: those of one second stay together.

    Examples
    --------
    >>> data = Interactions([("ann", "tea", 1, 10), ("ann", "rum", 1, 20), ("bob", "tea", 1, 30)])
    >>> len(temporal(data, at=20).train), len(temporal(data, fraction=0.7).train)
    (1, 2)
    """
    if data.timestamp is None:
        raise UsageError(
            "these records have no times.",
            remedy=Remedy(
                "Name the time column with timestamp=.", cli="Choose another --how, or give records with times."
            ),
        )
    if (at is None) == (fraction is None):
        raise UsageError("a temporal split needs either a time or a fraction.", remedy="Give at= or fraction=.")
    if fraction is not None:
        _check_fraction(fraction, "fraction")
        trained = int(fraction * len(data))
        moment = int(np.partition(data.timestamp, trained)[trained]) if len(data) else 0
    else:
        moment = _seconds(at)
    return _split(data, data.timestamp >= moment, independent=fraction is None)


def strong_generalization(
    data: Interactions, *, held_out_users: int | float, fold_in: float = 0.8, seed: int
) -> GeneralizationSplit:
    """Hold out users; give the model a part of their records and predict the rest.

    Parameters
    ----------
    held_out_users
        The number of users, or a share between 0 and 1.
    fold_in
        Share of each held-out user's records that the model gets: at least one record, and at most all but one. The
        only record of a user is given.

    Examples
    --------
    >>> data = Interactions([(user, item) for user in "abc" for item in range(4)])
    >>> split = strong_generalization(data, held_out_users=1, fold_in=0.5, seed=1)
    >>> len(split.train), len(split.fold_in), len(split.target)
    (8, 2, 2)
    """
    _check_fraction(fold_in, "fold_in")
    number = held_out_users
    if isinstance(number, float):
        _check_fraction(number, "held_out_users")
        number = ceil(number * data.n_users)
    generator = seeded(seed, "strong_generalization")
    held_out = _choose(data.n_users, number, generator)[data.user]

    order = _order(data)
    order = order[held_out[order]]
    user = data.user[order]
    # A random order within each user, of which the first few are shown.
    order = order[np.lexsort((generator.random(order.size), user))]
    counts = np.bincount(user, minlength=data.n_users)
    starts = np.cumsum(counts) - counts
    shown = np.clip(np.rint(counts * fold_in), 1, np.maximum(counts - 1, 1))
    is_shown = np.arange(order.size) - starts[user] < shown[user]
    told = np.zeros(len(data), dtype=bool)
    told[order[is_shown]] = True
    return GeneralizationSplit(
        train=data.filter(~held_out), fold_in=data.filter(told), target=data.filter(held_out & ~told)
    )


def choose_users(n_users: int, n: int, *, seed: int) -> Mask:
    """Mask of ``n`` users out of ``n_users``, chosen uniformly at random.

    Examples
    --------
    >>> choose_users(5, 2, seed=7).sum()
    np.int64(2)
    """
    return _choose(n_users, n, seeded(seed, "choose_users"))


def seeded(seed: int, purpose: str) -> np.random.Generator:
    """A generator for one purpose: the same seed gives independent numbers for other purposes.

    Otherwise sampling users with seed 1 and splitting them with seed 1 would use the same random numbers.
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0 or isinstance(seed, bool):
        raise UsageError(f"seed={seed!r} is not a seed.", remedy="Give a whole number from 0 up.")
    return np.random.default_rng([number, *purpose.encode()])


def _split(data: Interactions, test: Mask, *, independent: bool = False) -> Split:
    """Both parts; independent if what is held out of one user's records does not depend on other users."""
    return Split(train=data.filter(~test, independent=independent), test=data.filter(test, independent=independent))


def _order(data: Interactions) -> NDArray[np.int64]:
    """An order of the records that does not depend on the order of input, which kept repeats have."""
    if not data.may_repeat:
        return np.arange(len(data))
    columns = {name: data.context[name] for name in data.context.columns}
    return canonical_order([data.user, data.item], {"rating": data.rating, "timestamp": data.timestamp, **columns})


def _one_of_each_user(data: Interactions, seed: int, purpose: str) -> Mask:
    order = _order(data)
    by_key = np.lexsort((_keys(data, order, seed, purpose), data.user[order]))
    last = by_key[data.user_starts[1:] - 1]
    mask = np.zeros(len(data), dtype=bool)
    mask[order[last[data.records_per_user > 1]]] = True
    return mask


def _keys(data: Interactions, order: NDArray[np.int64], seed: int, purpose: str) -> NDArray[np.uint64]:
    """A random number for each record, in this order, that depends on its user, its item and the seed alone.

    So no held-out record changes when another user is added or removed. Kept repeats differ by their position.
    """
    seeded(seed, purpose)  # checks the seed
    user, item = data.user[order], data.item[order]
    repeated = np.zeros(order.size, dtype=bool)
    repeated[1:] = (user[1:] == user[:-1]) & (item[1:] == item[:-1])
    begins = np.maximum.accumulate(np.where(repeated, 0, np.arange(order.size)))
    place = (np.arange(order.size) - begins).astype(np.uint64)
    salt = f"{purpose}/{seed}"
    mixed = _hashes(data.users, salt)[user] ^ (_hashes(data.items, salt)[item] * np.uint64(GOLDEN))
    return splitmix(mixed + place * np.uint64(0xD1B54A32D192ED03))


def _hashes(ids: IdMap, salt: str) -> NDArray[np.uint64]:
    """64 bits for each id that depend only on the id and the salt."""
    key = hashlib.blake2b(salt.encode(), digest_size=32).digest()
    texts = (f"{type(i).__name__}:{stable_text(i)}" for i in ids.ids())
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8")


def _folds(n: int, k: int, what: str, generator: np.random.Generator) -> NDArray[np.int64]:
    if not _is_whole(k) or not 2 <= k <= n:
        raise UsageError(f"{n:,} {what} cannot be split into {k!r} folds.", remedy=f"Choose k from 2 to {n:,}.")
    return generator.permutation(n) % k


def _choose(n_users: int, n: int, generator: np.random.Generator) -> Mask:
    if not _is_whole(n) or not 0 <= n <= n_users:
        raise UsageError(f"{n!r} users cannot be chosen out of {n_users:,}.", remedy=f"Ask for 0 to {n_users:,}.")
    mask = np.zeros(n_users, dtype=bool)
    mask[generator.permutation(n_users)[:n]] = True
    return mask


def _is_whole(number: object) -> bool:
    return isinstance(number, SupportsIndex) and not isinstance(number, bool)


def _check_fraction(fraction: float, name: str) -> None:
    if not 0 < fraction < 1:
        raise UsageError(f"{name}={fraction!r} is not a share.", remedy="Give a number between 0 and 1.")


def _seconds(at: int | date | datetime | None) -> int:
    if isinstance(at, date) and not isinstance(at, datetime):
        at = datetime(at.year, at.month, at.day)
    if isinstance(at, datetime):
        return ceil((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
    try:
        return ceil(at)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"at={at!r} is not a time.", remedy="Give seconds since 1970, or a date.") from None
