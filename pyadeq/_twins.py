"""What asyncio and threads do differently: the only twins written by hand.

`_async` uses `aio_<name>`; in the generated `_sync` it is `<name>`.
"""

import asyncio
import inspect
import os
import selectors
import socket
import threading
from asyncio import Lock as aio_Lock
from asyncio import sleep as aio_sleep
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextlib import nullcontext as cancellable
from threading import Condition
from threading import RLock as Lock
from time import sleep
from typing import Any, Generic, TypeVar

from pyadeq.errors import ConfigError

__all__ = [
    "CLIENTS",
    "LOOP_ENDED",
    "Bell",
    "Event",
    "Gate",
    "Home",
    "Later",
    "Lock",
    "Patience",
    "Work",
    "aio_Bell",
    "aio_Event",
    "aio_Gate",
    "aio_Home",
    "aio_Later",
    "aio_Lock",
    "aio_Patience",
    "aio_Work",
    "aio_can_read",
    "aio_cancellable",
    "aio_cluster_connections",
    "aio_follow",
    "aio_here",
    "aio_is_cancellation",
    "aio_join",
    "aio_set_all",
    "aio_sleep",
    "aio_spawn",
    "aio_takes",
    "can_read",
    "cancellable",
    "cluster_connections",
    "follow",
    "here",
    "is_cancellation",
    "join",
    "set_all",
    "sleep",
    "spawn",
    "takes",
]

T = TypeVar("T")

# Messages about asyncio are the same in both twins. In `_async` the rewriting would change them.
CLIENTS = "Redis or RedisCluster from redis for pyadeq.Adeq, from redis.asyncio for pyadeq.asyncio.Adeq"
LOOP_ENDED = (
    "the event loop on which this asyncio client was used has ended: the client connects again; "
    "make a client for each asyncio.run, and close it there (`async with`)"
)


@contextmanager
def aio_cancellable() -> Iterator[None]:
    """Raise a cancellation that was asked for inside and got lost.

    Up to Python 3.11 `asyncio.wait_for`, by which redis-py sends, drops one that comes with the result, or an error.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    try:
        yield
    finally:
        if task and task.cancelling() > before:
            raise asyncio.CancelledError


def aio_is_cancellation(error: BaseException) -> bool:
    """Whether it can only have been raised where something was awaited, which redis-py is prepared for."""
    return isinstance(error, asyncio.CancelledError)


def is_cancellation(error: BaseException) -> bool:
    """False: whatever a signal handler raises may come between any two instructions."""
    return False


class aio_Home:
    """The event loop on which something is used. What was made on one loop is of no use on another."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def has_moved(self) -> bool:
        """Whether this loop is another one than last time. ConfigError if the other one still runs."""
        loop = asyncio.get_running_loop()
        before = self._loop
        if before is loop:
            return False
        if before is not None and before.is_running():
            raise ConfigError(
                "this client is in use on another event loop, which still runs; allowed: one event loop for a client; "
                "make a client for each loop, or use pyadeq.Adeq, which threads may share"
            )
        self._loop = loop
        return before is not None


class Home:
    """Threads share what a client has."""

    def has_moved(self) -> bool:
        """Return False: a client of threads has no event loop that could change."""
        return False


def aio_cluster_connections(client: Any) -> tuple[Any, dict[str, Any]]:
    """The class of a RedisCluster's connections, and what they are made with."""
    node = next(iter(client.nodes_manager.startup_nodes.values()))
    return node.connection_class, node.connection_kwargs


def cluster_connections(client: Any) -> tuple[Any, dict[str, Any]]:
    """The class of a RedisCluster's connections, and what they are made with."""
    pool = client.get_redis_connection(client.get_nodes()[0]).connection_pool
    return pool.connection_class, pool.connection_kwargs


class aio_Event:
    """An event whose wait may be given a timeout in seconds, as that of threads."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.set, self.clear, self.is_set = self._event.set, self._event.clear, self._event.is_set

    async def wait(self, timeout: float | None = None) -> bool:
        """Whether it was set in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._event.wait()
        return self._event.is_set()


class Event:
    """An event of threads. Its lock is re-entrant: a signal handler may use it while it interrupts the same thread."""

    def __init__(self) -> None:
        self._is_set = False
        self._changed = Condition()

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Wake all waiters."""
        with self._changed:
            self._is_set = True
            self._changed.notify_all()

    def clear(self) -> None:
        """Let the next waiters wait."""
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it was set in time."""
        with self._changed:
            return self._is_set or self._changed.wait(timeout) or self._is_set


def aio_here() -> asyncio.AbstractEventLoop:
    """Return the event loop of the caller: callers can wait for each other only on the same loop."""
    return asyncio.get_running_loop()


def here() -> int:
    """Return the process id of the caller: its threads can wait for each other. A forked child has no other thread."""
    return os.getpid()


