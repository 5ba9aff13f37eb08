"""Continual release: one series of releases over time, at one price for all of them."""

from __future__ import annotations

from discreet.series.series import Series

__all__ = ["Series"]
