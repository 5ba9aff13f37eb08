"""Readers of published formats and of the files that discreet writes."""

from discreet.data.readers.formats import Format
from discreet.data.readers.reading import detect, formats, read
from discreet.data.readers.stored import kind_of_file, write

__all__ = ["Format", "detect", "formats", "kind_of_file", "read", "write"]
