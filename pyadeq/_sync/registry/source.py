# Generated from pyadeq/_async/registry/source.py by pyadeq/_unasync.py; do not edit.
"""The part of a client that finds names."""

from __future__ import annotations

from typing import Any, Protocol

from pyadeq._sync.kernel.nodes import Nodes


class Source(Protocol):
    """A client: where its names are, and its connections."""

    prefix: str
    slot: str | None
    _nodes: Nodes
    _retry_for: float

    def noun(self, noun: str, name: str) -> Any:
        """Return an object of any noun."""
