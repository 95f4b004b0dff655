# Generated from pyadeq/_async/queue/settings.py by pyadeq/_unasync.py; do not edit.
"""The settings of a queue."""

from __future__ import annotations

from typing import TypedDict, Unpack

from pyadeq._sync.queue.base import Area
from pyadeq._core.kernel.options import checked_options
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds
from pyadeq.models.queue import Backoff, Settings, Tier


class SettingsChange(TypedDict, total=False):
    """The settings of a queue that can be changed; see Settings."""

    lease: Seconds
    max_attempts: int
    max_crashes: int
    backoff: Backoff
    events_max: int
    events_keep: Seconds
    events_error_max: int
    presence: Seconds
    finished_keep: Seconds
    finished_max: int
    dead_keep: Seconds
    dead_max: int
    result_ttl: Seconds
    payload_ttl: Seconds
    reply_ttl: Seconds
    idempotency: Seconds
    timeout: Seconds
    timeout_grace: Seconds
    fair: bool
    tier: Tier


class QueueSettings(Area):
    """`queue.settings`: to read and to change them. Called, it is `get`."""

    def __call__(self) -> Settings:
        """As `get`."""
        return self.get()

    def get(self) -> Settings:
        """Return all settings of the queue; the defaults if the queue does not exist yet."""
        return self._runner.send(self._calls.settings())

    def change(
        self, *, clock: str | None = None, expect: str | None = None, **settings: Unpack[SettingsChange]
    ) -> Settings:
        """Change settings of the queue and return all of them. Settings that are not given stay unchanged.

        expect: the `digest` of the settings that you have read. If they have changed since, nothing changes, and
        StaleError is raised. A pause or a drain is no change.
        """
        checked_options(settings, SettingsChange.__annotations__, besides=("clock", "expect"))
        return self._runner.send(self._calls.configure(new_ulid(), clock=clock, expect=expect, **settings))
