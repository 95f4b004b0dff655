"""Events: streams of what has happened, and groups that read them."""

from __future__ import annotations

from typing import Final

from pyadeq.ext.operations.row import Operation

_GROUPS: Final = "/events/{noun}/{name}/groups"


def _of_groups(at: str, name: str, role: str) -> Operation:
    return Operation(at, needs="observe", also=f"events.{role}", name=f"events_{name}")


OPERATIONS: Final = (
    Operation("GET /events/{noun}/{name}", needs="observe", by_user="own", name="events_stream"),
    _of_groups(f"GET {_GROUPS}", "groups", "observe"),
    _of_groups(f"POST {_GROUPS}", "add", "operate"),
    _of_groups(f"DELETE {_GROUPS}/{{group}}", "remove", "operate"),
    _of_groups(f"POST {_GROUPS}/{{group}}:read", "read", "follow"),
    _of_groups(f"POST {_GROUPS}/{{group}}:ack", "ack", "follow"),
    _of_groups("POST /events/{noun}/{name}:trim", "trim", "operate"),
)
