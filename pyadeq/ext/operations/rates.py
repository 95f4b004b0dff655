"""Operations on rate limits: hit and peek, and the rules of a namespace."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import Rates
from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /rates/{namespace}/rules", Rates.rules, "observe"),
    Operation("GET /rates/{namespace}/rules/{name}", Rates.rule, "observe"),
    Operation("PUT /rates/{namespace}/rules/{name}", Rates.set_rule, "operate", create=True, required=("limit",)),
    Operation("DELETE /rates/{namespace}/rules/{name}", Rates.remove_rule, "operate"),
    Operation("GET /rates/{namespace}/rules/{rule}/subjects/{subject}", Rates.peek, "observe"),
    Operation("POST /rates/{namespace}/rules/{rule}/subjects/{subject}:hit", Rates.hit, "use"),
    Operation("POST /rates/{namespace}/rules/{rule}/subjects/{subject}:refund", Rates.refund, "use"),
    Operation("POST /rates/{namespace}/rules/{rule}/subjects/{subject}:reset", Rates.reset, "use"),
    Operation("POST /rates/{namespace}/rules/{rule}/subjects/{subject}/leases/{lease}:renew", Rates.renew, "use"),
    Operation("DELETE /rates/{namespace}/rules/{rule}/subjects/{subject}/leases/{lease}", Rates.release, "use"),
)
