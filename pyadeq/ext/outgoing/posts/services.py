"""The formats of chat services: what is sent for a post.

Names, ids and errors must not act as markup. Zulip and Slack get them as code, which does not notify people and makes
no links. ntfy gets plain text.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from pyadeq.errors import ConfigError
from pyadeq.ext.outgoing.posts.content import Link, Post, Text, Theirs, clean, plain
from pyadeq.ext.outgoing.posts.endpoints import Endpoint
from pyadeq.ext.outgoing.posts.groups import Message

FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
LONGEST_TOPIC: Final = 60
LONGEST_NTFY: Final = 4000
"""Bytes of a message of ntfy. It makes a file of a longer one."""
_TOKEN: Final = re.compile(r"[!-~]{1,500}")


class Sent(NamedTuple):
    """A request."""

    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    media_type: str = JSON


def zulip(endpoint: Endpoint, url: str, secret: str | None, message: Message, post: Post) -> Sent:
    """A message in a channel of Zulip, with a topic for each queue and kind."""
    topic = clean(" ".join(f"{message.group.name} {message.kind}".split())) or "adeq"
    fields = {
        "type": "stream",
        "to": endpoint.channel or "",
        "topic": topic[:LONGEST_TOPIC],
        "content": _lines(post, _in_zulip, lambda one: f"[{one.label}]({one.url})", _zulip_block, "* "),
    }
    address = f"{url.rstrip('/').removesuffix('/api/v1/messages')}/api/v1/messages"
    return Sent(address, [_basic(secret or "")], urlencode(fields).encode(), FORM)


def slack(_endpoint: Endpoint, url: str, _secret: str | None, _message: Message, post: Post) -> Sent:
    """A message to an incoming webhook of Slack."""
    text = _lines(post, _in_slack, lambda one: f"<{_slack_escaped(one.url)}|{one.label}>", _slack_block, "• ")
    return Sent(url, [], _json({"text": text, "unfurl_links": False, "unfurl_media": False}))


def ntfy(_endpoint: Endpoint, url: str, secret: str | None, _message: Message, post: Post) -> Sent:
    """A message to a topic of ntfy: the last part of the URL."""
    address, _, topic = url.rstrip("/").rpartition("/")
    lines = [f"{name}: {plain(value)}" for name, value in post.facts]
    lines += [str(one) for one in (post.error, post.payload) if one]
    body: dict[str, Any] = {"topic": topic, "title": plain(post.title)}
    body["message"] = "\n".join(lines).encode()[:LONGEST_NTFY].decode(errors="ignore") or body["title"]
    if post.links:
        body["click"] = post.links[0].url
        body["actions"] = [{"action": "view", "label": one.label, "url": one.url} for one in post.links[:3]]
    headers = [] if secret is None else [_basic(secret) if ":" in secret else _bearer(secret)]
    return Sent(f"{address}/", headers, _json(body))


def json_(_endpoint: Endpoint, url: str, secret: str | None, message: Message, post: Post) -> Sent:
    """JSON for a program: the parts of the post by name, without markup."""
    body = {
        **message.model_dump(exclude_defaults=True),
        "title": plain(post.title),
        "facts": {name: plain(value) for name, value in post.facts},
        "error": post.error,
        "payload": post.payload,
        "links": {one.label.lower(): one.url for one in post.links},
    }
    return Sent(url, [] if secret is None else [_bearer(secret)], _json(body))


SERVICES: Final[dict[str, Callable[[Endpoint, str, str | None, Message, Post], Sent]]] = {
    "zulip": zulip,
    "slack": slack,
    "ntfy": ntfy,
    "json": json_,
}


def _lines(
    post: Post,
    inline: Callable[[Text], str],
    link: Callable[[Link], str],
    block: Callable[[str], str],
    bullet: str,
) -> str:
    lines = [inline(post.title)]
    lines += [f"{bullet}{name}: {inline(value)}" for name, value in post.facts]
    lines += [block(one) for one in (post.error, post.payload) if one]
    lines += [" · ".join(map(link, post.links))] if post.links else []
    return "\n".join(lines)


def _in_zulip(text: Text) -> str:
    return "".join(_zulip_code(one) if isinstance(one, Theirs) else one for one in text)


def _zulip_code(text: str) -> str:
    """A code span. Zulip has no escapes, so the span begins with more backticks than are in it."""
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (_longest("`", text) + 1)
    return f"{fence} {text} {fence}"


def _zulip_block(text: str) -> str:
    fence = "~" * max(3, _longest("~", text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _in_slack(text: Text) -> str:
    return "".join(f"`{_slack_escaped(one, code=True)}`" if isinstance(one, Theirs) else one for one in text)


def _slack_block(text: str) -> str:
    return f"```\n{_slack_escaped(text, code=True)}\n```"


def _slack_escaped(text: str, *, code: bool = False) -> str:
    """Escape a text for Slack. A backtick cannot be escaped, so in code another character replaces it."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("`", "\N{MODIFIER LETTER GRAVE ACCENT}") if code else text


def _longest(character: str, text: str) -> int:
    """The length of the longest run of a character."""
    return max(map(len, re.findall(f"{re.escape(character)}+", text)), default=0)


def _basic(secret: str) -> tuple[str, str]:
    if ":" not in secret or not _TOKEN.fullmatch(secret):
        raise ConfigError("secret: it is not accepted; allowed: <user>:<password>, for Zulip <email>:<API key>")
    return "Authorization", f"Basic {b64encode(secret.encode()).decode()}"


def _bearer(secret: str) -> tuple[str, str]:
    if not _TOKEN.fullmatch(secret):
        raise ConfigError("secret: it is not accepted; allowed: 1 to 500 printable ASCII characters, no spaces")
    return "Authorization", f"Bearer {secret}"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
