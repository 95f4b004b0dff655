"""The service as a process: the address that it listens at, and its end at a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from pyadeq.errors import ConfigError
from pyadeq.ext.server.problems import Refused, answer_of

PATIENCE: Final = 5
"""Seconds that requests may still take after a signal."""
HEADERS: Final = 10.0
"""Seconds in which the headers of a request must come."""
BACKLOG: Final = 2048
SOCKET_MODE: Final = 0o660
"""The mode of a unix socket: the user and the group may use it."""


class Place(NamedTuple):
    """An address to listen at."""

    family: socket.AddressFamily
    address: Any
    loopback: bool
    every: bool


def place_of(host: str, port: int) -> Place:
    """The address that a host and a port mean. ConfigError if there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ConfigError(f"--host: {host!r} is not an address of this machine") from None
    family, _, _, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
    ip = ip_address(str(address[0]).partition("%")[0])
    return Place(family, address, ip.is_loopback, ip.is_unspecified)


@contextmanager
def listening(place: Place) -> Iterator[socket.socket]:
    """A socket that listens at an address. ConfigError if it cannot."""
    # asyncio sends small answers at once (TCP_NODELAY) only if the socket names its protocol.
    with socket.socket(place.family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind(place.address)
        except OSError as error:
            raise ConfigError(
                f"--port: nothing can listen at {place.address[0]}, port {place.address[1]}: {error}"
            ) from None
        found.listen(BACKLOG)
        yield found


@contextmanager
def listening_at(path: Path) -> Iterator[socket.socket]:
    """A unix socket, for the user and the group, removed at the end. ConfigError if something else is there."""
    _remove_left(path)
    with socket.socket(socket.AF_UNIX) as found:
        before = os.umask(0o777 ^ SOCKET_MODE)
        try:
            found.bind(str(path))
        except OSError as error:
            raise ConfigError(f"--uds: nothing can listen at {path}: {error}") from None
        finally:
            os.umask(before)
        found.listen(BACKLOG)
        try:
            yield found
        finally:
            path.unlink(missing_ok=True)


def _remove_left(path: Path) -> None:
    """Remove a socket that a killed process has left."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ConfigError(f"--uds: {path} is there, and is no socket")
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
            else:
                raise ConfigError(f"--uds: another process listens at {path}")


class Connection(H11Protocol):
    """A connection that is cut if the headers of a request have not come within `HEADERS` seconds."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._late is None:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        self._late = self.loop.call_later(HEADERS, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _hang_up(self) -> None:
        if self.conn.trailing_data[0]:  # a client that has sent nothing, as browsers do in advance, expects no answer
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        self.transport.close()


class Server:
    """Serves an application until SIGINT or SIGTERM. Requests then have five seconds to end."""

    def __init__(self) -> None:
        # uvicorn has handlers of its own while it runs, and calls these at its end.
        self._uvicorn: uvicorn.Server | None = None
        self._ended = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)

    def _end(self, *_: Any) -> None:
        self._ended = True
        if self._uvicorn:
            self._uvicorn.should_exit = True

    async def serve(self, app: ASGIApp, at: socket.socket) -> None:
        """Serve until a signal ends it."""
        # No access log: it has the whole URL. The address stays that of the connection, for trusted proxies.
        config = uvicorn.Config(
            self._with_end(app),
            http=Connection,  # h11 limits the size of headers; httptools, which uvicorn takes if it is there, does not
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=PATIENCE,
        )
        self._uvicorn = uvicorn.Server(config)
        self._uvicorn.should_exit = self._ended
        with suppress(asyncio.CancelledError):
            await self._uvicorn.serve(sockets=[at])

    def _with_end(self, app: ASGIApp) -> ASGIApp:
        """The application, which also answers requests that are cancelled because the service ends."""

        async def with_end(scope: Scope, receive: Receive, send: Send) -> None:
            started = False

            async def noted(message: Message) -> None:
                nonlocal started
                started = True
                await send(message)

            try:
                await app(scope, receive, noted)
            except asyncio.CancelledError:
                if not (self._uvicorn and self._uvicorn.should_exit and scope["type"] == "http"):
                    raise
                if started:  # such as a stream of events
                    await send({"type": "http.response.body", "body": b""})
                    return
                refused = Refused(503, "ENDING", "the service ends", headers={"Retry-After": "1"}, retryable=True)
                refused.problem.may_have_applied = True
                await answer_of(refused)(scope, receive, send)

        return with_end
