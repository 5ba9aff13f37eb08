"""The same rows under other public domains: fewer attributes, wider bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.data.fingerprints import cut_from
from discreet.data.tables import Table
from discreet.errors import UsageError

__all__ = ["with_attributes", "with_domains"]


def with_attributes(table: Table, attributes: Sequence[str]) -> Table:
    """The table with some of its attributes, in this order.

    Examples
    --------
    >>> table = Table({"a": [0, 1], "b": [1, 1], "c": [0, 0]}, domains=dict.fromkeys("abc", range(2)))
    >>> with_attributes(table, ["c", "a"]).attributes
    ('c', 'a')
    """
    for name in attributes:
        if name not in table.domains:
            raise UsageError(
                f"there is no attribute {name!r}.", remedy=f"Choose from {', '.join(map(repr, table.attributes))}."
            )
    if not attributes or len(set(attributes)) < len(attributes):
        raise UsageError(f"{tuple(attributes)} are not some attributes, each once.")
    return with_domains(table, {name: table.domains[name] for name in attributes})


def with_domains(table: Table, domains: Mapping[str, Any]) -> Table:
    """The table with these attributes and domains; rows, their order and their groups stay.

    Parameters
    ----------
    domains
        The **public** domain of each attribute that is kept. It must have room for the values of all rows.

    Privacy
    -------
    The ledger charges what is done with it to the table that it was made from: a row became another way to write down
    the same row.

    Examples
    --------
    >>> from discreet.data import IntegerDomain
    >>> table = Table({"age": [3, 40], "sex": ["F", "M"]}, domains={"age": range(100), "sex": ["F", "M"]})
    >>> with_domains(table, {"age": IntegerDomain(0, 99, bins=2)}).histogram()
    array([2, 0])
    """
    group = next((name for name in table.to_frame().columns if name not in table.attributes), None)
    view = Table(table.to_frame(), domains=domains, group=group, name=table.name)
    view.lineage = table.lineage if view.fingerprint == table.fingerprint else cut_from(table, "rewritten")
    return view
