"""Signatures of Standard Webhooks 1.0: HMAC-SHA256 of `<id>.<timestamp>.<body>`, and the secrets that make them.

The server never has a secret. An endpoint names where a process finds it: `env:NAME` or `file:/path`.
"""

from __future__ import annotations

import binascii
import hmac
import re
import secrets as random_bytes
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.outgoing.references import read_reference
from pyadeq.keys import shown

PREFIX: Final = "whsec_"
SHORTEST, LONGEST = 24, 64
"""Bytes of a secret, as the specification allows them."""
TOLERANCE: Final = 300.0
"""Seconds by which the clocks of a sender and a receiver may differ, and that a message may take."""


class BadSignature(AdeqError):
    """A message is not from somebody who knows the secret, or it is too old."""


def new_secret() -> str:
    """Return a random secret in its text form, `whsec_…`."""
    return PREFIX + b64encode(random_bytes.token_bytes(32)).decode()


def sign(secrets: Iterable[str], id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: one signature for each secret.

    timestamp: seconds since the epoch, of the attempt.
    """
    text = f"{id}.{timestamp}.".encode() + body
    made = (hmac.digest(_key(secret), text, "sha256") for secret in secrets)
    return " ".join(f"v1,{b64encode(one).decode()}" for one in made)


def verify(
    secrets: Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> str:
    """Check a message as its receiver, and return its `webhook-id`. Raises BadSignature.

    Keep the ids for as long as messages may be repeated, and do nothing for an id that you know.
    secrets: the present one, and perhaps an older one. headers: names in any case. body: the bytes as they came.
    """
    found = {name.lower(): value for name, value in headers.items()}
    id, sent, given = (found.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not id or not given or not re.fullmatch(r"[0-9]{1,12}", sent):
        raise BadSignature("webhook-id, webhook-timestamp or webhook-signature is missing or malformed")
    if abs((time.time() if now is None else now) - int(sent)) > tolerance:
        raise BadSignature(f"webhook-timestamp: {sent} is more than {tolerance:g} s away from this clock")
    expected = [sign([secret], id, int(sent), body).encode() for secret in secrets]
    for one in given.split(" "):
        if any(hmac.compare_digest(one.encode(), other) for other in expected):
            return id
    raise BadSignature("webhook-signature: none is of this message and a known secret")


def read_secret(reference: str) -> str:
    """Return the secret that is in the environment or in a file of this machine. Raises ConfigError."""
    secret = read_reference("secret", reference)
    try:
        _key(secret)
    except ConfigError as error:
        raise ConfigError(f"secret: {shown(reference)}: {error}") from None
    return secret


def _key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True) if secret.startswith(PREFIX) else b""
    except binascii.Error:
        key = b""
    if not SHORTEST <= len(key) <= LONGEST:
        raise ConfigError(f"this is no secret; allowed: {PREFIX} and {SHORTEST} to {LONGEST} bytes in Base64")
    return key
