# Generated from pyadeq/_async/kernel/hints.py by pyadeq/_unasync.py; do not edit.
"""Messages that servers publish, for all waiters of a process: one shared connection to each node.

A hint may be missed, which is never an error: a waiter must also check by itself from time to time. Only this module
and `wire` use redis-py's connections. This one reads them directly, because redis-py's `PubSub` subscribes again during
other calls, and does not follow moved slots. The connections use RESP2, whatever the client uses: in RESP2, all
versions of redis-py return messages in the same way.
"""

from __future__ import annotations

import logging
import os
import random
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from time import monotonic
from typing import Any

from redis import exceptions as redis_errors

from pyadeq._sync.kernel.nodes import Nodes
from pyadeq._sync.kernel.pools import close_pool
from pyadeq._sync.kernel.wire import refusal
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import Refusal, is_passing
from pyadeq._core.kernel.routes import Node
from pyadeq._core.kernel.sending import backoff
from pyadeq._twins import Bell, cancellable, Event, hang_up, Home, join, spawn
from pyadeq.errors import ClientClosed

RECONNECTED = "reconnected"
"""The message that a subscription gets after a reconnect: earlier messages may be lost."""
KEPT = 100
PATIENCE = 1.0
# Seconds of silence until a PING, to wait for its answer, and until an unused connection is closed.
BEAT, ANSWER, IDLE = 10.0, 5.0, 10.0

log = logging.getLogger("pyadeq.hints")


class Ear:
    """A subscription to one channel, for one waiter. Keeps the last 100 unread messages."""

    def __init__(self) -> None:
        self._words: deque[str] = deque(maxlen=KEPT)
        self._heard = Event()
        self.settled = Event()
        """Set, only once, when the subscription is confirmed or refused, or its connection fails."""

    def wait(self, seconds: float) -> list[str]:
        """Return all messages since the last wait, at once if there are any; [] after this many seconds.

        The message `reconnected` means that earlier messages may be lost.
        """
        until = monotonic() + seconds
        while not self._words and (left := until - monotonic()) > 0:
            self._heard.clear()
            if self._words:  # another thread may have added a message
                break
            self._heard.wait(left)
        return [self._words.popleft() for _ in range(len(self._words))]

    def hear(self, words: list[str]) -> None:
        self._words += words
        self._heard.set()


class Hints:
    """Messages on sharded channels, for all waiters of a process.

    nodes: where connections and routes come from. Close it after this object.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._exchanges: dict[int, _Exchange] = {}
        self._home = Home()

    @contextmanager
    def listening(self, channel: str) -> Iterator[Ear]:
        """Listen to a channel. The subscription is active when this yields, unless the server refuses it, or does not
        confirm it within a second.

        Use it for one waiter. After the with block or `close`, it receives nothing; then it raises ClientClosed.
        """
        if self._nodes.closed:
            raise ClientClosed
        self._forget_other_loops()
        ear = Ear()
        exchange = self._exchange
        try:
            exchange.add(channel, ear)
        except RuntimeError as error:  # no thread can be started: there are no hints
            log.debug("no hints: %s", error)
            ear.settled.set()
        try:
            ear.settled.wait(PATIENCE)
            ear.settled.set()
            yield ear
        finally:
            exchange.remove(channel, ear)

    def close(self) -> None:
        """Close the connections."""
        self._forget_other_loops()
        exchange = self._exchanges.pop(os.getpid(), None)
        if exchange:
            exchange.close_lines()

    @property
    def _exchange(self) -> _Exchange:
        """Return the exchange of this process: after a fork, the parent's connections belong to the parent."""
        pid = os.getpid()
        return self._exchanges.get(pid) or self._exchanges.setdefault(pid, _Exchange(self._nodes))

    def _forget_other_loops(self) -> None:
        """Drop the subscriptions of an event loop that has ended."""
        if self._home.has_moved():
            self._exchanges = {}


class _Channel:
    """A channel with its listeners, and the connection that should subscribe to it."""

    def __init__(self, line: _Line, ear: Ear) -> None:
        self.line = line
        self.ears = [ear]


