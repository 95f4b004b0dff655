"""A service with a REST interface. It needs the extra `server`: pip install "pyadeq[server]"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyadeq.ext.operations.rights import Principal, Scope, everything, rights_of

if TYPE_CHECKING:
    from pyadeq.ext.server.application import app
    from pyadeq.ext.server.authentication import ProxyUsers, Tokens, first_of
    from pyadeq.ext.server.board.logins import Logins

__all__ = ["Logins", "Principal", "ProxyUsers", "Scope", "Tokens", "app", "everything", "first_of", "rights_of"]
_WITH_FASTAPI = {
    "app": "application",
    "Logins": "board.logins",
    "ProxyUsers": "authentication",
    "Tokens": "authentication",
    "first_of": "authentication",
}


def __getattr__(name: str) -> Any:
    """Import what needs FastAPI when it is used: the command line makes tokens without it."""
    from importlib import import_module

    if name not in _WITH_FASTAPI:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WITH_FASTAPI[name]}"), name)
