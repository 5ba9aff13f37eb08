"""How many records of a user should count, by formulas for assumed worlds; ``choose_cap`` looks at the records."""

from __future__ import annotations

__all__ = ["best_cap", "best_cap_as_published", "best_cap_over_items", "best_weight"]


def best_cap(users: float, *, records: float, share: float, epsilon: float) -> float:
    """The number of sampled records of each user for which one item's count has the least mean squared error.

    For n users with M independent records each, a share p of them of the item: of the n(M − l) records that are left
    out a binomial number is of the item, so the error is n(M−l)p(1−p) + (n(M−l)p)² + 2l²/ε², convex in l.

    Examples
    --------
    >>> round(best_cap(20, records=10, share=0.05, epsilon=2), 3)
    6.983
    """
    return best_cap_over_items(users, records=records, shares_squared=share**2, epsilon=epsilon, items=1, total=share)


def best_cap_over_items(
    users: float, *, records: float, shares_squared: float, epsilon: float, items: int, total: float = 1.0
) -> float:
    """The same for the errors of all items together.

    Parameters
    ----------
    users, records
        How many users there are, and how many records each of them has.
    shares_squared
        Σp², from 1/items where all items are equally popular up to 1.
    items
        How many counts are released.
    total
        Σp over these: 1 for all items.
    """
    bias = 2 * users**2 * shares_squared
    best = (bias * records + users * (total - shares_squared)) / (bias + 4 * items / epsilon**2)
    return min(max(best, 1.0), float(records))


def best_weight(users: float, *, records: float, share: float, epsilon: float) -> float:
    """What one user should weigh in all where records are weighed instead of sampled: A·M/(A + 2M²/ε²).

    Weighing leaves (1 − l/M) of the count out, no more and no less; A = nMp(1−p) + (nMp)² is its expected square.

    Examples
    --------
    >>> round(best_weight(20, records=10, share=0.05, epsilon=2), 3)
    6.865
    """
    mean = users * records * share
    square = mean * (1 - share) + mean**2
    return min(max(square * records / (square + 2 * records**2 / epsilon**2), 1.0), float(records))


def best_cap_as_published(users: float, *, records: float, share: float, epsilon: float) -> float:
    """Formula 22 of Fan and Jin, to the letter: for comparison.

    It follows from their formula 21, which takes what is sampled and what there is for independent. Without noise (ε →
    ∞) it may drop half of the records, and for rare items it is negative.

    Examples
    --------
    >>> round(best_cap_as_published(20, records=10, share=0.05, epsilon=2), 3)
    6.355

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015.
    """
    numerator = 2 * users**2 * share**2 * records - users * share
    return numerator / (4 / epsilon**2 - 2 * users * share**2 / records + 2 * users**2 * share**2)
