"""The servers of a storm: a primary and its replica, behind proxies, and all that may befall them.

Clients reach whoever is the primary at one address. The replica hears of writes late, so that it lacks some when it
takes over.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

import redis

from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError
from tests.chaos.power import PowerCut
from tests.chaos.proxy import HOST, Proxy
from tests.conftest import free_port
from tests.integration.servers import AT_ONCE, ask, replicates, unused_port
from tests.waiting import DEADLINE, wait_until

LAG = 0.03  # seconds by which each piece of the replication stream comes late
BUSY_AFTER_MS = "100"
PAUSE_MS = 800
ENDLESS = "while true do redis.call('TIME') end"
Mark = Callable[[str, str, float], object]


class Arena:
    """A context manager. mark: is told what ends an epoch."""

    def __init__(self, binary: Path, seed: int) -> None:
        self.mark: Mark = lambda kind, note, since: None
        self._binary = binary
        self._seed = seed
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            self.primary, self.replica = (self._stack.enter_context(_start(self._binary)) for _ in range(2))
            self.proxy = self._stack.enter_context(Proxy(self.primary.port or 0, self._seed))
            self.link = self._stack.enter_context(Proxy(self.primary.port or 0, self._seed))
            self.link.lag = LAG
            self._follow()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        return self.proxy.url

    @property
    def durabilities(self) -> set[str]:
        """What the servers can confirm."""
        return {"memory", "replica"} | ({"aof"} if "waitaof" in ask(self.primary, "COMMAND LIST") else set())

    def _follow(self) -> None:
        """Let the replica follow the primary."""
        self.link.restore(self.primary.port or 0)
        ask(self.replica, "REPLICAOF", HOST, self.link.port)

    def await_replica(self) -> None:
        """Until the replica follows: before, it would lack what nobody promised, and all that was."""
        wait_until(lambda: replicates(self.replica))

    # What ends an epoch

    @contextmanager
    def crash(self) -> Iterator[None]:
        """The server is killed, and started again in the end."""
        began = monotonic()
        self.primary.kill()
        try:
            yield
        finally:
            self.primary.restart()
            self.mark("restart", "killed", began)

    @contextmanager
    def crash_everysec(self) -> Iterator[None]:
        """The same, where writes go to the disk once a second."""
        ask(self.primary, "CONFIG", "SET", "appendfsync", "everysec")
        with self.crash():
            yield

    @contextmanager
    def power_cut(self) -> Iterator[None]:
        """In the end the power goes off, and comes back: the server has what its disk had."""
        with PowerCut(self.primary) as power:
            try:
                yield
            finally:
                began = monotonic()
                power.cut()
                self.primary.restart()
                self.mark("power_cut", "", began)

    @contextmanager
    def power_cut_everysec(self) -> Iterator[None]:
        """The same, where writes go to the disk once a second."""
        ask(self.primary, "CONFIG", "SET", "appendfsync", "everysec")
        with self.power_cut():
            yield

    @contextmanager
    def failover(self) -> Iterator[None]:
        """The server is killed, and in the end its replica takes over; the old one comes back as a replica."""
        self.await_replica()
        began = monotonic()
        self.proxy.cut()
        self.link.cut()
        self.primary.kill()
        try:
            yield
        finally:
            old, self.primary, self.replica = self.primary, self.replica, self.primary
            ask(self.primary, "REPLICAOF", "NO", "ONE")
            self.mark("failover", "", began)
            self.proxy.restore(self.primary.port or 0)
            old.restart()
            self._follow()

    # What the server refuses for a while

    @contextmanager
    def script_flush(self) -> Iterator[None]:
        """All scripts are forgotten."""
        ask(self.primary, "SCRIPT", "FLUSH")
        yield

    @contextmanager
    def script_busy(self) -> Iterator[None]:
        """Somebody's script does not end, until it is killed: BUSY for everybody else."""

        def run() -> None:
            with suppress(redis.RedisError), redis.Redis.from_url(self.primary.url, socket_timeout=30) as client:
                client.eval(ENDLESS, 0)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            wait_until(lambda: not thread.is_alive() or _accepted(self.primary, "SCRIPT", "KILL"))
            thread.join(DEADLINE)

    @contextmanager
    def out_of_memory(self) -> Iterator[None]:
        """The server has more than it may have: OOM."""
        ask(self.primary, "CONFIG", "SET", "maxmemory", "1mb")
        try:
            yield
        finally:
            ask(self.primary, "CONFIG", "SET", "maxmemory", "0")

    @contextmanager
    def readonly(self) -> Iterator[None]:
        """The primary is a replica for a while, of nobody: READONLY."""
        ask(self.primary, "REPLICAOF", HOST, unused_port())
        try:
            yield
        finally:
            ask(self.primary, "REPLICAOF", "NO", "ONE")

    @contextmanager
    def misconf(self) -> Iterator[None]:
        """The server cannot save its data: MISCONF."""
        dump = self.primary.data_dir / "dump.rdb"
        dump.unlink(missing_ok=True)
        (dump / "in-the-way").mkdir(parents=True)
        try:
            ask(self.primary, "CONFIG", "SET", "save", "3600 1000000")
            wait_until(lambda: _accepted(self.primary, "BGSAVE"))
            wait_until(lambda: ask(self.primary, "INFO", "persistence")["rdb_last_bgsave_status"] == "err")
            yield
        finally:
            ask(self.primary, "CONFIG", "SET", "save", "")
            shutil.rmtree(dump)

    # What becomes of connections

    @contextmanager
    def client_kill(self) -> Iterator[None]:
        """All connections are ended by the server."""
        ask(self.primary, "CLIENT", "KILL", "TYPE", "normal")
        yield

    @contextmanager
    def client_pause(self) -> Iterator[None]:
        """The server answers nobody for a while."""
        ask(self.primary, "CLIENT", "PAUSE", PAUSE_MS, "ALL")
        yield

    @contextmanager
    def server_freeze(self) -> Iterator[None]:
        """The server stands still for a while."""
        os.kill(self.primary.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.primary.pid, signal.SIGCONT)

    def network(self, kind: str, odds: float) -> Callable[[], Any]:
        """A fault of the proxy, which befalls so many of the requests meanwhile."""

        @contextmanager
        def fault() -> Iterator[None]:
            self.proxy.odds[kind] = odds
            try:
                yield
            finally:
                self.proxy.odds.pop(kind, None)

        return fault


def _start(binary: Path) -> EmbeddedServer:
    """A server whose WAITAOF keeps its word: with everysec, those of today say too early that a write is on disk."""
    config = {**AT_ONCE, "busy-reply-threshold": BUSY_AFTER_MS, "repl-timeout": "5"}
    for attempts_left in reversed(range(10)):
        try:
            return EmbeddedServer(binary=binary, port=free_port(), appendfsync="always", config=config).start()
        except ConfigError:  # somebody else may have been given the port in the meantime
            if not attempts_left:
                raise
    raise AssertionError


def _accepted(server: EmbeddedServer, *command: object) -> bool:
    try:
        ask(server, *command)
    except redis.ResponseError:
        return False
    return True
