"""Protection against requests that another site makes in the name of a person's browser."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.requests import Request

from discreet.service.problems import Problem
from discreet.service.settings import ServiceSettings, is_loopback

__all__ = ["require_local", "require_same_site", "require_token"]


def require_same_site(request: Request, settings: ServiceSettings) -> None:
    """Refuse a form that was not sent by a page of this service.

    Browsers say where a form comes from in ``Origin`` and ``Sec-Fetch-Site``, and scripts cannot change either. A
    request with neither is no form of a page.
    """
    if "content-length" not in request.headers:
        raise Problem(411, "length", "The form does not say how long it is.", remedy="Send it from a page.")
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    good = site in (None, "same-origin") and (origin is None or _is_own(origin, request, settings))
    if not good or (site is None and origin is None):
        raise forged("The form was not sent by a page of this service.")


def require_token(given: str, expected: str) -> None:
    """Refuse a form without the token of the session."""
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise forged("The form is not of this session.")


def require_local(request: Request, settings: ServiceSettings) -> None:
    """Where everybody on this machine is a curator: refuse what a site elsewhere makes a browser here send.

    The name that the browser used must be one of this machine (a site may let its own name point here), and a page of
    another site is refused whatever it asks for.
    """
    host = request.headers.get("host", "")
    if not is_loopback(urlsplit(f"//{host}").hostname or "") and host != urlsplit(settings.public_url).netloc:
        raise forged(f"The service is not reached under the name {host!r}.")
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if (origin is not None and not _is_own(origin, request, settings)) or site in ("cross-site", "same-site"):
        raise forged("The request comes from a page of another site.")


def forged(detail: str) -> Problem:
    return Problem(403, "forged", detail, remedy="Open the page again and repeat what you did.")


def _is_own(origin: str, request: Request, settings: ServiceSettings) -> bool:
    own = urlsplit(settings.public_url)
    return origin == f"{own.scheme}://{own.netloc}" or urlsplit(origin).netloc == request.headers.get("host", "")
