"""Operations on rate limits: hit and peek, and the rules of a namespace."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import Rates
from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /rates/{namespace}/rules", Rates.list, "observe").at_terminal(
        "rate ls",
        "List the rules of a namespace.",
        columns="name algorithm limit period burst lease on_error shadow version",
    ),
    Operation("GET /rates/{namespace}/rules/{name}", Rates.get, "observe"),
    Operation("PUT /rates/{namespace}/rules/{name}", Rates.set, "operate", create=True, required=("limit",)),
    Operation("DELETE /rates/{namespace}/rules/{name}", Rates.remove, "operate").at_terminal(
        "rate rm RULE...",
        "Remove rules. Hits that name them are errors from now on.",
        good="removed",
        fails="a rule does not exist",
    ),
    Operation("GET /rates/{namespace}/rules/{rule}/subjects/{subject}", Rates.peek, "observe").at_terminal(
        "rate show RULE SUBJECT", "Show what a rule allows a subject now. Nothing is counted."
    ),
    Operation("POST /rates/{namespace}/rules/{rule}/subjects/{subject}:hit", Rates.hit, "use"),
    Operation("POST /rates/{namespace}/rules/{rule}/subjects/{subject}:refund", Rates.refund, "use").at_terminal(
        "rate refund RULE SUBJECT",
        "Take hits back. Leases of concurrency end with adeq rate reset.",
        text="{rule} allows {subject} {remaining} now",
    ),
    Operation("POST /rates/{namespace}/rules/{rule}/subjects/{subject}:reset", Rates.reset, "use").at_terminal(
        "rate reset RULE SUBJECT",
        "Forget all that a rule has counted for a subject; of concurrency, all leases.",
        text="{rule} allows {subject} {remaining} now",
    ),
    Operation("POST /rates/{namespace}/rules/{rule}/subjects/{subject}/leases/{lease}:renew", Rates.renew, "use"),
    Operation("DELETE /rates/{namespace}/rules/{rule}/subjects/{subject}/leases/{lease}", Rates.release, "use"),
)
