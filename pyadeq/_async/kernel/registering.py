"""Adds the names that a client writes to to their registries, so that a list of names needs no scan of all keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from pyadeq._async.kernel.names import missing_keys
from pyadeq._async.kernel.nodes import Nodes
from pyadeq._twins import aio_Event, aio_Home, aio_spawn
from pyadeq.errors import AdeqError
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

    Nothing depends on it, because scans find every name. So errors are ignored. If an access rule of the server forbids
    it, the client adds no more names.

    address: of the server. add: sends names of a noun, on separate connections.
    """

    def __init__(
        self,
        prefix: str,
        slot: str | None,
        address: Callable[[], str],
        nodes: Nodes,
        add: Callable[[str, Sequence[str]], Any],
    ) -> None:
        self.written: set[str] = set()
        """The first keys of calls that wrote: their names are added, or are about to be."""
        self._prefix, self._slot = prefix, slot
        self._address, self._nodes, self._add = address, nodes, add
        self._line: list[str] = []
        self._working = self._forbidden = False
        self._idle = aio_Event()
        self._home = aio_Home()
        self._pid = os.getpid()

    @property
    def is_working(self) -> bool:
        """Whether names are being added now."""
        return self._working

    def note(self, key: str) -> None:
        """Add the name of a base, unless this process has added it. key: the first key of a call that wrote."""
        self.written.add(key)
        name = None if self._forbidden else name_of_key(key, self._prefix, self._slot)
        if name is None or name[0] in UNLISTED:
            return
        try:
            if (self._address(), key) in _added:
                return
            self._line.append(key)
            if self._home.has_moved() or self._pid != os.getpid():  # what worked before has ended
                self._working, self._pid = False, os.getpid()
            if not self._working:
                self._working = True
                self._idle = aio_Event()
                aio_spawn(self._work)
        except (AdeqError, RuntimeError):  # the client is in use on another event loop; there can be no more threads
            self._working = False

    async def aclose(self) -> None:
        """Wait a moment for names that are being added."""
        if self._working and self._pid == os.getpid() and not self._home.has_moved():
            await self._idle.wait(PATIENCE)

    async def _work(self) -> None:
        try:
            while self._working:
                await self._send()
                self._working = False
                self._working = bool(self._line)  # another thread may have added one before it saw that this one ends
        except AdeqError as error:
            self._forbidden = "NOPERM" in str(error)
            self.written.difference_update(self._line)
            self._line.clear()
        finally:
            self._working = False
            self._idle.set()

    async def _send(self) -> None:
        while self._line:
            keys = [self._line.pop() for _ in range(min(len(self._line), AT_ONCE))]
            # A call may have written nothing, such as the cancel of a task of a queue that does not exist.
            missing = await missing_keys(self._nodes, keys, use="renewals")
            self.written.difference_update(missing)
            there = [key for key in keys if key not in missing]
            nouns: dict[str, list[str]] = {}
            for key in there:
                noun, name = name_of_key(key, self._prefix, self._slot) or ("", "")
                nouns.setdefault(noun, []).append(name)
            for noun, names in nouns.items():
                await self._add(noun, names)
            if len(_added) >= MOST:
                _added.clear()
            _added.update((self._address(), key) for key in there)
