"""What is stored of queues and lock domains, to be compared byte by byte."""

from __future__ import annotations

from typing import Any


def stored(client: Any, *bases: str) -> dict[bytes, bytes | None]:
    """Every key below the bases, as the server would dump it."""
    keys = sorted(key for base in bases for key in client.keys(f"{base}:*"))
    return {key: client.dump(key) for key in keys}