class _Exchange:
    """The connections of a process to all nodes, and their listeners."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        # Never held during I/O, so a thread lock also works for tasks. Re-entrant, for signal handlers. Its holder sets
        # no event of another thread: a signal handler may have interrupted that thread, and wait for this lock.
        self._lock = RLock()
        self._channels: dict[str, _Channel] = {}
        self._lines: dict[Node, _Line] = {}

    def add(self, name: str, ear: Ear) -> None:
        with self._lock:
            channel = self._channels.get(name)
            if channel is None:
                channel = _Channel(self._line_of(name), ear)
                self._channels[name] = channel
                channel.line.want(name)
            else:
                channel.ears.append(ear)
                if channel.line.is_known(name):
                    ear.settled.set()
            if channel.line.failing:  # the connection is failing: do not wait for the subscription
                ear.settled.set()

    def remove(self, name: str, ear: Ear) -> None:
        with self._lock:
            channel = self._channels.get(name)
            if channel and ear in channel.ears:
                channel.ears.remove(ear)
                # A signal handler may have removed the channel meanwhile.
                if not channel.ears and self._channels.pop(name, None) is channel:
                    channel.line.unwant(name)

    def say(self, name: str, words: list[str]) -> None:
        for ear in self._ears(name):
            ear.hear(words)

    def settle(self, name: str, stands: bool) -> None:
        """Notify waiters of a new subscription, and listeners that may have missed messages."""
        for ear in self._ears(name):
            if not ear.settled.is_set():
                ear.settled.set()
            elif stands:
                ear.hear([RECONNECTED])

    def rehome(self, names: set[str]) -> None:
        """Subscribe again, where the routes now point."""
        with self._lock:
            for name in names:
                if channel := self._channels.get(name):
                    channel.line.unwant(name)
                    channel.line = self._line_of(name)
                    channel.line.want(name)

    def retire(self, line: _Line, idle: float = 0.0) -> bool:
        """Return whether the connection was unused for this many seconds. Then the next listener gets a new one."""
        with self._lock:
            if line.wanted or monotonic() < line.idle_since + idle:
                return False
            self._forget(line)
            return True

    def lose(self, line: _Line) -> None:
        """Forget a connection that has ended, with its channels."""
        with self._lock:
            self._forget(line)
            ears = [ear for name in line.wanted for ear in self._channels.pop(name).ears]
            line.wanted.clear()
        for ear in ears:
            ear.settled.set()

    def close_lines(self) -> None:
        with self._lock:
            lines = list(self._lines.values())
        for line in lines:
            line.closed = True
            line.bell.ring()
        for line in lines:
            join(line.work, PATIENCE)

    def _ears(self, name: str) -> list[Ear]:
        with self._lock:
            channel = self._channels.get(name)
            return list(channel.ears) if channel else []

    def _line_of(self, name: str) -> _Line:
        node = self.nodes.routes.node_of(name)
        return self._lines.get(node) or self._lines.setdefault(node, _Line(self, node))

    def _forget(self, line: _Line) -> None:
        if self._lines.get(line.node) is line:
            del self._lines[line.node]


class _Line:
    """The connection to one node. Only its own thread or task uses it; others queue changes and wake it."""

    def __init__(self, exchange: _Exchange, node: Node) -> None:
        self.node = node
        self.wanted: set[str] = set()
        self.idle_since = monotonic()
        self.failing = False
        self.closed = False
        self.bell = Bell()
        self._exchange = exchange
        self._changed: deque[str] = deque()  # channels to check: wanted, no longer wanted, or a reply came
        # of each channel: asked (SUBSCRIBE sent), stands (confirmed), left (UNSUBSCRIBE sent), refused; one command at
        # a time
        self._states: dict[str, str] = {}
        self._asked: deque[str] = deque()  # channels with an unanswered command, in order; "" is a PING
        self._homeless: set[str] = set()
        self._rehome_at = 0.0
        self._stale = False
        self._failures = 0
        try:
            self.work = spawn(self._run)
        except RuntimeError:  # it has not begun
            self.bell.close()
            raise

    # Under the exchange's lock

    def want(self, name: str) -> None:
        self.wanted.add(name)
        self._changed.append(name)
        self.bell.ring()

    def unwant(self, name: str) -> None:
        self.wanted.discard(name)
        self.idle_since = monotonic()
        self._changed.append(name)
        self.bell.ring()

    def is_known(self, name: str) -> bool:
        return self._states.get(name) in ("stands", "refused")

    # The work

    def _run(self) -> None:
        try:
            while not self.closed:
                try:
                    self._connect()
                except Exception as error:  # a custom connection class may raise any exception
                    log.debug("no hints from %s: %s", self.node or "the server", error)
                else:
                    return
                self._fail()
                while not self.closed and (left := self._rehome_at - monotonic()) > 0:
                    self.bell.wait(left)
                if self.closed:
                    return
                self._rehome()
                if self._exchange.retire(self):
                    return
        finally:
            self._exchange.lose(self)
            self.bell.close()

    def _connect(self) -> None:
        """Connect and listen until no channel is wanted."""
        pool = self._exchange.nodes.pool(self.node)
        pool.connection_kwargs |= {"protocol": 2, "health_check_interval": 0}
        connection: Any = None
        try:
            with cancellable():
                connection = pool.get_connection()
            connection.socket_timeout = BEAT + ANSWER  # a channel without messages is normal
            self._changed.extend(self.wanted.copy())
            self._listen(connection)
        finally:
            if connection is not None:
                hang_up(connection)
            close_pool(pool)

    def _listen(self, connection: Any) -> None:
        silent_until = monotonic() + BEAT
        while not self.closed:
            if self._homeless and monotonic() >= self._rehome_at:
                self._rehome()
            commands = self._commands()
            if monotonic() >= silent_until:
                if "" in self._asked:
                    raise redis_errors.TimeoutError(f"no answer within {ANSWER:g} s")
                commands.append(pack("PING"))
                self._asked.append("")
                silent_until = monotonic() + ANSWER
            if commands:
                with cancellable():
                    connection.send_packed_command(commands, check_health=False)
            if self._exchange.retire(self, IDLE):
                return
            times = [silent_until]
            if self._homeless:
                times.append(self._rehome_at)
            if not self.wanted:
                times.append(self.idle_since + IDLE)
            reply = self._read(connection, min(times) - monotonic())
            if reply is not None:
                silent_until = monotonic() + BEAT
                self._take(reply)

    def _read(self, connection: Any, seconds: float) -> Any:
        try:
            return self.bell.read(connection, seconds)
        except redis_errors.ResponseError as error:
            return refusal(error)

    def _commands(self) -> list[bytes]:
        """Return the SUBSCRIBE and UNSUBSCRIBE commands that are still needed."""
        commands = []
        while self._changed:
            name = self._changed.popleft()
            match name in self.wanted, self._states.get(name):
                case True, None if name not in self._homeless:
                    commands.append(pack("SSUBSCRIBE", name))
                    self._states[name] = "asked"
                    self._asked.append(name)
                case True, "stands" | "refused":
                    self._exchange.settle(name, stands=False)
                case False, "stands":
                    commands.append(pack("SUNSUBSCRIBE", name))
                    self._states[name] = "left"
                    self._asked.append(name)
                case False, "refused":
                    del self._states[name]
        return commands

    def _take(self, reply: Any) -> None:
        match reply:
            case [b"smessage", bytes(name), bytes(words)]:
                self._exchange.say(name.decode(), words.decode(errors="replace").split())
            case [b"ssubscribe", bytes(name), _]:
                self._answered(name.decode(), "stands")
            case [b"sunsubscribe", bytes(name), _]:
                self._answered(name.decode(), None)
            case Refusal() if self._asked:
                self._refused(self._asked[0], reply)
            case _ if "" in self._asked:
                self._asked.remove("")

    def _answered(self, name: str, state: str | None) -> None:
        before = self._states.pop(name, None)
        if name in self._asked:
            self._asked.remove(name)
        if state:
            self._states[name] = state
            self._failures, self.failing = 0, False
            self._exchange.settle(name, stands=True)
        elif before != "left":  # the node no longer has the slot of the channel
            self._leave(name, stale=True)
        self._changed.append(name)

    def _refused(self, name: str, reply: Refusal) -> None:
        self._asked.popleft()
        if not name:
            return
        before = self._states.pop(name, None)
        self._changed.append(name)
        moved = self._exchange.nodes.routes.follow(reply, self.node) is not None
        if before == "asked" and (moved or is_passing(reply)):
            self._leave(name, stale=not moved)
        elif before == "asked":
            self._states[name] = "refused"
            self._exchange.settle(name, stands=False)

    def _leave(self, name: str, stale: bool) -> None:
        if not self._homeless:
            self._failures += 1
            self._rehome_at = monotonic() + backoff(self._failures, random.random())
        self._stale |= stale
        self._homeless.add(name)

    def _fail(self) -> None:
        """Handle a lost or failed connection."""
        self._states.clear()
        self._asked.clear()
        self.failing = self._stale = True
        self._failures += 1
        self._rehome_at = monotonic() + backoff(self._failures, random.random())
        self._homeless |= self.wanted.copy()
        for name in self._homeless:
            self._exchange.settle(name, stands=False)

    def _rehome(self) -> None:
        """After an error, find out where the channels are, and subscribe there."""
        stale, self._stale = self._stale, False
        if stale:
            self._exchange.nodes.refresh()
        names, self._homeless = self._homeless, set()
        self._exchange.rehome(names)
