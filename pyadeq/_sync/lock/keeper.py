# Generated from pyadeq/_async/lock/keeper.py by pyadeq/_unasync.py; do not edit.
"""Keeps the grants of this process in a lock domain: renews all of them in one call, and releases what is left over."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from threading import Lock
from time import monotonic
from weakref import WeakValueDictionary

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.lock.base import closed
from pyadeq._sync.lock.grant import Grant
from pyadeq._core.lock.calls import MAX_RENEWED, LockCalls
from pyadeq._twins import Event, follow, Home, sleep, spawn, Work
from pyadeq.errors import AdeqError, DurabilityError, TransportError
from pyadeq.models.lock import DowngradeStatus, ReleaseLockStatus

# Seconds: how long the caller waits for a cleanup call, and how long it is retried in the background.
PATIENCE, PERSISTENCE = 2.0, 60.0
IDLE = 10.0
"""Seconds after which the loop ends when nothing is left to renew."""

log = logging.getLogger("pyadeq.locks")


class _Process:
    """The grants of one process. A forked child has neither its parent's grants nor its threads and tasks."""

    def __init__(self) -> None:
        self.lock = Lock()  # never held during I/O, so a thread lock also works for tasks
        # Weak: a grant that no code references any more, for example after an interrupt, is not renewed.
        self.grants: WeakValueDictionary[str, Grant] = WeakValueDictionary()
        self.changed = Event()
        self.wake_at = inf  # when the loop looks again by itself
        self.retry_at = 0.0
        self.looping = False
        self.renewing = False
        self.works: set[Event] = set()
        self._home = Home()

    def settle_in(self) -> None:
        """Forget the background work of an event loop that has ended. The grants stay."""
        if self._home.has_moved():
            self.looping = self.renewing = False
            self.changed = Event()
            self.works.clear()

    def begin(self, work: Work) -> Event:
        """Start background work. The event is set when it is done."""
        done = Event()

        def to_the_end() -> None:
            try:
                work()
            finally:
                self.works.discard(done)
                done.set()

        self.works.add(done)
        try:
            spawn(to_the_end)
        except BaseException:
            self.works.discard(done)
            raise
        return done


