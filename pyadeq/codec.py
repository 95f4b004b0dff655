"""What a codec is: it signs or encrypts what goes into a queue, and reads what comes out.

`pyadeq.ext.crypto` has two. One of your own may keep its keys elsewhere, or keep large payloads in another store.
"""

from __future__ import annotations

from typing import Protocol


class Codec(Protocol):
    """Both methods are called from any thread, for each payload, result and error, so they should not wait for long.

    A codec may also have `is_current(data, context)`: whether what is stored is as it would be now, by the newest key.
    A schedule that is put again stays as it is then; without it, it is changed each time.
    context: what the bytes are, and of which queue: `ade:{queue:mail}:payload` for instance, `…:result`, `…:error`.
    Bytes that were sealed for one context should not open for another.
    """

    def seal(self, data: bytes, context: bytes) -> bytes:
        """What is stored."""

    def open(self, data: bytes, context: bytes) -> bytes:
        """What was sealed. PayloadError, which says why, for what it does not accept; any other error counts as one."""
