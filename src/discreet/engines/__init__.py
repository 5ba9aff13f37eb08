"""Data that are not in memory at once: cut into parts by person. ``engines.scanning.scan`` is ``discreet.scan``."""
