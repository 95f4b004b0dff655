"""Signatures of Standard Webhooks 1.0: HMAC-SHA256 of `<id>.<timestamp>.<body>`, and the secrets that make them.

The server never stores the text of a secret. An endpoint says where a process finds it, `env:NAME` or `file:/path`, or
has the sealed form that a codec has made, `sealed:<Base64>`.
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

from pyadeq.codec import Codec
from pyadeq.errors import AdeqError, ConfigError, PayloadError
from pyadeq.ext.outgoing.references import check_reference, read_reference
from pyadeq.keys import shown

PREFIX: Final = "whsec_"
SEALED: Final = "sealed:"
SHORTEST, LONGEST = 24, 64
"""Bytes of a secret, as the specification allows them."""
TOLERANCE: Final = 300.0
"""Seconds by which the clocks of a sender and a receiver may differ, and that a message may take."""


class BadSignature(AdeqError):
    """The signature of a message was not made with the secret, or the message is too old."""


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


def stored_secret(id: str, secret: str, codec: Codec | None) -> str:
    """Return what is stored of the secret of an endpoint. Raises ConfigError, which does not show it.

    secret: a reference, or its text, which is sealed. It can only be opened for this endpoint.
    """
    if not secret.startswith(PREFIX):
        return check_reference("secret", secret)
    _key(secret)
    if codec is None:
        raise ConfigError("secret: there is no codec to seal it; name one with --codec, or say env:NAME or file:/path")
    sealed = codec.seal(secret.encode(), _context(id))
    if secret.encode() in sealed:
        raise ConfigError(
            "secret: this codec does not encrypt it, it only signs; allowed: one that encrypts, such as Encrypted"
        )
    return SEALED + b64encode(sealed).decode()


def read_secret(id: str, stored: str, codec: Codec | None) -> str:
    """Return the secret of an endpoint, from what is stored of it. Raises ConfigError."""
    if stored.startswith(SEALED):
        where = "the sealed one"
        if codec is None:
            raise ConfigError("secret: it is sealed, and this process has no codec to open it; name one with --codec")
        try:
            secret = codec.open(b64decode(stored.removeprefix(SEALED)), _context(id)).decode()
        except (PayloadError, ValueError) as error:
            raise ConfigError(f"secret: {where}: {error}") from None
    else:
        where, secret = shown(stored), read_reference("secret", stored)
    try:
        _key(secret)
    except ConfigError as error:
        raise ConfigError(f"secret: {where}: {error}") from None
    return secret


def shown_secret(stored: str) -> str:
    """Return what people see of it: a reference, or `sealed`."""
    return "sealed" if stored.startswith(SEALED) else stored


def _context(id: str) -> bytes:
    return f"webhook:{id}".encode()


def _key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True) if secret.startswith(PREFIX) else b""
    except binascii.Error:
        key = b""
    if not SHORTEST <= len(key) <= LONGEST:
        raise ConfigError(f"this is no secret; allowed: {PREFIX} and {SHORTEST} to {LONGEST} bytes in Base64")
    return key
