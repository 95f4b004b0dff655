# Generated from pyadeq/_async/lock/base.py by pyadeq/_unasync.py; do not edit.
"""The base of all parts of a lock domain: its calls, how they are sent, and its time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Callable, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from pyadeq._sync.kernel.runner import Runner
from pyadeq._core.kernel.call import Call
from pyadeq._core.lock.calls import MAX_RIDS, LockCalls
from pyadeq.errors import ClientClosed

if TYPE_CHECKING:  # which imports redis-py
    from pyadeq._sync.kernel.hints import Ear

A = TypeVar("A")
T = TypeVar("T")


CLOSED = "closed"
"""The message that tells waiters that the client is closed."""


def closed() -> ClientClosed:
    return ClientClosed("this client is closed: it takes no locks, waits for none and watches none; make another")


class LocksBase:
    """A lock domain with a name, on one server."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        self.name = name
        self.base = base
        self.calls = LockCalls(base, runner.now_ms, runner.source, runner.trace)
        self._runner = runner
        self._told: tuple[float, float] | None = None
        self._heartbeat = 0.0  # the domain's setting, as it was when the time was asked
        self._closed = False
        self._ears: set[tuple[int, Ear]] = set()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base!r}>"

    def _channel(self, resource: str) -> str:
        """Return the channel on which hints about a resource are published (SPUBLISH)."""
        return f"{self.base}:channel:{resource}"

    def _check_open(self) -> None:
        if self._closed or self._runner.closed:
            raise closed()

    def _close(self) -> None:
        """End all waits here; later waits raise an error."""
        self._closed = True
        for pid, ear in list(self._ears):
            if pid == os.getpid():  # after a fork, the locks of the parent's subscriptions may never be released
                ear.hear([CLOSED])

    @contextmanager
    def _listening(self, resource: str) -> Iterator[Ear]:
        """Listen as `Hints.listening` does. After each wait and each call, the listener has to call `_check_open`."""
        self._check_open()
        with self._runner.hints.listening(self._channel(resource)) as ear:
            mine = os.getpid(), ear
            self._ears.add(mine)
            try:
                self._check_open()
                yield ear
            finally:
                self._ears.discard(mine)

    def _here(self) -> float:
        """Return a time in seconds that passes like the domain's time. Only differences have a meaning."""
        return self._runner.now_ms() / 1000 or monotonic()

    def _tell(self, now: float) -> None:
        """Note the domain's time from a reply."""
        self._told = now, self._here()

    def _issued_ms(self) -> int:
        """Return the domain's time, as far as known. No wall clock of this machine is used."""
        if self._told is None:
            stats = self._runner.send(self.calls.stats())
            self._heartbeat = stats.settings.heartbeat
            self._tell(stats.now)
        assert self._told is not None
        now, here = self._told
        return round((now + self._here() - here) * 1000)

    def _in_batches(
        self, call: Callable[[Sequence[T]], Call[list[A]]], items: Sequence[T], most: int = MAX_RIDS
    ) -> list[A]:
        """Make calls with at most this many items each. Returns their answers in order."""
        answers: list[A] = []
        for start in range(0, len(items), most):
            answers += self._runner.send(call(items[start : start + most]))
        return answers
