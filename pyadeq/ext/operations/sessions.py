"""Operations on sessions, for operators: who is logged in, and ending logins. Ids of sessions are never shown."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import Sessions
from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /sessions/{realm}/sessions", Sessions.iterate, "observe", name="list"),
    Operation("GET /sessions/{realm}/count", Sessions.count, "observe"),
    Operation("GET /sessions/{realm}/users/{user}", Sessions.user, "observe"),
    Operation("POST /sessions/{realm}/users/{user}:revoke", Sessions.revoke_handles, "auth"),
    Operation("POST /sessions/{realm}/users/{user}:revoke_all", Sessions.revoke_all, "auth", without=("keep",)),
    Operation("POST /sessions/{realm}/users/{user}:renew_authz", Sessions.renew_authz, "auth"),
)