class aio_Patience:
    """How long several waits of one event loop may last before something is called. One timer serves all of them."""

    def __init__(self, seconds: float) -> None:
        self.loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._waits: deque[tuple[float, asyncio.Future[Any], Callable[[], object]]] = deque()
        self._set = False

    def watch(self, future: asyncio.Future[Any], late: Callable[[], object]) -> None:
        """Call `late` if the future is not done in time."""
        self._waits.append((self.loop.time() + self._seconds, future, late))
        if not self._set:
            self._set = True
            self.loop.call_later(self._seconds, self._look)

    def _look(self) -> None:
        now, waits = self.loop.time(), self._waits
        self._set = False
        try:
            while waits and (waits[0][0] <= now or waits[0][1].done()):
                _, future, late = waits.popleft()
                if not future.done():
                    late()
        finally:
            if waits:
                self._set = True
                self.loop.call_at(waits[0][0], self._look)


class Patience:
    """How long a wait of a thread may last before something is called. Each thread watches its own wait."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


_CHAIN = Patience(0.05)  # the longest wait of a thread for the one before it to wake it


class aio_Later(Generic[T]):
    """A value that one task waits for, and another one sets."""

    __slots__ = ("_future", "_patience")

    def __init__(self, patience: aio_Patience) -> None:
        self._patience = patience
        self._future: asyncio.Future[T] = patience.loop.create_future()

    def set(self, value: T) -> None:
        """Set the value, unless it is set."""
        if not self._future.done():
            self._future.set_result(value)

    async def get(self, late: Callable[[], object]) -> T:
        """Return the value once it is set. Call `late` if that takes too long."""
        self._patience.watch(self._future, late)
        return await self._future


class Later(Generic[T]):
    """A value that one thread waits for, and another one sets."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._values: list[T] = []
        self._next: Later[T] | None = None
        self._unset = threading.Lock()
        self._unset.acquire()

    def get(self, late: Callable[[], object]) -> T:
        """Return the value once it is set. Call `late` each time that the wait has lasted too long again."""
        # A signal handler may keep the one before from waking this one, so it does not rely on that.
        while not self._unset.acquire(timeout=self._patience.seconds) and not self._values:
            late()
        if self._next is not None:
            self._next._unset.release()
        return self._values[0]


async def aio_set_all(values: Sequence[tuple[aio_Later[T], T]]) -> None:
    """Set several values, except those that are set, and let the tasks run that waited for them."""
    for later, value in values:
        later.set(value)
    await aio_sleep(0)


def set_all(values: Sequence[tuple[Later[T], T]]) -> None:
    """Set several values, except those that are set, and let the threads run that waited for them.

    Each wakes the next one, and the last one this thread. If all woke at once, they would hinder each other, because
    only one of them can run.
    """
    last: Later[Any] = Later(_CHAIN)
    last._values.append(None)
    first = last
    for later, value in reversed(values):
        if not later._values:
            later._next = first
            later._values.append(value)
            first = later
    first._unset.release()
    last.get(lambda: None)


aio_Work = Callable[[], Coroutine[Any, Any, None]]
Work = Callable[[], None]
"""What is run in the background."""

_running: set[asyncio.Task[None]] = set()  # a loop alone does not keep its tasks


def aio_spawn(work: aio_Work) -> asyncio.Task[None]:
    """Run it in the background."""
    task = asyncio.create_task(work())
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task


def spawn(work: Work) -> threading.Thread:
    """Run it in the background, in a thread that does not keep the process alive."""
    thread = threading.Thread(target=work, name="pyadeq", daemon=True)
    thread.start()
    return thread


async def aio_can_read(connection: Any) -> bool:
    """Whether a connection of redis-py was closed by the server, or has something to read."""
    look = getattr(connection, "can_read", None) or connection.can_read_destructive  # redis-py 8, and before it
    return bool(await look())


def can_read(connection: Any) -> bool:
    """Whether a connection of redis-py has something to read. Raises its errors if the server closed it."""
    return bool(connection.can_read(0))


async def aio_hang_up(connection: Any) -> None:
    """Close a connection of redis-py without waiting for the other side.

    TLS would wait for its goodbye in the background, and an event loop that ends meanwhile leaves the socket open.
    """
    writer = connection._writer
    await connection.disconnect(True)
    if writer is not None:
        writer.transport.abort()


def hang_up(connection: Any) -> None:
    """Close a connection of redis-py without waiting for the other side."""
    connection.disconnect()


async def aio_join(task: asyncio.Task[None], timeout: float) -> None:
    """Wait for the end of what was spawned, however it ends, for at most that many seconds."""
    await asyncio.wait([task], timeout=timeout)


def join(thread: threading.Thread, timeout: float) -> None:
    """Wait for the end of what was spawned, however it ends, for at most that many seconds."""
    thread.join(timeout)


