"""The real server behind the simulated network: it runs scripts at the virtual time, and what blocks waits here."""

from __future__ import annotations

import hashlib
import socket
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import hiredis

from pyadeq import library
from pyadeq._core.kernel.packing import pack
from pyadeq.embedded import EmbeddedServer

Command = list[bytes]
EPOCH_MS = 1_700_000_000_000  # when every story begins, by the server's clock
# The position of `now_ms` among a script's arguments.
NOW_AT = {
    script.sha1.encode(): names.index("now_ms")
    for script in map(library().__getitem__, library())
    if "now_ms" in (names := [one.name for one in script.args])
}
NO_SCRIPT = b"-NOSCRIPT No matching script. Please use EVAL.\r\n"


class Listener(Protocol):
    """The server's side of a connection."""

    def send(self, raw: bytes) -> None: ...

    def proceed(self) -> None: ...


class Build:
    """The scripts of one version of the package: those of the library, each with a change that a version may make."""

    def __init__(self, change: Callable[[str], str] = str) -> None:
        self.texts: dict[bytes, bytes] = {}
        self.sums: dict[bytes, bytes] = {}
        for id in library():
            script = library()[id]
            text = change(script.text).encode()
            self.texts[script.text.encode()] = text
            self.sums[script.sha1.encode()] = hashlib.sha1(text).hexdigest().encode()
        self.known = {theirs: ours for ours, theirs in self.sums.items()}
        self.text_of = {self.sums[sum]: text for sum, text in zip(self.sums, self.texts.values(), strict=True)}


