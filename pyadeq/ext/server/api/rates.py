"""Operations on rate limits: hit and peek, and the rules of a namespace."""

from __future__ import annotations

from fastapi import APIRouter

from pyadeq.ext.operations import rates
from pyadeq.ext.server.api.routes import add

router = APIRouter()
add(router, rates.OPERATIONS)
