"""One POST to a checked address, with one deadline for all of it: DNS, connection, TLS, request and answer.

It is written on asyncio's streams and h11, which only parses HTTP. A complete client would bring what is forbidden
here: redirects, proxies of the environment, name lookups of its own, connections that are used again.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

import h11

from pyadeq import __version__
from pyadeq.ext.outgoing.addresses import Allowed, Target, checked, look_up, target_of

MOST_READ: Final = 20_000
"""Bytes of an answer that are read. Its body is not kept. More of it would only keep this process busy."""
LOOKUPS: Final = 32
"""Names that are looked up at the same time. A lookup cannot be cancelled, so it never uses the threads of the loop."""
TO_CONNECT: Final = 5.0
"""Seconds for one of several addresses."""


THROTTLED: Final = (429, 502, 503, 504)
LONGEST_WAIT: Final = 86_400.0
"""Seconds of `Retry-After` that are respected, at most."""


class Answer(NamedTuple):
    """What a receiver has answered. retry_after: seconds, if it says so."""

    status: int
    retry_after: float | None


def delay_after(attempt: int, retries: Sequence[float], answer: Answer | None = None) -> float:
    """Return the seconds until the next attempt, up to 10 % more than `retries` says. A busy receiver may say more."""
    wait = answer.retry_after if answer and answer.status in THROTTLED else None
    seconds = retries[min(attempt, len(retries)) - 1] * random.uniform(1.0, 1.1)
    return max(seconds, min(wait or 0.0, LONGEST_WAIT))


class NotSent(Exception):
    """There is no answer. reason: `timeout`, `dns`, `tls`, `connection` or `protocol`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Sender:
    """Sends messages.

    allowed: where they may go. timeout: seconds for one message. tls: what certificates are checked with; None: as
    Python's default, which reads SSL_CERT_FILE.
    """

    def __init__(self, allowed: Allowed, *, timeout: float = 20.0, tls: ssl.SSLContext | None = None) -> None:
        self._allowed = allowed
        self._timeout = timeout
        self._tls = tls or ssl.create_default_context()
        self._lookups = ThreadPoolExecutor(LOOKUPS, "outgoing-dns")

    async def post(
        self, url: str, headers: Iterable[tuple[str, str]], body: bytes, *, media_type: str = "application/json"
    ) -> Answer:
        """Send a message. Raises RefusedTarget if it may not go there, and NotSent."""
        target = target_of(url, self._allowed)
        try:
            async with asyncio.timeout(self._timeout):
                addresses = checked(target.host, await self._resolve(target), self._allowed)
                reader, writer = await self._connect(target, addresses)
                try:
                    return await _exchange(reader, writer, target, [("Content-Type", media_type), *headers], body)
                finally:
                    writer.transport.abort()
        except TimeoutError:
            raise NotSent("timeout", f"there was no whole answer within {self._timeout:g} s") from None
        except ssl.SSLError as error:
            raise NotSent("tls", f"TLS: {getattr(error, 'verify_message', '') or error.reason or error}") from None
        except OSError as error:
            raise NotSent("connection", f"no connection: {error.strerror or error}") from None
        except h11.RemoteProtocolError as error:
            raise NotSent("protocol", f"the answer is no HTTP, or only a part of it: {error}") from None

    def close(self) -> None:
        """End the threads of lookups, without waiting for them."""
        self._lookups.shutdown(wait=False, cancel_futures=True)

    async def _resolve(self, target: Target) -> list[str]:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._lookups, look_up, target)
        except (OSError, UnicodeError) as error:
            raise NotSent("dns", f"{target.host!r} cannot be resolved: {error}") from None

    async def _connect(self, target: Target, addresses: list[str]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first address that can be reached. The name is only for TLS and the header Host."""
        tls: dict[str, Any] = {"ssl": self._tls, "server_hostname": target.host} if target.scheme == "https" else {}
        for address in addresses[:-1]:
            try:
                async with asyncio.timeout(TO_CONNECT):
                    return await asyncio.open_connection(address, target.port, **tls)
            except ssl.SSLError:
                raise
            except OSError:  # a TimeoutError is one, too
                continue
        return await asyncio.open_connection(addresses[-1], target.port, **tls)


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    target: Target,
    headers: Iterable[tuple[str, str]],
    body: bytes,
) -> Answer:
    connection = h11.Connection(h11.CLIENT)
    own = {
        "Host": target.authority,
        "User-Agent": f"pyadeq/{__version__}",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    request = h11.Request(method="POST", target=target.path, headers=[*own.items(), *headers])
    for event in (request, h11.Data(body), h11.EndOfMessage()):
        writer.write(connection.send(event) or b"")
    await writer.drain()
    answer, room = None, MOST_READ
    while True:  # at most MOST_READ bytes, and until the deadline
        got = connection.next_event()
        if got is h11.NEED_DATA:
            if room <= 0:
                break
            data = await reader.read(room)
            room -= len(data)
            connection.receive_data(data)
        elif isinstance(got, h11.Response):
            answer = Answer(got.status_code, _retry_after(dict(got.headers).get(b"retry-after")))
        elif isinstance(got, h11.EndOfMessage | h11.ConnectionClosed):
            break
    if answer is None:
        raise NotSent("protocol", "the answer is too long, or there is none")
    return answer


def _retry_after(value: bytes | None) -> float | None:
    """Return the seconds that the header says: a number, or a date."""
    if value is None:
        return None
    text = value.decode("latin-1").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:12])
    try:
        at = parsedate_to_datetime(text)
        return max((at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, OverflowError):  # no date, or one that no calendar has
        return None
