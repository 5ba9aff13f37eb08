"""Tagging: topics, PriTop, FolkRank, and tagging releases that keep their promise."""

__all__: list[str] = []
