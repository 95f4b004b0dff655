"""Operations on sessions, for operators: who is logged in, and ending logins. Ids of sessions are never shown."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import Sessions
from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /sessions/{realm}/sessions", Sessions.iterate, "observe", name="list").at_terminal(
        "session ls [USER]",
        "List the valid sessions of a user, or of all users.",
        columns="handle user name created active ends address agent",
    ),
    Operation("GET /sessions/{realm}/count", Sessions.count, "observe"),
    Operation("GET /sessions/{realm}/users/{user}", Sessions.user, "observe"),
    Operation("POST /sessions/{realm}/users/{user}:revoke", Sessions.revoke_handles, "auth").at_terminal(
        "session revoke USER HANDLE...", "End sessions of a user.", good="revoked", fails="one of them had ended before"
    ),
    Operation(
        "POST /sessions/{realm}/users/{user}:revoke_all", Sessions.revoke_all, "auth", without=("keep",)
    ).at_terminal(
        "session revoke-all USER",
        text="{ended:session} of {user} ended",
        ask="This ends all sessions of {user} in {realm}.",
    ),
    Operation("POST /sessions/{realm}/users/{user}:renew_authz", Sessions.renew_authz, "auth").at_terminal(
        "session renew-authz USER",
        "Say that the rights of a user have changed. The programs then read them again.",
        text="the rights of {user} have version {authz_ver}",
    ),
)
AT_TERMINAL: Final = (
    Operation("GET /sessions/{realm}/sessions/{handle}", Sessions.iterate).at_terminal(
        "session show USER HANDLE", "Show a session of a user. Exits with 1 if there is no valid one with this handle."
    ),
    Operation("POST /sessions/{realm}:sweep", Sessions.sweep).at_terminal(
        "session sweep", text="{ended:session} deleted"
    ),
)
