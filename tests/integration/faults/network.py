"""A TCP proxy that does one thing, once, to the next call of one script; the rest goes through it untouched."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self, get_args

import hiredis

from pyadeq._core.kernel.manifest import library
from tests.integration.servers import HOST
from tests.waiting import DEADLINE

Fate = Literal[
    "request cut",  # the connection ends before the request has arrived
    "request torn",  # half of the request arrives
    "reply cut",  # the server runs the request, and the connection ends without a reply
    "reply torn",  # half of the reply arrives
    "reply late",  # the reply is held back until the client has given up waiting
    "request late",  # the request is held back until `deliver`, when the client has long sent it again
    "twice",  # a copy arrives first, by another connection
    "again later",  # a copy arrives with `deliver`
]
FATES: tuple[Fate, ...] = get_args(Fate)


class Network:
    """Stands before the server at a port. A context manager.

    befallen: how many fates have come to pass.
    """

    def __init__(self, server: int) -> None:
        self.befallen = 0
        self._server = server
        self._fate: tuple[bytes, Fate] | None = None
        self._late: list[bytes] = []
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((HOST, 0))

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self._listener.getsockname()[1]}"

    def befall(self, script_id: str, fate: Fate) -> None:
        """The next call of this script meets this fate, but for one that goes along with a wait."""
        self._fate = library()[script_id].sha1.encode(), fate

    def deliver(self) -> list[Any]:
        """Have what was held back arrive, and be run; the server's answers, which nobody else hears."""
        late, self._late = self._late, []
        return [self._answer(request) for request in late]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for one in (self._listener, *self._sockets):
            _close(one)
        for thread in self._threads:
            thread.join(DEADLINE)

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                server = socket.create_connection((HOST, self._server))
                self._sockets.append(server)
                link = _Link(client, server)
                self._start(self._pass_requests, link)
                self._start(self._pass_replies, link)

    def _pass_requests(self, link: _Link) -> None:
        with suppress(OSError):
            while request := _whole_request(link.client):
                if not self._pass(link, request):
                    break
        link.gone.set()
        link.close()

    def _pass(self, link: _Link, request: bytes) -> bool:
        """Send a request on, as its fate will have it; whether the connection goes on."""
        fate = self._drawn(request)
        match fate:
            case "request cut":
                return False
            case "request torn":
                link.server.sendall(request[: len(request) // 2])
                return False
            case "request late":
                self._late.append(request)
                return True
            case "again later":
                self._late.append(request)
            case "twice":
                self._answer(request)
            case "reply cut" | "reply torn" | "reply late":
                link.fate = fate
        link.server.sendall(request)
        return True

    def _pass_replies(self, link: _Link) -> None:
        with suppress(OSError):
            while data := link.server.recv(65536):
                if link.fate == "reply late":
                    link.gone.wait(DEADLINE)
                if link.fate == "reply torn":
                    link.client.sendall(data[: max(1, len(data) // 2)])
                if link.fate:
                    break
                link.client.sendall(data)
        link.close()

    def _drawn(self, request: bytes) -> Fate | None:
        with self._lock:
            if self._fate is None or self._fate[0] not in request or b"BLPOP" in request:
                return None
            (_, fate), self._fate = self._fate, None
            self.befallen += 1
            return fate

    def _answer(self, request: bytes) -> Any:
        """What the server says to a request that comes by a connection of its own."""
        with socket.create_connection((HOST, self._server), DEADLINE) as server:
            server.sendall(request)
            reader = hiredis.Reader()
            while (reply := reader.gets()) is False:
                reader.feed(server.recv(65536))
            return reply


class _Link:
    """A client's connection, and the one to the server that belongs to it. gone: the client has hung up."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.fate: Fate | None = None
        self.gone = threading.Event()

    def close(self) -> None:
        _close(self.client)
        _close(self.server)


def _whole_request(client: socket.socket) -> bytes:
    """What the client sends, up to the end of a command; nothing when it has hung up."""
    commands, request = hiredis.Reader(), b""
    while data := client.recv(65536):
        request += data
        commands.feed(data)
        while commands.gets() is not False:
            pass
        if not commands.has_data():
            return request
    return b""


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
