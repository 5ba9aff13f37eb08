"""`discreet serve`: the service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import note
from discreet.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from discreet.service.hub import Hub
    from discreet.service.settings import ServiceSettings

__all__ = ["serve"]

MEGABYTE = 1024**2


def serve(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where everything is kept; as secret as the records.")
    ] = Path("service"),
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            metavar="URL",
            envvar="DISCREET_DATABASE",
            help="PostgreSQL for keys, jobs and ledgers; files in the folder unless given.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    public_url: Annotated[
        str | None, typer.Option("--public-url", metavar="URL", help="Under which address people reach it (https://…).")
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            "--root",
            metavar="[TENANT=]FOLDER",
            help="Files below may be registered by their path; repeatable. With several tenants it names one.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=0, help="How many jobs run at a time.")] = 1,
    memory: Annotated[
        int | None, typer.Option("--memory", metavar="MB", min=256, help="The most memory of one job.")
    ] = None,
    upload_limit: Annotated[int, typer.Option("--upload-limit", metavar="MB", min=1, help="Of one upload.")] = 2048,
    add_tenant: Annotated[
        str | None, typer.Option("--add-tenant", metavar="NAME", help="Add a tenant, print its setup link, and end.")
    ] = None,
    new_link: Annotated[
        str | None,
        typer.Option("--new-link", metavar="NAME", help="Print another setup link for a tenant, and end."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="MODULE:CLASS",
            help="A recommender of your own, known by its name; repeatable. This imports your code.",
        ),
    ] = None,
    insecure_local: Annotated[
        bool, typer.Option("--insecure-local", help="No keys: everybody on this machine is a curator.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Fill an empty service with invented films and a history of releases.")
    ] = False,
) -> None:
    """Start the service: an HTTP API, jobs, keys and pages.

    The first start prints a link, which works once, for the first curator. Nothing is open without a key. When a budget
    is used up, nothing more is released from the records, and what was released is served as before.

    Requests name methods that are installed here or given with --model; they never name code.

    [bold]Example[/bold]

        discreet serve --demo --folder demo-service/
        discreet serve --folder /srv/discreet --root /srv/exports --public-url https://discreet.example.org
    """
    try:
        from discreet.service.app import create_app, run_server
        from discreet.service.settings import ServiceSettings, is_loopback
    except ImportError as error:
        raise MissingExtraError(str(error.name), "service") from None

    if insecure_local and not is_loopback(host):
        raise UsageError(
            f"--insecure-local on {host} would let everybody in.",
            remedy="Listen on 127.0.0.1, or leave --insecure-local out.",
        )
    url = (public_url or f"http://{host}:{port}").rstrip("/")
    settings = ServiceSettings(
        folder=folder,
        database=database,
        roots=tuple(Path(one) for one in root or () if "=" not in one),
        tenant_roots=tuple((name, Path(place)) for name, equals, place in _split(root) if equals),
        workers=workers,
        memory_limit=None if memory is None else memory * MEGABYTE,
        upload_limit=upload_limit * MEGABYTE,
        secure_cookies=url.startswith("https://"),
        insecure_local=insecure_local,
        public_url=url,
        models=tuple(model or ()),
    )
    app = create_app(settings)
    hub: Hub = app.state.hub
    if add_tenant is not None:
        note(f"setup link of {add_tenant}, for one use: {_link(settings, hub.keys.add_tenant(add_tenant)[1])}")
        return
    if new_link is not None:
        note(f"setup link of {new_link}, for one use: {_link(settings, hub.keys.new_link(hub.keys.tenant(new_link)))}")
        return
    _first_start(settings, hub, demo=demo)
    if demo:
        app.state.story.story()  # begins to play the attack that a page shows
    if insecure_local:
        note(f"WARNING: no keys are asked for. Everybody who reaches {host}:{port} is a curator.")
    note(f"discreet listens on {url}; end with Ctrl-C")
    run_server(app, host=host, port=port)


def _split(roots: list[str] | None) -> list[tuple[str, str, str]]:
    return [one.partition("=") for one in roots or ()]


def _first_start(settings: ServiceSettings, hub: Hub, *, demo: bool) -> None:
    """Print the setup link where there is no key yet."""
    if demo:
        from discreet.service.demo import fill

        note("filling the service with invented films (about a minute)")
        key = fill(hub)
        if key is not None:
            note(f"sign in at {settings.public_url}/sign-in with the key {key}")
        return
    if not hub.keys.tenants() and not settings.insecure_local:
        token = hub.keys.add_tenant("main")[1]
        note(f"setup link, for one use within a day: {_link(settings, token)}")


def _link(settings: ServiceSettings, token: str) -> str:
    return f"{settings.public_url}/setup#{token}"
