"""Answers to linear queries, from a release of answers: those that were released, and new ones from its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.coupled import queries_from_json
from discreet.coupled.answering import answers_from, answers_more
from discreet.privacy import Release
from discreet.service.problems import Problem

__all__ = ["AskedAnswers"]

MOST_QUERIES = 10_000


class AskedAnswers:
    """One loaded release of answers."""

    def __init__(self, release: Release, domains: Mapping[str, Any] | None) -> None:
        self.release, self.domains = release, domains

    def listed(self, *, start: int, limit: int) -> list[dict[str, Any]]:
        """The answers that were released, from one on."""
        return self.release.table("answers").slice(start, limit).to_dicts()

    def ask(self, queries: Any) -> list[dict[str, Any]]:
        """Answers to other questions about the same table: post-processing of the release, which costs nothing."""
        if self.domains is None or not answers_more(self.release):
            why = "The data of this release are gone" if self.domains is None else "It has answers and nothing more"
            raise Problem(
                409,
                "no-more-answers",
                f"{why}: only the questions that were released can be looked up.",
                remedy="See …/answers, or release with histogram, shrunk-histogram, tree, marginals, pmw or mwem.",
            )
        if not isinstance(queries, list | dict):
            raise Problem(422, "request", "queries are a list or an object.", remedy='Write [{"age": [18, 30]}].')
        workload = queries_from_json(self.domains, queries)
        if len(workload) > MOST_QUERIES:
            raise Problem(422, "request", f"One request asks at most {MOST_QUERIES:,} queries.", remedy="Split it.")
        answers, source = answers_from(self.release, workload)
        return [
            {"query": place, "label": label, "answer": float(value), "source": source}
            for place, (label, value) in enumerate(zip(workload.labels(), answers, strict=True))
        ]
