"""A process of the demo of approvals: it applies all approved changes that it finds.

`python -m pyadeq.ext.prove.demo.approvals_applier NAME [ID]`: with an id, it applies only this change, and never ends.
"""

from __future__ import annotations

import json
import os
import sys
from time import sleep

from pyadeq import Adeq, CannotApply, Changes, Run, WaitTimeout
from pyadeq.ext.prove.demo.approvals_plan import DOMAIN, SLOT
from pyadeq.ext.prove.demo.child import end_with_demo

APPLIED = "demo:applied"  # the world outside: a list of what was done to it
POLL = 0.05  # seconds
WAIT = 10.0  # seconds, for locks
STUCK = 3600.0  # seconds


def apply_all(adeq: Adeq, name: str) -> None:
    """Apply what is approved, for ever. The sweep takes back the changes of appliers that have died."""
    changes = adeq.changes(DOMAIN)
    while True:
        changes.sweep()
        for found in changes.iterate(state="approved"):
            try:
                with changes.apply(found.id, agent=name, wait=WAIT) as run:
                    run.check()
                    _change_the_world(adeq, run)
            except (CannotApply, WaitTimeout):  # another applier has it, or its locks
                continue
        sleep(POLL)


def hold(changes: Changes, name: str, id: str) -> None:
    """Begin to apply a change, and get stuck. Its lease and its locks are renewed until the process is killed."""
    with changes.apply(id, agent=name):
        sleep(STUCK)


def _change_the_world(adeq: Adeq, run: Run) -> None:
    done = {"id": run.id, "rev": run.rev, "sha256": run.content.sha256, "fence": run.fence, "agent": run.agent}
    adeq.client.rpush(APPLIED, json.dumps(done))


def main(name: str, held: str = "") -> None:
    """Run until the demo ends this process."""
    with Adeq.from_url(os.environ["ADEQ_URL"], slot=SLOT, source=name) as adeq:
        if held:
            hold(adeq.changes(DOMAIN), name, held)
        apply_all(adeq, name)


if __name__ == "__main__":
    end_with_demo()
    main(*sys.argv[1:])
