"""Nobody without a key may read or write: Fernet, that is AES-128-CBC with HMAC-SHA256."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Sequence

from pyadeq.errors import ConfigError, PayloadError
from pyadeq.ext.connect.crypto.keys import SEALED, is_sealed, read_keys

MARK = SEALED + b"e1:"


class Encrypted:
    """A codec that encrypts. Stored is `~e1:<Fernet token>`, whose text is `<context>`, a zero byte, and the bytes.

    keys: from `new_key`; the first one encrypts, all of them are tried. plain: accept what is not encrypted, too; seal:
    False lets things go in as they are. Both are for as long as it takes to bring encryption into a queue at work.
    """

    def __init__(self, keys: Sequence[str], *, plain: bool = False, seal: bool = True) -> None:
        try:
            from cryptography import fernet
        except ModuleNotFoundError as error:
            raise ConfigError("encryption needs the extra `crypto`: pip install 'pyadeq[crypto]'") from error
        self._invalid = fernet.InvalidToken
        each = [fernet.Fernet(urlsafe_b64encode(key)) for key in read_keys(keys)]
        self._first, self._fernet = each[0], fernet.MultiFernet(each)
        self._plain, self._seals = plain, seal

    def seal(self, data: bytes, context: bytes) -> bytes:
        """What is stored, about 4/3 of the bytes and 130 more."""
        return MARK + self._fernet.encrypt(context + b"\0" + data) if self._seals else data

    def is_current(self, data: bytes, context: bytes) -> bool:
        """Whether it is stored as it would be now."""
        if not self._seals:
            return not is_sealed(data)
        try:
            return data.startswith(MARK) and bool(self._first.decrypt(data.removeprefix(MARK)))
        except self._invalid:
            return False

    def open(self, data: bytes, context: bytes) -> bytes:
        """What was encrypted. PayloadError if it was not, not with these keys, or not for this."""
        if not data.startswith(MARK):
            if self._plain and not is_sealed(data):
                return data
            raise PayloadError("it is not encrypted")
        try:
            meant, zero, found = self._fernet.decrypt(data.removeprefix(MARK)).partition(b"\0")
        except self._invalid:
            raise PayloadError("it was encrypted with another key, or changed") from None
        if not zero or meant != context:
            raise PayloadError("it was encrypted for something else, or for another queue")
        return found
