"""Endpoints: where webhooks go, and which events they want. The config namespace `_webhooks` has them, by their ids.

The name `failing:<id>` is there while all deliveries to an endpoint fail: since when, and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, TypedDict, Unpack, get_args

from pyadeq import library
from pyadeq.errors import ConfigError
from pyadeq.ext.outgoing.patterns import QUEUES, WEBHOOKS, few, stream_patterns
from pyadeq.ext.outgoing.stored import Stored
from pyadeq.keys import shown

NAMESPACE: Final = "_webhooks"
QUEUE: Final = WEBHOOKS
FAILING: Final = "failing:"
OWN: Final = ("events:", *(f"queue:{queue}" for queue in QUEUES))
"""Streams that are never forwarded, besides those of names that begin with `_`, which are records of services."""
CONCURRENCY: Final = 4
"""Messages to one endpoint at a time, unless it says something else."""
_EVENT: Final = re.compile(r"[a-z_.*]{1,100}")

Order = Literal["none", "fifo"]
Content = Literal["payload", "result"]


class Endpoint(Stored, frozen=True):
    """What is stored of an endpoint.

    url: where messages go. secret, old_secret: where their secrets are, `env:NAME` or `file:/path`, or what a codec has
    made of them, `sealed:…`. Messages are also signed with the old one before the time old_until.
    events: patterns of events, such as `task.*`. streams: patterns of streams, such as `queue:mail-*`. `*` is any text.
    order: `fifo`: one message at a time, in the order of the events. A message that fails holds up those behind it.
    include: what is sent of tasks besides ids, times and states, if their data tier allows it.
    concurrency, starts: how many messages at a time, and how many in a second; None: not limited.
    enabled: whether messages are sent. disabled_for: why not.
    since: events before this time are not sent; seconds since the epoch, as created.
    """

    url: str
    secret: str
    old_secret: str | None = None
    old_until: float = 0.0
    events: tuple[str, ...]
    streams: tuple[str, ...] = ("queue:*",)
    order: Order = "none"
    include: tuple[Content, ...] = ()
    concurrency: int = CONCURRENCY
    starts: int | None = None
    enabled: bool = True
    disabled_for: str | None = None
    since: float
    created: float

    def wants_stream(self, stream: str) -> bool:
        """Whether it wants events of `<noun>:<name>` or `<noun>:<name>/<partition>`."""
        own = stream.partition("/")[0]
        return is_forwarded(own) and any(fnmatchcase(own, pattern) for pattern in self.streams)

    def wants(self, stream: str, event: str) -> bool:
        """Whether it wants this event."""
        return self.wants_stream(stream) and any(fnmatchcase(event, pattern) for pattern in self.events)

    def secrets(self, now: float) -> tuple[str, ...]:
        """Return the places of the secrets that sign a message now, the newest first."""
        return (self.secret, self.old_secret) if self.old_secret and now < self.old_until else (self.secret,)

    def with_settings(self, **settings: Unpack[Settings]) -> Endpoint:
        """Return the endpoint with other settings. Raises ConfigError."""
        return self.model_copy(update=_checked({"order": self.order, **settings}))

    def on(self, now: float) -> Endpoint:
        """Return the endpoint enabled: it sends events from now on."""
        return self.model_copy(update={"enabled": True, "disabled_for": None, "since": now})

    def off(self, why: str) -> Endpoint:
        """Return the endpoint disabled: it sends nothing."""
        return self.model_copy(update={"enabled": False, "disabled_for": why})

    def rotated(self, secret: str, until: float) -> Endpoint:
        """Return the endpoint with a new secret. It signs with the old one, too, until this time (epoch seconds)."""
        return self.model_copy(update={"secret": secret, "old_secret": self.secret, "old_until": until})


class Settings(TypedDict, total=False):
    """What can be changed of an endpoint."""

    url: str
    events: Sequence[str]
    streams: Sequence[str]
    order: Order
    include: Sequence[Content]
    concurrency: int
    starts: int | None


class Failing(Stored, frozen=True):
    """Since when each delivery to an endpoint has failed, and why the first of them."""

    since: float
    reason: str


def new_endpoint(
    url: str,
    *,
    secret: str,
    events: Iterable[str],
    now: float,
    streams: Iterable[str] = ("queue:*",),
    order: Order = "none",
    include: Iterable[Content] = (),
    concurrency: int = CONCURRENCY,
    starts: int | None = None,
) -> Endpoint:
    """Return an endpoint, checked except for its URL. Raises ConfigError."""
    settings: Settings = {
        "url": url,
        "events": [events] if isinstance(events, str) else [*events],
        "streams": [streams] if isinstance(streams, str) else [*streams],
        "order": order,
        "include": [*include],
        "concurrency": concurrency,
        "starts": starts,
    }
    return Endpoint(secret=secret, since=now, created=now, **_checked(settings))


def _checked(settings: Settings) -> dict[str, Any]:
    """Check the settings, and return them in the form in which an endpoint has them. Raises ConfigError."""
    found: dict[str, Any] = {**settings}
    if "include" in settings:
        found["include"] = tuple(dict.fromkeys(settings["include"]))
        for what in found["include"]:
            if what not in get_args(Content):
                raise ConfigError(f"include: {shown(what)} is not accepted; allowed: {', '.join(get_args(Content))}")
    if "order" in settings and settings["order"] not in get_args(Order):
        order = shown(settings["order"])
        raise ConfigError(f"order: {order} is not accepted; allowed: {', '.join(get_args(Order))}")
    for name in ("concurrency", "starts"):
        if (number := found.get(name)) is not None and not 1 <= number <= 1000:
            raise ConfigError(f"{name}: {number} is not accepted; allowed: 1 to 1,000")
    if settings.get("order") == "fifo":
        found["concurrency"] = 1
    if "events" in settings:
        found["events"] = _event_patterns(settings["events"])
    if "streams" in settings:
        found["streams"] = stream_patterns(settings["streams"], OWN)
    return found


def is_forwarded(stream: str) -> bool:
    """Whether events of `<noun>:<name>` may be sent at all."""
    name = stream.partition(":")[2]
    return not name.startswith("_") and not stream.startswith(OWN)


def _event_patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    found = few("events", patterns)
    known = {event for noun in library().manifest["nouns"].values() for event in noun["events"]}
    for pattern in found:
        if not _EVENT.fullmatch(pattern) or not any(fnmatchcase(event, pattern) for event in known):
            raise ConfigError(
                f"events: {shown(pattern)} is no event; allowed: task.completed, task.*, change.* and so on"
            )
    return found
