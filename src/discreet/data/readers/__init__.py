"""Readers of published formats and of the files that discreet writes."""

from discreet.data.readers.formats import Format
from discreet.data.readers.reading import detect, formats, read
from discreet.data.readers.writing import write

__all__ = ["Format", "detect", "formats", "read", "write"]
