"""All operations of the service, as its routes say, so that no list of them is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from pyadeq.ext.server.api import inbox
from pyadeq.ext.server.application import API, BOARD
from pyadeq.ext.server.guard import SAFE
from pyadeq.ext.server.paths import segment

PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
NAMES: Final = ("queue", "domain", "realm", "namespace")
"""What paths call the names of objects. `/v1/events/{noun}/{name}` has another way: its noun is in the path."""


class Operation(NamedTuple):
    """A method and a path with parameters."""

    method: str
    path: str

    @property
    def writes(self) -> bool:
        """Whether a browser could do harm with it."""
        return self.method not in SAFE

    def at(self, **values: str) -> str:
        """Its path with these values. Those that are not given are `a`."""
        given = {"noun": "queue", "rev": "1", **values}
        return PARAMETER.sub(lambda found: segment(given.get(found[1], "a")), self.path)

    @property
    def object(self) -> str | None:
        """What the path calls the name of its object; None if it has none."""
        found = PARAMETER.findall(self.path)
        if found[:2] == ["noun", "name"]:
            return "name"
        return found[0] if found and found[0] in NAMES else None


def operations() -> list[Operation]:
    """Those of the API, and of the board with its forms: each write of the API is one."""
    return sorted({*_all()})


def _all() -> Iterator[Operation]:
    for prefix, parts in (("/v1", API), ("", (inbox, *BOARD))):
        for part in parts:
            for route in part.router.routes:
                path = prefix + getattr(route, "path", "")
                for method in getattr(route, "methods", ()):
                    if "/do/" not in path:
                        yield Operation(method, path)
                    if prefix and method not in SAFE:
                        yield Operation("POST", f"/do{path}")


OPERATIONS: Final = operations()
