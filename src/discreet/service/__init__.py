"""The service: an HTTP API, jobs, keys and pages around the library."""

from discreet.service.app import create_app
from discreet.service.settings import ServiceSettings

__all__ = ["ServiceSettings", "create_app"]
