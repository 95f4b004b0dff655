# Generated from pyadeq/_async/lock/__init__.py by pyadeq/_unasync.py; do not edit.
"""A lock domain: its calls, and the grants of this process, which it renews."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.lock.acquire import Acquiring
from pyadeq._sync.lock.admin import LockAdmin
from pyadeq._sync.lock.capacities import LockCapacities
from pyadeq._sync.lock.inspect import LockInspect
from pyadeq._sync.lock.read import Reading
from pyadeq._core.kernel.areas import AreaOf
from pyadeq.models.lock import Hint
from pyadeq.models.lock_settings import LockSettings, LockSettingsChange

WATCH = 60.0


class Locks(Acquiring, Reading):
    """The locks of a domain. `calls` builds the same calls for pipelines: `pipe.add(locks.calls.stats())`.

    What is done every day is a method of the domain. The rest is in its areas: `inspect`, `capacities`, `admin`.
    """

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._inspect = LockInspect(self)
        self._capacities = LockCapacities(self)
        self._admin = LockAdmin(self)

    inspect = AreaOf(LockInspect)
    capacities = AreaOf(LockCapacities)
    admin = AreaOf(LockAdmin)

    def configure(self, *, clock: str | None = None, **settings: Unpack[LockSettingsChange]) -> LockSettings:
        """Change settings of the domain and return all of them. Settings that are not given stay unchanged."""
        return self._runner.send(self.calls.configure(clock=clock, **settings))

    def watch(self, resource: str) -> Iterator[Hint]:
        """Iterate over the hints of a lock as they happen, until the client is closed; then AdeqError.

        Some hints may be missed. The event stream has all events.
        """
        with self._listening(resource) as ear:
            while True:
                words = ear.wait(WATCH)
                self._check_open()
                for word in words:
                    event, colon, agent = word.partition(":")
                    if colon:
                        yield Hint(event, agent)