class Server:
    """One server at a time of its own. Commands run one after the other, each at once."""

    def __init__(self, server: EmbeddedServer, time: Callable[[], float]) -> None:
        self._process = server
        self._time = time
        self.clock_off_ms = 0
        self.epoch = 0
        """How often it was restarted: connections of an earlier epoch are gone."""
        self.down = False
        self._calls = _Socket(server)
        self._hints = _Socket(server)
        self._channels: dict[bytes, list[Listener]] = {}
        self._blocked: dict[Listener, tuple[Command, Callable[[bytes], None]]] = {}
        self.commands = 0
        self._loaded: set[bytes] | None = None
        """Scripts that were loaded since they were flushed. The server itself keeps them all: to compile them anew in
        each story would take longer than the story. None: all were loaded before the story began.
        """

    # What connections ask

    def run(self, link: Listener, command: Command, build: Build, answer: Callable[[bytes], None]) -> bool:
        """Run one command; whether there is an answer yet. What blocks is answered later, and holds up its link."""
        match command[0].upper():
            case b"BLPOP":
                if (raw := self._pop(command[1:-1])) is None:
                    self._blocked[link] = (command, answer)
                    return False
                answer(raw)
            case b"SSUBSCRIBE":
                answer(self._subscribe(link, command[1]))
            case b"SUNSUBSCRIBE":
                answer(self._unsubscribe(link, command[1]))
            case b"EVALSHA" | b"EVALSHA_RO":
                answer(self._script(command, build))
                self._wake()
            case b"SCRIPT":
                answer(self._load(command[2], build))
            case _:
                answer(self._ask(pack(*command)))
        return True

    def time_out(self, link: Listener, command: Command) -> None:
        """The time of a command is up, if it still blocks."""
        blocked, answer = self._blocked.get(link, (None, None))
        if blocked is command and answer:
            del self._blocked[link]
            answer(b"*-1\r\n")
            link.proceed()

    def forget(self, link: Listener) -> None:
        """A connection is closed."""
        self._blocked.pop(link, None)
        for channel, links in list(self._channels.items()):
            if link in links:
                self._unsubscribe(link, channel)

    def _script(self, command: Command, build: Build) -> bytes:
        sha, keys = command[1], int(command[2])
        if (at := NOW_AT.get(sha)) is not None:
            command[3 + keys + at] = b"%d" % self.now_ms
        own = command[1] = build.sums[sha]
        if self._loaded is not None and own not in self._loaded:
            return NO_SCRIPT
        raw = self._ask(pack(*command))
        if raw.startswith(b"-NOSCRIPT"):  # no story has used it yet
            self.ask("SCRIPT", "LOAD", build.text_of[own])
            raw, _ = self._calls.ask(pack(*command))
        return raw

    def _load(self, text: bytes, build: Build) -> bytes:
        raw = self._ask(pack(b"SCRIPT", b"LOAD", build.texts[text]))
        own = raw.split(b"\r\n")[1]
        if self._loaded is not None:
            self._loaded.add(own)
        return raw.replace(own, build.known[own])

    @property
    def now_ms(self) -> int:
        return EPOCH_MS + self.clock_off_ms + round(self._time() * 1000)

    def _ask(self, packed: bytes) -> bytes:
        self.commands += 1
        raw, _ = self._calls.ask(packed)
        return raw

    def _pop(self, keys: Iterable[bytes]) -> bytes | None:
        for key in keys:
            _, element = self._calls.ask(pack(b"LPOP", key))
            if element is not None:
                return b"*2\r\n" + _bulk(key) + _bulk(element)
        return None

    def _wake(self) -> None:
        """After a script: hand out hints, and what blocked clients wait for, first come first served."""
        if self._channels:
            for _, channel, message in self._hints.pushed():
                for link in self._channels.get(channel, []):
                    link.send(b"*3\r\n" + _bulk(b"smessage") + _bulk(channel) + _bulk(message))
        if not self._blocked:
            return
        wanted = sorted({key for command, _ in self._blocked.values() for key in command[1:-1]})
        _, there = self._calls.ask(pack(b"EXISTS", *wanted))
        for link, blocked in list(self._blocked.items()) if there else ():
            if self._blocked.get(link) is not blocked:
                continue  # one that went on before it has woken it
            command, answer = blocked
            if (raw := self._pop(command[1:-1])) is not None:
                del self._blocked[link]
                answer(raw)
                link.proceed()

    def _subscribe(self, link: Listener, channel: bytes) -> bytes:
        if not self._channels.get(channel):
            self._hints.ask(pack(b"SSUBSCRIBE", channel))
        self._channels.setdefault(channel, []).append(link)
        return b"*3\r\n" + _bulk(b"ssubscribe") + _bulk(channel) + b":1\r\n"

    def _unsubscribe(self, link: Listener, channel: bytes) -> bytes:
        links = self._channels.get(channel, [])
        if link in links:
            links.remove(link)
            if not links:
                del self._channels[channel]
                self._hints.ask(pack(b"SUNSUBSCRIBE", channel))
        return b"*3\r\n" + _bulk(b"sunsubscribe") + _bulk(channel) + b":0\r\n"

    def overlooked(self) -> set[tuple[Listener, bytes]]:
        """Who waits for a lane where a task is in line, though there is neither a token nor a pause."""
        found = set()
        for link, (command, _) in self._blocked.items():
            for wake in command[1:-1]:
                base, name, lane = wake.partition(b":wake:")
                ready = name and self.ask("ZCARD", base + b":ready:" + lane) and not self.ask("LLEN", wake)
                if ready and self.ask("HGET", base + b":config", "mode") != b"paused":
                    found.add((link, lane))
        return found

    # What operators and disasters do

    def ask(self, *command: bytes | str | int) -> Any:
        """The reply to a command of the story's own."""
        return self._calls.ask(pack(*command))[1]

    def clear(self) -> None:
        self.ask("FLUSHALL")

    def flush_scripts(self) -> None:
        self._loaded = set()

    def save(self) -> None:
        """What a restart that loses the last writes comes back with."""
        self.ask("SAVE")

    def go_down(self) -> None:
        self.down, self.epoch = True, self.epoch + 1
        self._blocked.clear()
        for channel in list(self._channels):
            for link in list(self._channels[channel]):
                self._unsubscribe(link, channel)

    def come_up(self, *, loses: bool) -> None:
        self.flush_scripts()
        self.ask("DEBUG", "RELOAD", *(["NOSAVE"] if loses else []))
        self.down = False

    def close(self) -> None:
        self._calls.close()
        self._hints.close()


class _Socket:
    """A connection to the server that waits for each reply, and gives it as it came as well."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(server.socket_path))
        self._socket.settimeout(30)
        self._reader = hiredis.Reader()
        self._pushed: deque[list[bytes]] = deque()

    def ask(self, packed: bytes) -> tuple[bytes, Any]:
        self._socket.sendall(packed)
        raw = b""
        while True:
            data = self._socket.recv(1 << 20)
            assert data, "the server has ended"
            raw += data
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not False:
                if isinstance(reply, list) and reply and reply[0] == b"smessage":
                    self._pushed.append(reply)
                    continue
                return raw, reply

    def pushed(self) -> Sequence[list[bytes]]:
        """What was published until now."""
        self.ask(pack(b"PING"))
        found, self._pushed = self._pushed, deque()
        return found

    def close(self) -> None:
        self._socket.close()


def _bulk(data: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(data), data)
