"""A worker of a Queue or Worker object connects as that does; what the command line says must not differ."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit, urlunsplit

import typer

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.common import PLACE, shown_url

OF_WORKERS = [
    "concurrency",
    "name",
    "group",
    "instance",
    "default_group",
    "capability",
    "lane",
    "lane_first",
    "lease",
    "timeout",
    "unknown_for",
    "grace",
    "renew",
    "blocked_after",
    "traces",
]
LOCAL = ("localhost", "127.0.0.1", "[::1]")


def check_home(context: typer.Context, adeq: Any, queue: str, path: str, url: str) -> None:
    """Raise ConfigError if an option or a variable of the environment says something else than the queue's client.

    adeq, queue: the client, and the name of the queue. path: what names the queue or its worker, for the error.
    """

    def refuse(option: str, given: object, own: object) -> None:
        raise ConfigError(
            f"--{option} (or ADEQ_{option.upper()}): {given} is not accepted, because {path} is of a queue with {own}; "
            "leave the option out, or create the queue with the same value"
        )

    names = list(filter(None, context.params["queue"] or []))
    if _given(context, "queue") and names not in ([], [queue]):
        refuse("queue", ", ".join(map(repr, names)), repr(queue))
    if _given(context, "url") and _place(url) != _place(adeq.address):
        refuse("url", shown_url(url), adeq.address)
    for option, given, own in (("prefix", PLACE.prefix, adeq.prefix), ("slot", PLACE.slot, adeq.slot)):
        if _given(context, option) and given != own:
            refuse(option, repr(given), repr(own))
    if _given(context, "codec") and PLACE.options()["codec"] is not adeq.codec:
        refuse("codec", PLACE.codec, "another codec" if adeq.codec else "none")


def check_worker_options(context: typer.Context, path: str) -> None:
    """Raise ConfigError if an option says how a Worker object should work, which has its own options."""
    for option in OF_WORKERS:
        if _given(context, option):
            raise ConfigError(
                f"--{option.replace('_', '-')}: {path} is a Worker, which has its own options; leave this one out, or "
                "create the worker with it"
            )


def _given(context: typer.Context, option: str) -> bool:
    """Whether the command line or the environment has an option, after the command or before it."""
    at: typer.Context | None = context
    while at is not None:
        source = at.get_parameter_source(option)
        if source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT"):
            return True
        at = at.parent  # type: ignore[assignment]
    return False


def _place(url: str) -> str:
    """A URL in one form: of a client, without what does not say where it connects."""
    scheme, place, path, query, _ = urlsplit(url)
    if scheme in ("redis", "rediss", "unix", "sentinel", "sentinels"):
        with Adeq.from_url(url) as adeq:
            scheme, place, path, query, _ = urlsplit(adeq.address)
    return urlunsplit((scheme, ",".join(map(_host, place.split(","))), path, query, ""))


def _host(place: str) -> str:
    for name in LOCAL:
        if place.partition(":")[0] == name or place.startswith(f"{name}:"):
            return "localhost" + place[len(name) :]
    return place
