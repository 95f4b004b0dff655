"""All may read, but only holders of a key may write: HMAC-SHA256."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Sequence

from pyadeq.errors import PayloadError
from pyadeq.ext.connect.crypto.keys import SEALED, is_sealed, read_keys

MARK = SEALED + b"s1:"


class Signed:
    """A codec that signs. Stored is `~s1:<signature>:<bytes>`, the signature in URL-safe Base64.

    keys: from `new_key`; the first one signs, all of them are accepted. plain: accept what is not signed, too; seal:
    False lets things go in as they are. Both are for as long as it takes to bring signing into a queue that is in use.
    """

    def __init__(self, keys: Sequence[str], *, plain: bool = False, seal: bool = True) -> None:
        self._keys = read_keys(keys)
        self._plain, self._seals = plain, seal

    def seal(self, data: bytes, context: bytes) -> bytes:
        """Return the bytes to store."""
        return MARK + _signature(self._keys[0], data, context) + b":" + data if self._seals else data

    def is_current(self, data: bytes, context: bytes) -> bool:
        """Whether it is stored as it would be now."""
        if not self._seals:
            return not is_sealed(data)
        signature, _, found = data.removeprefix(MARK).partition(b":")
        return data.startswith(MARK) and hmac.compare_digest(signature, _signature(self._keys[0], found, context))

    def open(self, data: bytes, context: bytes) -> bytes:
        """What was signed. PayloadError if it was not, not with these keys, or not for this."""
        if not data.startswith(MARK):
            if self._plain and not is_sealed(data):
                return data
            raise PayloadError("it is not signed")
        signature, _, found = data.removeprefix(MARK).partition(b":")
        if any(hmac.compare_digest(signature, _signature(key, found, context)) for key in self._keys):
            return found
        raise PayloadError("its signature is of another key, or it was changed, or meant for something else")


def _signature(key: bytes, data: bytes, context: bytes) -> bytes:
    return urlsafe_b64encode(hmac.digest(key, context + b"\0" + data, "sha256"))
