"""Readers of the public formats, and of our own."""

from discreet.data.readers.door import detect, formats, read
from discreet.data.readers.formats import Format
from discreet.data.readers.writing import write

__all__ = ["Format", "detect", "formats", "read", "write"]
