"""Public rules that clean tags: they remove system tags and unify spellings.

A rule reads one tag at a time, so applying it costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import UsageError

__all__ = ["SYSTEM_TAGS", "Cleaning", "TagRule"]

SYSTEM_TAGS = frozenset({"imported", "public", "no-tag", "unfiled", "jabref:noKeywordAssigned"})
"""Tags that bookmarking sites and import tools add."""


@dataclass(frozen=True)
class TagRule:
    """A public rule that rewrites or drops each tag by itself.

    Parameters
    ----------
    lower
        Whether ``Python`` and ``python`` are the same tag.
    strip
        Whether to strip blanks around a tag.
    drop
        Tags to drop; compared after the two steps above, and without regard to case when ``lower`` is set.
    drop_prefixes
        Beginnings of tags to drop, compared in the same way.

    Privacy
    -------
    The rule maps one triple to one triple or none, in the same way for everybody. Datasets that differ in one user or
    one triple, present or absent, still do after cleaning, so guarantees for these units carry over to the raw triples.
    They do not where the unit is the value of a tag, or where a user is replaced: a triple may be dropped, or become
    equal to another one, because of its tag.

    Examples
    --------
    >>> rule = TagRule()
    >>> rule(" Python "), rule("imported"), rule("system:unfiled")
    ('python', None, None)
    """

    lower: bool = True
    strip: bool = True
    drop: frozenset[str] = SYSTEM_TAGS
    drop_prefixes: tuple[str, ...] = ("system:", "sys:", "for:")

    def __post_init__(self) -> None:
        if isinstance(self.drop, str) or isinstance(self.drop_prefixes, str):
            raise UsageError("drop and drop_prefixes are collections of text.", remedy='Write ("system:",).')
        object.__setattr__(self, "drop", frozenset(map(self._folded, self.drop)))
        object.__setattr__(self, "drop_prefixes", tuple(map(self._folded, self.drop_prefixes)))

    def __call__(self, tag: str) -> str | None:
        """The rewritten tag, or None when it is dropped; an empty tag is dropped."""
        tag = self._folded(tag.strip() if self.strip else tag)
        if not tag or tag in self.drop or tag.startswith(self.drop_prefixes):
            return None
        return tag

    def _folded(self, tag: str) -> str:
        return tag.lower() if self.lower else tag


@dataclass(frozen=True)
class Cleaning:
    """What a rule did to the triples. Not private, for their owner only.

    Attributes
    ----------
    rule
        The rule.
    dropped
        Triples with a tag that the rule dropped.
    collapsed
        Triples that became equal to another one.
    """

    rule: TagRule
    dropped: int
    collapsed: int
