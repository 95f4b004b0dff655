"""Operations on sessions, for operators: who is logged in, and ending logins. Ids of sessions are never shown."""

from __future__ import annotations

from fastapi import APIRouter

from pyadeq.ext.operations import sessions
from pyadeq.ext.server.api.routes import add

router = APIRouter()
add(router, sessions.OPERATIONS)
