"""Servers and what befalls them: each scene has what its clients connect to, and strikes once.

A scene strikes in a thread, while its clients go on; when it is over, a server answers again. `strike` answers when the
old one did for the last time, by the monotonic clock.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import sentinel

from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError
from pyadeq.ext.prove.chaos.history import MarkKind
from tests.chaos.load import Connect
from tests.chaos.power import PowerCut
from tests.chaos.proxy import Proxy
from tests.integration.servers import HOST, Watched, ask, replica_of, replicates, start
from tests.waiting import wait_until

BEHIND = 0.05  # seconds
TIMES: dict[str, Any] = {"retry_for": 30.0, "durability_timeout": 10.0}  # seconds


@dataclass(frozen=True)
class Scene:
    """connect: makes a client. durable: what it can ask for besides `memory`."""

    connect: Connect
    durable: str
    kind: MarkKind
    strike: Callable[[], float]


Play = Callable[[Path], AbstractContextManager[Scene]]


def crash(appendfsync: str) -> Play:
    """The server is killed, and started again."""

    @contextmanager
    def play(binary: Path) -> Iterator[Scene]:
        with embedded(binary, appendfsync) as server:

            def strike() -> float:
                server.kill()
                at = time.monotonic()
                server.restart()
                return at

            yield Scene(connecting(server.url), "aof", "restart", strike)

    return play


def power_cut(appendfsync: str, old: float = 0.0) -> Play:
    """The power goes off, so many seconds or more after the last fsync, and the server is started again."""

    @contextmanager
    def play(binary: Path) -> Iterator[Scene]:
        with embedded(binary, appendfsync) as server, PowerCut(server) as power:

            def strike() -> float:
                power.cut(old=old)
                at = time.monotonic()
                server.restart()
                return at

            yield Scene(connecting(server.url), "aof", "power_cut", strike)

    return play


@contextmanager
def promotion(binary: Path) -> Iterator[Scene]:
    """The primary is killed, and somebody puts its replica, which is a little behind, in its place.

    Later it comes back as a replica itself.
    """
    with ExitStack() as stack:
        primary = stack.enter_context(start(binary, {}))
        replica = stack.enter_context(replica_of(binary, primary))
        link = stack.enter_context(Proxy(primary.port or 0, seed=0))
        link.lag = BEHIND
        ask(replica, "REPLICAOF", HOST, link.port)
        wait_until(lambda: replicates(replica))
        address = Address(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="adeq-"))), primary)

        def strike() -> float:
            link.cut()
            return fail_over(primary, replica, address)

        yield Scene(connecting(address.url), "replica", "failover", strike)


@contextmanager
def failover(binary: Path) -> Iterator[Scene]:
    """The primary is killed, and a sentinel puts its replica in its place; it comes back as a replica of that one."""
    with Watched(binary) as watched:

        @asynccontextmanager
        async def connect(durability: str) -> AsyncIterator[Adeq]:
            untyped: Any = sentinel
            manager = untyped.Sentinel([(HOST, watched.sentinel_port)])
            client = manager.master_for("adeq")
            async with client, Adeq(client, durability=durability, **TIMES) as adeq:
                yield adeq
            for one in manager.sentinels:
                await one.aclose()

        def strike() -> float:
            watched.primary.kill()
            at = time.monotonic()
            wait_until(lambda: ask(watched.replica, "ROLE")[0] == "master")
            watched.primary.restart()
            # The sentinel would do that, later; until then it answers, as a primary, who still knows it.
            ask(watched.primary, "REPLICAOF", HOST, watched.replica.port)
            return at

        yield Scene(connect, "replica", "failover", strike)


def embedded(binary: Path, appendfsync: str, **config: str) -> EmbeddedServer:
    return EmbeddedServer(binary=binary, appendfsync=appendfsync, config=config)  # type: ignore[arg-type]


def connecting(url: str, **options: Any) -> Connect:
    """Clients whose calls all have their answer in the end."""
    return lambda durability: Adeq.from_url(url, durability=durability, **TIMES | options)


class Address:
    """A place that clients know, which leads to one server now, and to another later."""

    def __init__(self, folder: Path, server: EmbeddedServer) -> None:
        self._path = folder / "server.sock"
        self.lead_to(server)

    @property
    def url(self) -> str:
        return f"unix://{self._path}"

    def lead_to(self, server: EmbeddedServer) -> None:
        new = self._path.with_suffix(".new")
        new.symlink_to(server.socket_path)
        new.replace(self._path)


def fail_over(primary: EmbeddedServer, replica: EmbeddedServer, address: Address) -> float:
    """The primary is killed, its replica takes its place, and it comes back as a replica of that one."""
    primary.kill()
    at = time.monotonic()
    ask(replica, "REPLICAOF", "NO", "ONE")
    address.lead_to(replica)
    primary.restart()
    ask(primary, "REPLICAOF", HOST, replica.port)
    return at


async def can_have(connect: Connect, durability: str) -> bool:
    """Whether the server can confirm that, and its clients take it at its word."""
    try:
        async with connect(durability) as adeq:
            await adeq.queue("asked").configure(lease=10)
    except ConfigError:
        return False
    return True
