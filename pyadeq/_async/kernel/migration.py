"""Migrate to the layout of this release: first new writes, then the stored data in bounded parts."""

from __future__ import annotations

from collections.abc import Callable

from pyadeq._async.kernel.runner import Runner
from pyadeq._core.kernel.migration import Migrating, newest_layout, rewrite, rewriter
from pyadeq.errors import AdeqError, LayoutError
from pyadeq.models.base import Migration

MOST_PASSES = 100
Progress = Callable[[int], object] | None


async def migrate(runner: Runner, noun: str, calls: Migrating, before: int, progress: Progress) -> Migration:
    """Rewrite the stored data until a whole pass finds nothing in an older form; then store on the server that it is
    done.

    If a failover loses the raised layout, it starts again.
    """
    script, rewritten = rewriter(noun), 0
    for _ in range(MOST_PASSES):
        state = await runner.send(calls.migrate())
        if state.written == 0:
            return Migration(before=0, layout=0, rewritten=0)
        try:
            found = await _pass_over(runner, script, calls, rewritten, progress) if script else 0
        except LayoutError:
            continue
        rewritten += found
        if found == 0:
            state = await runner.send(calls.migrate(done=True))
            if state.rewritten >= newest_layout(noun):
                return Migration(before=before, layout=state.written, rewritten=rewritten)
    raise AdeqError(f"after {MOST_PASSES} passes there is still something in an older form; say it again")


async def _pass_over(runner: Runner, script: str, calls: Migrating, so_far: int, progress: Progress) -> int:
    found, cursor = 0, ""
    while True:
        step = await runner.send(rewrite(script, calls, cursor))
        found, cursor = found + step.rewritten, step.cursor
        if progress:
            progress(so_far + found)
        if not cursor:
            return found
