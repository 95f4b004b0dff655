"""What may be left when the work is over."""

from __future__ import annotations

from typing import Any

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.history import OVERDUE
from pyadeq.ext.prove.chaos.lock_rules import names
from pyadeq.ext.prove.chaos.lock_tale import OVER
from pyadeq.ext.prove.chaos.tale import ENDED, HELD

LEASED = {"running", "stalled"}
STARTABLE = {"ready", OVERDUE}


def nothing_left(case: Case, found: Finding) -> None:
    """No task is leased in the end, none waits without a reason, and no lock is held or waited for.

    A reason is a pause, a time that has not come, a limit, or another task that has not ended.
    """
    if not case.drained:
        return
    final, tale = case.history.final, case.tale
    for id, state in final.items():
        found.checks += 1
        if state in LEASED:
            found.convict(id, f"its lease was left behind: it is {state}")
        elif state in STARTABLE and not tale.paused:
            found.convict(id, f"it is {state}, and nobody has taken it")
        elif state == "blocked" and _has_all(case, case.calls.options.get(id)):
            found.convict(id, "it is blocked, and all that it waits for has ended")
    for id in tale.lives.keys() - final.keys():
        found.checks += 1
        if tale.state(id) == HELD:
            found.convict(id, "its lease was left behind: no event has ended it")
    for request in case.locks.requests.values():
        found.checks += 1
        if request.state != OVER:
            found.convict(names(request.parts), f"{request.state} by {request.owner}, and left behind ({request.rid})")


def _has_all(case: Case, options: dict[str, Any] | None) -> bool:
    if not options or options.get("gather") or not options.get("after"):
        return False
    return all(case.tale.state(id) in ENDED for id in options["after"])
