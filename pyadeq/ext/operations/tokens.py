"""Tokens of the service."""

from __future__ import annotations

from typing import Final

from pyadeq.ext.operations.rights import MANAGE
from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /tokens", needs=MANAGE, by_user="own", name="tokens_list"),
    Operation("POST /tokens", needs=MANAGE, by_user="own", name="tokens_make"),
    Operation("DELETE /tokens/{id}", needs=MANAGE, by_user="own", name="tokens_revoke"),
)
