"""Keeps what this process holds by leases in one base: renews all of it, and delivers what has to arrive."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from threading import RLock
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakValueDictionary

from pyadeq._async.kernel.held import Held
from pyadeq._async.kernel.runner import Runner
from pyadeq._core.kernel.call import Call
from pyadeq._twins import aio_Event, aio_follow, aio_Home, aio_sleep, aio_spawn, aio_Work
from pyadeq.errors import AdeqError, ClientClosed, DurabilityError, TransportError

# Seconds: how long the caller waits for a call that has to arrive, and how long it is retried in the background.
PATIENCE, PERSISTENCE = 2.0, 60.0
IDLE = 10.0
"""Seconds after which the loop ends when nothing is left to renew."""

H = TypeVar("H", bound=Held)


class Process(Generic[H]):
    """What one process holds. A forked child has neither its parent's leases nor its threads and tasks."""

    def __init__(self) -> None:
        # Never held during I/O, so a thread lock also works for tasks. Re-entrant, for signal handlers.
        self.lock = RLock()
        # Weak: what no code references any more, for example after an interrupt, is not renewed.
        self.held: WeakValueDictionary[str, H] = WeakValueDictionary()
        self.changed = aio_Event()
        self.wake_at = inf  # when the loop looks again by itself
        self.retry_at = 0.0
        self.looping = False
        self.renewing = False
        self.works: set[aio_Event] = set()
        self._home = aio_Home()

    def settle_in(self) -> None:
        """Forget the background work of an event loop that has ended. What is held stays."""
        if self._home.has_moved():
            self.looping = self.renewing = False
            self.changed = aio_Event()
            self.works.clear()

    def begin(self, work: aio_Work) -> aio_Event:
        """Start background work. The event is set when it is done."""
        done = aio_Event()

        async def to_the_end() -> None:
            try:
                await work()
            finally:
                self.works.discard(done)
                done.set()

        self.works.add(done)
        try:
            aio_spawn(to_the_end)
        except BaseException:
            self.works.discard(done)
            raise
        return done


