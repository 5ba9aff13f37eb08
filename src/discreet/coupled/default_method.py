"""Which method answers queries when none is named: from the queries and the size of the domain, which are public."""

from __future__ import annotations

from discreet.coupled.marginals import why_not_measurable
from discreet.coupled.residuals import asked_sets
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import Workload

__all__ = ["FEW", "default_method"]

FEW = 50
"""Up to this number of queries, each is measured rather than read from tables of counts."""


def default_method(workload: Workload, *, draws_rows: bool = False) -> str:
    """The name of the method for these queries.

    - Random queries weigh every cell: "shrunk-histogram".
    - Few queries, or ranges and prefix sums of one set of attributes: "strategy".
    - Other queries that name few attributes at a time, such as marginals: "marginals", however wide the table is.
    - Queries of so many attributes that no marginal holds them: "shrunk-histogram" where the domain is small,
      otherwise "strategy", which measures the answers themselves.

    Parameters
    ----------
    draws_rows
        Whether synthetic rows are wanted, which "strategy" cannot draw.

    Examples
    --------
    >>> from discreet.coupled import all_marginals, prefix_sums
    >>> wide = {f"a{place}": range(10) for place in range(30)}
    >>> default_method(all_marginals(wide, 2)), default_method(prefix_sums(wide, "a1"))
    ('marginals', 'strategy')
    """
    if not isinstance(workload, ProductWorkload):
        return "shrunk-histogram"
    if not draws_rows and (len(workload) <= FEW or _in_one_set(workload)):
        return "strategy"
    if why_not_measurable(workload) is None:
        return "marginals"
    return "shrunk-histogram" if workload.is_dense or draws_rows else "strategy"


def _in_one_set(workload: ProductWorkload) -> bool:
    """Whether one small histogram of the attributes of one query answers all, and some ask for several values."""
    asked = workload.on_asked_attributes()
    if not asked.is_dense or len(asked_sets(asked)) > 1:
        return False
    # The first weights of each attribute are those of queries that ask nothing of it.
    return any((weights[1:].sum(axis=1) > 1).any() for weights, _ in asked.weights_by_attribute())
