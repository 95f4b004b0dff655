# Generated from pyadeq/_async/identities.py by pyadeq/_unasync.py; do not edit.
"""Under which names and incarnations a queue object claims."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import TypeVar

from pyadeq._sync.runner import Runner
from pyadeq._core.call import Call
from pyadeq._core.queue import QueueCalls
from pyadeq._core.slots import Slot, WorkerIdentity
from pyadeq._twins import Lock
from pyadeq.errors import DurabilityError, WorkerReplaced
from pyadeq.ids import default_worker_name, new_incarnation

T = TypeVar("T")


class Process:
    """The workers that one process is: a fork must not claim as its parent, whose calls its own would be taken for."""

    def __init__(self) -> None:
        self.own_name = default_worker_name()
        self.known: dict[str, WorkerIdentity] = {}
        self.registering = Lock()


class Identities:
    """The workers that this process is on one queue: registered on first use, and whenever the server forgot one."""

    def __init__(self, runner: Runner, calls: QueueCalls) -> None:
        self._runner = runner
        self._calls = calls
        self._processes: dict[int, Process] = {}

    def own_name(self) -> str:
        """The name of the worker that has been given none."""
        return self._process.own_name

    @property
    def _process(self) -> Process:
        """That of this process; made by the first thread that asks."""
        pid = os.getpid()
        return self._processes.get(pid) or self._processes.setdefault(pid, Process())

    def register(self, name: str, capacity: int | None) -> None:
        """Make a worker known under a new incarnation. WorkerReplaced if another came in between."""
        with self._process.registering:
            self._register(name, capacity)

    def deregister(self, name: str, reason: str) -> str:
        """Forget a worker, here and on the server; the script's answer."""
        identity = self._process.known.get(name)
        if identity is None:
            return "unregistered"
        answer = self._runner.run(self._calls.deregister(name, identity.incarnation, reason))
        self._process.known.pop(name, None)
        return answer

    def run(
        self,
        name: str,
        call: Callable[[WorkerIdentity, Slot], Call[T]],
        status: Callable[[T], str],
        retry_for: float | None = None,
    ) -> T:
        """Run a claiming call as this worker. WorkerReplaced if its name was registered elsewhere."""
        spent: WorkerIdentity | None = None
        for _ in range(3):
            identity = self._identity(name, spent)
            with identity.slot() as slot:
                try:
                    answer = self._runner.run(call(identity, slot), retry_for)
                except DurabilityError as error:
                    if status(error.answer) == "ok":
                        raise
                    answer = error.answer  # nothing was written, so there is nothing to confirm
            match status(answer):
                case "ok":
                    return answer
                case "stale" if self._process.known.get(name) in (identity, None):
                    break  # to register anew would take the name from whoever has it now
            spent = identity  # forgotten by the server, or replaced by another call of this process
        self._process.known.pop(name, None)
        raise _replaced(name)

    def _identity(self, name: str, spent: WorkerIdentity | None) -> WorkerIdentity:
        with self._process.registering:
            known = self._process.known.get(name)
            if known is None or known is spent:
                return self._register(name, spent.capacity if spent else None)
            return known

    def _register(self, name: str, capacity: int | None) -> WorkerIdentity:
        about = {"hostname": socket.gethostname(), "pid": os.getpid(), "capacity": capacity}
        identity = WorkerIdentity(name, new_incarnation(), capacity)
        try:
            answer = self._runner.run(self._calls.register(name, identity.incarnation, about))
        except DurabilityError as error:
            answer = error.answer  # one that is lost with its primary is made again when a call needs it
        if answer != "registered":
            raise _replaced(name)
        self._process.known[name] = identity
        return identity


def _replaced(name: str) -> WorkerReplaced:
    return WorkerReplaced(
        f"worker {name!r} was registered again elsewhere, which ends this one; give each worker a name of its own"
    )
