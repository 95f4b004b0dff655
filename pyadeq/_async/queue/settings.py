"""The settings of a queue."""

from __future__ import annotations

from typing import Unpack

from pyadeq._async.queue.base import QueueBase
from pyadeq.ids import new_ulid
from pyadeq.models.queue_settings import Settings, SettingsChange


class Configuring(QueueBase):
    """The part of a queue for its settings."""

    async def settings(self) -> Settings:
        """Return all settings of the queue; the defaults if the queue does not exist yet."""
        return await self._runner.send(self.calls.settings())

    async def configure(
        self, *, clock: str | None = None, expect: str | None = None, **settings: Unpack[SettingsChange]
    ) -> Settings:
        """Change settings of the queue and return all of them. Settings that are not given stay unchanged.

        expect: the `digest` of the settings that you have read. If they have changed since, nothing changes, and
        StaleError is raised. A pause or a drain is no change.
        """
        return await self._runner.send(self.calls.configure(new_ulid(), clock=clock, expect=expect, **settings))
