"""Values of configs, and flags."""

from __future__ import annotations

from typing import Final

from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /configs/{namespace}/values", needs="observe", name="config_all"),
    Operation("GET /configs/{namespace}/values/{name}", needs="observe", name="config_get"),
    Operation("PUT /configs/{namespace}/values/{name}", needs="operate", create=True, name="config_set"),
    Operation("DELETE /configs/{namespace}/values/{name}", needs="operate", create=True, name="config_remove"),
    Operation("GET /configs/{namespace}/values/{name}/history", needs="observe", name="config_history"),
    Operation("POST /configs/{namespace}/values/{name}:revert", needs="operate", create=True, name="config_revert"),
    Operation("POST /flags/{namespace}/{name}:evaluate", needs="observe", name="flag_evaluate"),
)
