"""A TCP proxy before a server: by chance it cuts, delays and repeats what goes through it.

cut_before   the connection ends before the request has arrived
lose_reply   the server has run the request, and its reply is lost with the connection
cut_reply    the connection ends in the midst of a reply
delay        the request arrives late
duplicate    the request arrives a second time, a little later, by another connection
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from random import Random
from types import TracebackType
from typing import Protocol, Self

import hiredis

from tests.waiting import DEADLINE

KINDS = ("cut_before", "lose_reply", "cut_reply", "delay", "duplicate")
LONGEST_DELAY = 0.8  # seconds
LATER = 0.5  # seconds by which a second copy comes later, at most
CHUNK = 65536
HOST = "127.0.0.1"


class Watcher(Protocol):
    """Is told what a client says on one connection, and what it hears."""

    def asked(self, data: bytes) -> None: ...
    def answered(self, data: bytes) -> None: ...


class Proxy:
    """Listens on a port of its own, in a thread of its own; a context manager.

    target: the port of the server that new connections go to. odds: how likely each kind befalls a request, 0 to 1.
    counts: how often it did. lag: seconds by which each piece of what the server says comes late. watch: makes a
    watcher for each connection.
    """

    def __init__(self, target: int, seed: int, watch: Callable[[], Watcher] | None = None) -> None:
        self.target = target
        self.watch = watch
        self.odds: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self.lag = 0.0
        self.port = 0
        self._open = True
        self._random = Random(seed)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(DEADLINE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(DEADLINE)

    def cut(self) -> None:
        """End all connections and refuse new ones until `restore`. No reply gets through once this has returned."""
        self._in_loop(self._cut)

    def restore(self, target: int) -> None:
        """Take connections again, to this port."""
        self.target = target
        self._open = True

    def _in_loop(self, what: object) -> None:
        done = threading.Event()

        def run() -> None:
            what()  # type: ignore[operator]
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(DEADLINE)

    def _cut(self) -> None:
        self._open = False
        for writer in list(self._writers):
            writer.transport.abort()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.close()

    async def _main(self) -> None:
        self._stopped = asyncio.Event()
        server = await asyncio.start_server(self._serve, HOST, 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        server.close()
        self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
        ends = [client_out]
        self._writers.add(client_out)
        with suppress(OSError, asyncio.CancelledError):
            if self._open:
                server_in, server_out = await asyncio.open_connection(HOST, self.target)
                ends.append(server_out)
                self._writers.add(server_out)
                await _Link(self, client_in, client_out, server_in, server_out).pass_on()
        for end in ends:
            self._writers.discard(end)
            end.transport.abort()

    def draw(self, request: bytes) -> str:
        """What befalls a request; mostly nothing."""
        chance = self._random.random()
        for kind in KINDS:
            chance -= self.odds.get(kind, 0.0)
            if chance < 0:
                if kind == "duplicate" and (b"EVALSHA" not in request or b"BLPOP" in request):
                    return ""
                self.counts[kind] += 1
                return kind
        return ""

    def delay(self) -> float:
        return self._random.random() * LONGEST_DELAY

    def send_later(self, request: bytes) -> None:
        """A second copy of a request, whose reply nobody reads."""
        task = self._loop.create_task(self._send_again(request, self._random.random() * LATER))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_again(self, request: bytes, later: float) -> None:
        await asyncio.sleep(later)
        with suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection(HOST, self.target)
            try:
                writer.write(request)
                await asyncio.wait_for(reader.read(CHUNK), 2)
            finally:
                writer.transport.abort()


class _Link:
    """A client's connection, and the one to the server that belongs to it."""

    def __init__(
        self,
        proxy: Proxy,
        client_in: asyncio.StreamReader,
        client_out: asyncio.StreamWriter,
        server_in: asyncio.StreamReader,
        server_out: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._client_in, self._client_out = client_in, client_out
        self._server_in, self._server_out = server_in, server_out
        self._doom = ""  # of the next reply
        self._watcher = proxy.watch() if proxy.watch else None

    async def pass_on(self) -> None:
        """Until one of the two directions has ended."""
        ways = [asyncio.ensure_future(self._requests()), asyncio.ensure_future(self._replies())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _requests(self) -> None:
        commands, request = hiredis.Reader(), b""
        while data := await self._client_in.read(CHUNK):
            if self._watcher:
                self._watcher.asked(data)
            request += data
            commands.feed(data)
            while commands.gets() is not False:
                pass
            if commands.has_data():
                continue  # the rest of a command is still to come
            kind = self._proxy.draw(request)
            if kind == "cut_before":
                return
            if kind == "delay":
                await asyncio.sleep(self._proxy.delay())
            elif kind == "duplicate":
                self._proxy.send_later(request)
            elif kind in ("lose_reply", "cut_reply"):
                self._doom = kind
            self._server_out.write(request)
            await self._server_out.drain()
            request = b""

    async def _replies(self) -> None:
        async for data in self._late_replies():
            if self._doom == "lose_reply":
                return
            if self._doom == "cut_reply":
                self._client_out.write(data[: max(1, len(data) // 2)])
                await self._client_out.drain()
                return
            if self._watcher:
                self._watcher.answered(data)
            self._client_out.write(data)
            await self._client_out.drain()

    async def _late_replies(self) -> AsyncIterator[bytes]:
        """What the server says, each piece by the lag later than it came, however many come meanwhile."""
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        time = asyncio.get_running_loop().time

        async def hear() -> None:
            while data := await self._server_in.read(CHUNK):
                pieces.put_nowait((time() + self._proxy.lag, data))
            pieces.put_nowait((0.0, b""))

        hearing = asyncio.ensure_future(hear())
        try:
            while True:
                due, data = await pieces.get()
                if not data:
                    return
                if due > time():
                    await asyncio.sleep(due - time())
                yield data
        finally:
            hearing.cancel()
