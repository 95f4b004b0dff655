"""The protocol of codecs, which sign or encrypt payloads, results and errors.

`pyadeq.ext.connect.crypto` has two. Your own codec can fetch its keys elsewhere, or keep large payloads elsewhere.
"""

from __future__ import annotations

from typing import Protocol


class Codec(Protocol):
    """A codec. Both methods are called from any thread, for each payload, result and error, so they should be fast.

    A codec may also have `is_current(data, context)`: whether stored data is as the newest key would seal it now. If a
    schedule is put again with the same payload, it stays unchanged then. Without this method, it is changed each time.

    context: what the bytes are, in which queue, for instance `ade:{queue:mail}:payload`, `…:result`, `…:error`.
    Data that was sealed for one context should not open in another.
    """

    def seal(self, data: bytes, context: bytes) -> bytes:
        """Return the bytes to store."""

    def open(self, data: bytes, context: bytes) -> bytes:
        """Return the original bytes. Raises PayloadError with a reason if the data is not acceptable; other errors
        count as one.
        """
