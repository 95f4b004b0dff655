"""The bytes of a revision over which the server and clients compute digests."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha1, sha256
from typing import Any

from pyadeq.models.base import to_ms
from pyadeq.models.change import ChangeContent


def netstrings(fields: Mapping[str, Any], parameters: bytes) -> bytes:
    """`<length>:<bytes>,` for each part of the content, in the order of the digest."""
    parts = [
        fields["type"],
        fields.get("version", b""),
        fields["description"],
        parameters,
        *sorted(one.encode() for one in fields.get("resources", ())),
        fields.get("rollback_strategy", "none"),
        to_ms("timeout", fields.get("timeout", 0)),
        fields.get("priority", 0),
    ]
    raw = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return b"".join(b"%d:%s," % (len(part), part) for part in raw)


def content(fields: Mapping[str, Any], parameters: bytes, digest: str) -> dict[str, Any]:
    """The fields of a ChangeContent, from those of a record."""
    whole = netstrings(fields, parameters)
    return {
        "type": fields["type"],
        "version": text(fields.get("version")),
        "description": text(fields["description"]),
        "data": parameters,
        "resources": fields.get("resources", ()),
        "rollback_strategy": fields.get("rollback_strategy", "none"),
        "timeout": fields.get("timeout", 0.0),
        "priority": fields.get("priority", 0),
        "digest": digest,
        "sha256": sha256(whole).hexdigest(),
        "intact": sha1(whole, usedforsecurity=False).hexdigest() == digest,
    }


def content_of(fields: Mapping[str, Any], parameters: bytes, digest: str) -> ChangeContent:
    """What a run is to apply."""
    return ChangeContent(**content(fields, parameters, digest))


def content_from(packed: bytes) -> ChangeContent:
    """The content of an earlier revision, from its netstrings."""
    parts = _parts(packed)
    type, version, description, parameters, *resources, rollback, timeout_ms, priority = parts
    fields = {
        "type": type.decode(),
        "version": version,
        "description": description,
        "resources": [one.decode() for one in resources],
        "rollback_strategy": rollback.decode(),
        "timeout": int(timeout_ms) / 1000,
        "priority": int(priority),
    }
    return content_of(fields, parameters, sha1(packed, usedforsecurity=False).hexdigest())


def _parts(packed: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(packed):
        colon = packed.index(b":", at)
        end = colon + 1 + int(packed[at:colon])
        found.append(packed[colon + 1 : end])
        at = end + 1  # behind the comma
    return found


def text(value: bytes | str | None) -> str:
    """A text of people, as far as it can be read."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""
