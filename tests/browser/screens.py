"""The screens of the board, and where the scene has something on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from starlette.routing import Route

from pyadeq.ext.server.application import BOARD

SCREENS: Final = {
    "/": "/",
    "/login": "/login",
    "/locks": "/locks",
    "/locks/{domain}": "/locks/repos",
    "/locks/{domain}/resources/{resource}": "/locks/repos/resources/repo%3Aweb",
    "/queues/{queue}": "/queues/mail",
}
"""The path of each route that shows a page, and the path of one such page."""
ALSO: Final = ("/?q=imp", "/queues/imports", "/queues/reports")
"""Further states of them: filtered, stuck, paused."""
LOST: Final = ("/queues/none", "/nothing")
"""What does not exist."""
NO_SCREENS: Final = frozenset({"/static/{digest}/{name}", "/robots.txt", "/{path}"})
PATHS: Final = (*SCREENS.values(), *ALSO, *LOST)


def routes() -> Iterator[str]:
    """The paths of the board that a browser can open."""
    for part in BOARD:
        for route in part.router.routes:
            if isinstance(route, Route) and "GET" in (route.methods or ()):
                yield re.sub(r":\w+}", "}", route.path)
