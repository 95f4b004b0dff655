"""Connections of redis-py whose bytes travel on the simulated network: late, twice, cut short, or not at all."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from random import Random
from typing import Any

import hiredis
from redis.asyncio.connection import AbstractConnection

from tests.simulation.loop import NOBODY, Loop, Process
from tests.simulation.server import Build, Command, Server


class Host:
    """A process on the network: how far it is from the server, which version it runs, and what happens to it when.

    fates: by the number of the request, what becomes of it: a word, and seconds where that needs any.
    """

    def __init__(self, loop: Loop, server: Server, process: Process, build: Build, random: Random) -> None:
        self.loop, self.server, self.process, self.build = loop, server, process, build
        self.fates: dict[int, tuple[str, float]] = {}
        self.requests = 0
        self.links: list[Link] = []
        self.crash: Any = None
        self._random = random

    def latency(self) -> float:
        return self._random.uniform(0.0001, 0.002)

    def fate(self) -> tuple[str, float]:
        self.requests += 1
        return self.fates.get(self.requests, ("", 0.0))

    def hang_up(self) -> None:
        for link in self.links:
            link.hang_up()


class Link:
    """One connection: its bytes arrive in order, and what was sent before it was closed still arrives."""

    def __init__(self, host: Host, reader: asyncio.StreamReader) -> None:
        self.host = host
        self.reader = reader
        self.closed = False  # by the client
        self.cut = False  # in both directions
        self.silent = False  # nothing arrives any more, and nobody is told
        self._epoch = host.server.epoch
        self._there = self._back = 0.0  # when the last bytes arrive, on either way
        self._parser = hiredis.Reader()
        self._waiting: deque[Command] = deque()
        self._blocked = self._ended = False
        self._fate = ("", 0.0)
        host.links.append(self)

    @property
    def gone(self) -> bool:
        return self.cut or self.silent or self._epoch != self.host.server.epoch or self.host.server.down

    # From the client

    def request(self, data: bytes) -> None:
        """What the client has written: one exchange, as it is sent at once."""
        kind, seconds = self.host.fate()
        loop = self.host.loop
        if kind == "crash before":
            self.host.crash(seconds)
            return
        if kind == "pause":
            self.host.process.pause(seconds)
        if kind == "lose request":
            self.hang_up()
            return
        if kind == "swallow request":
            self.silent = True
            return
        delay = self.host.latency() + (seconds if kind == "delay request" else 0.0)
        self._there = max(self._there, loop.now + delay)
        loop.call_at(self._there, self._arrive, data, (kind, seconds), context=NOBODY)
        if kind == "duplicate":
            loop.call_at(self._there + seconds, self._arrive_again, data, context=NOBODY)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._there = max(self._there, self.host.loop.now + self.host.latency())
            self.host.loop.call_at(self._there, self._closed_there, context=NOBODY)

    # At the server

    def _arrive(self, data: bytes, fate: tuple[str, float]) -> None:
        if self.gone:
            return
        self._fate = fate
        self._parser.feed(data)
        while (command := self._parser.gets()) is not False:
            self._waiting.append(command)
        self.proceed()
        if fate[0] == "crash after":
            self.host.crash(fate[1])
        if fate[0] in ("lose reply", "half a reply"):
            self.hang_up()

    def _arrive_again(self, data: bytes) -> None:
        """The same bytes from elsewhere, as after somebody has sent them again; nobody waits for the replies."""
        if self.host.server.down:
            return
        parser = hiredis.Reader()
        parser.feed(data)
        while (command := parser.gets()) is not False:
            if command[0].upper() in (b"EVALSHA", b"EVALSHA_RO"):
                self.host.server.run(_Nobody(), command, self.host.build, lambda raw: None)

    def proceed(self) -> None:
        """Run what waits, until something blocks."""
        self._blocked = False
        while self._waiting and not self._blocked:
            command = self._waiting.popleft()
            seconds = float(command[-1]) if command[0].upper() == b"BLPOP" else 0.0
            self._blocked = not self.host.server.run(self, command, self.host.build, self.send)
            if self._blocked:
                self.host.loop.call_later(seconds, self.host.server.time_out, self, command, context=NOBODY)

    def _closed_there(self) -> None:
        self.host.server.forget(self)
        self._waiting.clear()

    # To the client

    def send(self, raw: bytes) -> None:
        kind, seconds = self._fate
        if self.gone or kind in ("lose reply", "crash after"):
            return
        if kind == "swallow reply":
            self.silent = True
            return
        if kind == "half a reply":
            raw = raw[: len(raw) // 2]
        delay = self.host.latency() + (seconds if kind == "delay reply" else 0.0)
        self._back = max(self._back, self.host.loop.now + delay)
        self.host.loop.call_at(self._back, self._deliver, raw, context=NOBODY)

    def _deliver(self, raw: bytes) -> None:
        """Bytes wait at the process, whatever it does."""
        if not (self.closed or self._ended):
            self.reader.feed_data(raw)

    def hang_up(self) -> None:
        """Both sides learn that it is cut; what is under way does not arrive."""
        if not self.cut:
            self.host.server.forget(self)
            delay = max(self._back - self.host.loop.now, self.host.latency())
            self.cut = True
            self.host.loop.call_later(delay, self._end, context=NOBODY)

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self.reader.feed_eof()


class _Nobody:
    def send(self, raw: bytes) -> None:
        pass

    def proceed(self) -> None:
        pass


class _Writer:
    """What redis-py writes to."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.transport = self

    def writelines(self, parts: Iterable[bytes]) -> None:
        self.write(b"".join(parts))

    def write(self, data: bytes) -> None:
        if self._link.cut or self._link.closed:
            raise ConnectionResetError("the connection is cut")
        self._link.request(bytes(data))

    async def drain(self) -> None:
        pass

    def close(self) -> None:
        self._link.close()

    async def wait_closed(self) -> None:
        pass

    def is_closing(self) -> bool:
        return self._link.closed

    def abort(self) -> None:
        self._link.close()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Connection(AbstractConnection):
    """A connection of redis-py on the simulated network."""

    def __init__(self, *, host: Host, **options: Any) -> None:
        self._host = host
        super().__init__(**{"driver_info": None, **options})

    def __del__(self, *_: Any) -> None:
        """There is nothing outside that would stay open."""

    async def _connect(self) -> None:
        loop = self._host.loop
        await asyncio.sleep(self._host.latency() * 2)
        if self._host.server.down:
            raise ConnectionRefusedError("the server is not there")
        self._reader = asyncio.StreamReader(loop=loop)
        self._writer: Any = _Writer(Link(self._host, self._reader))

    async def on_connect_check_health(self, check_health: bool = True) -> None:
        """Without the greetings that a new connection sends."""
        parser: Any = self._parser
        parser.on_connect(self)

    def repr_pieces(self) -> list[tuple[str, str]]:
        return [("host", self._host.process.name)]

    def _host_error(self) -> str:
        return "the server"
