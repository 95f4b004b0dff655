# Generated from pyadeq/_async/config/snapshot.py by pyadeq/_unasync.py; do not edit.
"""A copy of a namespace that stays current in the background."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Callable, Mapping
from contextvars import ContextVar
from math import inf
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pyadeq._sync.kernel.runner import Runner
from pyadeq._core.config.copy import Copy, differences
from pyadeq._core.kernel.nouncalls import NounCalls
from pyadeq._twins import Event, follow, join, spawn, takes
from pyadeq.errors import AdeqError, ClientClosed, ConfigError, WaitTimeout
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.config import ConfigValue

if TYPE_CHECKING:  # which imports redis-py
    from pyadeq._sync.kernel.hints import Ear

# Seconds: for how long one read is tried, how soon after a failed one the next begins, and how long closing may take.
TRY, PAUSE, PATIENCE = 1.0, 1.0, 3.0
STALE = 3
"""Polls without an answer after which a snapshot is stale, whatever has happened to its background work."""

log = logging.getLogger("pyadeq.config")
_at_work: ContextVar[ConfigSnapshot | None] = ContextVar("_at_work", default=None)


class ConfigSnapshot:
    """All values of a namespace, in this process. Reading it makes no call. See `Config.watch`.

    `content` is never changed, but replaced: take it once to read several names of one moment. It never has only a part
    of a `set_many`.
    """

    def __init__(
        self,
        runner: Runner,
        calls: NounCalls,
        running: set[ConfigSnapshot],
        on_change: Callable[[frozenset[str]], Any] | None,
        poll: float,
    ) -> None:
        if on_change is not None and not takes(on_change):
            raise ConfigError(f"on_change: {on_change!r} is not accepted; allowed: a function of a set of names")
        self.error: Exception | None = None
        """Why the last read failed; None if it did not."""
        self._runner = runner
        self._calls = calls
        self._running = running
        self._on_change = on_change
        self._poll = poll
        self._copy = Copy()
        self._state: tuple[Mapping[str, ConfigValue], int] = self._copy.content, 0
        self._heard_at: float | None = None
        self._closed = False
        self._loaded = Event()
        self._changed = Event()
        self._ear: Ear | None = None
        self._work: Any = None

    def __repr__(self) -> str:
        return f"<ConfigSnapshot {self._calls.base!r} rev={self.rev}{' stale' if self.stale else ''}>"

    @property
    def content(self) -> Mapping[str, ConfigValue]:
        """All values, by name, as they were at one moment."""
        return self._state[0]

    @property
    def rev(self) -> int:
        """The rev of the namespace at that moment; 0: nothing was loaded, or nothing was ever set."""
        return self._state[1]

    @property
    def loaded(self) -> bool:
        """Whether the values were ever loaded."""
        return self._heard_at is not None

    @property
    def stale(self) -> bool:
        """Whether the server may have other values: the last read failed, or there was none for three polls."""
        if self._closed or self.error is not None or self._heard_at is None:
            return True
        return self.age > STALE * self._poll + TRY

    @property
    def age(self) -> float:
        """Seconds since the values were the server's; infinite if none were ever loaded."""
        return inf if self._heard_at is None else monotonic() - self._heard_at

    def get(self, name: str) -> ConfigValue | None:
        """Return the value of a name; None if it has none."""
        return self._state[0].get(name)

    def start(self, wait: Seconds = 5.0) -> bool:
        """Begin to read in the background. Returns when the values are loaded, or after `wait` seconds.

        Returns whether they are loaded. If the server is away, it is tried again until `close`.
        """
        patience = to_ms("wait", wait) / 1000
        if self._closed or self._runner.closed:
            raise ClientClosed
        if self._work is None:
            self._running.add(self)
            self._work = spawn(self._run)
        self._loaded.wait(patience)
        return self.loaded

    def changes(self) -> Iterator[frozenset[str]]:
        """Iterate over the names that change from now on, until `close`. Several changes may come as one."""
        before = self.content
        while True:
            changed = self._changed
            after = self.content
            if names := differences(before, after):
                before = after
                yield names
            elif self._closed:
                return
            else:
                changed.wait()

    def close(self) -> None:
        """End the reading. The values stay, and are stale."""
        self._closed = True
        self._running.discard(self)
        self._changed.set()
        if (ear := self._ear) is not None:
            ear.hear(["closed"])
        if self._work is not None and _at_work.get() is not self:
            join(self._work, PATIENCE)

    def __enter__(self) -> Self:
        if not self.start():
            self.close()
            raise self.error or WaitTimeout(f"the values of {self._calls.base} were not loaded in time")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # In the background

    def _run(self) -> None:
        _at_work.set(self)
        try:
            with self._runner.hints.listening(f"{self._calls.base}:channel") as ear:
                self._ear = ear
                while not self._closed and not self._runner.closed:
                    ear.wait(self._read())
        except ClientClosed:
            pass
        finally:
            self._closed = True
            self._changed.set()

    def _read(self) -> float:
        """Read what has changed. Returns the seconds until the next time."""
        asked_at = monotonic()
        try:
            while not self._copy.take(
                self._runner.send(self._calls.build("read", **self._copy.wanted()), retry_for=TRY)
            ):
                if self._closed:
                    return 0
        except ClientClosed:
            raise
        except AdeqError as error:
            if self.error is None:
                log.warning("%s cannot be read, the values may be old: %s", self._calls.base, error)
            self.error = error
            return min(self._poll, PAUSE)
        self.error = None
        before, self._state = self.content, (self._copy.content, self._copy.rev)
        self._heard_at = asked_at
        self._loaded.set()
        if before is not self.content:
            self._tell(differences(before, self.content))
        return self._poll

    def _tell(self, names: frozenset[str]) -> None:
        if not names:
            return
        self._changed, changed = Event(), self._changed
        changed.set()
        if self._on_change is not None:
            try:
                if rest := follow(self._on_change(names)):
                    rest()
            except Exception:
                log.exception("on_change of %r", self)
