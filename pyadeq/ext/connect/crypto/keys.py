"""Keys of codecs: 32 bytes each, as text."""

from __future__ import annotations

import binascii
import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from pyadeq.errors import ConfigError

BYTES = 32
SEALED = b"~"
"""What is sealed begins with it, a letter, a digit and a colon. JSON does not."""


def is_sealed(data: bytes) -> bool:
    """Whether it looks like what one of the codecs has made."""
    return re.match(rb"~[a-z][0-9]:", data) is not None


def new_key() -> str:
    """A new random key for `Encrypted` or `Signed`, not for both: 32 bytes in URL-safe Base64."""
    return urlsafe_b64encode(os.urandom(BYTES)).decode()


def read_keys(keys: Sequence[str]) -> list[bytes]:
    """The bytes of keys, one at least. ConfigError, which shows none of them."""
    if isinstance(keys, str | bytes) or not keys:
        raise ConfigError("keys: allowed is a list of one key or more, the one to seal with first")
    return [_read(number, key) for number, key in enumerate(keys)]


def _read(number: int, key: str) -> bytes:
    try:
        found = urlsafe_b64decode(key)
    except (TypeError, ValueError, binascii.Error):
        found = b""
    if len(found) != BYTES:
        raise ConfigError(
            f"keys[{number}] is not accepted; allowed: {BYTES} bytes in URL-safe Base64, as new_key() makes"
        )
    return found
