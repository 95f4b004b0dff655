"""All operations that people and programs ask for from outside: one table, by what each is about.

The REST service has a path for each row, and the board and the command line have forms and commands for some. A row
says who may do it. Nothing here imports a web framework.
"""

from __future__ import annotations

from typing import Final

from pyadeq.ext.operations import (
    changes,
    configs,
    events,
    kinds,
    locks,
    names,
    queues,
    rates,
    sessions,
    tasks,
    tokens,
    webhooks,
)
from pyadeq.ext.operations.row import Operation

TABLES: Final = (names, tasks, queues, kinds, locks, changes, sessions, rates, configs, events, tokens, webhooks)
ALL: Final[dict[str, Operation]] = {one.id: one for table in TABLES for one in table.OPERATIONS}
"""Every operation, by its id."""
