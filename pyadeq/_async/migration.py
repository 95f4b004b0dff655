"""To the layout of this release: first what is written, then, a bounded part at a time, what is stored already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pyadeq._async.runner import Runner
from pyadeq._core.migration import Migrating, newest_layout, rewrite, rewriter
from pyadeq.models import Migration

Progress = Callable[[int], object] | None


async def migrate(
    runner: Runner, noun: Literal["queue", "lock"], calls: Migrating, before: int, progress: Progress
) -> Migration:
    """Go over what is stored until one whole pass finds nothing in an older form."""
    await runner.send(calls.migrate())
    script, rewritten = rewriter(noun), 0
    while script and (found := await _pass_over(runner, script, calls, rewritten, progress)):
        rewritten += found
    return Migration(before=before, layout=max(before, newest_layout()), rewritten=rewritten)


async def _pass_over(runner: Runner, script: str, calls: Migrating, so_far: int, progress: Progress) -> int:
    found, cursor = 0, ""
    while True:
        step = await runner.send(rewrite(script, calls, cursor))
        found, cursor = found + step.rewritten, step.cursor
        if progress:
            progress(so_far + found)
        if not cursor:
            return found
