"""The command line: one file a command."""

from discreet.cli.app import main

__all__ = ["main"]
