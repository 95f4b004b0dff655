"""A network that misbehaves on demand, and further servers."""

import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from pyadeq.embedded import EmbeddedServer
from tests.integration.servers import ThreePrimaries, ask
from tests.waiting import DEADLINE

LINE = 1_000_000


class Proxy:
    """Stands between a client and the server, on a unix socket of its own.

    lose: so many replies from now on are lost, each with its connection. The server has run the command by then.
    lose_every: one in so many replies is lost, while it is above 0.
    hold: while cleared, replies are held back.
    deaf: while set, requests do not reach the server, and end their connections.
    """

    def __init__(self, folder: Path, server: Path) -> None:
        self.lose = 0
        self.lose_every = 0
        self._passed = 0
        self.deaf = False
        self.lost = 0
        self.held = threading.Event()
        self.hold = threading.Event()
        self.hold.set()
        self._server = str(server)
        self._path = str(folder / "proxy.sock")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._path)
        self._listener.listen()
        self._sockets = ExitStack()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def url(self) -> str:
        return f"unix://{self._path}"

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hold.set()
        self._sockets.close()
        for thread in self._threads:
            thread.join(DEADLINE)

    def _start(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                for end in (client, server):
                    self._sockets.callback(_close, end)
                self._start(self._pass_requests, client, server)
                self._start(self._pass_replies, server, client)

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self.deaf:
                    break
                server.sendall(data)
        _close(server)

    def _pass_replies(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if not self.hold.is_set():
                    self.held.set()
                    self.hold.wait(30)
                self._passed += 1
                if self.lose or (self.lose_every and self._passed % self.lose_every == 0):
                    self.lose = max(self.lose - 1, 0)
                    self.lost += 1
                    break
                client.sendall(data)
        _close(server)
        _close(client)


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


class Clock:
    """Milliseconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_ms = LINE

    def __call__(self) -> int:
        return self.now_ms

    def tick(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)


@pytest.fixture(scope="session")
def cluster(binary: Path) -> Iterator[ThreePrimaries]:
    """The cluster of this test process: slots of it may move, and all its nodes go on."""
    with ThreePrimaries(binary) as cluster:
        # A node that had no processor for a second keeps its place.
        ask(cluster.replica, "CONFIG", "SET", "cluster-replica-no-failover", "yes")
        yield cluster


@pytest.fixture(scope="session")
def adeq_server(server: EmbeddedServer) -> EmbeddedServer:
    """pyadeq.testing uses the server of this process, so that what its tests leave is audited, too."""
    return server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def proxy(server: EmbeddedServer) -> Iterator[Proxy]:
    # A unix socket's path must be short, which pytest's tmp_path is not.
    folder = Path(tempfile.mkdtemp(prefix="adeq-"))
    proxy = Proxy(folder, server.socket_path)
    yield proxy
    proxy.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def old_server(binary: Path) -> Iterator[EmbeddedServer]:
    """The server of another system, from which tasks move."""
    with EmbeddedServer(binary=binary) as server:
        yield server
