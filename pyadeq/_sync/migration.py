# Generated from pyadeq/_async/migration.py by pyadeq/_unasync.py; do not edit.
"""To the layout of this release: first what is written, then, a bounded part at a time, what is stored already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pyadeq._sync.runner import Runner
from pyadeq._core.migration import Migrating, newest_layout, rewrite, rewriter
from pyadeq.models import Migration

Progress = Callable[[int], object] | None


def migrate(
    runner: Runner, noun: Literal["queue", "lock"], calls: Migrating, before: int, progress: Progress
) -> Migration:
    """Go over what is stored until one whole pass finds nothing in an older form."""
    runner.send(calls.migrate())
    script, rewritten = rewriter(noun), 0
    while script and (found := _pass_over(runner, script, calls, rewritten, progress)):
        rewritten += found
    return Migration(before=before, layout=max(before, newest_layout()), rewritten=rewritten)


def _pass_over(runner: Runner, script: str, calls: Migrating, so_far: int, progress: Progress) -> int:
    found, cursor = 0, ""
    while True:
        step = runner.send(rewrite(script, calls, cursor))
        found, cursor = found + step.rewritten, step.cursor
        if progress:
            progress(so_far + found)
        if not cursor:
            return found
