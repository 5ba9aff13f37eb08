"""Coupled records: many queries on data whose rows depend on each other."""

__all__: list[str] = []
