"""Kinds of tasks, as workers publish them."""

from __future__ import annotations

from typing import Final

from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /kinds", needs="observe produce", by_user="all", name="kind_all"),
    Operation("GET /queues/{queue}/kinds", needs="observe produce", by_user="all", create=True, name="kind_list"),
    Operation("GET /queues/{queue}/kinds/{kind}", needs="observe produce", by_user="all", create=True, name="kind_get"),
)
