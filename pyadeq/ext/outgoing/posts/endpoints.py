"""Endpoints: where posts go, and what they are about. The config namespace `_posts` has them, by their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from pyadeq import Event
from pyadeq.errors import ConfigError
from pyadeq.ext.outgoing.patterns import POSTS, few, stream_patterns
from pyadeq.ext.outgoing.references import check_reference, read_reference
from pyadeq.ext.outgoing.stored import Stored
from pyadeq.keys import shown
from pyadeq.models.base import Seconds, to_ms

NAMESPACE: Final = "_posts"
QUEUE: Final = POSTS
OWN: Final = (f"queue:{QUEUE}",)
"""Streams that posts are never about: a post that fails makes no post."""
MINUTE: Final = 60.0
SHORTEST: Final = 1.0
LONGEST: Final = 86_400.0

About = Literal["dead", "asked", "waiting", "escalated", "timeout"]
Service = Literal["zulip", "ntfy", "slack", "json"]
Actions = Literal["login", "code"]

EVENTS: Final[dict[tuple[str, str], About]] = {
    ("queue", "task.dead"): "dead",
    ("queue", "task.expired"): "dead",
    ("change", "change.reviewing"): "asked",
    ("change", "change.reminded"): "waiting",
    ("change", "change.escalated"): "escalated",
    ("change", "change.rejected"): "timeout",
}
"""What an event is about, by its noun and name."""
NOUNS: Final = {about: noun for (noun, _), about in EVENTS.items()}
DEFAULT: Final[tuple[About, ...]] = ("dead", "waiting", "escalated", "timeout")
_CHANNEL: Final = re.compile(r"[^\x00-\x1f\x7f]{1,60}")
_BOARD: Final = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*")


class Endpoint(Stored, frozen=True):
    """What is stored of an endpoint.

    service: which format it wants. url: `https://…`, or where it is found: `env:NAME` or `file:/path`.
    secret: where the password or token is found. channel: of Zulip.
    about: what posts are about. streams: of which queues and domains, as patterns. `*` is any text.
    every: seconds between two digests of a group.
    board: the address of the board, for links. actions: what a link to retry or abandon a task asks for.
    payload: whether posts have the payload of a task, if its data tier allows it.
    since: events before this time are not posted; seconds since the epoch, as created.
    """

    service: Service
    url: str
    secret: str | None = None
    channel: str | None = None
    about: tuple[About, ...] = DEFAULT
    streams: tuple[str, ...] = ("queue:*", "change:*")
    every: float = MINUTE
    board: str | None = None
    actions: Actions = "login"
    payload: bool = False
    enabled: bool = True
    since: float
    created: float

    @property
    def concurrency(self) -> int:
        """Posts at a time."""
        return 2

    @property
    def starts(self) -> int | None:
        """Posts in a second. Slack accepts no more."""
        return 1

    def wants_stream(self, stream: str) -> bool:
        """Whether it wants events of `<noun>:<name>` or `<noun>:<name>/<partition>`."""
        own = stream.partition("/")[0]
        noun, _, name = own.partition(":")
        if own in OWN or name.startswith("_") or noun not in {NOUNS[about] for about in self.about}:
            return False
        return any(fnmatchcase(own, pattern) for pattern in self.streams)

    def wants(self, stream: str, about: About, at: float) -> bool:
        """Whether it wants what has happened at this time."""
        return about in self.about and self.since <= at and self.wants_stream(stream)

    def address(self) -> str:
        """The URL itself. Raises ConfigError if this process does not find it."""
        return self.url if is_url(self.url) else read_reference("url", self.url)


def about_of(noun: str, event: Event) -> About | None:
    """What an event is about; None if no post."""
    about = EVENTS.get((noun, event.event))
    return None if about == "timeout" and event.payload.get("why") != "timeout" else about


def new_endpoint(
    service: Service,
    url: str,
    *,
    now: float,
    secret: str | None = None,
    channel: str | None = None,
    about: Iterable[About] = DEFAULT,
    streams: Iterable[str] = ("queue:*", "change:*"),
    every: Seconds = MINUTE,
    board: str | None = None,
    actions: Actions = "login",
    payload: bool = False,
) -> Endpoint:
    """Return an endpoint, checked except for where its URL leads. Raises ConfigError."""
    wanted = few("about", about)
    for field, value, allowed in (
        ("service", service, get_args(Service)),
        ("actions", actions, get_args(Actions)),
        *(("about", one, get_args(About)) for one in wanted),
    ):
        if value not in allowed:
            raise ConfigError(f"{field}: {shown(value)} is not accepted; allowed: {', '.join(allowed)}")
    if service == "slack" and is_url(url):
        raise ConfigError("url: that of Slack is a secret; allowed: env:NAME or file:/path, where the URL is")
    if not is_url(url):
        check_reference("url", url)
    if service == "slack" and secret is not None:
        raise ConfigError("secret: Slack needs none besides its URL")
    if service == "zulip" and secret is None:
        raise ConfigError("secret: Zulip needs that of a bot, <its email>:<its API key>; give env:NAME or file:/path")
    if (channel is None) == (service == "zulip"):
        raise ConfigError("channel: Zulip needs one, and the other services accept none")
    if channel is not None and not _CHANNEL.fullmatch(channel):
        raise ConfigError(f"channel: {shown(channel)} is not accepted; allowed: 1 to 60 characters in one line")
    if not SHORTEST <= (seconds := to_ms("every", every) / 1000) <= LONGEST:
        raise ConfigError(f"every: {seconds:g} s is not accepted; allowed: {SHORTEST:g} s to a day")
    if board is not None and (len(board) > 500 or not _BOARD.fullmatch(board.rstrip("/"))):
        raise ConfigError(f"board: {shown(board)} is not accepted; allowed: https://host, a port, a path")
    if actions == "code" and board is None:
        raise ConfigError("actions: codes are in links to the board; give its address, too: board")
    return Endpoint(
        service=service,
        url=url,
        secret=None if secret is None else check_reference("secret", secret),
        channel=channel,
        about=wanted,  # type: ignore[arg-type]
        streams=stream_patterns(streams, OWN),
        every=seconds,
        board=None if board is None else board.rstrip("/"),
        actions=actions,
        payload=payload,
        since=now,
        created=now,
    )


def is_url(text: str) -> bool:
    """Whether this is a URL, and no reference to one."""
    return urlsplit(text).scheme in ("https", "http")
