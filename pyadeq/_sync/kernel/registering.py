# Generated from pyadeq/_async/kernel/registering.py by pyadeq/_unasync.py; do not edit.
"""Adds the names that a client writes to to their registries, so that a list of names needs no scan of all keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyadeq._twins import Event, Home, spawn
from pyadeq.errors import AdeqError, TransportError
from pyadeq.keys import name_of_key

UNLISTED: Final = ("events", "registry")
"""Nouns without names of their own."""
AT_ONCE: Final = 500
MOST: Final = 100_000
"""Names that a process remembers. Beyond, it forgets all of them, and adds some again."""
PATIENCE: Final = 0.5
"""Seconds that closing a client waits for names that are being added."""

_added: set[tuple[str, str]] = set()  # of this process: the address of the server, and the key `config` of the base


class Registering:
    """Adds each name once per process, after its first write, in the background.

    Nothing depends on it, because scans find every name. So errors are ignored. If the server refuses a
    call, for instance by an access rule, the client adds no more names.

    add: sends names of a noun, on separate connections.
    """

    def __init__(
        self, prefix: str, slot: str | None, address: Callable[[], str], add: Callable[[str, list[str]], Any]
    ) -> None:
        self._prefix, self._slot = prefix, slot
        self._address = address
        self._add = add
        self._line: list[tuple[str, str]] = []
        self._working = self._refused = False
        self._idle = Event()
        self._home = Home()

    @property
    def is_working(self) -> bool:
        """Whether names are being added now."""
        return self._working

    def add(self, key: str) -> None:
        """Add the name of a base, unless this process has added it. key: the first key of a call that wrote."""
        name = None if self._refused else name_of_key(key, self._prefix, self._slot)
        if name is None or name[0] in UNLISTED:
            return
        try:
            known = (self._address(), key)
            if known in _added:
                return
            if len(_added) >= MOST:
                _added.clear()
            _added.add(known)
            self._line.append(name)
            if self._home.has_moved():
                self._working = False
            if not self._working:
                self._working = True
                self._idle = Event()
                spawn(self._work)
        except (AdeqError, RuntimeError):  # the client is in use on another event loop; there can be no more threads
            self._working = False

    def close(self) -> None:
        """Wait a moment for names that are being added."""
        if self._working and not self._home.has_moved():
            self._idle.wait(PATIENCE)

    def _work(self) -> None:
        try:
            while self._working:
                self._send()
                self._working = False
                self._working = bool(self._line)  # another thread may have added one before it saw that this one ends
        except AdeqError as error:
            self._refused = not (isinstance(error, TransportError) and error.retryable)
            self._line.clear()
        finally:
            self._working = False
            self._idle.set()

    def _send(self) -> None:
        while self._line:
            nouns: dict[str, list[str]] = {}
            for _ in range(min(len(self._line), AT_ONCE)):
                noun, name = self._line.pop()
                nouns.setdefault(noun, []).append(name)
            for noun, names in nouns.items():
                self._add(noun, names)
