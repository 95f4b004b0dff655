# Generated from pyadeq/_async/queue/identities.py by pyadeq/_unasync.py; do not edit.
"""The worker names and incarnations with which a queue object claims."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from pyadeq._sync.kernel.runner import Runner
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.migration import newest_layout
from pyadeq._core.kernel.slots import Slot, WorkerIdentity
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import Held
from pyadeq._twins import Home, Lock
from pyadeq._version import __version__
from pyadeq.errors import AdeqError, ConfigError, DurabilityError, WorkerReplaced
from pyadeq.ids import default_worker_name, new_incarnation

T = TypeVar("T")

LAST_WORD = 2.0
"""Seconds for which a cancelled claim is repeated, to find the leases that it was given."""


class Process:
    """The worker identities of one process. A forked child needs its own: the server could not tell its calls from its
    parent's.
    """

    def __init__(self) -> None:
        self.own_name = default_worker_name()
        self.known: dict[str, WorkerIdentity] = {}
        self.is_registering = False
        self._home = Home()
        self._registering = Lock()

    @property
    def registering(self) -> Lock:
        """The lock that a thread or task holds while it registers a worker."""
        if self._home.has_moved():
            self._registering = Lock()
        return self._registering


class Identities:
    """The workers that this process is on one queue: registered on first use, and whenever the server forgot one."""

    def __init__(self, runner: Runner, calls: QueueCalls) -> None:
        self._runner = runner
        self._calls = calls
        self._processes: dict[int, Process] = {}

    def own_name(self) -> str:
        """The default worker name of this process."""
        return self._process.own_name

    @property
    def _process(self) -> Process:
        """The state of this process; the first thread that asks creates it."""
        pid = os.getpid()
        return self._processes.get(pid) or self._processes.setdefault(pid, Process())

    def register(self, name: str, about: Mapping[str, Any]) -> None:
        """Register a worker with a new incarnation. Raises WorkerReplaced if another one has registered the name
        meanwhile.
        """
        with self._process.registering:
            self._register(name, about)

    def deregister(self, name: str, reason: str, leases: Sequence[Held]) -> str:
        """Deregister a worker here and on the server, which takes these leases back. Returns the script's answer."""
        identity = self._process.known.get(name)
        if identity is None:
            return "unregistered"
        answer = self._runner.send(self._calls.deregister(name, identity.incarnation, reason, leases))
        self._process.known.pop(name, None)
        return answer

    def run(
        self,
        name: str,
        call: Callable[[WorkerIdentity, Slot], Call[T]],
        status: Callable[[T], str],
        retry_for: float | None = None,
        spent: WorkerIdentity | None = None,
        resumes: bool = False,
        given_up: Callable[[WorkerIdentity, Slot], Any] | None = None,
    ) -> T:
        """Run a claiming call as this worker. WorkerReplaced if its name was registered elsewhere.

        spent: an identity that the server has forgotten. resumes: if no answer comes, the next call uses the same
        number, and so gets the leases of this call. given_up: called if the call is cancelled or interrupted, to
        release the leases that it was given.
        """
        for _ in range(3):
            identity = self._identity(name, spent, retry_for)
            with identity.slot(resumes) as slot:
                # A signal handler may raise at any line, so an answer is returned inside the `try`.
                try:
                    answer = self._send(call(identity, slot), slot, status, retry_for)
                    state = status(answer)
                    if state == "ok":
                        return answer
                except BaseException as error:
                    slot.answered |= not resumes
                    if given_up and not isinstance(error, AdeqError):
                        with suppress(AdeqError):
                            given_up(identity, slot)
                            slot.answered = True
                    raise
            if state == "stale" and self._process.known.get(name) in (identity, None):
                break  # registering again would take the name from the worker that has it now
            spent = identity  # forgotten by the server, or replaced by another call of this process
        self._process.known.pop(name, None)
        raise _replaced(name)

    def run_when_woken(
        self,
        name: str,
        keys: Sequence[str],
        seconds: float,
        call: Callable[[WorkerIdentity, Slot, bool], Call[T]],
        status: Callable[[T], str],
        given_up: Callable[[T], object],
        retry_for: float | None = None,
    ) -> tuple[str | None, T]:
        """Block on lists, and run a claiming call as this worker as soon as that is over: which list, and the answer.

        call: builds the claim; or a call with the same number that claims nothing, and returns what the first was
        given.
        given_up: gets that answer if the wait is cancelled, because the server may have run the claim.
        """
        identity = self._identity(name, None, retry_for)
        with identity.slot(resumes=True) as slot:
            claiming = call(identity, slot, True)
            try:
                heard, answer = self._runner.block_then(keys, seconds, claiming)
                slot.answered = answer is not None
                if answer is None:
                    answer = self._send(claiming, slot, status, retry_for)
            except DurabilityError:
                raise  # the error has the answer
            except BaseException:
                with suppress(AdeqError):
                    given_up(self._runner.send(call(identity, slot, False), LAST_WORD))
                    slot.answered = True
                raise
        match status(answer):
            case "ok":
                return heard, answer
            case "stale" if self._process.known.get(name) in (identity, None):
                self._process.known.pop(name, None)
                raise _replaced(name)
        # The server has forgotten this worker. The call under the new identity claims nothing: it only restores wake-up
        # tokens for ready tasks.
        return heard, self.run(name, lambda now, slot: call(now, slot, False), status, retry_for, identity)

    def _send(self, call: Call[T], slot: Slot, status: Callable[[T], str], retry_for: float | None) -> T:
        try:
            answer = self._runner.send(call, retry_for)
        except DurabilityError as error:
            slot.answered = True
            if status(error.answer) == "ok":
                raise
            answer = error.answer  # nothing was written, so there is nothing to confirm
        slot.answered = True
        return answer

    def _identity(self, name: str, spent: WorkerIdentity | None, retry_for: float | None) -> WorkerIdentity:
        with self._process.registering:
            known = self._process.known.get(name)
            if known is None or known is spent:
                return self._register(name, spent.about if spent else {}, retry_for)
            return known

    def _register(self, name: str, about: Mapping[str, Any], retry_for: float | None = None) -> WorkerIdentity:
        process = self._process
        if process.is_registering:  # the lock is re-entrant: this is a signal handler
            raise ConfigError(
                f"worker {name!r} cannot be registered in a signal handler that interrupts a registration; let the "
                "handler set a flag, and claim outside of it"
            )
        process.is_registering = True
        try:
            return self._register_now(name, about, retry_for)
        finally:
            process.is_registering = False

    def _register_now(self, name: str, about: Mapping[str, Any], retry_for: float | None) -> WorkerIdentity:
        machine = {
            "hostname": socket.gethostname(),
            "pid": os.getpid(),
            "version": __version__,
            "layout": newest_layout("queue"),
        }
        identity = WorkerIdentity(name, new_incarnation(), about)
        try:
            call = self._calls.register(name, identity.incarnation, {**machine, **about})
            answer = self._runner.send(call, retry_for)
        except DurabilityError as error:
            answer = error.answer  # if the primary loses the registration, the next call registers again
        if answer != "registered":
            raise _replaced(name)
        self._process.known[name] = identity
        return identity


def _replaced(name: str) -> WorkerReplaced:
    return WorkerReplaced(
        f"worker {name!r} was registered again elsewhere, which ends this one; give each worker a name of its own"
    )