class Keeper(Generic[H]):
    """Renews what is held, every third of the shortest lease, and reports what is lost.

    The loop is a task or a daemon thread. It starts with the first lease, and ends when there has been none for a
    while. What has no reference is no longer renewed.

    A subclass has `_renew_some`, `closed_error`, `log`, and `most`: how many leases one renewal takes.
    """

    log: ClassVar[logging.Logger]
    most: ClassVar[int]

    def __init__(self, runner: Runner, here: Callable[[], float]) -> None:
        self.here = here
        self.closed = False
        self._runner = runner
        self._processes: dict[int, Process[H]] = {}

    async def _renew_some(self, held: Sequence[H]) -> None:
        """Renew these leases: prolong or lose each."""
        raise NotImplementedError

    def closed_error(self) -> ClientClosed:
        """Return the error for a lease that is begun after `aclose`."""
        raise NotImplementedError

    @property
    def _process(self) -> Process[H]:
        pid = os.getpid()
        process = self._processes.get(pid) or self._processes.setdefault(pid, Process())
        process.settle_in()
        return process

    def add(self, one: H) -> None:
        """Renew a lease from now on."""
        process = self._process
        with process.lock:
            if self.closed:
                raise self.closed_error()
            process.held[one.rid] = one
            if not process.looping:
                process.changed = aio_Event()  # that of the last loop may belong to an event loop that has ended
                process.looping = True
                try:
                    process.begin(partial(self._loop, process))
                except BaseException as error:  # for example KeyboardInterrupt while the thread is started
                    process.looping = False
                    if isinstance(error, RuntimeError):
                        raise AdeqError(
                            f"{one!r} was given back, because no thread can be started to renew it ({error}); allow "
                            "the process more threads (ulimit -u, pids.max), and do this before the interpreter shuts "
                            "down"
                        ) from error
                    raise
            elif one.renew_at < process.wake_at:
                process.changed.set()

    def drop(self, one: H) -> None:
        """Stop renewing a lease."""
        with self._process.lock:
            self._process.held.pop(one.rid, None)

    async def see_through(self, call: Call[Any], what: str) -> None:
        """Make sure that a call arrives.

        Returns when the server has confirmed it, or after two seconds. Then, or if this is cancelled, it is tried in
        the background for a minute. If no thread can be started, it is tried here for two seconds. what: the start of a
        warning if it does not arrive.
        """
        try:
            done = self._process.begin(partial(self._deliver, call, what, PERSISTENCE))
        except RuntimeError:
            await self._deliver(call, what, PATIENCE)
        else:
            await done.wait(PATIENCE)

    async def aclose(self) -> None:
        """End the renewals for good. What is still held ends with its lease."""
        self.closed = True
        process = self._processes.get(os.getpid())
        if process:
            process.settle_in()
            process.changed.set()
            until = monotonic() + PATIENCE
            for done in list(process.works):
                await done.wait(max(until - monotonic(), 0.0))

    async def _deliver(self, call: Call[Any], what: str, seconds: float) -> None:
        until = monotonic() + seconds
        while True:
            try:
                await self._runner.send(call)
            except DurabilityError:
                pass
            except AdeqError as error:
                passing = isinstance(error, TransportError) and error.retryable
                if passing and monotonic() < until and not self.closed:
                    await aio_sleep(0.5)
                    continue
                self.log.warning("%s: %s", what, error)
            return

    # The loop

    async def _loop(self, process: Process[H]) -> None:
        try:
            while self._maintain(process):
                if (pause := process.wake_at - self.here()) > 0:
                    await process.changed.wait(min(pause, IDLE))
        except BaseException:
            process.looping = False
            raise

    def _maintain(self, process: Process[H]) -> bool:
        """Do what is due. Returns False if nothing is left to do. In between, it keeps no reference to a lease."""
        process.changed.clear()  # outside of the lock: a signal handler may have interrupted the one that sets it
        with process.lock:
            held = [one for one in process.held.values() if not one.released]
            if not held or self.closed:
                process.looping = False
                return False
            due = inf if process.renewing else max(min(one.renew_at for one in held), process.retry_at)
            process.wake_at = min(due, *(one.until for one in held))
        if process.wake_at > self.here():
            return True
        for one in held:
            if one.lost:
                self.lose(one)
        if due <= self.here():
            process.renewing = (
                True  # renewed by a separate task, so that this loop can still report lost leases in time
            )
            try:
                process.begin(partial(self._renew, process, held))
            except BaseException:
                process.renewing = False
                raise
        return True

    async def _renew(self, process: Process[H], held: Sequence[H]) -> None:
        try:
            for start in range(0, len(held), self.most):
                await self._renew_some(held[start : start + self.most])
        except Exception as error:
            self.log.warning("leases could not be renewed, trying again: %s", error)
            process.retry_at = self.here() + min(1.0, *(one.ttl / 10 for one in held))
        finally:
            process.renewing = False
            process.changed.set()

    def lose(self, one: H, why: str = "") -> None:
        """Report that it is lost, once, unless it was released in between."""
        with self._process.lock:
            if self._process.held.pop(one.rid, None) is None:
                return
        if why:
            one.lose(why)
        self.log.warning("lost: %r", one)
        self.tell(one)

    def tell(self, one: H) -> None:
        """Call the `on_lost` of a lease."""
        if one.on_lost:
            try:
                if rest := aio_follow(one.on_lost(one)):
                    self._process.begin(partial(self._finish_telling, one, rest))
            except Exception:
                self.log.exception("on_lost of %r", one)

    async def _finish_telling(self, one: H, rest: aio_Work) -> None:
        try:
            await rest()
        except Exception:
            self.log.exception("on_lost of %r", one)