class Keeper:
    """Renews the grants of one domain, every third of the shortest lease, and reports lost leases.

    The loop is a task or a daemon thread. It starts with a grant, and ends when there has been none for a while. A
    grant without a reference is no longer renewed.
    """

    def __init__(self, runner: Runner, calls: LockCalls, here: Callable[[], float]) -> None:
        self.here = here
        self.closed = False
        self._runner = runner
        self._calls = calls
        self._processes: dict[int, _Process] = {}

    @property
    def _process(self) -> _Process:
        pid = os.getpid()
        process = self._processes.get(pid) or self._processes.setdefault(pid, _Process())
        process.settle_in()
        return process

    def add(self, grant: Grant) -> None:
        """Renew it from now on."""
        process = self._process
        with process.lock:
            if self.closed:
                raise closed()
            process.grants[grant.rid] = grant
            if not process.looping:
                process.changed = Event()  # that of the last loop may belong to an event loop that has ended
                process.looping = True
                try:
                    process.begin(partial(self._loop, process))
                except BaseException:  # for example KeyboardInterrupt while the thread is started
                    process.looping = False
                    raise
            elif grant.renew_at < process.wake_at:
                process.changed.set()

    def release(self, grant: Grant) -> ReleaseLockStatus:
        """Release a grant. If the server cannot be reached now, the release is sent later, in the background."""
        with self._process.lock:
            self._process.grants.pop(grant.rid, None)
        status: ReleaseLockStatus
        try:
            (status,) = self._runner.send(self._calls.release([grant.rid]))
        except DurabilityError as error:  # if the primary loses the release, the lease still ends by itself
            (status,) = error.answer
        except BaseException:
            self.abandon(grant.rid)
            raise
        return status

    def downgrade(self, grant: Grant) -> DowngradeStatus:
        """Make a grant a shared one."""
        return self._runner.send(self._calls.downgrade(grant.rid))

    def abandon(self, rid: str) -> None:
        """Make sure that a request neither waits nor holds anything, whatever its state.

        Returns when the server has confirmed it, or after two seconds. Then, or if this is cancelled, it is tried in
        the background for a minute.
        """
        process = self._process
        process.begin(partial(self._cancel, rid)).wait(PATIENCE)

    def close(self) -> None:
        """End the renewals for good. Locks that are still held end with their leases."""
        self.closed = True
        process = self._processes.get(os.getpid())
        if process:
            process.settle_in()
            process.changed.set()
            until = monotonic() + PATIENCE
            for done in list(process.works):
                done.wait(max(until - monotonic(), 0.0))

    def _cancel(self, rid: str) -> None:
        until = monotonic() + PERSISTENCE
        while True:
            try:
                self._runner.send(self._calls.cancel([rid]))
            except DurabilityError:
                pass
            except AdeqError as error:
                passing = isinstance(error, TransportError) and error.retryable
                if passing and monotonic() < until and not self.closed:
                    sleep(0.5)
                    continue
                log.warning("request %s could not be cancelled; it ends by itself: %s", rid, error)
            return

    # The loop

    def _loop(self, process: _Process) -> None:
        try:
            while self._tend(process):
                if (pause := process.wake_at - self.here()) > 0:
                    process.changed.wait(min(pause, IDLE))
        except BaseException:
            process.looping = False
            raise

    def _tend(self, process: _Process) -> bool:
        """Do what is due. Returns False if nothing is left to do. In between, it keeps no reference to a grant."""
        with process.lock:
            process.changed.clear()
            grants = [one for one in process.grants.values() if not one.released]
            if not grants or self.closed:
                process.looping = False
                return False
            due = inf if process.renewing else max(min(one.renew_at for one in grants), process.retry_at)
            process.wake_at = min(due, *(one.until for one in grants))
        if process.wake_at > self.here():
            return True
        for grant in grants:
            if grant.lost:
                self._lose(process, grant)
        if due <= self.here():
            process.renewing = True  # renewed by a separate task, so that this loop can still report lost locks in time
            try:
                process.begin(partial(self._renew, process, grants))
            except BaseException:
                process.renewing = False
                raise
        return True

    def _renew(self, process: _Process, grants: Sequence[Grant]) -> None:
        try:
            for start in range(0, len(grants), MAX_RENEWED):
                self._renew_some(process, grants[start : start + MAX_RENEWED])
        except Exception as error:
            log.warning("locks could not be renewed, trying again: %s", error)
            process.retry_at = self.here() + min(1.0, *(grant.ttl / 10 for grant in grants))
        finally:
            process.renewing = False
            process.changed.set()

    def _renew_some(self, process: _Process, grants: Sequence[Grant]) -> None:
        sent = self.here()
        try:
            answers = self._runner.send_apart(self._calls.renew([grant.rid for grant in grants]))
        except DurabilityError as error:
            answers = error.answer
        for grant, answer in zip(grants, answers, strict=True):
            if answer.deadline is None:
                self._lose(process, grant, "the server says that its lease has ended")
            elif not grant.lost:
                grant.prolong(sent, answer.now, answer.deadline)

    def _lose(self, process: _Process, grant: Grant, why: str = "") -> None:
        """Report that it is lost, once, unless it was released in between."""
        with process.lock:
            if process.grants.pop(grant.rid, None) is None:
                return
        if why:
            grant.lose(why)
        log.warning("lost: %r", grant)
        if grant.on_lost:
            try:
                if rest := follow(grant.on_lost(grant)):
                    process.begin(partial(self._finish_telling, grant, rest))
            except Exception:
                log.exception("on_lost of %r", grant)

    def _finish_telling(self, grant: Grant, rest: Work) -> None:
        try:
            rest()
        except Exception:
            log.exception("on_lost of %r", grant)
