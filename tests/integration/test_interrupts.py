"""A signal handler that raises, at every line of an exchange: later calls work, on the same client."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest
import redis
from redis import BlockingConnectionPool, Redis

import pyadeq
from pyadeq import Adeq, Locks, Queue
from pyadeq.errors import ConfigError
from pyadeq.ids import new_ulid
from tests.quick import slow_after
from tests.waiting import DEADLINE

SYNC = Path(pyadeq.__file__).parent / "_sync"
WATCHED = (str(Path(redis.__file__).parent), str(SYNC / "kernel"), str(SYNC / "client"))


class Interrupt(BaseException):
    """What a signal handler raises, as KeyboardInterrupt, or a TimeoutError of the user's own."""


class Interrupter:
    """Raises before the n-th line that is run in redis-py or where calls are sent. where: which line that is."""

    watched: tuple[str, ...] = WATCHED

    def __init__(self, at: int) -> None:
        self._left = at
        self._traced = self._trace
        self.where = ""

    def __enter__(self) -> Self:
        sys.settrace(self._traced)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def act(self) -> None:
        raise Interrupt

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(self.watched):
            return None
        if event == "line":
            self._left -= 1
            if self._left == 0:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                self.act()
        return self._traced


def single(url: str) -> Redis:
    return Redis.from_url(url, max_connections=1, socket_timeout=1)


def blocking(url: str) -> Redis:
    return Redis(connection_pool=BlockingConnectionPool.from_url(url, max_connections=1, timeout=1))


# What is interrupted between two lines of redis-py is left to the garbage collector, which says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("connect", [single, blocking])
@pytest.mark.parametrize("connected", slow_after(1, [True, False]))
def test_a_signal_handler_that_raises_leaves_no_broken_connection(
    url: str, base_name: str, connect: Callable[[str], Redis], connected: bool
) -> None:
    # CPython 3.11 leaves a thread whose trace function has raised with an exception that it takes for the current one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(interrupt_at_every_line, url, base_name, connect, connected).result()


def interrupt_at_every_line(url: str, base_name: str, connect: Callable[[str], Redis], connected: bool) -> None:
    tracers: list[Interrupter] = []  # CPython 3.11 crashes when one that has raised is collected
    while True:
        client = connect(url)
        with client, Adeq(client, retry_for=0.0) as adeq:
            call = adeq.queue(base_name).calls.stats()
            if connected:
                adeq.send(call)
            tracers.append(interrupter := Interrupter(len(tracers) + 1))
            with suppress(Interrupt), interrupter:
                adeq.send(call)
            if not interrupter.where:
                break
            for _ in range(2):
                assert adeq.send(call).ready == 0, interrupter.where
    assert len(tracers) > 120


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_claim_that_a_signal_handler_ends_gives_its_tasks_back(url: str, base_name: str) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(claim_at_every_line, url, base_name).result()


def claim_at_every_line(url: str, base_name: str) -> None:
    tracers: list[Interrupter] = []
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue("task")
        queue.claim(lanes=["group/other"])
        while True:
            tracers.append(interrupter := Interrupter(len(tracers) + 1))
            with suppress(Interrupt), interrupter:
                queue.claim()
            if not interrupter.where:
                break
            assert queue.stats().running == 0, interrupter.where
        assert queue.stats().running == 1
    assert len(tracers) > 60


class Caller(Interrupter):
    """Calls the client there, as a signal handler does."""

    watched = (str(Path(pyadeq.__file__).parent / "_sync"),)

    def __init__(self, at: int, call: Callable[[], object]) -> None:
        super().__init__(at)
        self._call = call

    def act(self) -> None:
        with suppress(ConfigError):  # a worker is being registered
            self._call()


def claim(queue: Queue, locks: Locks, done: str) -> object:
    return queue.claim(new_ulid(), lease=1)


def lock(queue: Queue, locks: Locks, done: str) -> None:
    locks.take(new_ulid(), owner=new_ulid()).release()


def result(queue: Queue, locks: Locks, done: str) -> object:
    return queue.result(done)


@pytest.mark.parametrize("what", slow_after(2, [claim, lock, result]))
def test_a_signal_handler_may_call_the_client(url: str, base_name: str, what: Callable[..., object]) -> None:
    with Adeq.from_url(url) as adeq:
        queue, locks = adeq.queue(base_name), adeq.locks(base_name)
        done = queue.enqueue("task").id
        queue.ack(queue.claim()[0], 1)
        call = partial(what, queue, locks, done)
        call()

        def call_at_every_line() -> None:
            at = 0
            while True:
                at += 1
                with Caller(at, call) as caller:
                    call()
                if not caller.where:
                    break
            assert at > 40

        with ThreadPoolExecutor(1) as thread:
            thread.submit(call_at_every_line).result(2 * DEADLINE)
