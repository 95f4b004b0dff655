"""Clients without a codec: messages in a queue are not sealed, and what a codec has sealed is not opened for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from pyadeq import Adeq
from pyadeq.asyncio import Adeq as AsyncAdeq


@contextmanager
def without_codec(adeq: Adeq) -> Iterator[Adeq]:
    """A client of the same server. If the given one has no codec, it is that one."""
    if adeq.codec is None:
        yield adeq
    else:
        with Adeq(adeq.client, prefix=adeq.prefix, slot=adeq.slot, source=adeq.source) as plain:
            yield plain


@asynccontextmanager
async def aio_without_codec(adeq: AsyncAdeq) -> AsyncIterator[AsyncAdeq]:
    """An async client of the same server. If the given one has no codec, it is that one."""
    if adeq.codec is None:
        yield adeq
    else:
        async with AsyncAdeq(adeq.client, prefix=adeq.prefix, slot=adeq.slot, source=adeq.source) as plain:
            yield plain
