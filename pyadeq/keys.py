"""Bases, names and hash slots of queues and lock domains.

A base is the first part of every key of a queue, `ade:{queue:default}`, or of a lock domain, `ade:{lock:default}`. Its
braces are a cluster hash tag, so all its keys are in one slot. With a named slot, `ade:{prod}:queue:default`, several
queues and domains share a slot.
"""

from __future__ import annotations

import re
from binascii import crc_hqx
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, Literal

from pyadeq.errors import ConfigError

NameType = Literal["id", "label", "name", "lane", "limit"]

SLOTS: Final = 16384

_ID = r"[A-Za-z0-9._:/@+-]{1,200}"
_NAME = r"[A-Za-z0-9._@+-]{1,100}"

# A label may also have non-ASCII characters, but no controls, no spaces, and no surrogates, which UTF-8 cannot hold.
_LABEL = r"(?:[A-Za-z0-9._:/@+-]|[^\x00-\xa0\s\ud800-\udfff]){1,200}"
MAX_LABEL: Final = 200


class Labels:
    """A pattern for a text that contains a label, as its first group. The length of a label is counted in bytes of
    UTF-8.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match, if the label is not too long."""
        found = self._pattern.fullmatch(text)
        if found and not text.isascii() and len(found[1].encode()) > MAX_LABEL:
            return None
        return found


PATTERNS: Final[dict[str, re.Pattern[str] | Labels]] = {
    "id": re.compile(_ID),
    "label": Labels(f"({_LABEL})"),
    "name": re.compile(_NAME),
    "lane": re.compile(rf"any|group/{_NAME}(?:/inst/{_NAME})?"),
    "limit": Labels(rf"all|(?:user|tag):(?:\*|({_LABEL}))|key:(?:\*|{_ID})"),
}

ALLOWED: Final[dict[str, str]] = {
    "id": "1 to 200 of A-Z a-z 0-9 . _ : / @ + -",
    "label": "1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces",
    "name": "1 to 100 of A-Z a-z 0-9 . _ @ + -",
    "lane": "any, group/<name> or group/<name>/inst/<name>",
    "limit": "all, or user: or tag: and a label (1 to 200 bytes) or *, or key: and an id or *",
}


def hash_slot(key: str) -> int:
    """Return the cluster slot (0 to 16383) of a key: CRC-16/XMODEM of its hash tag, or of the whole key."""
    start = key.find("{")
    if start >= 0:
        end = key.find("}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return crc_hqx(key.encode(), 0) % SLOTS


def check_name(field: str, value: str, kind: NameType = "name") -> str:
    """Return value if it is a valid id, name or lane. Otherwise raise ConfigError."""
    if not isinstance(value, str) or not PATTERNS[kind].fullmatch(value):
        raise ConfigError(f"{field}: {shown(value)} is not accepted; allowed: {ALLOWED[kind]}")
    return value


@lru_cache(maxsize=4096)
def queue_base(name: str, prefix: str = "ade", slot: str | None = None) -> str:
    """Return the base of a queue: `ade:{queue:<name>}`, or `ade:{<slot>}:queue:<name>`."""
    return base_of("queue", name, prefix, slot)


@lru_cache(maxsize=4096)
def partition_base(name: str, tag: str, prefix: str = "ade") -> str:
    """Return the base of a partition of a queue: `ade:{queue:<name>/<tag>}`. The tag decides its slot."""
    check_name("queue", name)
    check_name("prefix", prefix)
    return f"{prefix}:{{queue:{name}/{check_name('tag', tag)}}}"


@lru_cache(maxsize=4096)
def lock_base(domain: str, prefix: str = "ade", slot: str | None = None) -> str:
    """Return the base of a lock domain: `ade:{lock:<domain>}`, or `ade:{<slot>}:lock:<domain>`."""
    return base_of("lock", domain, prefix, slot, "domain")


def part_base(base: str, tag: str) -> str:
    """Return the base of a partition: `ade:{session:<name>/<tag>}`, or `ade:{<slot>}:session:<name>/<tag>`.

    base: that of the name alone.
    """
    tag = check_name("tag", tag)
    return f"{base[:-1]}/{tag}}}" if base.endswith("}") else f"{base}/{tag}"


def no_base(base: str) -> str:
    """Return what stands for the base of another noun in a call of a script that uses it, if it is in another slot."""
    return f"{base}!none"


def base_of(noun: str, name: str, prefix: str = "ade", slot: str | None = None, field: str | None = None) -> str:
    """Return the base of a noun: `ade:{<noun>:<name>}`, or `ade:{<slot>}:<noun>:<name>`. field: its name in errors."""
    check_name(field or noun, name)
    check_name("prefix", prefix)
    if slot is None:
        return f"{prefix}:{{{noun}:{name}}}"
    return f"{prefix}:{{{check_name('slot', slot)}}}:{noun}:{name}"


def name_of_key(key: str, prefix: str = "ade", slot: str | None = None) -> tuple[str, str] | None:
    """Return the noun and the name of the base of a key `<base>:config`; of a partition, the name is `<name>/<tag>`.

    None if the key is another one, or belongs to another prefix or slot.
    """
    head, end = (f"{prefix}:{{", "}:config") if slot is None else (f"{prefix}:{{{slot}}}:", ":config")
    noun, colon, name = key[len(head) : -len(end)].partition(":")
    if not (key.startswith(head) and key.endswith(end) and colon and PATTERNS["name"].fullmatch(noun)):
        return None
    own, slash, tag = name.partition("/")
    if not PATTERNS["name"].fullmatch(own) or (slash and not PATTERNS["name"].fullmatch(tag)):
        return None
    return noun, name


# What other libraries call it.
_MEANT = {
    "timeout": "wait",
    "blocking_timeout": "wait",
    "lease": "ttl",
    "ttl": "lease",
    "expire": "ttl",
    "name": "owner",
    "countdown": "delay",
    "eta": "run_after",
    "max_retries": "max_attempts",
    "retries": "max_attempts",
    "visibility_timeout": "lease",
    "queue": "lane",
    "expires": "expires_at",
}


def hint(name: str, names: Sequence[str]) -> str:
    """Return the end of a sentence about an unknown name: similar known names, if there are any."""
    (meant,) = get_close_matches(name, names, 1) or [_MEANT.get(name, "")]
    return f"; did you mean {meant}?" if meant in names else "."


def shown(value: object) -> str:
    """Return a value for an error text: short, and never the content of bytes."""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
