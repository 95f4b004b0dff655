"""A copy of a namespace, which answers of `read` keep current."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pyadeq._core.config import replies
from pyadeq._core.kernel.nouncalls import Result
from pyadeq.models.config import ConfigValue

PAGE = 1000


class Copy:
    """The values of a namespace as of one rev.

    Send `wanted` and give the answer to `take`, until that returns True. Then `content` and `rev` are what the server
    had when it gave the last answer. Before that, they stay as they were.
    """

    def __init__(self) -> None:
        self.content: Mapping[str, ConfigValue] = MappingProxyType({})
        self.rev = 0
        self._since = 0
        self._cursor: str | None = None
        self._next: dict[str, ConfigValue] = {}
        self._differs = False

    def wanted(self) -> dict[str, Any]:
        """The arguments of the next `read`."""
        return {"since": self._since, "cursor": self._cursor, "limit": PAGE}

    def take(self, answer: Result) -> bool:
        """Add an answer. Whether the copy is current now."""
        if answer.status == "full":
            self._begin_anew()
            return False
        for entry in answer.items:
            found = replies.value(entry)
            if found is None:
                self._next.pop(entry.name, None)
            else:
                self._next[found.name] = found
            self._differs = True
        if answer.cursor:
            self._cursor = answer.cursor
            return False
        self.rev = self._since = answer.rev
        self._cursor = None
        if self._differs:
            self.content, self._next, self._differs = MappingProxyType(self._next), dict(self._next), False
        return True

    def _begin_anew(self) -> None:
        self._since, self._cursor, self._next, self._differs = 0, None, {}, True


def differences(before: Mapping[str, ConfigValue], after: Mapping[str, ConfigValue]) -> frozenset[str]:
    """The names that have another version, or are in only one of them."""
    both = before.keys() & after.keys()
    return frozenset((before.keys() ^ after.keys()) | {name for name in both if before[name] != after[name]})
