"""The program in this process, for commands on a cluster."""

from tests.cli.conftest import run

__all__ = ["run"]