class aio_Gate:
    """Lets some callers in at a time, in the order they came. patience: seconds to wait at most; None: no end."""

    def __init__(self, most: int, patience: float | None) -> None:
        self._most = most
        self._patience = patience
        self._loop: asyncio.AbstractEventLoop | None = None

    async def enter(self) -> bool:
        """Whether there was a place in time, to be left again."""
        if (loop := asyncio.get_running_loop()) is not self._loop:  # those of one that has ended are no use here
            self._loop, self._places = loop, asyncio.Semaphore(self._most)
        try:
            async with asyncio.timeout(self._patience if self._places.locked() else None):
                return await self._places.acquire()
        except TimeoutError:
            return False

    def leave(self) -> None:
        """Free a place for the next caller."""
        self._places.release()


class Gate:
    """Lets all in: threads are so few that the pool's own limit does, and one that is interrupted keeps no place."""

    def __init__(self, most: int, patience: float | None) -> None:
        pass

    def enter(self) -> bool:
        """Return True: there is always a place."""
        return True

    def leave(self) -> None:
        """Do nothing: `enter` took no place."""


def aio_takes(callback: object) -> bool:
    """Whether it can be called back here."""
    return callable(callback)


def takes(callback: object) -> bool:
    """Whether it can be called back here, where no event loop awaits the answer of a coroutine function."""
    return callable(callback) and not inspect.iscoroutinefunction(callback)


def aio_follow(answer: Any) -> aio_Work | None:
    """What is left to do of a callback that has answered: to await it, if it is a coroutine function."""
    if not inspect.isawaitable(answer):
        return None

    async def rest() -> None:
        await answer

    return rest


def follow(answer: Any) -> Work | None:
    """What is left to do of a callback that has answered."""
    return None


class aio_Bell:
    """Calls away from its connection the one task that reads there."""

    def __init__(self) -> None:
        self._rung = False
        self._waiting: asyncio.Timeout | None = None

    def ring(self) -> None:
        """End the wait of now, or the next one."""
        self._rung = True
        if self._waiting and not self._waiting.expired():
            self._waiting.reschedule(0)

    async def wait(self, seconds: float) -> None:
        """Wait for so long, or until it is rung."""
        await self._unless_rung(asyncio.sleep, seconds + 1, seconds=seconds)

    async def read(self, connection: Any, seconds: float) -> Any:
        """The next reply on a connection, its error raised; None after so long, or when the bell is rung.

        The connection's `socket_timeout` is to be longer.
        """
        return await self._unless_rung(
            connection.read_response, disable_decoding=True, disconnect_on_error=False, seconds=seconds
        )

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    async def _unless_rung(
        self, work: Callable[..., Coroutine[Any, Any, Any]], *args: Any, seconds: float, **kwargs: Any
    ) -> Any:
        # What is read by then stays in the buffers, as it does when redis-py's own time limit ends.
        with suppress(TimeoutError):
            try:
                async with asyncio.timeout(0 if self._rung else max(seconds, 0)) as self._waiting:
                    return await work(*args, **kwargs)
            finally:
                self._rung, self._waiting = False, None
        return None


class Bell:
    """Calls away from its connection the one thread that reads there.

    No other may write to it meanwhile, for with TLS that is not safe.
    """

    def __init__(self) -> None:
        self._ear, self._hammer = socket.socketpair()
        self._ear.setblocking(False)
        self._hammer.setblocking(False)

    def ring(self) -> None:
        """End the wait of now, or the next one."""
        with suppress(OSError):  # full: the wake-up is on its way; closed: there is no waiter
            self._hammer.send(b"!")

    def wait(self, seconds: float) -> None:
        """Wait for so long, or until it is rung."""
        self._ready(seconds)

    def read(self, connection: Any, seconds: float) -> Any:
        """The next reply on a connection, its error raised; None after so long, or when the bell is rung."""
        from redis.exceptions import TimeoutError as ReadTimeout

        if connection.can_read(0) or self._ready(seconds, connection._sock):
            with suppress(ReadTimeout):  # with TLS, there may be something to read that is no reply
                return connection.read_response(disable_decoding=True, disconnect_on_error=False)
        return None

    def close(self) -> None:
        """Close its sockets."""
        self._ear.close()
        self._hammer.close()

    def _ready(self, seconds: float, *others: socket.socket) -> bool:
        """Whether one of the others can be read."""
        with selectors.DefaultSelector() as selector:
            for one in (self._ear, *others):
                selector.register(one, selectors.EVENT_READ)
            ready = [key.fileobj for key, _ in selector.select(max(seconds, 0))]
        if self._ear in ready:
            with suppress(BlockingIOError):
                self._ear.recv(4096)
            return len(ready) > 1
        return bool(ready)
